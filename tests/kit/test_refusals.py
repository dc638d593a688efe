"""The error that a plugin raises if a server refuses a call."""

import pytest

from robust_qa import ContextError, RefusedError, UnavailableError
from robust_qa.kit import Refusal, connection_error


@pytest.mark.parametrize(
    ("status", "body", "kind", "general", "hint"),
    [
        (200, b'{"error": {"message": "Unexpected endpoint"}}', UnavailableError, False, ""),
        (302, b"", RefusedError, True, "the final address"),
        (400, b'{"error": {"message": "Incorrect API key provided"}}', RefusedError, True, "the key"),
        (400, b'{"error": {"message": "Unknown field."}}', RefusedError, False, ""),
        (400, b'{"error": {"code": "context_length_exceeded"}}', ContextError, False, "the window"),
        (400, b'{"message": "flagged by moderation"}', RefusedError, False, "content filter"),
        (403, b"Forbidden", RefusedError, True, "the key"),
        (404, b'{"error": "no such model"}', RefusedError, True, "the model"),
        (408, b"", UnavailableError, False, ""),
        (413, b"", ContextError, False, "the window"),
        (429, b'{"error": {"type": "insufficient_quota"}}', RefusedError, True, "no credit"),
        (429, b"", UnavailableError, False, ""),
        (432, b"", RefusedError, True, "no credit"),
        (503, b"busy", UnavailableError, False, ""),
    ],
)
def test_a_refusal_says_whether_a_retry_helps_and_what_to_do(status, body, kind, general, hint):
    hints = {300: "the final address", 401: "the key", 404: "the model"}
    error = Refusal.of(status, body, {}).error("Failed.", hints=hints, window="the window")
    assert (type(error), error.general, hint in error.hint) == (kind, general, True)


def test_a_rate_limit_has_the_wait_that_the_server_asks_for():
    error = Refusal(429, headers={"retry-after": "7"}).error("Failed.")
    assert isinstance(error, UnavailableError) and error.limited and error.retry_after == 7
    assert not Refusal(429).error("Failed.", final=True).retryable


def test_a_server_on_this_machine_that_does_not_run_is_not_asked_again():
    assert not connection_error("searxng", "refused", local=True).retryable
    assert connection_error("searxng", "reset", local=True, reached=True).retryable

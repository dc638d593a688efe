"""Errors: their type, their hint, and whether they are retryable."""

from __future__ import annotations

import re
import traceback

import pytest
from standins.openai import HTML, Fault, error, serve

from robust_qa import ContextError, Decoding, Key, Message, RefusedError, UnavailableError

ASKED = [Message("user", "Where is the Louvre?")]
SECRET = "sk-very-secret"
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


@pytest.fixture
def failure(connect):
    """Return the error that one scripted reply causes."""

    async def ask(reply, expected, schema=None, **options):
        with serve(lambda request, n: reply) as server, pytest.raises(expected) as raised:
            await connect(server.url, **options).generate(ASKED, Decoding(schema=schema))
        assert type(raised.value) is expected
        assert "'qwen' at http://127.0.0.1" in raised.value.message
        assert server.count == 1  # the host retries, not the reader
        return raised.value

    return ask


@pytest.mark.parametrize("status", [429, 503])
async def test_a_temporary_error_is_unavailable(failure, status):
    raised = await failure(error(status, "overloaded"), UnavailableError)
    assert raised.retryable
    assert raised.retry_after is None and raised.limited is (status == 429)
    assert f"status {status}: overloaded" in raised.message


async def test_a_spent_quota_is_refused(failure):
    reply = error(429, "You exceeded your current quota.", code="insufficient_quota")
    assert "billing" in (await failure(reply, RefusedError)).hint


@pytest.mark.parametrize("status", [401, 403])
async def test_a_bad_key_names_the_command_that_replaces_it(failure, status):
    raised = await failure(error(status, "Bad key."), RefusedError, key=Key("mine", SECRET))
    assert "'mine'" in raised.hint
    assert re.search(r"`rqa keys set mine --host http://127\.0\.0\.1:\d+`", raised.hint)


async def test_a_missing_key_names_command_and_option(failure):
    raised = await failure(error(401, "No key."), RefusedError)
    assert "rqa keys set" in raised.hint
    assert "key = " in raised.hint


@pytest.mark.parametrize(
    "reply",
    [
        Fault(404, "404 page not found"),
        Fault(405, "<html><head><meta name='description' content='AI models'></head>Method Not Allowed</html>"),
        Fault(200, {"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"}),
        Fault(200, {"error": {"message": "No such route"}}),
        HTML,
    ],
)
async def test_a_wrong_address_is_not_called_again(failure, reply):
    raised = await failure(reply, RefusedError)
    assert "It often ends in /v1." in raised.hint
    assert raised.general


@pytest.mark.parametrize(
    "page",
    [
        "Client sent an HTTP request to an HTTPS server.\n",
        "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>",
    ],
)
async def test_http_to_a_server_that_speaks_https_says_so(failure, page):
    assert "write https://" in (await failure(Fault(400, page), RefusedError)).hint


async def test_an_unknown_model_is_refused_by_name(failure):
    raised = await failure(error(404, "The model `qwen` does not exist", code="model_not_found"), RefusedError)
    assert "`model`" in raised.hint
    assert "/v1/models" in raised.hint


@pytest.mark.parametrize(
    ("status", "message", "codes"),
    [
        (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            {"code": "context_length_exceeded", "param": "messages"},
        ),
        (400, "the request exceeds the available context size.", {"type": "exceed_context_size_error"}),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", {}),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", {}),
        (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", {}),
        (400, "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length", {}),
        (400, "Range of input length should be [1, 30720]", {}),
        (400, "Invalid request: Your request exceeded model token limit: 8192", {}),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.", {}),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", {}),
        (500, "Context size has been exceeded.", {"type": "server_error"}),
        (500, "Input prompt is too big compared to KV size. Please try increasing KV size.", {}),
        (400, "max_tokens must be at least 1, got -812. (parameter=max_tokens, value=-812)", {}),
        (400, "default_max_tokens (-200) should be greater than 0, default_max_tokens (-200) = max_seq_len (4096)", {}),
        (400, "The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)", {}),
        (400, "The input token count is 40000 but the model only supports up to 32767", {}),
        (400, "Prompt exceeds max length", {"code": "1261"}),
        (400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576.", {}),
        (413, "Request too large", {}),
        (429, "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 40000.", {}),
    ],
)
async def test_an_overflowing_prompt_is_a_context_error(failure, status, message, codes):
    raised = await failure(error(status, message, **codes), ContextError)
    assert message[:40] in raised.message
    assert "window" in raised.hint


@pytest.mark.parametrize(
    "message",
    [
        "context deadline exceeded",
        "CUDA out of memory. The limit of 24 GiB is exceeded.",
    ],
)
async def test_other_limits_of_a_server_are_temporary(failure, message):
    assert (await failure(error(500, message), UnavailableError)).retryable


async def test_an_overflow_in_a_stream_is_a_context_error(failure):
    event = 'data: {"error": "Input validation error: `inputs` must have less than 4095 tokens."}\n\n'
    await failure(Fault(body=event, headers={"Content-Type": "text/event-stream"}), ContextError)


@pytest.mark.parametrize("taken", ["Limit 30000, Used 29000, Requested 2000", "Limit 30000, Requested 2000"])
async def test_a_token_rate_limit_is_not_an_overflow(failure, taken):
    raised = await failure(error(429, f"Rate limit reached on tokens per min (TPM): {taken}."), UnavailableError)
    assert raised.limited


@pytest.mark.parametrize(
    "message",
    [
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
        "`context_window` for this model",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens for claude",
    ],
)
async def test_too_high_a_max_tokens_is_not_an_overflow(failure, message):
    raised = await failure(error(400, message), RefusedError, schema=SCHEMA)
    assert raised.hint == "Lower the reader's `max_tokens`."
    assert raised.general


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("API key not valid. Please pass a valid API key.", "rqa keys set"),
        ("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", "no credit"),
    ],
)
async def test_a_key_or_credit_error_with_status_400_is_general(failure, message, advice):
    raised = await failure(error(400, message, type="invalid_request_error"), RefusedError, schema=SCHEMA)
    assert "status 400" in raised.message
    assert advice in raised.hint
    assert raised.general


async def test_a_filtered_request_names_the_filter(failure):
    for status, message in (
        (400, "The response was filtered by our content management policy."),
        (400, "It may violate our usage policies."),
        (400, "Rejected as a result of our safety system."),
        (400, "Invalid prompt: we've limited access to this content for safety reasons."),
        (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),
        (403, "Flagged."),
    ):
        assert "filter" in (await failure(error(status, message), RefusedError, schema=SCHEMA)).hint


@pytest.mark.parametrize(
    "body",
    [
        {"error": "Not like this."},
        {"error": {"message": "Not like this."}},
        {"message": "Not like this.", "object": "error", "code": 400},
        {"detail": [{"loc": ["body", "model"], "msg": "Not like this."}]},
        {"errors": [{"message": "Not like this.", "code": 5021}], "success": False, "messages": []},
        {"error": {"message": "", "description": "Not like this."}},
        {"detail": {"error": {"message": "Not like this."}}},
        b'[{"error": {"code": 400, "message": "Not like this.", "status": "INVALID_ARGUMENT"}}]',
        "Not like this.",
        *(
            {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
            for raw in ('{"error": {"message": "Not like this."}}', '{"detail": "Not like this."}', "Not like this.")
        ),
    ],
)
async def test_the_message_is_found_in_every_providers_format(failure, body):
    assert "Not like this." in (await failure(Fault(400, body), RefusedError)).message


async def test_a_redirect_is_not_followed(failure):
    with serve(lambda request, n: "Paris.") as elsewhere:
        reply = Fault(307, headers={"Location": f"{elsewhere.url}/chat/completions"})
        raised = await failure(reply, RefusedError, key=Key("mine", SECRET))
        assert elsewhere.connections == 0
    assert elsewhere.url in raised.message
    assert "base_url" in raised.hint


@pytest.mark.parametrize("echo", [SECRET, "sk-very\x00-secret", f"x{SECRET}x"])
async def test_a_key_echoed_by_the_provider_is_not_shown(failure, echo):
    raised = await failure(error(401, f"Incorrect key: {echo}"), RefusedError, key=Key("mine", SECRET))
    assert "***" in raised.message
    assert SECRET not in "".join(traceback.format_exception(raised)) + raised.hint


async def test_a_key_in_headers_is_not_shown(failure):
    raised = await failure(error(401, f"Incorrect key: {SECRET}"), RefusedError, headers={"X": f"Bearer {SECRET}"})
    assert raised.message.endswith("Incorrect key: ***")
    assert raised.hint.startswith("rqa sent no key except in `headers`.")
    raised = await failure(error(401, "Not a team."), RefusedError, headers={"X-Team": "a"})
    assert raised.message.endswith("Not a team.")

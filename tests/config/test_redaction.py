"""Secrets are hidden from messages."""

import pytest

from robust_qa.config.values import scrubbed, shown


@pytest.mark.parametrize(
    "key, value",
    [
        ("reader.x.headers.Authorization", "hunter2"),
        ("reader.x.headers.X-Api-Key", "hunter2"),
        ("reader.x.headers.Cookie", ["hunter2"]),
        ("reader.x.headers.X-Title", "Bearer hunter2"),
        ("reader.x.body.token", "hunter2"),
        ("reader.x.body.user", "sk-hunter2"),
        ("reader.x.body.tools", [{"server": {"auth": "hunter2"}}]),
        ("reader.x.api_key", "hunter2"),
        ("reader.x.key", "hunter2hunter2hunter2"),
        ("reader.x.body.key", "hunter2"),
        ("reader.x.base_url", "https://me:hunter2@x.example/v1"),
        ("reader.x.base_url", "https://me:p@hunter2@x.example/v1"),
        ("reader.x.base_url", "https://x.example/v1?api-key=hunter2&b=c"),
        ("reader.x.mirrors", ["https://me:hunter2@x.example"]),
        ("reader.x.password", "hunter2"),
        ("reader.x.model", "sk-hunter2"),
    ],
)
def test_what_may_be_a_secret_is_scrubbed(key: str, value: object) -> None:
    hidden = str(scrubbed(key, value))
    assert "hunter2" not in hidden and "********" in hidden
    assert "hunter2" not in shown(key, value)


@pytest.mark.parametrize(
    "key, value",
    [
        ("reader.x.key", "openai"),
        ("reader.x.max_tokens", 100),
        ("reader.x.max_tokens_field", "max_completion_tokens"),
        ("reader.x.base_url", "https://x.example/v1?version=2"),
        ("reader.x.model", "qwen2.5-7b-instruct-q4_k_m.gguf"),
        ("reader.x.headers.HTTP-Referer", "https://x.example"),
        ("reader.x.body.token_limits", [1, 2.5, True]),
        ("strategy.x.author", "Ann"),
    ],
)
def test_what_is_not_a_secret_stays(key: str, value: object) -> None:
    assert scrubbed(key, value) == value


def test_what_is_shown_in_an_error_is_not_long() -> None:
    assert len(shown("a", "x " * 10_000)) < 250

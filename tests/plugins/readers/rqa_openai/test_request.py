"""Requests: body, headers, address and key."""

from __future__ import annotations

import pytest
from standins.openai import serve

from robust_qa import ConfigError, Decoding, Key, Message, MissingError
from rqa_openai import OpenAI

ASKED = [Message("system", "Be brief."), Message("user", "Where is the Louvre?")]
SECRET = "sk-very-secret"


def paris(request, n):
    return "Paris."


async def test_a_request_has_model_messages_temperature_and_max_tokens(connect):
    with serve(paris) as server:
        await connect(server.url).generate(ASKED, Decoding())
    assert server.requests[0].body == {
        "model": "qwen",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where is the Louvre?"},
        ],
        "temperature": 0.0,
        "max_tokens": 1024,
    }
    assert server.requests[0].headers["content-type"] == "application/json"


async def test_decoding_overrides_the_options(connect):
    with serve(paris) as server:
        reader = connect(server.url, temperature=0.3, max_tokens=50, seed=1)
        await reader.generate(ASKED, Decoding(temperature=0.7, max_tokens=5, seed=2, stop=("\n",)))
        await reader.generate(ASKED, Decoding())
    sent, default = (request.body for request in server.requests)
    assert (sent["temperature"], sent["max_tokens"], sent["seed"], sent["stop"]) == (0.7, 5, 2, ["\n"])
    assert (default["temperature"], default["max_tokens"], default["seed"]) == (0.3, 50, 1)


async def test_headers_override_other_headers(connect):
    with serve(paris) as server:
        headers = {"X-Title": "rqa", "user-agent": "mine"}
        await connect(server.url, headers=headers).generate(ASKED, Decoding())
    assert server.requests[0].headers["x-title"] == "rqa"
    assert server.requests[0].headers["user-agent"] == "mine"


@pytest.mark.parametrize("ending", ["", "/chat/completions", "/?version=1"])
async def test_base_url_may_have_various_endings(connect, ending):
    with serve(paris) as server:
        completion = await connect(server.url + ending).generate(ASKED, Decoding())
    assert completion.text == "Paris."
    assert server.requests[0].path == "/v1/chat/completions" + ending.replace("/?", "?") * ("?" in ending)


async def test_any_text_can_be_sent(connect):
    text = "naïve 東京 \0 \x1b[31m \ud800 " + "long " * 100_000
    with serve(paris) as server:
        await connect(server.url).generate([Message("user", text)], Decoding())
    assert server.requests[0].body["messages"][0]["content"] == text.replace("\ud800", "?")


async def test_the_key_is_sent_as_a_bearer_token(connect):
    with serve(paris) as server:
        await connect(server.url, key=Key("mine", SECRET, host="/".join(server.url.split("/")[:3]))).generate(
            ASKED, Decoding()
        )
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(server.requests[0].body)


async def test_the_key_is_sent_bare_in_another_header(connect):
    with serve(paris) as server:
        await connect(server.url, key=Key("mine", SECRET), key_header="api-key").generate(ASKED, Decoding())
        await connect(server.url, key=Key("mine", SECRET), headers={"authorization": "Bearer mine"}).generate(
            ASKED, Decoding()
        )
    bare, own = (request.headers for request in server.requests)
    assert (bare["api-key"], bare.get("authorization")) == (SECRET, None)
    assert own["authorization"] == "Bearer mine"


async def test_a_key_bound_to_another_host_is_not_sent(connect):
    with serve(paris) as server, pytest.raises(ConfigError, match=r"api\.openai\.com") as raised:
        await connect(server.url, key=Key("mine", SECRET, host="api.openai.com")).generate(ASKED, Decoding())
    assert server.connections == 0
    assert SECRET not in f"{raised.value} {raised.value.hint}"


async def test_a_missing_key_is_an_error_before_anything_is_sent(connect):
    with serve(paris) as server, pytest.raises(MissingError):
        connect(server.url, key=Key("mine"))
    assert server.connections == 0


@pytest.mark.parametrize("secret", ["sk-a\nX-Evil: 1", "sk-é"])
def test_an_invalid_key_is_not_quoted(connect, secret):
    with pytest.raises(ConfigError, match="'mine'") as raised:
        connect("http://127.0.0.1/v1", key=Key("mine", secret))
    assert secret not in f"{raised.value} {raised.value.hint} {raised.value!r}"


def test_no_repr_shows_a_secret(connect):
    reader = connect("http://127.0.0.1/v1", key=Key("mine", SECRET), headers={"api-key": SECRET})
    shown = repr((reader, vars(reader), OpenAI.Options("m", key=Key("k", SECRET), headers={"api-key": SECRET})))
    assert SECRET not in shown


@pytest.mark.parametrize("headers", [{"X-Split": "a\r\nHost: evil"}, {"X\n": "a"}, {"X": "\x1b[31m"}])
def test_invalid_headers_are_an_error(headers):
    with pytest.raises(ValueError, match="header"):
        OpenAI.Options("m", headers=headers)
    with pytest.raises(ValueError, match="header"):
        OpenAI.Options("m", key_header="X Y")

"""The reader learns which fields an endpoint accepts."""

from __future__ import annotations

from contextlib import suppress

import pytest
from standins.openai import Fault, error, serve, unsupported

from robust_qa import ContextError, Decoding, Message, RefusedError, ReplyError, UnavailableError
from robust_qa.testing import toolbox

ASKED = [Message("user", "Where is the Louvre?")]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
WITH_SCHEMA = Decoding(schema=SCHEMA)
DECODING = Decoding()


def format_of(request):
    return request.get("response_format", {}).get("type", "none")


def taking(*formats, refused=None):
    """Return a script that accepts these response formats and rejects the others."""

    def script(request, n):
        return "{}" if format_of(request) in formats else refused or unsupported("response_format")

    return script


def formats_sent(server):
    return [format_of(request.body) for request in server.requests]


async def test_a_schema_is_sent_as_response_format(connect):
    with serve(taking("json_schema")) as server:
        reader = connect(server.url)
        await reader.generate(ASKED, WITH_SCHEMA)
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }
    assert len(server.requests[0].body["messages"]) == 1
    assert reader.structured


async def test_strict_mode_gets_no_lengths_of_texts(connect):
    longest = {**SCHEMA, "properties": {name: {"type": "string", "maxLength": 9} for name in SCHEMA["properties"]}}
    with serve(taking("json_schema")) as server:
        await connect(server.url).generate(ASKED, Decoding(schema=longest))
    sent = server.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert "maxLength" not in str(sent["schema"])


@pytest.mark.parametrize(
    "schema",
    [
        {**SCHEMA, "required": []},
        {"anyOf": [SCHEMA, {"type": "object"}]},
    ],
)
async def test_a_schema_that_strict_mode_refuses_is_not_sent_as_strict(connect, schema):
    with serve(taking("json_schema")) as server:
        await connect(server.url).generate(ASKED, Decoding(schema=schema))
    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False


async def test_a_rejected_schema_falls_back_to_json_object_with_the_schema_in_the_prompt(connect):
    with serve(taking("json_object")) as server:
        reader = connect(server.url)
        assert (await reader.generate(ASKED, WITH_SCHEMA)).text == "{}"
    assert formats_sent(server) == ["json_schema", "json_object"]
    told = server.requests[1].body["messages"][-1]["content"]
    assert told.startswith("Where is the Louvre?\n")
    assert "JSON" in told
    assert '"answer"' in told
    assert reader.structured


async def test_a_rejected_json_object_falls_back_to_plain_text_for_the_session(connect):
    with serve(taking("none")) as server:
        reader = connect(server.url)
        for _ in range(3):
            await reader.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema", "json_object", "none", "none", "none"]
    assert server.requests[-1].body["messages"][0]["content"] == "Where is the Louvre?"
    assert not reader.structured


@pytest.mark.parametrize(
    "refused",
    [
        error(
            400,
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        ),
        error(400, "Invalid value", param="response_format.type", code="invalid_value"),
        error(400, "Invalid schema for response_format 'reply': In context=(), 'maxItems' is not permitted."),
        error(404, "No endpoints found that support structured outputs with this schema"),
        Fault(422, {"detail": [{"type": "literal_error", "loc": ["body", "response_format", "type"]}]}),
        Fault(400, {"error": {"message": "failed to parse grammar", "type": "invalid_request_error"}}),
        error(400, "response_format value as json_schema is enabled only for api versions 2024-08-01 and later"),
    ],
)
async def test_providers_word_the_refusal_differently(connect, refused):
    with serve(taking("json_object", refused=refused)) as server:
        await connect(server.url).generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema", "json_object"]


@pytest.mark.parametrize(
    "refused",
    [
        Fault(400, b'[{"error": {"code": 400, "message": "The schema produces too many states for serving."}}]'),
        error(422, "Unprocessable."),
    ],
)
async def test_a_request_that_works_without_the_schema_was_rejected_because_of_it(connect, refused):
    with serve(taking("json_object", refused=refused)) as server:
        reader = connect(server.url)
        for _ in range(2):
            await reader.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        (error(404, "No such model."), RefusedError),
        (error(401, "response_format"), RefusedError),
        (error(400, "The prompt triggered the content management policy.", code="content_filter"), RefusedError),
        (error(400, "Failed to generate JSON.", code="json_validate_failed"), ReplyError),
    ],
)
async def test_a_refusal_with_another_cause_is_not_tried_without_the_schema(connect, refused, expected):
    with serve(taking(refused=refused)) as server:
        reader = connect(server.url)
        with pytest.raises(expected):
            await reader.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema"]
    assert reader.structured


TOO_LONG = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 201901 tokens "
    "(including 92 in the response_format schemas.). Please reduce the length of the messages or schemas."
)


@pytest.mark.parametrize(
    "refused",
    [
        error(400, TOO_LONG, param="messages", code="context_length_exceeded"),
        error(400, "Too many tokens, with the json_schema not supported.", code="context_length_exceeded"),
    ],
)
async def test_a_prompt_that_overflows_is_sent_once_and_keeps_the_schema(connect, refused):
    with serve(lambda request, n: refused if n == 0 else "{}") as server:
        reader = connect(server.url)
        with pytest.raises(ContextError, match="exceeds the context window"):
            await reader.generate(ASKED, WITH_SCHEMA)
        await reader.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema", "json_schema"]


async def test_the_option_structured_sets_the_first_format(connect):
    with serve(taking("json_object", "none")) as server:
        await connect(server.url, structured="json_object").generate(ASKED, WITH_SCHEMA)
        plain = connect(server.url, structured="none")
        await plain.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_object", "none"]
    assert not plain.structured


async def test_max_tokens_is_renamed_if_the_model_rejects_it(connect):
    def script(request, n):
        return unsupported("max_tokens", "max_completion_tokens") if "max_tokens" in request else "Paris."

    with serve(script) as server:
        reader = connect(server.url)
        await reader.generate(ASKED, Decoding())
        await reader.generate(ASKED, Decoding(max_tokens=9))
    bounds = [(r.body.get("max_tokens"), r.body.get("max_completion_tokens")) for r in server.requests]
    assert bounds == [(1024, None), (None, 1024), (None, 9)]


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        (
            "temperature",
            error(
                400,
                "Unsupported value: 'temperature' does not support 0 with this model. "
                "Only the default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            ),
        ),
        ("temperature", error(400, "`temperature` is deprecated for this model.")),
        ("temperature", Fault(422, {"error": "Input validation error: `temperature` must be strictly positive"})),
        ("seed", Fault(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "no"}]})),
        ("stop", Fault(400, {"errors": [{"message": "Unsupported parameter: 'stop'", "code": 7}]})),
    ],
)
async def test_a_rejected_field_is_left_out_for_the_session(connect, name, refused):
    with serve(lambda request, n: refused if name in request else "Paris.") as server:
        reader = connect(server.url, seed=1)
        for _ in range(2):
            assert (await reader.generate(ASKED, Decoding(stop=("\n",)))).text == "Paris."
    assert [name in request.body for request in server.requests] == [True, False, False]


async def test_the_reader_cuts_at_a_stop_that_the_model_rejects(connect):
    script = lambda request, n: unsupported("stop") if "stop" in request else "Paris.\nOr London; or"  # noqa: E731
    with serve(script) as server:
        completion = await connect(server.url).generate(ASKED, Decoding(stop=("; ", "\n")))
    assert completion.text == "Paris."


@pytest.mark.parametrize(
    ("refused", "options"),
    [
        (error(400, "max_tokens is too large: 9999. This model supports at most 4096 completion tokens."), {}),
        (error(400, "Invalid 'temperature': expected a value <= 2.", param="temperature"), {"temperature": 3.0}),
        (unsupported("logit_bias"), {}),
    ],
)
async def test_an_invalid_value_is_an_error(connect, refused, options):
    with serve(lambda request, n: refused) as server:
        with pytest.raises(RefusedError):
            await connect(server.url, **options).generate(ASKED, Decoding())
        assert server.count == 1


async def test_an_endpoint_that_rejects_everything_gets_few_requests(connect):
    refused = error(400, "Unsupported: response_format, schema, max_tokens, temperature, seed, stop")
    with serve(lambda request, n: refused) as server:
        with pytest.raises(RefusedError):
            await connect(server.url, seed=1).generate(ASKED, Decoding(stop=("\n",), schema=SCHEMA))
        assert server.count == 7


PASSAGE = "The temperature of the bay is unknown; max_tokens, seed and stop are deprecated."


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"type": "string_too_long", "loc": ["body", "messages", 0], "msg": "Too long", "input": PASSAGE}]},
        {"object": "error", "message": f"[{{'type': 'value_error', 'loc': ('body',), 'input': '{PASSAGE}'}}]"},
        {"detail": [PASSAGE]},
    ],
)
async def test_a_refusal_that_quotes_passages_does_not_affect_later_questions(connect, body):
    script = lambda request, n: Fault(422, body) if PASSAGE in str(request["messages"]) else "{}"  # noqa: E731
    decoding = Decoding(schema=SCHEMA, stop=("\n",))
    with serve(script) as server:
        reader = connect(server.url, seed=1)
        with pytest.raises(RefusedError):
            await reader.generate([Message("user", PASSAGE)], decoding)
        await reader.generate(ASKED, decoding)
    fields = {"model", "messages", "max_tokens", "temperature", "seed", "stop", "response_format"}
    assert server.requests[-1].body.keys() == fields
    assert format_of(server.requests[-1].body) == "json_schema"


BROKEN = error(500, "guided decoding backend failed")


async def test_a_500_that_comes_only_with_a_schema_gets_one_try_without(connect):
    with serve(taking("none", refused=BROKEN)) as server:
        reader = connect(server.url)
        for _ in range(2):
            assert (await reader.generate(ASKED, WITH_SCHEMA)).text == "{}"
    assert formats_sent(server) == ["json_schema", "none", "none"]
    assert not reader.structured


@pytest.mark.parametrize(("status", "earlier"), [(500, "{}"), (503, error(429))])
async def test_a_temporary_error_does_not_cost_the_schema(connect, status, earlier):
    replies = [earlier, error(status, "overloaded"), "{}"]
    with serve(lambda request, n: replies[n]) as server:
        reader = connect(server.url)
        for _ in range(3):
            with suppress(UnavailableError):
                await reader.generate(ASKED, WITH_SCHEMA)
    assert formats_sent(server) == ["json_schema"] * 3


@pytest.mark.parametrize("status", [400, 500])
async def test_messages_that_the_chat_template_rejects_get_one_try_without_system_role(connect, status):
    for message in (
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Error rendering prompt with jinja template: After the optional system message, roles must alternate.",
    ):
        with serve(lambda request, n, message=message: error(status, message)) as server:
            with pytest.raises(RefusedError, match="roles must alternate") as raised:
                await connect(server.url).generate(INSTRUCTED, WITH_SCHEMA)
            assert "another template" in raised.value.hint
            assert roles_sent(server) == [["system", "user"], ["user"]]


INSTRUCTED = [Message("system", "Be brief."), Message("user", "Where is the Louvre?")]


def roles_sent(server):
    return [[message["role"] for message in request.body["messages"]] for request in server.requests]


@pytest.mark.parametrize(
    "refused",
    [
        Fault(400, {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}),
        error(
            400,
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        ),
        error(500, "Jinja Exception: System role not supported", type="server_error"),
        error(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        error(400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        Fault(200, 'data: {"error": "jinja: unexpected system message"}\n\n', {"Content-Type": "text/event-stream"}),
    ],
)
async def test_without_a_system_role_its_text_is_put_before_the_users(connect, refused):
    def script(request, n):
        return refused if any(message["role"] == "system" for message in request["messages"]) else "{}"

    with serve(script) as server:
        reader = connect(server.url)
        for _ in range(2):
            assert (await reader.generate(INSTRUCTED, WITH_SCHEMA)).text == "{}"
    assert roles_sent(server) == [["system", "user"], ["user"], ["user"]]
    assert server.requests[-1].body["messages"][0]["content"] == "Be brief.\n\nWhere is the Louvre?"
    assert formats_sent(server) == ["json_schema"] * 3
    assert reader.structured


async def warnings_of(reader, asked=ASKED, decoding=DECODING):
    tools = toolbox("Where?", reader=reader)
    await tools.generate(asked, schema=decoding.schema)
    return tools.trace.steps[-1].data.get("remarks", [])


async def test_an_unexpectedly_sampled_reply_causes_a_warning(connect):
    script = lambda request, n: unsupported("temperature") if request.get("temperature") == 0 else "Paris."  # noqa: E731
    with serve(script) as server:
        for options, warned in (({}, True), ({"body": {"temperature": 1.0}}, True), ({"seed": 3}, False)):
            warnings = " ".join(await warnings_of(connect(server.url, **options)))
            assert ("sampled without a seed" in warnings) is warned


async def test_rejected_fields_cause_a_warning_on_every_reply(connect):
    def script(request, n):
        refusing = [name for name in ("response_format", "max_tokens", "temperature") if name in request]
        if any(message["role"] == "system" for message in request["messages"]):
            return error(400, "System role not supported")
        return unsupported(refusing[0]) if refusing else "{}"

    with serve(script) as server:
        reader = connect(server.url, seed=3)
        for _ in range(2):
            warnings = await warnings_of(reader, INSTRUCTED, WITH_SCHEMA)
            assert warnings == ["the endpoint rejected json_schema, max_tokens, temperature, the role system"]

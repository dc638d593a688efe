"""Which optional fields an endpoint takes, learnt from its refusals and remembered for the session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from robust_qa import Message

from .refusals import Refusal

Structured = Literal["json_schema", "json_object", "none"]
_PLAINER: dict[Structured, Structured] = {"json_schema": "json_object", "json_object": "none"}
_FORMAT = re.compile(r"response_?format|schema|json_object|structured output", re.IGNORECASE)
_OPTIONAL = ("temperature", "seed", "stop", "skip_special_tokens", "spaces_between_special_tokens")
_NOT_OF_WORDING = {401, 403, 429}  # refusals of a key, an account or a rate, whatever else they mention
# "This model supports at most 4096 completion tokens" refuses a value, not a field.
_NOT_TAKEN = re.compile(
    r"unsupported|not support|not permitted|not allowed|unrecogni[sz]ed|unknown|unexpected|deprecated"
    r"|extra.forbidden",
    re.IGNORECASE,
)

# Of chat templates (which vLLM tells with 400 and llama-server with 500), OpenAI's o1-mini and Google's Gemma.
_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt)s?\b.{0,20}not (?:supported|allowed|enabled)|not support (?:the )?'?system\b"
    r"|roles must alternate|only user(?:,| and) (?:assistant|model)|developer instruction is not enabled",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to word a request: how to ask for JSON, what the bound on a reply is called, what to leave out or move."""

    structured: Structured
    tokens_field: Literal["max_tokens", "max_completion_tokens"]
    omitted: frozenset[str] = frozenset()
    system: bool = True  # whether there is a system role; without, what it says stands before the first user message

    def request(
        self,
        messages: Sequence[Message],
        fields: Mapping[str, Any],
        max_tokens: int,
        schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """The request's fields besides the model; `fields` that are None or refused before are left out."""
        messages = messages if self.system else _without_system(messages)
        request = {"messages": messages, self.tokens_field: max_tokens, **self.taken(fields)}
        if schema is None or self.structured == "none":
            return request
        if self.structured == "json_schema":
            envelope = {"name": "reply", "schema": dict(schema), "strict": _is_strict(schema)}
            return {**request, "response_format": {"type": "json_schema", "json_schema": envelope}}
        return {
            **request,
            "messages": _asking_for(schema, messages),
            "response_format": {"type": "json_object"},
        }

    def raw_request(self, prompt: str, fields: dict[str, Any], max_tokens: int, top: int) -> dict[str, Any]:
        """The request's fields to continue `prompt`: special tokens in the reply are kept, as vLLM words it."""
        kept = {"skip_special_tokens": False, "spaces_between_special_tokens": False}
        # /completions has but one name for the bound, and llama-server takes 0 for no log-probabilities at all.
        return {"prompt": prompt, "max_tokens": max_tokens, "logprobs": max(top, 1), **self.taken(fields | kept)}

    def taken(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """`fields` without those that are None or were refused."""
        return {name: value for name, value in fields.items() if value is not None and name not in self.omitted}

    def after(self, refusal: Refusal, request: Mapping[str, Any]) -> Dialect | None:
        """The dialect to try once `request` met `refusal`, None when its wording is not to blame.

        Each step gives something up and none takes it back, so that a session takes a handful at most.
        """
        if refusal.overflows:  # and may speak of the schema too, which takes up some of the window
            return None
        if refusal.status in {400, 422, 500} and _has_system(request) and refusal.mentions(_NO_SYSTEM):
            return replace(self, system=False)
        if refusal.status in _NOT_OF_WORDING or not refusal.mentions(_NOT_TAKEN):
            return None
        if self.tokens_field == "max_tokens" and "messages" in request and refusal.names("max_tokens"):
            return replace(self, tokens_field="max_completion_tokens")
        for name in _OPTIONAL:
            if name in request and name not in self.omitted and refusal.names(name):
                return replace(self, omitted=self.omitted | {name})
        return None

    def guess(self, refusal: Refusal, request: Mapping[str, Any]) -> Dialect | None:
        """The dialect to try where `refusal` may be of a value, or of the schema, in words of its own.

        To be kept only if that is answered: the request may have been refused for anything else.
        """
        if refusal.status in _NOT_OF_WORDING or refusal.names_cause:
            return None
        heat = request.get("temperature")
        # A value that no model has a reason to refuse, unless it takes none, or a single one.
        fair = isinstance(heat, int | float) and 0 <= heat <= 1
        for name in _OPTIONAL:
            if name in request and name not in self.omitted and refusal.names(name) and (fair or name != "temperature"):
                return replace(self, omitted=self.omitted | {name})
        # A bad request may be one for its schema without saying so; other statuses have to name it.
        blamed = refusal.status in {400, 422} or refusal.mentions(_FORMAT)
        if blamed and "response_format" in request and self.structured != "none":
            return replace(self, structured=_PLAINER[self.structured])
        return None

    def given_up(self, asked: Dialect) -> list[str]:
        """What of `asked` the endpoint did not take, as it is called in requests."""
        formats = [asked.structured] if self.structured != asked.structured else []
        tokens = [asked.tokens_field] if self.tokens_field != asked.tokens_field else []
        return [*formats, *tokens, *sorted(self.omitted), *([] if self.system else ["the role system"])]


def names_field(refusal: Refusal, request: Mapping[str, Any]) -> bool:
    """Whether `refusal` names a field of `request` that not every endpoint takes, so that no retry helps."""
    if refusal.status in _NOT_OF_WORDING:
        return False
    named = any(name in request and refusal.names(name) for name in (*_OPTIONAL, "logprobs"))
    return named or ("response_format" in request and refusal.mentions(_FORMAT))


def encode(request: Mapping[str, Any]) -> bytes:
    """`request` as JSON; lone surrogates, which JSON cannot carry, become question marks."""
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(request), ensure_ascii=False).encode("utf-8", "replace")


def _has_system(request: Mapping[str, Any]) -> bool:
    return any(getattr(message, "role", "") == "system" for message in request.get("messages", ()))


def _without_system(messages: Sequence[Message]) -> list[Message]:
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if not turns or turns[0].role != "user":
        turns.insert(0, Message("user", ""))
    return [replace(turns[0], content=f"{system}\n\n{turns[0].content}".strip()), *turns[1:]]


def _asking_for(schema: Mapping[str, Any], messages: Sequence[Message]) -> list[Message]:
    """`messages`, with the schema told at the end: json_object alone says nothing of it.

    In the last message, because not every model has a system role.
    """
    *before, last = messages
    wanted = msgspec.json.encode(dict(schema)).decode()
    told = f"Reply with one JSON object and nothing else. It has to fit this JSON schema:\n{wanted}"
    return [*before, replace(last, content=f"{last.content}\n\n{told}")]


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes `schema`: objects closed, and all of their properties required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if schema.get("additionalProperties") is not False or set(properties) != set(required):
            return False
    return all(map(_is_strict, schema.values()))

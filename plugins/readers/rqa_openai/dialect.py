"""The optional request fields that an endpoint accepts, learnt from its errors and kept for the session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import msgspec

from robust_qa import Message
from rqa_http import Refusal

from .refusals import INVALID_JSON, names_roles

Structured = Literal["json_schema", "json_object", "none"]
_FALLBACK: dict[Structured, Structured] = {"json_schema": "json_object", "json_object": "none"}
_FORMAT = re.compile(r"response_?format|schema|json_object|structured output", re.IGNORECASE)
_OPTIONAL = (
    "temperature",
    "seed",
    "stop",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "encoding_format",
    "stream_options",
)
_NOT_ABOUT_FIELDS = {401, 403, 429}  # errors about a key, an account or a rate limit
# "This model supports at most 4096 completion tokens" rejects a value, not a field.
_UNSUPPORTED = re.compile(
    r"unsupported|not support|not permitted|not allowed|unrecogni[sz]ed|unknown|unexpected|deprecated"
    r"|extra.forbidden",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to write a request: the JSON format, the name of the length limit, and the fields to leave out."""

    structured: Structured
    tokens_field: Literal["max_tokens", "max_completion_tokens"]
    omitted: frozenset[str] = frozenset()
    system: bool = True  # if False, system messages are put at the start of the first user message

    def request(
        self,
        messages: Sequence[Message],
        fields: Mapping[str, Any],
        max_tokens: int,
        schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the request's fields, except the model. `fields` that are None or were rejected are left out."""
        messages = messages if self.system else _without_system(messages)
        request = {"messages": messages, self.tokens_field: max_tokens, **self.accepted(fields)}
        if schema is None or self.structured == "none":
            return request
        if self.structured == "json_schema":
            return {**request, "response_format": _schema_format(msgspec.json.encode(dict(schema)))}
        return {
            **request,
            "messages": _with_schema(messages, schema),
            "response_format": {"type": "json_object"},
        }

    def raw_request(self, prompt: str, fields: dict[str, Any], max_tokens: int, top: int) -> dict[str, Any]:
        """Return the fields of a request to /completions. vLLM's options keep special tokens in the reply."""
        special = {"skip_special_tokens": False, "spaces_between_special_tokens": False}
        # /completions knows only max_tokens. llama-server takes `logprobs: 0` as no log-probabilities at all.
        return {"prompt": prompt, "max_tokens": max_tokens, "logprobs": max(top, 1), **self.accepted(fields | special)}

    def accepted(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return `fields` without those that are None or were rejected."""
        return {name: value for name, value in fields.items() if value is not None and name not in self.omitted}

    def after(self, refusal: Refusal, request: Mapping[str, Any]) -> Dialect | None:
        """Return the dialect to try after a refusal that names an unsupported field, None after other refusals.

        Each dialect has fewer features than the one before, so there are only a few attempts.
        """
        if refusal.overflows:  # the message may mention the schema, which takes up part of the window
            return None
        if _has_system(request) and names_roles(refusal):
            return replace(self, system=False)
        if refusal.status in _NOT_ABOUT_FIELDS or not refusal.mentions(_UNSUPPORTED):
            return None
        if self.tokens_field == "max_tokens" and "messages" in request and _names(refusal, "max_tokens"):
            return replace(self, tokens_field="max_completion_tokens")
        if name := self._named_field(refusal, request):
            return replace(self, omitted=self.omitted | {name})
        return None

    def guess(self, refusal: Refusal, request: Mapping[str, Any], *, schema_works: bool) -> Dialect | None:
        """Return the dialect to try if a field's value or the schema may be the cause.

        Keep it only if it works: the endpoint may have refused the request for any other reason. `schema_works`: an
        error of the server has another cause.
        """
        if refusal.status in _NOT_ABOUT_FIELDS or refusal.names_cause or INVALID_JSON in refusal.codes:
            return None
        if names_roles(refusal):
            return None
        name = self._named_field(refusal, request)
        temperature = request.get("temperature")
        # A model that rejects a temperature from 0 to 1 accepts none, or only one.
        if name and (name != "temperature" or (isinstance(temperature, int | float) and 0 <= temperature <= 1)):
            return replace(self, omitted=self.omitted | {name})
        if "response_format" not in request or self.structured == "none":
            return None
        # The schema may be the cause even if the message does not mention it.
        if refusal.status in {400, 422} or refusal.mentions(_FORMAT):
            return replace(self, structured=_FALLBACK[self.structured])
        if refusal.status in {500, 501, 502} and not schema_works:  # an overloaded server returns another status
            return replace(self, structured="none")
        return None

    def _named_field(self, refusal: Refusal, request: Mapping[str, Any]) -> str:
        """Return the first optional field of `request` that `refusal` names, or ""."""
        sent = (name for name in _OPTIONAL if name in request and name not in self.omitted)
        return next((name for name in sent if _names(refusal, name)), "")

    def rejected_since(self, configured: Dialect) -> list[str]:
        """Return the names of the features in `configured` that the endpoint rejected."""
        formats = [configured.structured] if self.structured != configured.structured else []
        tokens = [configured.tokens_field] if self.tokens_field != configured.tokens_field else []
        return [*formats, *tokens, *sorted(self.omitted), *([] if self.system else ["the role system"])]


def _names(refusal: Refusal, name: str) -> bool:
    """Return whether the error is about the request field `name`."""
    # A server error may use "stop" or "temperature" as an ordinary word. There the name has to be quoted.
    unquoted = refusal.status in {400, 404, 422} or name not in {"seed", "stop", "temperature"}
    pattern = rf"\b{name}\b" if unquoted else rf"['\"`.]{name}\b"
    return name in refusal.codes or re.search(pattern, refusal.message) is not None


def is_about(request: Mapping[str, Any], refusal: Refusal) -> bool:
    """Whether `refusal` names an optional field of `request` or its roles, so that a retry does not help."""
    if refusal.status in _NOT_ABOUT_FIELDS:
        return False
    named = any(name in request and _names(refusal, name) for name in (*_OPTIONAL, "logprobs"))
    return named or names_roles(refusal) or ("response_format" in request and refusal.mentions(_FORMAT))


def encode(request: Mapping[str, Any] | None) -> bytes:
    """Return `request` as JSON. Lone surrogates, which JSON does not allow, become question marks."""
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


def _with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """Return `messages` with the schema at the end of the last one. Not every model has a system role."""
    *before, last = messages
    schema_json = msgspec.json.encode(dict(schema)).decode()
    instruction = f"Reply with one JSON object and nothing else. It has to fit this JSON schema:\n{schema_json}"
    return [*before, replace(last, content=f"{last.content}\n\n{instruction}")]


@lru_cache(maxsize=256)  # strategies send few schemas, with every call
def _schema_format(schema: bytes) -> dict[str, Any]:
    decoded = msgspec.json.decode(schema)
    if strict := _is_strict(decoded):
        decoded = _without_lengths(decoded)
    envelope = {"name": "reply", "schema": decoded, "strict": strict}
    return {"type": "json_schema", "json_schema": envelope}


def _without_lengths(schema: Any) -> Any:
    """Return `schema` without the lengths of texts, which OpenAI's strict mode refuses."""
    if isinstance(schema, list):
        return list(map(_without_lengths, schema))
    if not isinstance(schema, Mapping):
        return schema
    return {key: _without_lengths(value) for key, value in schema.items() if key != "maxLength"}


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode allows `schema`: its objects are closed and all of their properties required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if schema.get("additionalProperties") is not False or set(properties) != set(required):
            return False
    return all(map(_is_strict, schema.values()))

"""Error replies of an endpoint, and the rqa error to raise for each."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from robust_qa import ReplyError, RqaError
from robust_qa.kit import Refusal, json_object

from .replies import CHECK_URL, Endpoint, Reply

INVALID_JSON = "json_validate_failed"  # Groq's code if the model wrote invalid JSON


def refusal_in(reply: Reply) -> Refusal | None:
    """Return the error in `reply`, None if it is a completion.

    OpenRouter reports some provider failures with status 200 and an `error`, in the choice if the reply had begun.
    """
    is_ok = reply.status == 200
    if is_ok and b'"error"' not in reply.body:
        return None
    body = json_object(reply.body)
    if is_ok:
        choices = body.get("choices")
        if isinstance(choices, list) and choices:
            body = choices[0] if isinstance(choices[0], dict) else {}
        if not body.get("error"):
            return None
    refusal = Refusal.of(reply.status, body if is_ok else reply.body, reply.headers)
    if not is_ok:
        return refusal
    error = body["error"]
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int):
        return replace(refusal, status=code)
    # An error with a code, or inside a choice, is the provider's. A bare text may mean a wrong address.
    return replace(refusal, status=502) if refusal.codes or "finish_reason" in body else refusal


def error_for(refusal: Refusal, reply: Reply, endpoint: Endpoint, *, names_field: bool = False) -> RqaError:
    """Return the error to raise. With `names_field` it is not retryable, whatever its status."""
    message = endpoint.excerpt(refusal.message or reply.text) or "no message"
    failed = f"{endpoint} returned status {refusal.status}: {message}"
    if INVALID_JSON in refusal.codes:
        return ReplyError(
            failed,
            hint='If this happens often, set `structured = "json_object"` or `"none"` in the reader\'s table.',
        )
    if 300 <= refusal.status < 400:
        target = endpoint.excerpt(reply.headers.get("location", "an unknown address"))
        failed = f"{endpoint} redirects to {target}. rqa does not follow redirects."
    return refusal.error(
        failed,
        hints={
            200: CHECK_URL,  # LM Studio's error for an unknown address
            300: "Set `base_url` to the endpoint's final address.",
            401: _key_hint(endpoint),
            404: f"Check `model` and `base_url`. Most endpoints list their models at {endpoint.address}/models.",
        },
        window="Set the reader's `window` to the model's context length in tokens. rqa then drops passages that do "
        "not fit. Or use fewer passages.",
        final=names_field,
    )


def _key_hint(endpoint: Endpoint) -> str:
    name = endpoint.key or "NAME"
    parts = urlsplit(endpoint.address)
    command = f"`rqa keys set {name} --host {parts.scheme}://{parts.netloc}`"
    if endpoint.key:
        return (
            f"Check that the key {name!r} is correct and may use this model, and that `key_header` is right. "
            f"Replace the key with {command}."
        )
    sent = "rqa sent no key except in `headers`." if endpoint.secrets else "rqa sent no key."
    return f'{sent} Store one with {command} and set `key = "{name}"` in the component\'s table.'

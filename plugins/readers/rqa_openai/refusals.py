"""Error replies of an endpoint, and the rqa error to raise for each."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

from robust_qa import ReplyError, RqaError
from rqa_http import Refusal, json_object

from .replies import CHECK_URL, Endpoint, Reply

INVALID_JSON = "json_validate_failed"  # Groq's code if the model wrote invalid JSON
_MODEL = re.compile(r"\A(?!\s*<).*(?:model|deployment)", re.IGNORECASE | re.DOTALL)  # Azure's word; not in a web page
# From chat templates (vLLM returns 400, llama-server 500), OpenAI's o1-mini and Google's Gemma.
_ROLES = re.compile(
    r"\broles?\b|\bsystem (?:message|prompt|instruction)|developer instruction|jinja|chat.?template", re.IGNORECASE
)
_TEMPLATE = "The model's chat template rejects these messages. Use another template in the server, or another model."


def names_roles(refusal: Refusal) -> bool:
    """Whether the model's chat template rejected the messages. Servers return 400 or 500, or 200 in a stream."""
    return refusal.status in {200, 400, 422, 500} and refusal.mentions(_ROLES)


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
    # An error with a code, in a choice or in a stream is the model's. Any other means a wrong address, as in LM Studio.
    from_model = refusal.codes or "finish_reason" in body or reply.streamed
    return replace(refusal, status=500) if from_model else refusal


def error_for(refusal: Refusal, reply: Reply, endpoint: Endpoint, page: str, *, final: bool = False) -> RqaError:
    """Return the error to raise for a refusal by `page`. With `final` it is not retryable, whatever its status."""
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
    no_page = refusal.status in {200, 404, 405, 501} and not refusal.mentions(_MODEL)
    needed = "" if page == "/chat/completions" else f"This call needs {page}, which not every endpoint has. "
    models = f"Check `model`. Most endpoints list their models at {endpoint.address}/models."
    return refusal.error(
        failed,
        hint=_TEMPLATE if names_roles(refusal) else f"{needed}{CHECK_URL}" if no_page else "",
        hints={
            300: "Set `base_url` to the endpoint's final address.",
            401: _key_hint(endpoint),
            404: f"{needed}{CHECK_URL} Check `model`, too." if no_page else models,
        },
        window="Set the reader's `window` to the model's context length in tokens. rqa then drops passages that do "
        "not fit. Or use fewer passages."
        if page.endswith("/completions")
        else "Use shorter passages, or a server that cuts long texts.",
        final=final or refusal.status == 200,
        general=no_page,
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

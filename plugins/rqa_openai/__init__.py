"""Reader `openai`: a language model behind any endpoint that speaks OpenAI's chat completions.

    [reader.gpt]
    plugin = "openai"
    model = "gpt-4.1-mini"
    key = "openai"

    [reader.local]
    plugin = "openai"
    base_url = "http://localhost:8080/v1"
    model = "qwen2.5-7b-instruct"
    window = 8192

The wire format is OpenAI's "Create chat completion"
(https://platform.openai.com/docs/api-reference/chat/create). vLLM, llama-server, Ollama, OpenRouter, Gemini
and Anthropic serve it too, each without some of its optional fields: `dialect` learns which. Texts are continued by
the older /completions beside it, which vLLM and llama-server serve with log-probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Meta

from robust_qa import (
    Completion,
    ConfigError,
    Continuation,
    Decoding,
    Key,
    Message,
    RefusedError,
    UnavailableError,
    Url,
    hookimpl,
)
from robust_qa.kit import remark

from .charging import charging
from .dialect import Dialect, encode, names_field
from .refusals import error_for, refusal_in
from .replies import Endpoint, Reply, completion_in, overrun_in

if TYPE_CHECKING:
    from .connections import Connections

_OPENAI = Url("https://api.openai.com/v1")
_MOST_REFUSED = 1000  # refusals that are kept; where all questions fail for want of a reply they would pile up
_SHORTEST_KEY = 8  # characters of a word in a header that may be one
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, 5.6.2


class OpenAI:
    """Chat completions over HTTP: one attempt a call, but for what it takes to learn the dialect."""

    @dataclass
    class Options:
        model: Annotated[str, Meta(min_length=1)]  # the model's name, as the endpoint lists it
        base_url: Url = _OPENAI  # the endpoint's address, up to and without /chat/completions
        key: Key | None = None  # a stored key's name; without it none is sent, as local servers like it
        key_header: str = "Authorization"  # where the key goes: there as a Bearer token, in any other header as it is
        # 0 is greedy decoding; left out for the session once the model refuses to be told, and replies are then sampled
        temperature: Annotated[float, Meta(ge=0)] = 0.0
        max_tokens: Annotated[int, Meta(ge=1)] = 1024  # bound on a reply in tokens, always sent
        # what the endpoint calls that bound; max_completion_tokens is tried where max_tokens is refused
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
        seed: int | None = None  # seed of the sampling; left out once it is refused
        window: Annotated[int, Meta(ge=1)] | None = None  # context window in tokens, prompt and reply together
        # how replies are held to a schema; the next one is tried where the endpoint refuses one
        structured: Literal["json_schema", "json_object", "none"] = "json_schema"
        headers: dict[str, str] = field(default_factory=dict, repr=False)  # further request headers
        body: dict[str, Any] = field(default_factory=dict, repr=False)  # further request fields; they win

        def __post_init__(self) -> None:
            for name, value in {self.key_header: "", **self.headers}.items():
                if not _HEADER_NAME.fullmatch(name) or not _fits_header(value):
                    raise ValueError(f"the header {name!r} holds characters that HTTP does not allow there")

    def __init__(self, options: Options) -> None:
        """Raises MissingError or ConfigError when the key is not stored, or not for this host."""
        from .connections import Connections

        url = str(options.base_url)
        parts = urlsplit(url)
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        self.window = options.window
        self.max_tokens = options.max_tokens
        self.temperature = options.temperature
        self.seed = options.seed
        self._model = options.model
        self._body = options.body
        self._dialect = self._asked = Dialect(options.structured, options.max_tokens_field)
        self._refused: dict[bytes, Reply] = {}  # by request: refusals whose plainer wording is still to be answered
        secret = _secret(options.key, url) if options.key else ""
        bearer = options.key_header.lower() == "authorization"
        headers = [{options.key_header: f"Bearer {secret}" if bearer else secret} if secret else {}, options.headers]
        self._endpoint = Endpoint(
            model=options.model,
            address=urlunsplit((parts.scheme, parts.netloc, path, "", "")),
            key=options.key.name if options.key else None,
            secrets=[*([secret] if secret else []), *_words(options.headers)],
        )
        self._chat, self._raw = (
            Connections(urlunsplit(parts._replace(path=path + page, fragment="")), headers, self._endpoint)
            for page in ("/chat/completions", "/completions")
        )

    @property
    def structured(self) -> bool:
        """Whether a schema still binds replies; the endpoint's refusals can end it during a session."""
        return self._dialect.structured != "none"

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        """One reply.

        Raises UnavailableError or CallTimeout when another try may help, RefusedError when it will not,
        ContextError when the prompt overflows the model's window, ReplyError when the reply is no chat
        completion, and CutError when the model ended its thoughts without one.
        """
        fields, limit = self._fields(decoding)
        reply, dialect = await self._learning(
            self._chat, lambda dialect: dialect.request(messages, fields, limit, decoding.schema)
        )
        self._tell(fields, dialect)
        with charging(reply):
            completion = completion_in(reply, self._endpoint, decoding.stop)
        bound = 0 if self._body.keys() & {"max_tokens", "max_completion_tokens"} else limit
        if overrun := overrun_in(completion, messages, bound):
            remark(overrun, lasting=True)
        return completion

    async def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        """What the model writes after `prompt`, by the endpoint's /completions.

        Raises what `generate` raises, and RefusedError when the endpoint tells no log-probabilities.
        """
        from .continuations import continuation_in

        fields, limit = self._fields(decoding)
        reply, dialect = await self._learning(
            self._raw,
            lambda dialect: dialect.raw_request(prompt, fields, limit, top),
            missing="A text is continued by /completions, which not every endpoint has.",
        )
        self._tell(fields, dialect)
        with charging(reply):
            return continuation_in(reply, self._endpoint, decoding.stop)

    def _fields(self, decoding: Decoding) -> tuple[dict[str, Any], int]:
        """The fields of the decoding that an endpoint may refuse, and the bound on a reply."""
        fields = {
            "temperature": self.temperature if decoding.temperature is None else decoding.temperature,
            "seed": self.seed if decoding.seed is None else decoding.seed,
            "stop": decoding.stop or None,
        }
        return fields, decoding.max_tokens or self.max_tokens

    def _tell(self, fields: Mapping[str, Any], dialect: Dialect) -> None:
        """Remark what was not asked for in the end; a reply that was sampled because of that is not cached."""
        if _repeatable(fields) and not _repeatable(dialect.taken(fields) | self._body):
            remark("the reply was sampled without a seed: the temperature is refused, or replaced by `body`")
        if lacking := dialect.given_up(self._asked):
            remark(f"the endpoint refused {', '.join(lacking)}", lasting=True)

    async def _learning(
        self, connections: Connections, worded: Callable[[Dialect], dict[str, Any]], *, missing: str = ""
    ) -> tuple[Reply, Dialect]:
        """The reply to a request, and the dialect it was worded in, which the session keeps.

        Only now that it is answered: a refusal may quote a passage, and be taken for one of what that speaks of.
        `missing` is said where there is no such page.
        """
        known = self._dialect
        reply, dialect = await self._exchange(connections, worded, known, missing)
        if self._dialect == known:  # of several calls refused at once the first to return moves the session
            self._dialect = dialect
        return reply, dialect

    async def _exchange(
        self, connections: Connections, worded: Callable[[Dialect], dict[str, Any]], dialect: Dialect, missing: str
    ) -> tuple[Reply, Dialect]:
        """The reply to a request, and the dialect it was worded in: `dialect`, or a plainer one."""
        request = {"model": self._model, **worded(dialect), **self._body}
        body = encode(request)
        reply = self._refused.pop(body, None) or await connections.post(body)
        refused = refusal_in(reply)
        if refused is None:
            return reply, dialect
        try:
            if plainer := dialect.after(refused, request):
                return await self._exchange(connections, worded, plainer, missing)
            if guess := dialect.guess(refused, request):
                with suppress(RefusedError):  # again, so that it was for something else
                    return await self._exchange(connections, worded, guess, missing)
        except UnavailableError:
            # Another try goes on from here: where refusals count to a rate limit, it would meet it again and again.
            if len(self._refused) >= _MOST_REFUSED:
                self._refused.clear()
            self._refused[body] = reply
            raise
        error = error_for(refused, reply, self._endpoint, names_field=names_field(refused, request))
        if missing and refused.status in {404, 405}:
            error.hint = f"{missing} {error.hint}".strip()
        raise error

    async def close(self) -> None:
        await self._chat.close()
        await self._raw.close()


def _repeatable(fields: Mapping[str, Any]) -> bool:
    """Whether a request with these fields is answered greedily, or sampled with a seed."""
    return fields.get("temperature") == 0 or fields.get("seed") is not None


def _words(headers: Mapping[str, str]) -> list[str]:
    """The words of `headers` that may be keys, with which no provider is to be quoted."""
    return [word for value in headers.values() for word in value.split() if len(word) >= _SHORTEST_KEY]


def _secret(key: Key, url: str) -> str:
    secret = key.reveal(url)
    if not _fits_header(secret):
        parts = urlsplit(url)
        server = f"{parts.scheme}://{parts.netloc}"
        # The HTTP library's own message would quote the secret.
        raise ConfigError(
            f"The key {key.name!r} holds characters that no HTTP header can carry.",
            hint=f"Store it again: `rqa keys set {key.name} --host {server}`.",
        )
    return secret


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


@hookimpl
def rqa_register(registry: Any) -> None:
    registry.reader("openai", OpenAI, summary="any OpenAI-compatible chat endpoint, hosted or local")

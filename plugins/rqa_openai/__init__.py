"""Reader `openai`: a language model behind any endpoint with OpenAI's chat completions.

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
and Anthropic support it too, each without some optional fields. `dialect` learns which from their errors.
`continue_text` uses the older /completions, which vLLM and llama-server support with log-probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Meta

from robust_qa import Completion, ConfigError, Continuation, Decoding, Key, Message, RefusedError, Url, hookimpl
from robust_qa.kit import warn

from .dialect import Dialect, encode, names_field
from .refusals import error_for, refusal_in
from .replies import Endpoint, Reply, attach_usage, completion_in, overflow_warning

if TYPE_CHECKING:
    from .connections import Connections

_OPENAI = Url("https://api.openai.com/v1")
_SHORTEST_KEY = 8  # characters; shorter words in a header are not treated as secrets
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, 5.6.2


class OpenAI:
    """Chat completions over HTTP. Each call is one attempt, except while the dialect is being learnt."""

    @dataclass
    class Options:
        model: Annotated[str, Meta(min_length=1)]  # the model's name at the endpoint
        base_url: Url = _OPENAI  # the endpoint's address without /chat/completions
        key: Key | None = None  # name of a stored key; by default no key is sent
        key_header: str = "Authorization"  # header for the key: a Bearer token in this one, the bare key in others
        # 0: greedy decoding; if the model rejects it, replies are sampled at the model's default temperature
        temperature: Annotated[float, Meta(ge=0)] = 0.0
        max_tokens: Annotated[int, Meta(ge=1)] = 1024  # maximum length of a reply in tokens, always sent
        # the endpoint's name for this limit; if max_tokens is rejected, max_completion_tokens is tried
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
        seed: int | None = None  # sampling seed; not sent again once the endpoint rejects it
        window: Annotated[int, Meta(ge=1)] | None = None  # context window in tokens, prompt and reply together
        # how to request JSON; if the endpoint rejects one way, the next is tried
        structured: Literal["json_schema", "json_object", "none"] = "json_schema"
        headers: dict[str, str] = field(default_factory=dict, repr=False)  # additional request headers
        body: dict[str, Any] = field(default_factory=dict, repr=False)  # additional request fields; override others

        def __post_init__(self) -> None:
            for name, value in {self.key_header: "", **self.headers}.items():
                if not _HEADER_NAME.fullmatch(name) or not _fits_header(value):
                    raise ValueError(f"the header {name!r} contains characters that HTTP does not allow")

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
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
        self._dialect = self._configured_dialect = Dialect(options.structured, options.max_tokens_field)
        secret = _secret(options.key, url) if options.key else ""
        bearer = options.key_header.lower() == "authorization"
        headers = [{options.key_header: f"Bearer {secret}" if bearer else secret} if secret else {}, options.headers]
        self._endpoint = Endpoint(
            model=options.model,
            address=urlunsplit((parts.scheme, parts.netloc, path, "", "")),
            key=options.key.name if options.key else None,
            secrets=[*([secret] if secret else []), *_possible_keys(options.headers)],
        )
        self._chat, self._completions = (
            Connections(urlunsplit(parts._replace(path=path + page, fragment="")), headers, self._endpoint)
            for page in ("/chat/completions", "/completions")
        )

    @property
    def structured(self) -> bool:
        """Whether replies follow a schema. False once the endpoint has rejected every way to request it."""
        return self._dialect.structured != "none"

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        """Return one reply.

        Raises UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, ContextError if
        the prompt exceeds the context window, ReplyError if the reply is not a chat completion, and CutError if
        the reply contains only reasoning.
        """
        fields, limit = self._fields(decoding)
        reply, dialect = await self._request(
            self._chat, lambda dialect: dialect.request(messages, fields, limit, decoding.schema)
        )
        self._warn(fields, dialect)
        with attach_usage(reply):
            completion = completion_in(reply, self._endpoint, decoding.stop)
        sent_limit = 0 if self._body.keys() & {"max_tokens", "max_completion_tokens"} else limit
        if warning := overflow_warning(completion, messages, sent_limit):
            warn(warning, lasting=True)
        return completion

    async def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        """Return the model's continuation of `prompt`, from the endpoint's /completions.

        Raises the errors of `generate`, and RefusedError if the endpoint returns no log-probabilities.
        """
        from .continuations import continuation_in

        fields, limit = self._fields(decoding)
        reply, dialect = await self._request(
            self._completions,
            lambda dialect: dialect.raw_request(prompt, fields, limit, top),
            not_found_hint="This call needs /completions, which not every endpoint has.",
        )
        self._warn(fields, dialect)
        with attach_usage(reply):
            return continuation_in(reply, self._endpoint, decoding.stop)

    def _fields(self, decoding: Decoding) -> tuple[dict[str, Any], int]:
        """Return the optional request fields, and the maximum length of the reply in tokens."""
        fields = {
            "temperature": self.temperature if decoding.temperature is None else decoding.temperature,
            "seed": self.seed if decoding.seed is None else decoding.seed,
            "stop": decoding.stop or None,
        }
        return fields, decoding.max_tokens or self.max_tokens

    def _warn(self, fields: Mapping[str, Any], dialect: Dialect) -> None:
        """Warn about fields that the endpoint rejected. An unexpectedly sampled reply is then not cached."""
        if _is_repeatable(fields) and not _is_repeatable(dialect.accepted(fields) | self._body):
            warn("the reply was sampled without a seed: the temperature was rejected or overridden by `body`")
        if rejected := dialect.rejected_since(self._configured_dialect):
            warn(f"the endpoint rejected {', '.join(rejected)}", lasting=True)

    async def _request(
        self, connections: Connections, build: Callable[[Dialect], dict[str, Any]], *, not_found_hint: str = ""
    ) -> tuple[Reply, Dialect]:
        """Return the reply and the dialect that worked, and keep that dialect for the session.

        The dialect changes only after a success: an error message may quote a passage that mentions a field.
        """
        before = self._dialect
        reply, dialect = await self._try(connections, build, before, not_found_hint)
        if self._dialect == before:  # of several concurrent calls, the first to finish changes the session
            self._dialect = dialect
        return reply, dialect

    async def _try(
        self,
        connections: Connections,
        build: Callable[[Dialect], dict[str, Any]],
        dialect: Dialect,
        not_found_hint: str,
    ) -> tuple[Reply, Dialect]:
        """Send the request in `dialect`, and in simpler dialects if the endpoint rejects fields of it."""
        request = {"model": self._model, **build(dialect), **self._body}
        reply = await connections.post(encode(request))
        refusal = refusal_in(reply)
        if refusal is None:
            return reply, dialect
        if simpler := dialect.after(refusal, request):
            return await self._try(connections, build, simpler, not_found_hint)
        if guess := dialect.guess(refusal, request):
            with suppress(RefusedError):  # refused again, so the guess was wrong
                return await self._try(connections, build, guess, not_found_hint)
        error = error_for(refusal, reply, self._endpoint, names_field=names_field(refusal, request))
        if not_found_hint and refusal.status in {404, 405}:
            error.hint = f"{not_found_hint} {error.hint}".strip()
        raise error

    async def close(self) -> None:
        await self._chat.close()
        await self._completions.close()


def _is_repeatable(fields: Mapping[str, Any]) -> bool:
    """Whether these fields request greedy decoding or a seed."""
    return fields.get("temperature") == 0 or fields.get("seed") is not None


def _possible_keys(headers: Mapping[str, str]) -> list[str]:
    """Return the words of `headers` that may be keys. Error messages never show them."""
    return [word for value in headers.values() for word in value.split() if len(word) >= _SHORTEST_KEY]


def _secret(key: Key, url: str) -> str:
    secret = key.reveal(url)
    if not _fits_header(secret):
        parts = urlsplit(url)
        server = f"{parts.scheme}://{parts.netloc}"
        # The HTTP library's own message would quote the secret.
        raise ConfigError(
            f"The key {key.name!r} contains characters that HTTP headers do not allow.",
            hint=f"Store it again with `rqa keys set {key.name} --host {server}`.",
        )
    return secret


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


@hookimpl
def rqa_register(registry: Any) -> None:
    registry.reader("openai", OpenAI, summary="any OpenAI-compatible chat endpoint, hosted or local")

"""Models behind HTTP endpoints: the reader and the embedder `openai`, and the evaluator `rerank`.

The reader asks a language model at any endpoint with OpenAI's chat completions.

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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from robust_qa import Completion, Continuation, Decoding, Key, Message, Registry, Url, hookimpl
from robust_qa.kit import warn

from .client import Client, fits_header
from .dialect import Dialect
from .replies import Reply, attach_usage, completion_in, served_in, warn_of_overflow

if TYPE_CHECKING:
    from .batch_api import BatchApi

_OPENAI = Url("https://api.openai.com/v1")
_CHAT, _COMPLETIONS = "/chat/completions", "/completions"
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
                if not _HEADER_NAME.fullmatch(name) or not fits_header(value):
                    raise ValueError(f"the header {name!r} contains characters that HTTP does not allow")

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
        self.window = options.window
        self.max_tokens = options.max_tokens
        self.temperature = options.temperature
        self.seed = options.seed
        self._body = options.body
        self._configured_dialect = Dialect(options.structured, options.max_tokens_field)
        self._client = Client(
            options.model,
            str(options.base_url),
            options.key,
            _CHAT,
            _COMPLETIONS,
            key_header=options.key_header,
            headers=options.headers,
            body=options.body,
            dialect=self._configured_dialect,
        )
        self._endpoint = self._client.endpoint
        self._batches: BatchApi | None = None
        self.served: set[str] = set()  # the models that replies name as their author

    @property
    def structured(self) -> bool:
        """Whether replies follow a schema. False once the endpoint has rejected every way to request it."""
        return self._client.dialect.structured != "none"

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        """Return one reply.

        Raises UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, ContextError if
        the prompt exceeds the context window, ReplyError if the reply is not a chat completion, and CutError if
        the reply is empty or contains only reasoning.
        """
        return await self._generate(messages, decoding, None)

    async def generate_stream(
        self, messages: list[Message], decoding: Decoding, on_text: Callable[[str], None]
    ) -> Completion:
        """Return one reply, and call `on_text` with each piece of it. Raises the errors of `generate`."""
        return await self._generate(messages, decoding, on_text)

    async def _generate(
        self, messages: list[Message], decoding: Decoding, on_text: Callable[[str], None] | None
    ) -> Completion:
        more = {"stream": True, "stream_options": {"include_usage": True}} if on_text else {}
        build = self._request(messages, decoding, more)
        reply, dialect = await self._client.request(_CHAT, build, on_text)
        return self._completion(reply, dialect, messages, decoding)

    def _request(
        self, messages: list[Message], decoding: Decoding, more: Mapping[str, Any] | None = None
    ) -> Callable[[Dialect], dict[str, Any]]:
        """Return a function that writes the request in a dialect. `more` are further fields."""
        fields, limit = self._fields(decoding)
        fields |= more or {}
        return lambda dialect: dialect.request(messages, fields, limit, decoding.schema)

    def _completion(self, reply: Reply, dialect: Dialect, messages: list[Message], decoding: Decoding) -> Completion:
        """Return the completion in the reply to a request in `dialect`. Raises the errors of `generate`."""
        fields, limit = self._fields(decoding)
        self._warn(fields, dialect)
        self._note_model(reply)
        with attach_usage(reply):
            completion = completion_in(reply, self._endpoint, decoding.stop)
        sent_limit = 0 if self._body.keys() & {"max_tokens", "max_completion_tokens"} else limit
        warn_of_overflow(completion, (message.content for message in messages), sent_limit, self._endpoint)
        return completion

    def provider_batches(self) -> BatchApi:
        """Return the endpoint's batch API, for the engine `provider`."""
        from .batch_api import BatchApi

        self._batches = self._batches or BatchApi(self._client, self._request, self._completion)
        return self._batches

    async def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        """Return the model's continuation of `prompt`, from the endpoint's /completions.

        Raises the errors of `generate`, and RefusedError if the endpoint returns no log-probabilities.
        """
        from .continuations import continuation_in

        fields, limit = self._fields(decoding)
        reply, dialect = await self._client.request(
            _COMPLETIONS,
            lambda dialect: dialect.raw_request(prompt, fields, limit, top),
        )
        self._warn(fields, dialect)
        self._note_model(reply)
        with attach_usage(reply):
            continuation = continuation_in(reply, self._endpoint, decoding.stop)
        warn_of_overflow(continuation, [prompt], 0, self._endpoint)
        return continuation

    def _fields(self, decoding: Decoding) -> tuple[dict[str, Any], int]:
        """Return the optional request fields, and the maximum length of the reply in tokens."""
        fields = {
            "temperature": self.temperature if decoding.temperature is None else decoding.temperature,
            "seed": self.seed if decoding.seed is None else decoding.seed,
            "stop": decoding.stop or None,
        }
        return fields, decoding.max_tokens or self.max_tokens

    def _note_model(self, reply: Reply) -> None:
        if name := served_in(reply, self._endpoint):
            self.served.add(name)

    def _warn(self, fields: Mapping[str, Any], dialect: Dialect) -> None:
        """Warn about fields that the endpoint rejected. An unexpectedly sampled reply is then not cached."""
        if _is_repeatable(fields) and not _is_repeatable(dialect.accepted(fields) | self._body):
            warn("the reply was sampled without a seed: the temperature was rejected or overridden by `body`")
        if rejected := dialect.rejected_since(self._configured_dialect):
            warn(f"the endpoint rejected {', '.join(rejected)}", lasting=True)

    async def close(self) -> None:
        if self._batches:
            await self._batches.close()
        await self._client.close()


def _is_repeatable(fields: Mapping[str, Any]) -> bool:
    """Whether these fields request greedy decoding or a seed."""
    return fields.get("temperature") == 0 or fields.get("seed") is not None


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.reader("openai", "rqa_openai:OpenAI", summary="any OpenAI-compatible chat endpoint, hosted or local")
    registry.embedder("openai", "rqa_openai.embeddings:Embeddings", summary="any OpenAI-compatible embeddings endpoint")
    registry.evaluator(
        "rerank", "rqa_openai.reranking:Reranker", summary="any rerank endpoint: llama-server, vLLM, Jina"
    )

"""The reader `llamacpp`."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta

from robust_qa import (
    Completion,
    ConfigError,
    ContextError,
    Continuation,
    Decoding,
    Message,
    MissingError,
    RqaError,
    Usage,
)
from robust_qa.kit import cores, install_hint

from . import gguf_files, library

if TYPE_CHECKING:
    from .chat import ChatTemplate
    from .engine import Engine, Written
    from .sampling import Sampling

T = TypeVar("T")


class LlamaCpp:
    """A GGUF language model in this process, through llama.cpp.

    The engine is loaded at the first call and answers one call at a time. Equal calls give equal replies.
    """

    @dataclass
    class Options:
        """The [reader.NAME] table."""

        model: str  # a GGUF file, or what `rqa models pull` was given
        # window in tokens, at most what the model was trained for; 0: all of that
        n_ctx: Annotated[int, Meta(ge=0)] = 8192
        n_gpu_layers: Annotated[int, Meta(ge=-1)] = 0  # layers kept on the GPU; -1: all
        n_threads: Annotated[int, Meta(ge=0)] = 0  # CPU threads; 0: one for each core this process may use
        # prompt tokens computed at once; also the grain in which a shared prompt head is reused
        n_batch: Annotated[int, Meta(ge=1)] = 256
        temperature: Annotated[float, Meta(ge=0)] = 0.0  # 0: greedy
        seed: int = 0  # of sampling, at a temperature above 0
        max_tokens: Annotated[int, Meta(ge=1)] = 1024  # longest reply, in tokens
        thinking: bool = False  # let models that can reason aloud do so; the reasoning is not part of the reply
        chat_template: Path | None = None  # a Jinja file in place of the model's own chat template

    structured = True
    concurrency = 1

    def __init__(self, options: Options) -> None:
        try:
            importlib.import_module("llama_cpp")
        except (ImportError, OSError, RuntimeError) as error:  # not installed, or without a library it links to
            raise MissingError(
                f"The reader llamacpp needs llama-cpp-python, which cannot be imported: {error}.",
                hint=f"Run `{install_hint('llama')}`. It is compiled on the spot, which takes minutes, "
                "unless pip is pointed at that project's own index of wheels.",
            ) from error
        self.max_tokens = options.max_tokens
        self._options = options
        self._path = library.find(options.model)
        gguf_files.check(self._path)
        self._template_source = _read_template(options.chat_template)
        self._loaded: tuple[Engine, ChatTemplate] | None = None
        self._closed = threading.Event()
        self._turn = threading.Lock()  # held through a generation: the engine serves one at a time
        self._loading = threading.RLock()  # held while the engine is looked up, tokenises, or is freed

    @property
    def window(self) -> int:
        """The context window in tokens, prompt and reply together."""
        with self._loading:
            return self._load()[0].window

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """The exact length of the prompt these messages make. Does not wait for a generation under way."""
        return len(self._prompt(messages)[1])

    def generate(self, messages: list[Message], decoding: Decoding) -> Awaitable[Completion]:
        """The model's reply. Raises ContextError when the messages leave no room for one."""
        # A `def`, as the work is done in a thread; but what it returns can be cancelled.
        return self._in_thread(self._generate, messages, decoding)

    def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Awaitable[Continuation]:
        """What the model writes after `prompt`. Raises ContextError when the prompt leaves no room for it."""
        return self._in_thread(self._continue, prompt, decoding, top)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(work, *arguments, given_up)
        finally:
            given_up.set()  # when this was cancelled the thread still runs; it stops at its next token

    def _generate(self, messages: Sequence[Message], decoding: Decoding, given_up: threading.Event) -> Completion:
        from .chat import without_thought

        with self._turn:
            prompt, tokens = self._prompt(messages, held=decoding.schema is not None)
            written = self._write(tokens, decoding, given_up)
        usage = Usage(calls=1, prompt_tokens=len(tokens), completion_tokens=written.count)
        return Completion(without_thought(prompt, written.text), usage, "stop" if written.ended else "length")

    def _continue(self, prompt: str, decoding: Decoding, top: int, given_up: threading.Event) -> Continuation:
        with self._turn:
            with self._loading:
                tokens = self._load()[0].tokenize(prompt)
            written = self._write(tokens, decoding, given_up, top)
        usage = Usage(calls=1, prompt_tokens=len(tokens), completion_tokens=written.count)
        return Continuation(written.text, written.tokens, usage, "stop" if written.ended else "length")

    def _write(
        self, tokens: Sequence[int], decoding: Decoding, given_up: threading.Event, top: int | None = None
    ) -> Written:
        """What follows `tokens`; call with `_turn` held."""
        from .engine import Abandoned

        options, engine = self._options, self._load()[0]
        room = engine.window - len(tokens)
        if room < 1:
            raise ContextError(
                f"The prompt has {len(tokens)} tokens and the window of {self._path.name} only {engine.window}.",
                hint="Use fewer or shorter passages, or set a larger n_ctx if the model allows it.",
            )
        try:
            return engine.generate(
                tokens,
                _sampling(decoding, options),
                limit=min(decoding.max_tokens or options.max_tokens, room),
                stop=decoding.stop,
                top=top,
                abandoned=lambda: given_up.is_set() or self._closed.is_set(),
            )
        except Abandoned:
            raise RqaError(f"The generation by {self._path.name} was given up.") from None

    def _prompt(self, messages: Sequence[Message], *, held: bool = False) -> tuple[str, list[int]]:
        """The prompt and its tokens. A reply `held` to a schema is so from its first token: no thought is before."""
        from .chat import with_thought_closed

        with self._loading:
            engine, template = self._load()
            prompt = template.render(messages, thinking=self._options.thinking and not held)
            if held:
                prompt = with_thought_closed(prompt)
            return prompt, engine.tokenize(prompt)

    def _load(self) -> tuple[Engine, ChatTemplate]:
        """The engine and its template; call with `_loading` held, or within `_turn` once it is loaded."""
        if self._closed.is_set():
            raise RqaError(f"The reader over {self._path.name} is closed.")
        if self._loaded is None:
            from .chat import CHATML, ChatTemplate, Neutraliser
            from .engine import Engine

            options = self._options
            engine = Engine(
                self._path,
                n_ctx=options.n_ctx,
                n_batch=options.n_batch,
                n_threads=options.n_threads or cores(),
                n_gpu_layers=options.n_gpu_layers,
            )
            source = self._template_source or engine.template or CHATML
            neutralise = Neutraliser(engine.special_tokens(), source)
            try:
                template = ChatTemplate(source, bos=engine.bos, eos=engine.eos, neutralise=neutralise)
            except ConfigError:
                engine.close()
                raise
            self._loaded = engine, template
        return self._loaded

    def fingerprint(self) -> str:
        """The model file's identity, the chat template's where one is given, and the engine's version."""
        from hashlib import sha256
        from importlib.metadata import version

        template = sha256(self._template_source.encode()).hexdigest()[:16] if self._template_source else ""
        return ":".join((gguf_files.identity(self._path), template, version("llama-cpp-python")))

    def close(self) -> None:
        """Stop a generation under way at its next token, and free the model."""
        self._closed.set()
        with self._turn, self._loading:
            if self._loaded:
                self._loaded[0].close()
                self._loaded = None


def _sampling(decoding: Decoding, options: LlamaCpp.Options) -> Sampling:
    from .sampling import Sampling, grammar

    return Sampling(
        temperature=options.temperature if decoding.temperature is None else decoding.temperature,
        seed=options.seed if decoding.seed is None else decoding.seed,
        grammar="" if decoding.schema is None else grammar(decoding.schema),
    )


def _read_template(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Cannot read the chat template {path}: {error}.") from error
    if not template.strip():
        raise ConfigError(f"The chat template {path} is empty.", hint="Leave chat_template out for the model's own.")
    return template

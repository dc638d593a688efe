"""The reader `llamacpp`."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
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
# From the catalogue in library.py. Qwen3.5 has recurrent layers, so it cannot reuse a shared prompt prefix.
_MODEL = "qwen3-4b-2507"


class LlamaCpp:
    """A GGUF language model in this process, through llama.cpp.

    The model is loaded at the first call and handles one call at a time. Equal calls give equal replies.
    """

    @dataclass
    class Options:
        """The [reader.NAME] table."""

        model: str  # a GGUF file, or the name of a pulled model
        # context window in tokens, at most the model's own; 0: the model's own
        n_ctx: Annotated[int, Meta(ge=0)] = 8192
        n_gpu_layers: Annotated[int, Meta(ge=-1)] = 0  # layers on the GPU; -1: all
        n_threads: Annotated[int, Meta(ge=0)] = 0  # CPU threads; 0: one for each available core
        # prompt tokens in a batch; shared prompt prefixes are reused in whole batches
        n_batch: Annotated[int, Meta(ge=1)] = 256
        temperature: Annotated[float, Meta(ge=0)] = 0.0  # 0: greedy decoding
        seed: int = 0  # sampling seed, for temperatures above 0
        max_tokens: Annotated[int, Meta(ge=1)] = 1024  # maximum length of a reply in tokens
        thinking: bool = False  # let models reason first; the reasoning is not part of the reply
        chat_template: Path | None = None  # a Jinja file that replaces the model's chat template

    structured = True
    concurrency = 1

    @staticmethod
    def advice() -> str:
        """Return the commands to install and use a language model."""
        installed = find_spec("llama_cpp") and find_spec("huggingface_hub")
        first = "" if installed else f"`{install_hint('llama')}`, "
        return (
            f"To use a language model on this machine, run {first}`rqa models pull {_MODEL}`, and ask with "
            f"`--reader llamacpp --option reader.llamacpp.model={_MODEL}`."
        )

    def __init__(self, options: Options) -> None:
        try:
            importlib.import_module("llama_cpp")
        except (ImportError, OSError, RuntimeError) as error:  # not installed, or a shared library is missing
            raise MissingError(
                f"The reader llamacpp needs llama-cpp-python, which cannot be imported: {error}.",
                hint=f"Run `{install_hint('llama')}`. This compiles it, which takes minutes, unless pip uses the wheel "
                "index of llama-cpp-python.",
            ) from error
        self.max_tokens = options.max_tokens
        self._options = options
        self._path = library.find(options.model)
        gguf_files.check(self._path)
        self._template_source = _read_template(options.chat_template)
        self._loaded: tuple[Engine, ChatTemplate] | None = None
        self._closed = threading.Event()
        self._turn = threading.Lock()  # held during a generation
        self._loading = threading.RLock()  # held while the engine is loaded, tokenises or is freed

    @property
    def window(self) -> int:
        """Return the context window in tokens, prompt and reply together."""
        with self._loading:
            return self._load()[0].window

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the exact length of the prompt in tokens. Does not wait for a running generation."""
        return len(self._prompt(messages)[1])

    def generate(self, messages: list[Message], decoding: Decoding) -> Awaitable[Completion]:
        """Return the model's reply. Raises ContextError if the window has no room for one."""
        # A plain `def`: a worker thread does the work, and the awaitable can be cancelled.
        return self._in_thread(self._generate, messages, decoding)

    def generate_stream(
        self, messages: list[Message], decoding: Decoding, on_text: Callable[[str], None]
    ) -> Awaitable[Completion]:
        """Return the model's reply, and call `on_text` with each piece of it. Raises as `generate`."""
        return self._in_thread(partial(self._generate, on_text=on_text), messages, decoding)

    def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Awaitable[Continuation]:
        """Return the model's continuation of `prompt`. Raises ContextError if the window has no room for one."""
        return self._in_thread(self._continue, prompt, decoding, top)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(work, *arguments, cancelled)
        finally:
            cancelled.set()  # if this task was cancelled, the thread stops at its next token

    def _generate(
        self,
        messages: Sequence[Message],
        decoding: Decoding,
        cancelled: threading.Event,
        *,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        from .chat import opened_reasoning, without_reasoning

        with self._turn:
            prompt, tokens = self._prompt(messages, has_schema=decoding.schema is not None)
            if on_text and (tag := opened_reasoning(prompt)):
                on_text(tag)
            written = self._write(tokens, decoding, cancelled, on_text=on_text)
        usage = Usage(calls=1, prompt_tokens=len(tokens), completion_tokens=written.count)
        return Completion(without_reasoning(prompt, written.text), usage, "stop" if written.ended else "length")

    def _continue(self, prompt: str, decoding: Decoding, top: int, cancelled: threading.Event) -> Continuation:
        with self._turn:
            with self._loading:
                tokens = self._load()[0].tokenize(prompt)
            written = self._write(tokens, decoding, cancelled, top)
        usage = Usage(calls=1, prompt_tokens=len(tokens), completion_tokens=written.count)
        return Continuation(written.text, written.tokens, usage, "stop" if written.ended else "length")

    def _write(
        self,
        tokens: Sequence[int],
        decoding: Decoding,
        cancelled: threading.Event,
        top: int | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Written:
        """Generate text after `tokens`. The caller holds `_turn`."""
        from .engine import Cancelled

        options, engine = self._options, self._load()[0]
        room = engine.window - len(tokens)
        if room < 1:
            raise ContextError(
                f"The prompt has {len(tokens)} tokens, but the window of {self._path.name} has only {engine.window}.",
                hint="Use fewer or shorter passages, or set a larger `n_ctx` if the model supports it.",
            )
        try:
            return engine.generate(
                tokens,
                _sampling(decoding, options),
                limit=min(decoding.max_tokens or options.max_tokens, room),
                stop=decoding.stop,
                top=top,
                on_text=on_text,
                is_cancelled=lambda: cancelled.is_set() or self._closed.is_set(),
            )
        except Cancelled:
            raise RqaError(f"The generation with {self._path.name} was cancelled.") from None

    def _prompt(self, messages: Sequence[Message], *, has_schema: bool = False) -> tuple[str, list[int]]:
        """Return the prompt and its tokens. A reply with a schema starts without reasoning."""
        from .chat import with_reasoning_closed

        with self._loading:
            engine, template = self._load()
            prompt = template.render(messages, thinking=self._options.thinking and not has_schema)
            if has_schema:
                prompt = with_reasoning_closed(prompt)
            return prompt, engine.tokenize(prompt)

    def _load(self) -> tuple[Engine, ChatTemplate]:
        """Return the engine and its template. The caller holds `_loading`, or `_turn` once it is loaded."""
        if self._closed.is_set():
            raise RqaError(f"The reader for {self._path.name} is closed.")
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
        """Return a hash of the model, a hash of `chat_template`, and the engine's version."""
        from hashlib import sha256
        from importlib.metadata import version

        template = sha256(self._template_source.encode()).hexdigest()[:16] if self._template_source else ""
        return ":".join((gguf_files.identity(self._path), template, version("llama-cpp-python")))

    def close(self) -> None:
        """Stop a running generation at its next token, and free the model."""
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
        raise ConfigError(
            f"The chat template {path} is empty.",
            hint="Remove the option `chat_template` to use the model's own template.",
        )
    return template

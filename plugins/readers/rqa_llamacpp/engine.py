"""A llama.cpp model with one context, through llama-cpp-python's low-level bindings.

`llama_cpp.Llama` is not used: it redirects the process's stdout to /dev/null while loading, and detokenises the whole
reply again for every token.
"""

from __future__ import annotations

import codecs
import ctypes
import os
import platform
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp

from robust_qa import ConfigError, RqaError, Token
from robust_qa.kit import single_line

from .gguf_files import architecture
from .sampling import Sampler, Sampling

lib: Any = llama_cpp  # ctypes all through

_ERROR = 4  # ggml's log level
_ALL_LAYERS = 0x7FFFFFFF
_SPECIAL = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN | lib.LLAMA_TOKEN_ATTR_USER_DEFINED

_errors: deque[str] = deque(maxlen=4)


def _log(level: int, text: bytes, _: object) -> None:
    if level == _ERROR:
        _errors.append(text.decode(errors="replace").strip())


_log_callback = lib.llama_log_callback(_log)


class Cancelled(Exception):
    """The caller was cancelled."""


@dataclass(frozen=True, slots=True)
class Written:
    """Generated text, its length in tokens, and whether the model ended it.

    `tokens` is set only if log-probabilities were requested. It includes the final token.
    """

    text: str
    count: int
    ended: bool
    tokens: tuple[Token, ...] = ()


class Engine:
    """A loaded model. One thread at a time may call `generate`; others may call `tokenize` meanwhile.

    `window` is in tokens, prompt and reply together. `evaluated` counts the prompt tokens computed so far, without
    reused prefixes.

    Raises RqaError if the file cannot be loaded or memory is too small, ConfigError if the model is not a language
    model.
    """

    def __init__(self, path: Path, *, n_ctx: int, n_batch: int, n_threads: int, n_gpu_layers: int) -> None:
        # By default llama-cpp-python prints errors. Here they become part of the exception.
        lib.llama_log_set(_log_callback, None)
        lib.llama_backend_init()
        _errors.clear()
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = _ALL_LAYERS if n_gpu_layers < 0 else n_gpu_layers
        # On x86, repacked weights crash processors with AMX, take memory, and slow down the reading of prompts.
        parameters.use_extra_bufts = platform.machine().lower() not in ("x86_64", "amd64")
        self._model: Any = lib.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self._model:
            raise _not_loaded(path)
        trained: int = lib.llama_model_n_ctx_train(self._model)
        context = lib.llama_context_default_params()
        context.n_ctx = self.window = min(n_ctx or trained, trained)
        context.n_batch = context.n_ubatch = self._n_batch = min(n_batch, self.window)
        context.n_threads = context.n_threads_batch = n_threads
        self._context: Any = lib.llama_init_from_model(self._model, context)
        if not self._context:
            lib.llama_model_free(self._model)
            raise RqaError(
                f"Not enough memory for {path} with a window of {self.window} tokens: {_last_errors()}",
                hint="Set a smaller `n_ctx`, or use a smaller model.",
            )
        if lib.llama_pooling_type(self._context) > 0 or lib.llama_model_has_encoder(self._model):
            self.close()  # llama.cpp would abort the process
            raise ConfigError(f"{path} is a model for embeddings or translation, not a language model.")
        self._vocabulary: Any = lib.llama_model_get_vocab(self._model)
        self._cached: list[int] = []  # prompt tokens in the context's cache
        self.evaluated = 0

    @property
    def template(self) -> str | None:
        """Return the model's chat template (Jinja), None if it has none."""
        template: bytes | None = lib.llama_model_chat_template(self._model, None)
        return template.decode(errors="replace") if template else None

    @property
    def bos(self) -> str:
        """Return the text of the token that starts a sequence, or ""."""
        return self._text(lib.llama_vocab_bos(self._vocabulary))

    @property
    def eos(self) -> str:
        """Return the text of the token that ends a sequence, or ""."""
        return self._text(lib.llama_vocab_eos(self._vocabulary))

    def special_tokens(self) -> list[tuple[str, bool]]:
        """Return the text of each special token, and whether it is user-defined.

        User-defined tokens are often just words or runs of spaces.
        """
        attributes = lib.llama_vocab_get_attr
        return [
            (self._text(token), bool(kind & lib.LLAMA_TOKEN_ATTR_USER_DEFINED))
            for token in range(lib.llama_vocab_n_tokens(self._vocabulary))
            if (kind := attributes(self._vocabulary, token)) & _SPECIAL
        ]

    def _text(self, token: int) -> str:
        text: bytes = lib.llama_vocab_get_text(self._vocabulary, token) if token >= 0 else b""
        return text.decode(errors="replace")

    def tokenize(self, prompt: str) -> list[int]:
        """Return the tokens of a prompt, including special tokens.

        Adds the token that starts a sequence if the model needs one and the template did not add it.
        """
        data = prompt.encode("utf-8", errors="replace")
        size = len(data) + 8  # a token has at least one byte, except a space that some models add
        buffer = (lib.llama_token * size)()
        count = lib.llama_tokenize(self._vocabulary, data, len(data), buffer, size, False, True)
        tokens: list[int] = buffer[:count]
        bos = lib.llama_vocab_bos(self._vocabulary)
        if lib.llama_vocab_get_add_bos(self._vocabulary) and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def generate(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        *,
        limit: int,
        stop: Sequence[str] = (),
        top: int | None = None,
        on_text: Callable[[str], None] | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Written:
        """Generate at most `limit` tokens after `prompt`.

        The text is cut at the first of the `stop` texts. With `top`, special tokens stay in the text, and each token
        has its log-probability and that many alternatives. Raises Cancelled if `is_cancelled` returns True; it is
        called before every batch and token. `on_text` gets each piece of the text, and may get a part of a stop text.
        """
        sampler = Sampler(self._vocabulary, sampling)
        try:
            self._read(prompt, is_cancelled)
            stops = [text.encode() for text in stop if text]
            return self._write(sampler, limit, stops, top, on_text=on_text, is_cancelled=is_cancelled)
        finally:
            sampler.close()

    def _read(self, prompt: Sequence[int], is_cancelled: Callable[[], bool]) -> None:
        """Compute `prompt` in the context, except for the prefix that it shares with the last prompt.

        Only whole batches are reused. The rest is then computed in the same batches as without reuse, with identical
        results, so equal calls give equal replies.
        """
        shared = 0
        for ours, theirs in zip(prompt[:-1], self._cached, strict=False):
            if ours != theirs:
                break
            shared += 1
        kept = shared - shared % self._n_batch
        memory = lib.llama_get_memory(self._context)
        if not lib.llama_memory_seq_rm(memory, 0, kept, -1):  # recurrent models can only reset completely
            lib.llama_memory_seq_rm(memory, 0, -1, -1)
            kept = 0
        self._cached = list(prompt[:kept])
        for start in range(kept, len(prompt), self._n_batch):
            batch = prompt[start : start + self._n_batch]
            self._decode(batch, is_cancelled)
            self._cached += batch
            self.evaluated += len(batch)

    def _write(
        self,
        sampler: Sampler,
        limit: int,
        stops: list[bytes],
        top: int | None,
        *,
        on_text: Callable[[str], None] | None,
        is_cancelled: Callable[[], bool],
    ) -> Written:
        text, tokens = bytearray(), list[Token]()
        characters = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end within a character

        def written(count: int, *, ended: bool) -> Written:
            return Written(text.decode(errors="replace"), count, ended, tuple(tokens))

        for count in range(limit):
            token = sampler.choose(self._context)
            if top is not None:
                tokens.append(self._with_alternatives(token, top))
            if lib.llama_vocab_is_eog(self._vocabulary, token):
                return written(count, ended=True)
            piece = self._piece(token, special=top is not None)
            text += piece
            ends = [at for stop in stops if (at := text.find(stop)) >= 0]
            if ends:
                del text[min(ends) :]
                return written(count + 1, ended=True)
            if on_text and (whole := characters.decode(piece)):
                on_text(whole)
            if count + 1 < limit:
                self._decode([token], is_cancelled)
        return written(limit, ended=False)

    def _with_alternatives(self, token: int, top: int) -> Token:
        """Return `token` with its log-probability and the `top` likeliest, from the context's last logits."""
        import numpy

        size = lib.llama_vocab_n_tokens(self._vocabulary)
        logits = numpy.ctypeslib.as_array(lib.llama_get_logits_ith(self._context, -1), (size,)).astype(numpy.float64)
        logits -= logits.max()
        logits -= numpy.log(numpy.exp(logits).sum())
        top = min(top, size)
        likeliest = numpy.argpartition(logits, size - top)[size - top :] if top else numpy.empty(0, int)

        def text(one: int) -> str:
            return self._piece(one, special=True).decode(errors="replace")

        # In ascending order, so that the most likely of several tokens with equal text is kept.
        by_text = {text(one): float(logits[one]) for one in sorted(likeliest.tolist(), key=logits.__getitem__)}
        return Token(text(token), float(logits[token]), by_text)

    def _decode(self, tokens: Sequence[int], is_cancelled: Callable[[], bool]) -> None:
        if is_cancelled():
            raise Cancelled
        array = (lib.llama_token * len(tokens))(*tokens)  # the batch points into it
        _errors.clear()
        status: int = lib.llama_decode(self._context, lib.llama_batch_get_one(array, len(array)))
        if status:
            self._cached = []
            raise RqaError(
                f"llama.cpp failed while generating (status {status}): {_last_errors()}",
                hint="If memory is full, set a smaller `n_ctx`, `n_batch` or `n_gpu_layers`.",
            )

    def _piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of a token. Special tokens have none unless `special` is set."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length: int = lib.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def close(self) -> None:
        """Free the model and the context. No call may be running, and none may follow."""
        lib.llama_free(self._context)
        lib.llama_model_free(self._model)


def _not_loaded(path: Path) -> RqaError:
    family, reason = single_line(architecture(path)), _last_errors()
    if "unknown model architecture" in reason:
        return RqaError(
            f"llama.cpp cannot load {path}: "
            f"llama-cpp-python {lib.__version__} does not know the architecture {family!r}.",
            hint="Run `pip install -U llama-cpp-python`, or choose another model from `rqa models list`.",
        )
    return RqaError(
        f"llama.cpp cannot load {path}: {reason}",
        hint=f"The file's architecture is {family!r}. Download it again with `rqa models pull`.",
    )


def _last_errors() -> str:
    return "; ".join(_errors) or "llama.cpp gave no reason."

"""One llama.cpp model and one context over it, through llama-cpp-python's bindings of the C interface.

The bindings, not `llama_cpp.Llama`: that class points the whole process's stdout at /dev/null while it loads,
which loses what other threads print meanwhile, and detokenises the whole reply again for every token.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp

from robust_qa import ConfigError, RqaError, Token
from robust_qa.kit import flat

from .gguf_files import architecture
from .sampling import Sampler, Sampling

lib: Any = llama_cpp  # ctypes all through

_ERROR = 4  # ggml's log level; 5 continues the line before
_ALL_LAYERS = 0x7FFFFFFF
_SPECIAL = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN | lib.LLAMA_TOKEN_ATTR_USER_DEFINED

_complaints: deque[str] = deque(maxlen=4)


def _listen(level: int, text: bytes, _: object) -> None:
    if level == _ERROR:
        _complaints.append(text.decode(errors="replace").strip())


_listener = lib.llama_log_callback(_listen)


class Abandoned(Exception):
    """Nobody waits for the reply any more."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote: the text, its length in tokens, and whether it ended by itself.

    `tokens` are there where their probabilities were asked for, with the one that ended the text.
    """

    text: str
    count: int
    ended: bool
    tokens: tuple[Token, ...] = ()


class Engine:
    """A loaded model. One thread at a time may call `generate`; `tokenize` may be called beside it.

    `window` is in tokens, prompt and reply together; `evaluated` counts the prompt tokens computed so far,
    which is where the reuse of a shared prefix shows.

    Raises RqaError when the file cannot be loaded or the context does not fit in memory, ConfigError for a
    model of another kind.
    """

    def __init__(self, path: Path, *, n_ctx: int, n_batch: int, n_threads: int, n_gpu_layers: int) -> None:
        # llama-cpp-python prints the engine's errors by itself; here they go into the exception.
        lib.llama_log_set(_listener, None)
        lib.llama_backend_init()
        _complaints.clear()
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = _ALL_LAYERS if n_gpu_layers < 0 else n_gpu_layers
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
                f"A window of {self.window} tokens over {path} does not fit in memory: {_last_words()}",
                hint="Set a smaller n_ctx, or use a smaller model.",
            )
        if lib.llama_pooling_type(self._context) > 0 or lib.llama_model_has_encoder(self._model):
            self.close()  # llama.cpp would end the process when asked for a token of such a model
            raise ConfigError(f"{path} is a model for embeddings or translation, not one that answers.")
        self._vocabulary: Any = lib.llama_model_get_vocab(self._model)
        self._held: list[int] = []  # what the context's cache holds of the last prompt
        self.evaluated = 0

    @property
    def template(self) -> str | None:
        """The model's own chat template (Jinja), None when the file has none."""
        template: bytes | None = lib.llama_model_chat_template(self._model, None)
        return template.decode(errors="replace") if template else None

    @property
    def bos(self) -> str:
        """The text of the token that begins a sequence, "" when the model has none."""
        return self._text(lib.llama_vocab_bos(self._vocabulary))

    @property
    def eos(self) -> str:
        """The text of the token that ends a sequence, "" when the model has none."""
        return self._text(lib.llama_vocab_eos(self._vocabulary))

    def special_tokens(self) -> list[tuple[str, bool]]:
        """The text of every token that `tokenize` cuts out of a prompt whole, and whether it is what GGUF
        calls user-defined: added to the vocabulary by hand, often no more than a word or a run of spaces."""
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
        """The tokens of a rendered prompt; special tokens in it count as such.

        The token that begins a sequence is added where the model wants one and the template gave none.
        """
        data = prompt.encode("utf-8", errors="replace")
        size = len(data) + 8  # a token is at least a byte, but for a space that some models put first
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
        abandoned: Callable[[], bool] = lambda: False,
    ) -> Written:
        """What follows `prompt`, in at most `limit` tokens.

        `stop` texts end it and are not part of it. With `top` special tokens are kept in the text, and each token
        is told with its log-probability and that many of the likeliest. `abandoned` is asked before every batch and
        token; when it says yes, Abandoned is raised.
        """
        sampler = Sampler(self._vocabulary, sampling)
        try:
            self._read(prompt, abandoned)
            return self._write(sampler, limit, [text.encode() for text in stop if text], top, abandoned)
        finally:
            sampler.close()

    def _read(self, prompt: Sequence[int], abandoned: Callable[[], bool]) -> None:
        """Bring `prompt` into the context.

        The batches at its head that the last prompt had as well are still there and are kept. Whole batches
        only: what follows is then computed in the same portions as after a cold start, to the same bits, so
        that equal calls give equal replies whatever was asked between them.
        """
        shared = 0
        for ours, theirs in zip(prompt[:-1], self._held, strict=False):
            if ours != theirs:
                break
            shared += 1
        kept = shared - shared % self._n_batch
        memory = lib.llama_get_memory(self._context)
        if not lib.llama_memory_seq_rm(memory, 0, kept, -1):  # recurrent models cannot go back part of the way
            lib.llama_memory_seq_rm(memory, 0, -1, -1)
            kept = 0
        self._held = list(prompt[:kept])
        for start in range(kept, len(prompt), self._n_batch):
            batch = prompt[start : start + self._n_batch]
            self._decode(batch, abandoned)
            self._held += batch
            self.evaluated += len(batch)

    def _write(
        self, sampler: Sampler, limit: int, stops: list[bytes], top: int | None, abandoned: Callable[[], bool]
    ) -> Written:
        text, tokens = bytearray(), list[Token]()

        def written(count: int, *, ended: bool) -> Written:
            return Written(text.decode(errors="replace"), count, ended, tuple(tokens))

        for count in range(limit):
            token = sampler.choose(self._context)
            if top is not None:
                tokens.append(self._told(token, top))
            if lib.llama_vocab_is_eog(self._vocabulary, token):
                return written(count, ended=True)
            text += self._piece(token, special=top is not None)
            ends = [at for stop in stops if (at := text.find(stop)) >= 0]
            if ends:
                del text[min(ends) :]
                return written(count + 1, ended=True)
            if count + 1 < limit:
                self._decode([token], abandoned)
        return written(limit, ended=False)

    def _told(self, token: int, top: int) -> Token:
        """`token`, which the context's last logits are about, with its log-probability and the `top` likeliest."""
        import numpy  # llama-cpp-python brings it

        size = lib.llama_vocab_n_tokens(self._vocabulary)
        logits = numpy.ctypeslib.as_array(lib.llama_get_logits_ith(self._context, -1), (size,)).astype(numpy.float64)
        logits -= logits.max()
        logits -= numpy.log(numpy.exp(logits).sum())
        top = min(top, size)
        likeliest = numpy.argpartition(logits, size - top)[size - top :] if top else numpy.empty(0, int)

        def text(one: int) -> str:
            return self._piece(one, special=True).decode(errors="replace")

        # The likeliest last: of several with one text, such as halves of a character, it is the one that counts.
        by_text = {text(one): float(logits[one]) for one in sorted(likeliest.tolist(), key=logits.__getitem__)}
        return Token(text(token), float(logits[token]), by_text)

    def _decode(self, tokens: Sequence[int], abandoned: Callable[[], bool]) -> None:
        if abandoned():
            raise Abandoned
        array = (lib.llama_token * len(tokens))(*tokens)  # the batch points into it
        _complaints.clear()
        status: int = lib.llama_decode(self._context, lib.llama_batch_get_one(array, len(array)))
        if status:
            self._held = []
            raise RqaError(
                f"llama.cpp failed while generating (status {status}): {_last_words()}",
                hint="If memory or the GPU's memory is full, set a smaller n_ctx, n_batch or n_gpu_layers.",
            )

    def _piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of a token; those of a special token only where `special` says so."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length: int = lib.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def close(self) -> None:
        """Free the model and the context; no call may be under way, and none may follow."""
        lib.llama_free(self._context)
        lib.llama_model_free(self._model)


def _not_loaded(path: Path) -> RqaError:
    family, said = flat(architecture(path)), _last_words()
    if "unknown model architecture" in said:
        return RqaError(
            f"llama.cpp cannot load {path}: "
            f"llama-cpp-python {lib.__version__} does not know the architecture {family!r}.",
            hint="Run `pip install -U llama-cpp-python`, or choose another model with `rqa models list`.",
        )
    return RqaError(
        f"llama.cpp cannot load {path}: {said}",
        hint=f"The file's architecture is {family!r}. Fetch it again with `rqa models pull`.",
    )


def _last_words() -> str:
    return "; ".join(_complaints) or "it gave no reason."

"""Tokenise a question and a text as one model input."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from robust_qa import ConfigError
from robust_qa.kit import whole_characters

from .folder import TOKENIZER, Settings

LABEL_TEMPLATE = "Query: {question} Document: {passage} Relevant:"  # monoT5 (Nogueira et al., 2020), section 3
CRAG_TEMPLATE = "{question} [SEP] {passage}"  # the published CRAG evaluator

_MAX_CHARACTERS = 1 << 16  # of a text; the window ends earlier
_CHARACTERS_PER_TOKEN = 16  # first guess of the text that fills the window
_SPECIAL = ("<pad>", "</s>", "[PAD]", "[CLS]", "[SEP]", "[MASK]")


class Pair(NamedTuple):
    """One input: token ids, and for BERT their segments (0: question, 1: text)."""

    ids: list[int]
    types: list[int]


class Pairing:
    """Builds inputs for a model from its tokenizer and settings.

    Runs of white space become one space. A question fills at most half of the window; long texts are cut. Special
    tokens in the question or the text are treated as plain text.
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # a "[SEP]" in a text is plain text
        self._tokenizer = tokenizer
        self._settings = settings
        self._shortened = lru_cache(1024)(self._shorten)
        special = {n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        self._special: set[int | None] = {*special, *map(tokenizer.token_to_id, _SPECIAL)}
        if settings.shape == "cross-encoder":
            self._begin, self._end, self._unknown = (_id(tokenizer, name) for name in ("[CLS]", "[SEP]", "[UNK]"))
        else:
            self._end, self._unknown = (_id(tokenizer, name) for name in ("</s>", "<unk>"))

    @classmethod
    def of(cls, folder: Path, settings: Settings) -> Pairing:
        """Return the pairing of a model folder."""
        return cls(Tokenizer.from_file(str(folder / TOKENIZER)), settings)

    def vocabulary(self) -> list[str]:
        """Return the tokens by id. Unused ids get names that no text contains."""
        by_id = {number: token for token, number in self._tokenizer.get_vocab().items()}
        return [by_id.get(number, f"<id_{number}>") for number in range(max(by_id) + 1)]

    def pair(self, question: str, text: str) -> Pair:
        """Return the input for one question and text."""
        question, text = self._shortened(question), _one_line(text)
        enough = _CHARACTERS_PER_TOKEN * self._settings.length
        if len(text) > enough:
            pair = self._build(question, text[:enough].rpartition(" ")[0])  # cut at a space, which changes no token
            if len(pair.ids) == self._settings.length:
                return pair
        return self._build(question, text)

    def _build(self, question: str, text: str) -> Pair:
        length = self._settings.length
        if self._settings.shape == "cross-encoder":
            head = [self._begin, *self._ids(question), self._end]
            body = [*self._ids(text)[: length - len(head) - 1], self._end]
            return Pair(head + body, [0] * len(head) + [1] * len(body))
        # str.format fails on braces in a question.
        parts = re.split(r"\{(question|passage)\}", self._settings.template)
        fields = {"question": question, "passage": text}
        whole = "".join(fields[part] if n % 2 else part for n, part in enumerate(parts))
        ids = self._ids(whole)
        if len(ids) >= length:  # keep the template after the text: the model answers to it
            after = self._settings.template.partition("{passage}")[2].replace("{question}", question)
            tail = min(len(self._ids(after.strip())), length - 1)
            ids = ids[: length - 1 - tail] + ids[len(ids) - tail :]
        return Pair([*ids, self._end], [])

    def _shorten(self, question: str) -> str:
        question = _one_line(question)
        coded = self._tokenizer.encode(question, add_special_tokens=False)
        most = self._settings.length // 2
        return question if len(coded.ids) <= most else question[: coded.offsets[most - 1][1]]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        # A unigram model also finds "</s>" in plain text, even in full-width letters.
        return [self._unknown if n in self._special else n for n in ids]


def _id(tokenizer: Tokenizer, token: str) -> int:
    found: int | None = tokenizer.token_to_id(token)
    if found is None:
        raise ConfigError(f"The tokenizer has no token {token}.")
    return found


def _one_line(text: str) -> str:
    return whole_characters(" ".join(text[:_MAX_CHARACTERS].split()))


def empty(text: str) -> bool:
    """Return whether the text is blank."""
    return not text or text.isspace()

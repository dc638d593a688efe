"""A question and a text as the tokens that a model reads."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from robust_qa import ConfigError
from robust_qa.kit import whole_characters

from .folder import TOKENIZER, Settings

LABEL_TEMPLATE = "Query: {question} Document: {passage} Relevant:"  # of monoT5 (Nogueira et al., 2020), section 3
CRAG_TEMPLATE = "{question} [SEP] {passage}"  # of the published CRAG evaluator

_LONGEST = 1 << 16  # characters that are looked at; no window of tokens reaches that far
_WIDE = 16  # characters of a token, mostly fewer: where so many for each fill the window, no more are looked at
_SPECIAL = ("<pad>", "</s>", "[PAD]", "[CLS]", "[SEP]", "[MASK]")


class Pair(NamedTuple):
    """One input: token ids, and for BERT the segment of each (0 the question's, 1 the text's)."""

    ids: list[int]
    types: list[int]


class Pairing:
    """Makes the inputs of the model whose tokenizer.json and settings these are.

    White space is folded. A question may fill half of the window; of a text the end is cut off where it is too
    long. Nothing in either is taken for a special token.
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is five characters
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
        """The pairing of a model folder. Raises what `tokenizers` raises."""
        return cls(Tokenizer.from_file(str(folder / TOKENIZER)), settings)

    def vocabulary(self) -> list[str]:
        """Every token at the place of its id; an id without one has a name that no text yields."""
        by_id = {number: token for token, number in self._tokenizer.get_vocab().items()}
        return [by_id.get(number, f"<id_{number}>") for number in range(max(by_id) + 1)]

    def pair(self, question: str, text: str) -> Pair:
        """The input for one question and text."""
        question, text = self._shortened(question), _folded(text)
        enough = _WIDE * self._settings.length
        if len(text) > enough:
            pair = self._paired(question, text[:enough].rpartition(" ")[0])  # whole words, whose tokens stay the same
            if len(pair.ids) == self._settings.length:
                return pair
        return self._paired(question, text)

    def _paired(self, question: str, text: str) -> Pair:
        length = self._settings.length
        if self._settings.shape == "cross-encoder":
            head = [self._begin, *self._ids(question), self._end]
            body = [*self._ids(text)[: length - len(head) - 1], self._end]
            return Pair(head + body, [0] * len(head) + [1] * len(body))
        # Not with `format`: a question may hold braces.
        parts = re.split(r"\{(question|passage)\}", self._settings.template)
        fields = {"question": question, "passage": text}
        whole = "".join(fields[part] if n % 2 else part for n, part in enumerate(parts))
        ids = self._ids(whole)
        if len(ids) >= length:  # what follows the text stays: it is what the model answers to
            after = self._settings.template.partition("{passage}")[2].replace("{question}", question)
            tail = min(len(self._ids(after.strip())), length - 1)
            ids = ids[: length - 1 - tail] + ids[len(ids) - tail :]
        return Pair([*ids, self._end], [])

    def _shorten(self, question: str) -> str:
        question = _folded(question)
        coded = self._tokenizer.encode(question, add_special_tokens=False)
        most = self._settings.length // 2
        return question if len(coded.ids) <= most else question[: coded.offsets[most - 1][1]]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        # A unigram model finds "</s>" also among its ordinary pieces, even where it was written in wide letters.
        return [self._unknown if n in self._special else n for n in ids]


def _id(tokenizer: Tokenizer, token: str) -> int:
    found: int | None = tokenizer.token_to_id(token)
    if found is None:
        raise ConfigError(f"The tokenizer has no {token}, which the model's inputs are made with.")
    return found


def _folded(text: str) -> str:
    return whole_characters(" ".join(text[:_LONGEST].split()))


def empty(text: str) -> bool:
    """Whether there is nothing to read."""
    return not text or text.isspace()

"""A row as the model sees it: `[CLS] question [SEP] title : text [SEP]`, and which tokens hold the answer."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..windows import head
from .rows import Row

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_AT_ONCE = 1000  # rows whose codes are in memory with all that the tokenizer tells of them


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids and types of one row; `starts` and `ends` are the token positions right for them.

    Position 0, [CLS], stands for "not in this passage" and is the one right position then. `searched` says that the
    answer is one stretch among them, not known which; `untold`, that nothing is known of the row.
    """

    ids: Sequence[int]
    types: Sequence[int]
    starts: list[int]
    ends: list[int]
    answerable: bool
    row: int
    searched: bool = False
    untold: bool = False


def load_tokenizer(path: str, length: int) -> Tokenizer:
    """The tokenizer file at `path`, cutting the passage (never the question) to `length` tokens in all."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # as the engine reads
    tokenizer.enable_truncation(length, strategy="only_second")
    return tokenizer


def headed(row: Row) -> str:
    """The passage of `row` with its title, as the model reads it."""
    return head(row.title) + row.context


def encode(rows: list[Row], tokenizer: Tokenizer, say: Callable[[str], None] | None = None) -> list[Example]:
    """The examples of `rows`, in order; a row whose answer has no token there is left out, and `say` is told."""
    examples = []
    cut = lost = 0
    for at in range(0, len(rows), _AT_ONCE):
        part = rows[at : at + _AT_ONCE]
        found = tokenizer.encode_batch([(row.question, headed(row)) for row in part])
        for number, (row, coded) in enumerate(zip(part, found, strict=True), at):
            starts, ends = [0], [0]
            if row.answerable:
                starts, ends = _positions(row, len(head(row.title)), coded)
            if starts and ends:
                ids, types = array("i", coded.ids), array("b", coded.type_ids)  # 5 bytes a token, of lists 16 to 44
                searched = row.within is not None
                examples.append(Example(ids, types, starts, ends, row.answerable, number, searched, row.untold))
            elif coded.overflowing:
                cut += 1
            else:
                lost += 1
    if say is not None and cut + lost:
        say(f"{cut + lost:,} rows left out: {cut:,} with the answer past --length, {lost:,} without tokens of it")
    return examples


def _positions(row: Row, shift: int, coded: object) -> tuple[list[int], list[int]]:
    offsets, sides = coded.offsets, coded.sequence_ids  # type: ignore[attr-defined]
    if row.within is not None:
        asked = _content(row.question)
        begin, end = row.within[0] + shift, row.within[1] + shift
        words = [
            (match.start() + begin, match.end() + begin)
            for match in re.finditer(r"[^\W_]+(?:[.,'-][^\W_]+)*", row.context[row.within[0] : row.within[1]])
            if match[0].lower() not in asked and match[0].lower() not in _FUNCTION
        ]
        inside = {n for n, side in enumerate(sides) if side == 1 for a, b in words if a <= offsets[n][0] < b}
        return sorted(inside), sorted(inside)
    begins = [row.start + shift] if row.start is not None else []
    if row.start is None:
        begins = _occurrences(row.answers[0], headed(row))
    starts, ends = set(), set()
    for begin in begins:
        end = begin + len(row.answers[0])
        held = [n for n, side in enumerate(sides) if side == 1 and offsets[n][0] < end and begin < offsets[n][1]]
        # What follows the last token's characters, as a mark that the tokenizer drops, is the answer's too: uncut.
        if held and (end <= offsets[held[-1]][1] or 1 in sides[held[-1] + 1 :] or not coded.overflowing):  # type: ignore[attr-defined]
            starts.add(held[0])
            ends.add(held[-1])
    return sorted(starts), sorted(ends)


def _occurrences(answer: str, text: str) -> list[int]:
    """Where `answer` stands in `text`: as whole words, or, where it nowhere does, inside of them."""
    anywhere = re.escape(answer)
    whole = (
        (r"(?<!\w)" if re.match(r"\w", answer) else "") + anywhere + (r"(?!\w)" if re.search(r"\w\Z", answer) else "")
    )
    found = ([match.start() for match in re.finditer(pattern, text, re.IGNORECASE)] for pattern in (whole, anywhere))
    return next(filter(None, found), [])


def _content(question: str) -> set[str]:
    return set(re.findall(r"[^\W_]+(?:[.,'-][^\W_]+)*", question.lower())) - _FUNCTION


_FUNCTION = frozenset(
    "a an the of in on at by to for from with and or but is are was were be been being has have had do does did "
    "as that this these those it its he she they his her their who whom whose which what when where why how not "
    "also than then into over after before during between such can could may might will would should s".split()
)

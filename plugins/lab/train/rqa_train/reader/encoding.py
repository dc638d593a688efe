"""Tokenise rows as `[CLS] question [SEP] title : text [SEP]` and find the tokens of the answer."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rqa_embedded.windows import head

from .rows import Row

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_BATCH = 1000  # rows tokenised at once, to limit memory


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids and types of one row, and the right token positions `starts` and `ends`.

    Position 0, [CLS], means that the passage has no answer. With `searched`, the answer is an unknown span of these
    positions. `unlabelled` rows have no label.
    """

    ids: Sequence[int]
    types: Sequence[int]
    starts: list[int]
    ends: list[int]
    answerable: bool
    row: int
    searched: bool = False
    unlabelled: bool = False


def load_tokenizer(path: str, length: int) -> Tokenizer:
    """Load the tokenizer. It truncates passages, never questions, to `length` tokens in total."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # like the engine
    tokenizer.enable_truncation(length, strategy="only_second")
    return tokenizer


def headed(row: Row) -> str:
    """Return the passage of `row` with its title, as the model reads it."""
    return head(row.title) + row.context


def encode(rows: list[Row], tokenizer: Tokenizer, say: Callable[[str], None] | None = None) -> list[Example]:
    """Return the examples of `rows`. Rows without a token of the answer are skipped and counted with `say`."""
    examples = []
    cut = lost = 0
    for at in range(0, len(rows), _BATCH):
        part = rows[at : at + _BATCH]
        found = tokenizer.encode_batch([(row.question, headed(row)) for row in part])
        for number, (row, coded) in enumerate(zip(part, found, strict=True), at):
            starts, ends = [0], [0]
            if row.answerable:
                starts, ends = _positions(row, len(head(row.title)), coded)
            if starts and ends:
                ids, types = array("i", coded.ids), array("b", coded.type_ids)  # 5 bytes a token; lists need 16 to 44
                searched = row.within is not None
                examples.append(Example(ids, types, starts, ends, row.answerable, number, searched, row.unlabelled))
            elif coded.overflowing:
                cut += 1
            else:
                lost += 1
    if say is not None and cut + lost:
        say(f"skipped {cut + lost:,} rows: {cut:,} with the answer beyond --length, {lost:,} without its tokens")
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
        tokens = [n for n, side in enumerate(sides) if side == 1 and offsets[n][0] < end and begin < offsets[n][1]]
        # The tokenizer drops some characters, so an answer may end after its last token. Otherwise it is truncated.
        if tokens and (end <= offsets[tokens[-1]][1] or 1 in sides[tokens[-1] + 1 :] or not coded.overflowing):  # type: ignore[attr-defined]
            starts.add(tokens[0])
            ends.add(tokens[-1])
    return sorted(starts), sorted(ends)


def _occurrences(answer: str, text: str) -> list[int]:
    """Return the offsets of `answer` in `text` as whole words, or else inside words."""
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

"""Read the blocks of plain text and of source code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from robust_qa.kit import is_row

from .blocks import Block, Blocks

_LONGEST_HEADING = 12  # words
_UNDERLINE = re.compile(r"[ \t]*([=\-~^*#+_])\1{2,}[ \t]*")
_NUMBERED = re.compile(
    r"(?:(?:chapter|part|appendix|annex|article|section)\s+)?((?:\d+\.)*\d+[.):]?|[A-Z][.)])\s+\S", re.I
)
_ITEM = re.compile(r"(?P<mark>[-*+•‣◦]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,4})[.)])[ \t]+(?=\S)")
_STOPPED = re.compile(r"[.!?…。！？:;,][\"'”’)\]»*_]*(?:\[[^\[\]\n.!?…]{1,30}\])*\Z")
_KEY = re.compile(r"[A-Z][\w-]*(?: [\w-]+){0,2}:(?:[ \t]+(?P<value>\S.*))?")
# A word that is broken at the end of a line, with more words or the end of the paragraph after it.
_BROKEN = re.compile(
    r"(?<![^\W\d_])([^\W\d_]+)-[ \t]*\n[ \t]*([^\W\d_]+)([^\s-]*)(?:[ \t]+(?=\S)|(?=[ \t]*(?:\n[ \t]*(?:\n|\Z)|\Z)))"
)
_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]+\b(?!-[ \t]*\n)")
# A line of a chat or a transcript with a name and a time, as Teams writes it, or Discord, Telegram and Otter.
_NAME = r"([^\W\d_][^\n:;?!\[\]]{0,40}?)"
_TIME = r"((?:\w{3,12} at |\d[\d./-]{2,9},? )?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)"
_SPEAKER = re.compile(rf"\[{_TIME}\] +{_NAME}:?[ \t]*|{_NAME}(?:,? \[| [—–|·-] |  +|\t){_TIME}\]?[ \t]*")
_TIME_BELOW = re.compile(rf"\n[ \t]+{_TIME}[ \t]*$", re.M)  # below the name, as Slack writes it
_CODE_INDENT = 4  # more columns than the paragraph before it


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Lines without a blank line between them, with the number of the first."""

    lines: list[str]
    line: int

    @property
    def indent(self) -> int:
        return min(map(indent, self.lines))

    @property
    def text(self) -> str:
        return "\n".join(line[self.indent :] for line in self.lines)


def read_plain(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the title of a header ("" if none) and the blocks. `line` is the first line's number."""
    if text[:1].isalnum() and text.isprintable() and not _ITEM.match(text):  # one line of text, as in a corpus
        reader = _Reader()
        reader.blocks.paragraph(text, line)
        return "", reader.blocks.found
    text = text.replace("\u2028", " ").replace("\u2029", " ")  # they end lines, but none of those that are counted
    chunks = list(_chunks(_with_speakers(_mended(text)).expandtabs(), line))
    reader = _Reader()
    for i, chunk in enumerate(chunks):
        reader.read(chunk, chunks[i + 1] if i + 1 < len(chunks) else None, is_first=i == 0)
    return (header_title(chunks[0].lines) if chunks else ""), reader.blocks.found


def _mended(text: str) -> str:
    """Return `text` with the words that are broken at line ends whole on the first line.

    The hyphen stays before a capital, and if the text has the parts as words of their own, but not the whole.
    """
    words: Counter[str] = Counter()

    def whole(broken: re.Match[str]) -> str:
        if not words:
            words.update(_WORD.findall(text.lower()))
        first, second, rest = broken.groups()
        has_parts = words[first.lower()] > 0 and words[second] > 1 and not words[f"{first}{second}".lower()]
        return f"{first}{'-' * (has_parts or not second[0].islower())}{second}{rest}\n"

    return _BROKEN.sub(whole, text)


def _with_speakers(text: str) -> str:
    """Return a chat or a transcript with each message on the line of its speaker: "[9:02] Ada: Staging is down."."""
    lines = _TIME_BELOW.sub(r"  \1\n", text).split("\n")
    heads = [(n, head) for n, line in enumerate(lines) if ":" in line and (head := _SPEAKER.fullmatch(line))]
    messages = 0
    for (number, head), (following, _) in pairwise([*heads, (len(lines), None)]):
        begin = next((n for n in range(number + 1, following) if lines[n].strip()), following)
        end = next((n for n in range(begin, following) if not lines[n].strip()), following)
        if begin < end and head:
            named = f"[{head[1] or head[4]}] {head[2] or head[3]}:"
            lines[number] = " ".join([named, *map(str.strip, lines[begin:end])])
            lines[begin:end] = [""] * (end - begin)
            messages += 1
    return "\n".join(lines) if messages > 1 and messages >= len(heads) / 2 else text


def read_code(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return "" and the blocks of source code, which begin at unindented lines after blank lines."""
    blocks = Blocks(lined=True)
    part: list[str] = []
    begin = line
    for chunk in _chunks(text.expandtabs(4), line):
        if part and not chunk.lines[0][:1].isspace():
            blocks.code("\n".join(part), begin)
            part = []
        begin = begin if part else chunk.line
        part += [""] * (chunk.line - begin - len(part)) + chunk.lines
    blocks.code("\n".join(part), begin)
    return "", blocks.found


def indent(line: str) -> int:
    """Return the number of spaces before the text of `line`."""
    return len(line) - len(line.lstrip())


def header_title(lines: Sequence[str]) -> str:
    """Return the value of Title or Subject if `lines` are a header of "Key: value" lines, otherwise ""."""
    fields = [_KEY.fullmatch(line) for line in lines if line[:1].strip()]
    if len(fields) < 2 or not all(fields):
        return ""
    named = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in named if key.lower() in ("title", "subject")), "")


def _chunks(text: str, line: int) -> Iterator[_Chunk]:
    lines: list[str] = []
    for number, content in enumerate([*text.split("\n"), ""], start=line):
        if content.strip():
            lines.append(content.rstrip())
        elif lines:
            yield _Chunk(lines, number - len(lines))
            lines = []


class _Reader:
    def __init__(self) -> None:
        self.blocks = Blocks(lined=True)
        self._underlines: list[str] = []  # characters, highest level first
        self._numbers = 0  # level of the last numbered heading
        self._top = 0  # 1 if the text begins with its title
        self._indents: list[int] = []  # of the marks of the open items
        self._indent = 0  # of the last paragraph

    def read(self, chunk: _Chunk, following: _Chunk | None, *, is_first: bool) -> None:
        """Add the blocks of `chunk`."""
        lines = chunk.lines
        if _UNDERLINE.fullmatch(lines[-1]) and len(lines) != 2:  # a rule
            lines = lines[:-1]
            if not lines:
                return
            chunk = _Chunk(lines, chunk.line)
        if len(lines) > 1 and (mark := _UNDERLINE.fullmatch(lines[1])) and not _UNDERLINE.fullmatch(lines[0]):
            self._heading(self._underlined(mark[1]), lines[0], chunk.line)
            if len(lines) > 2:
                self.read(_Chunk(lines[2:], chunk.line + 2), following, is_first=False)
        elif level := self._level(chunk, following, is_first=is_first):
            self._heading(level, lines[0], chunk.line)
            self._top = self._top or int(is_first)
        else:
            self._body(chunk)

    def _heading(self, level: int, text: str, line: int) -> None:
        self._indents = []
        self._indent = indent(text)
        self.blocks.heading(level + self._top, text, line)

    def _underlined(self, mark: str) -> int:
        if mark not in self._underlines:
            self._underlines.append(mark)
        return self._underlines.index(mark) + 1

    def _level(self, chunk: _Chunk, following: _Chunk | None, *, is_first: bool) -> int:
        """Return the level of a line that is a heading, 0 if it is none. It is short and ends no sentence."""
        text = chunk.lines[0].strip()
        is_short = len(chunk.lines) == 1 and len(text.split()) <= _LONGEST_HEADING and not _STOPPED.search(text)
        if not is_short or following is None or not any(map(str.isalpha, text)):
            return 0
        if following.lines[0].lstrip()[0].islower():  # the sentence continues
            return 0
        if is_row(text):
            return 0
        if is_first:
            return 1
        if chunk.indent > 2 or (self._indents and chunk.indent > self._indents[-1]):
            return 0
        if numbered := _NUMBERED.match(text):
            dots = numbered[1].rstrip(".):").count(".")
            is_list = _ITEM.match(text) and _ITEM.match(following.lines[0].strip()) and not dots
            if is_list or (not dots and not text[len(numbered[0]) - 1].isupper()):
                return 0
            self._numbers = dots + 1
            return self._numbers
        if _ITEM.match(text) or _KEY.fullmatch(text) or chunk.indent:
            return 0
        return self._numbers + 1

    def _body(self, chunk: _Chunk) -> None:
        """Add a chunk that is items, the rest of an item, code or a paragraph."""
        first, margin = chunk.lines[0], chunk.indent
        if not self._indents and not _ITEM.match(first.lstrip()) and margin >= self._indent + _CODE_INDENT:
            self.blocks.code(chunk.text, chunk.line)
            return
        part: list[str] = []
        begin = chunk.line
        for number, line in enumerate(chunk.lines, start=chunk.line):
            if _ITEM.match(line.lstrip()) and (not part or self._starts_item(line, part)):
                self._add(part, begin)
                part, begin = [line], number
            else:
                part.append(line)
        self._add(part, begin)

    def _starts_item(self, line: str, part: Sequence[str]) -> bool:
        """Return whether a line with the mark of an item is not the wrapped text of the part before it."""
        mark = _ITEM.match(line.lstrip())
        return bool(_ITEM.match(part[0].lstrip()) or part[-1].endswith(":") or (mark and mark["mark"] in "-*+•‣◦"))

    def _add(self, lines: list[str], number: int) -> None:
        if not lines:
            return
        mark = _ITEM.match(lines[0].lstrip())
        column = indent(lines[0]) if mark else min(map(indent, lines))
        while self._indents and self._indents[-1] >= column:
            self._indents.pop()
        depth = len(self._indents)
        text = _dedented(lines)
        if mark:
            if all(indent(line) > column for line in lines[1:]):  # its text is wrapped
                text = text.replace("\n", "\r")
            self._indents.append(column)
            self.blocks.item(mark["mark"], text[mark.end() :], number, depth)
        else:
            if not depth:
                self._indent = column
            self.blocks.paragraph(text, number, depth)


def _dedented(lines: Sequence[str]) -> str:
    """Return `lines` without their common indent. The first line may have another."""
    rest = min(map(indent, lines[1:]), default=0)
    return "\n".join([lines[0].lstrip(), *(line[rest:] for line in lines[1:])])

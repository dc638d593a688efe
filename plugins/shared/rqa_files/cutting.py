"""Cut documents into passages of about equal length, between blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from robust_qa.kit import PARAGRAPH, UNSPACED, count_words, sentences, tidy

from .blocks import Block, as_title
from .document import Document

# Runs of up to 16 words without a space are not cut.
_RUN = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]{{1,{16 * 64}}}")
_LINE = re.compile(r"[^\n]+")
_LISTED = frozenset(("item", "option", "row"))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a document. `line` is its first line in the file, `lines` has that of each of its lines, or 0."""

    title: str
    text: str
    line: int = 0
    lines: tuple[int, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class _Section:
    """The blocks under a heading, with the titles of the headings above them, its own last."""

    path: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)
    line: int = 0
    words: int = 0  # without the heading


@dataclass(slots=True)
class _Group:
    """Sections to cut together, with the path that they share and the sum of their words."""

    sections: list[_Section]
    path: tuple[str, ...]
    words: int

    def add(self, sections: Sequence[_Section]) -> None:
        self.sections += sections
        self.path = _shared([self.path, *(section.path for section in sections)])
        self.words += sum(section.words for section in sections)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The smallest unit of a passage: a block, a sentence or a part of one."""

    text: str
    words: int
    path: tuple[str, ...]
    before: str = "\n\n"  # separator from the previous piece
    is_start: bool = True  # whether a passage may begin here
    above: tuple[str, ...] = ()  # lines to repeat if a passage begins here
    heads: tuple[str, ...] = ()  # headings before the piece
    lines: tuple[int, ...] = ()  # as of a block


@dataclass(frozen=True, slots=True)
class Cut:
    """Cuts documents into passages of about `words` words that repeat `overlap` sentences of the previous passage."""

    words: int = 100
    overlap: int = 0

    def passages(self, document: Document) -> Iterator[Excerpt]:
        """Yield the passages of `document`, in order. A title ends with the headings above all of the passage.

        - A document of up to 1.5 times `words` stays whole.
        - A list item, option, row or code block is cut only if it has more than twice `words`.
        - A section of less than a quarter of `words` joins its neighbour below the same parent.
        - A line that introduces a list is repeated where the list continues.
        """
        if len(document.blocks) == 1 and self._is_whole(document.blocks[0]):
            (block,) = document.blocks
            yield Excerpt(as_title(tidy(document.title)), block.text, block.line, block.line_numbers)
            return
        sections = list(self._sections(document.blocks))
        headings = count_words(" ".join(section.path[-1] for section in sections if section.path))
        whole = headings + sum(section.words for section in sections) <= 1.5 * self.words
        for group in [sections] if whole and sections else self._groups(sections):
            pieces = list(self._pieces(group))
            for first, last in [(0, len(pieces))] if whole else self._runs(pieces):
                yield _excerpt(tidy(document.title), pieces[first:last], self.words)

    def _is_whole(self, block: Block) -> bool:
        """Return whether a block alone is a passage as it is."""
        is_plain = (
            block.kind == "paragraph" and not block.level and not block.above and block.text == block.text.strip()
        )
        return is_plain and 0 < count_words(block.text) <= self.words

    def _sections(self, blocks: Sequence[Block]) -> Iterator[_Section]:
        """Yield the sections that have text, and headings that no other section is under."""
        above: list[Block] = []
        section = _Section(())
        for block in blocks:
            if block.kind != "heading":
                section.blocks += [block] if block.text.strip() else []
                section.words += count_words(block.text)
                continue
            has_child = above and block.level > above[-1].level
            if section.blocks or (section.path and not has_child):
                yield section
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            section = _Section(tuple(heading.text for heading in above), line=block.line)
        if section.blocks or section.path:
            yield section

    def _groups(self, sections: Sequence[_Section]) -> list[list[_Section]]:
        """Group sections to cut together: a short section joins a neighbour."""
        groups: list[_Group] = []
        for section in sections:
            if groups and self._is_short(groups[-1]) and _are_neighbours(groups[-1].path, section.path):
                groups[-1].add([section])
                continue
            self._join_last(groups)
            groups.append(_Group([section], section.path, section.words))
        self._join_last(groups)
        return [group.sections for group in groups]

    def _join_last(self, groups: list[_Group]) -> None:
        """Join the last group to the one before it, if it is short."""
        if len(groups) > 1 and self._is_short(groups[-1]) and _are_neighbours(groups[-2].path, groups[-1].path):
            last = groups.pop()
            groups[-1].add(last.sections)

    def _is_short(self, group: _Group) -> bool:
        return group.words < self.words / 4 or not group.sections[-1].blocks

    def _pieces(self, group: Sequence[_Section]) -> Iterator[_Piece]:
        several = len(group) > 1
        shown = _shared([section.path for section in group])
        for section in group:
            heads = section.path[len(_shared([shown, section.path])) :] if several else ()
            shown = section.path
            previous: Block | None = None
            together = 0  # words since the last place where a passage may begin
            if not section.blocks:
                heads = heads or section.path[-1:]
                yield _Piece("", count_words(" ".join(heads)), section.path, heads=heads, lines=(section.line,))
            for i, block in enumerate(section.blocks):
                is_led = previous is not None and _introduces(previous, block) and together <= self.words
                leads = i + 1 < len(section.blocks) and _introduces(block, section.blocks[i + 1])
                for number, part in enumerate(self._parts(block, leads)):
                    piece = replace(part, path=section.path, above=_indented(block))
                    if number == 0:
                        words = part.words + count_words(" ".join(heads))
                        before = "\n" if previous and _is_close(previous, block) else "\n\n"
                        piece = replace(piece, is_start=not is_led, heads=heads, words=words, before=before)
                        heads = ()
                    together = piece.words if piece.is_start else together + piece.words
                    yield piece
                previous = block

    def _parts(self, block: Block, leads: bool) -> Iterator[_Piece]:
        """Cut a block where passages may have to be cut. `leads` says whether it introduces the next block."""
        indent = "  " * block.level
        words = count_words(block.text)
        if block.kind != "paragraph" and words <= 2 * self.words:
            yield _Piece(indent + block.text.replace("\n", f"\n{indent}"), words, (), lines=block.line_numbers)
            return
        # A paragraph of usual length stays whole, but an overlap may repeat its sentences.
        is_long = words > (self.words / 2 if leads else self.words)
        end = line = 0
        lines = block.line_numbers
        for start, stop in _spans(block, self.words):
            count = count_words(block.text[start:stop])
            parts = [(start, stop, count)] if count <= 2 * self.words else self._shorter(block.text, start, stop)
            for first, last, n in parts:
                text = block.text[first:last] if end else indent + block.text[first:last]
                line += block.text.count("\n", end, first)
                after = line + block.text.count("\n", first, last)
                yield _Piece(text, n, (), block.text[end:first], is_long or not end, lines=lines[line : after + 1])
                end, line = last, after

    def _shorter(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Cut a sentence at its spaces into parts of `words` words. Return (start, end, words) of each."""
        first, stop, total = start, start, 0
        for run in _RUN.finditer(text, start, end):
            count = count_words(run[0])
            if total and total + count > self.words:
                yield first, stop, total
                first, total = run.start(), 0
            stop, total = run.end(), total + count
        yield first, stop, total

    def _runs(self, pieces: list[_Piece]) -> list[tuple[int, int]]:
        """Return half-open ranges of `pieces`, one per passage, each as close to `words` as possible."""
        if sum(piece.words for piece in pieces) <= 1.5 * self.words:
            return [(0, len(pieces))]
        starts = [i for i, piece in enumerate(pieces) if piece.is_start or i == 0]
        runs: list[tuple[int, int]] = []
        first, total, fresh = 0, 0, 0  # start of the current passage, its words, its words without the overlap
        for start, end in zip(starts, [*starts[1:], len(pieces)], strict=True):
            words = sum(piece.words for piece in pieces[start:end])
            if fresh >= self.words / 4 and total + words / 2 > self.words:
                runs.append((first, start))
                first, total = self._repeat(pieces, start)
                fresh = 0
            total += words
            fresh += words
        if runs and fresh < self.words / 4:
            runs[-1] = (runs[-1][0], len(pieces))
        else:
            runs.append((first, len(pieces)))
        return runs

    def _repeat(self, pieces: list[_Piece], end: int) -> tuple[int, int]:
        """Return where the passage after `end` begins, and the number of repeated words, at most half a passage."""
        first, total = end, 0
        while first and end - first < self.overlap and total + pieces[first - 1].words <= self.words / 2:
            first -= 1
            total += pieces[first].words
        return first, total


def _spans(block: Block, words: int) -> list[tuple[int, int]]:
    """Return the sentences of a block. Of code: its paragraphs, or their lines if they are long."""
    if block.kind != "code":
        return sentences(block.text)
    found: list[tuple[int, int]] = []
    for part in PARAGRAPH.finditer(block.text):
        if count_words(part[0]) <= 2 * words:
            found.append(part.span())
        else:
            found += [line.span() for line in _LINE.finditer(block.text, part.start(), part.end())]
    return [(start, end) for start, end in found if block.text[start:end].strip()]


def _indented(block: Block) -> tuple[str, ...]:
    """Return the lines above a block, each item indented by its depth."""
    lead = len(block.above) - block.level  # 1 if a line introduces the list
    return tuple("  " * max(i - lead, 0) + line for i, line in enumerate(block.above))


def _excerpt(title: str, pieces: Sequence[_Piece], words: int) -> Excerpt:
    paths = [piece.path for piece in pieces]
    common = _shared(paths)
    is_one = len(set(paths)) == 1 and any(piece.text for piece in pieces)
    begin = pieces[0]
    above = begin.above
    if above and count_words(" ".join(above)) > words / 2:
        above = above[-1:] if count_words(above[-1]) <= words / 2 else ()
    text = "".join(f"{line}\n" for line in above) if begin.is_start else ""
    lines = [0] * (text.count("\n") + 1)
    for i, piece in enumerate(pieces):
        heads = "" if is_one else "\n".join(head for head in piece.heads if head != title)
        before = "" if not i else piece.before if not heads else "\n\n"
        before += f"{heads}\n\n" if heads and piece.text else heads
        text += before + piece.text
        lines += [0] * before.count("\n")
        lines[-1] = lines[-1] or piece.lines[0]
        lines += piece.lines[1:]
    if not text:  # a heading that is the title is all there is
        text = begin.path[-1]
    begun = len(text) - len(text.lstrip("\n"))
    text = text.strip("\n").rstrip()
    return Excerpt(_titled(title, common), text, begin.lines[0], tuple(lines[begun : begun + text.count("\n") + 1]))


def _titled(title: str, path: Sequence[str]) -> str:
    """Return the title of a passage: the document's title and the titles in `path` that it does not contain."""
    own = [part for part in path if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", title, re.IGNORECASE)]
    return as_title(" > ".join(filter(None, [title, *own])))


def _introduces(first: Block, second: Block) -> bool:
    """Return whether `first` is the paragraph or the item that `second` belongs under."""
    if first.kind == "item":
        return second.level > first.level
    is_lead = bool(second.above) and first.text.endswith(second.above[0])
    return is_lead and first.kind == "paragraph" and not first.level


def _is_close(first: Block, second: Block) -> bool:
    """Return whether the blocks are shown without a blank line between them."""
    is_list = second.kind in _LISTED and (first.kind == second.kind or (first.level > 0 and first.kind not in _LISTED))
    return is_list or _introduces(first, second) or second.level > 0


def _are_neighbours(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether the section `second` is below `first`, or has the same parent."""
    same = len(_shared([first, second]))
    return same == len(first) or (same == len(first) - 1 == len(second) - 1)


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common prefix of `paths`."""
    levels = zip(*paths, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))

"""Find the notes at the foot of a page, and where they are marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from rqa_files import superscript

from .layout import Line
from .words import Word

TOKEN = re.compile("\ue001([0-9]+)\ue001")  # stands for a note in the text
_BEGINS = re.compile(r"(\d{1,3}|[*∗†‡§])[).]?")
_SMALL = 0.95  # of the usual height of a word: the words of a note
_STEP = 1.8  # times the height of a line, to the next of its note
_LEFT = 3  # times the height of a line that the lines of a note may be apart at the left


def without_notes(lines: Sequence[Line], notes: list[str]) -> list[Line]:
    """Return the lines of a page without its notes, which are added to `notes`, with tokens in place of their marks.

    A mark without a note is part of the text: m^2.
    """
    marks = {word.mark.rstrip(")") for line in lines for word in line.words if word.mark}
    usual = median(word.height for line in lines for word in line.words)
    found: dict[str, list[Line]] = {}
    left: list[Line] = []
    last: list[Line] = []  # of the open note
    for line in lines:
        begun = _begun(line, usual)
        is_small = median(word.height for word in line.words) < _SMALL * usual
        if begun in marks and begun not in found and is_small:
            last = found[begun] = [line]
        elif last and is_small and not begun and _goes_on(last[-1], line):
            last.append(line)
        else:
            last = []
            left.append(line)
    tokens: dict[str, str] = {}
    for mark, parts in found.items():
        tokens[mark] = f"\ue001{len(notes)}\ue001"
        text = "\n".join(" ".join(word.text + word.mark for word in line.words) for line in parts)
        notes.append(_BEGINS.sub("", text, count=1).strip() if not parts[0].words[0].note else text)
    for line in left:
        line.words = [_marked(word, tokens) if word.mark or word.note else word for word in line.words]
    return left


def _begun(line: Line, usual: float) -> str:
    """Return the mark with which a line begins as a note does, "" if it does not."""
    first = line.words[0]
    is_raised = first.height < (line.words[1].height if len(line.words) > 1 else usual) * _SMALL
    begins = _BEGINS.fullmatch(first.note or (first.text if is_raised or first.text.endswith(")") else ""))
    return begins[1] if begins else ""


def _goes_on(last: Line, line: Line) -> bool:
    return 0 < line.top - last.top < _STEP * line.height and abs(line.left - last.left) < _LEFT * line.height


def _marked(word: Word, tokens: dict[str, str]) -> Word:
    written = word.mark if word.mark.endswith(")") else superscript(word.text[-1], word.mark)
    mark = tokens.get(word.mark.rstrip(")")) or written
    return replace(word, text=f"{word.note}{word.text}{mark}")

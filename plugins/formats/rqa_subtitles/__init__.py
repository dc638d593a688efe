"""Format `subtitles`: SubRip and WebVTT."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robust_qa.documents import Block, Blocks, Document, File, Report

_TIMES = re.compile(r"(?:\d+\n)?(?:\d+:)?\d\d:\d\d[.,]\d{3} --> .*\n?")
_TAG = re.compile(r"</?[a-z][^<>\n]{0,100}>|\{\\[^{}\n]{0,100}\}")
_STOPPED = re.compile(r"[.!?…。！？][\"'”’)]*\Z")


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the text of the subtitles."""
    yield file.document("", read_subtitles(file.text()))


def read_subtitles(text: str) -> list[Block]:
    """Return paragraphs of whole sentences: a sentence may go on in the next cue."""
    blocks = Blocks()
    sentence, line, begin = "", 1, 1
    for cue in text.split("\n\n"):
        if times := _TIMES.search(cue):
            sentence = f"{sentence} {_TAG.sub('', cue[times.end() :])}".strip()
            if _STOPPED.search(sentence):
                blocks.paragraph(" ".join(sentence.split()), begin)
                sentence, begin = "", line + cue.count("\n") + 2
        line += cue.count("\n") + 2
    blocks.paragraph(" ".join(sentence.split()), begin)
    return blocks.found

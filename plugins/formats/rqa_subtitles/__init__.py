"""Format `subtitles`: SubRip and WebVTT."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robust_qa.documents import Block, Blocks, Document, File, Report

_TIMES = re.compile(r"(?:\d+\n)?((?:\d+:)?\d\d:\d\d)[.,]\d{3} --> .*\n?")
_SPEAKER = re.compile(r"\s*(?:<v(?:\.[\w.]+)? ([^<>\n]{1,60})>|([^\W\d_][\w.' ()-]{0,40}): )")
_TAG = re.compile(r"</?[a-z][^<>\n]{0,100}>|\{\\[^{}\n]{0,100}\}")
_STOPPED = re.compile(r"[.!?…。！？][\"'”’)]*\Z")


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the text of the subtitles."""
    yield file.document("", read_subtitles(file.text()))


def read_subtitles(text: str) -> list[Block]:
    """Return paragraphs of whole sentences, with the time and the name of the speaker if it is given.

    A sentence may go on in the next cue, unless that is of another speaker.
    """
    blocks = Blocks()
    sentence, named, line, begin = "", "", 1, 1
    for cue in text.split("\n\n"):
        if times := _TIMES.search(cue):
            said = cue[times.end() :]
            if speaker := _SPEAKER.match(said):
                said, name = said[speaker.end() :], speaker[1] or speaker[2]
                if sentence and name != named:
                    blocks.paragraph(sentence, begin)
                    sentence = ""
                named = name
            if not sentence:
                begin = line + cue.count("\n", 0, times.end())
                sentence = f"[{times[1]}] {named}:" if named else ""
            sentence = " ".join([*sentence.split(), *_TAG.sub("", said).split()])
            if _STOPPED.search(sentence):
                blocks.paragraph(sentence, begin)
                sentence = ""
        line += cue.count("\n") + 2
    blocks.paragraph(sentence, begin)
    return blocks.found

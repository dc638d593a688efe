"""Format `subtitles`: SubRip and WebVTT."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robust_qa import Registry, hookimpl
from rqa_files import Block, Blocks, Document, File, Report

_TIMES = re.compile(r"(?<!\d)(?:\d+\n)?((?:\d+:)?\d\d:\d\d)[.,]\d{3} --> .*\n?")
_SPEAKER = re.compile(r"\s*(?:<v(?:\.[\w.]+)? ([^<>\n]{1,60})>|([^\W\d_][\w.' ()-]{0,40}): )")
_TAG = re.compile(r"</?[a-z\d][^<>\n]{0,100}>|\{\\[^{}\n]{0,100}\}")
_LONGEST = 60  # words of a sentence; automatic captions have no stops
_STOPPED = re.compile(r"[.!?…。！？][\"'”’)]*\Z")


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the text of the subtitles."""
    yield file.document("", read_subtitles(file.text()))


def read_subtitles(text: str) -> list[Block]:
    """Return paragraphs of whole sentences, with the time and the name of the speaker if it is given.

    A sentence may go on in the next cue, unless that is of another speaker. A line that rolls up is read once.
    """
    blocks = Blocks()
    sentence, named, line, begin = "", "", 1, 1
    before: list[str] = []  # lines of the last cue
    for cue in text.split("\n\n"):
        if times := _TIMES.search(cue):
            lines = [each for each in cue[times.end() :].split("\n") if each.strip()]
            shown = [" ".join(_TAG.sub("", each).split()) for each in lines]
            most = min(len(shown), len(before))
            rolled = next((n for n in range(most, 0, -1) if shown[:n] == before[-n:]), 0)
            before, said = shown, "\n".join(lines[rolled:])
            if speaker := _SPEAKER.match(said):
                said, name = said[speaker.end() :], speaker[1] or speaker[2]
                if sentence and name != named:
                    blocks.paragraph(sentence, begin)
                    sentence = ""
                named = name
            if said and not sentence:
                begin = line + cue.count("\n", 0, times.end())
                sentence = f"[{times[1]}] {named}:" if named else ""
            sentence = " ".join([*sentence.split(), *_TAG.sub("", said).split()])
            if _STOPPED.search(sentence) or sentence.count(" ") > _LONGEST:
                blocks.paragraph(sentence, begin)
                sentence = ""
        line += cue.count("\n") + 2
    blocks.paragraph(sentence, begin)
    return blocks.found


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.format("subtitles", read="rqa_subtitles:read", suffixes="srt|vtt")

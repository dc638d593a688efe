"""CompAct: the model compresses the passages into a summary, segment by segment, until the evidence is complete.

Yoon et al., "CompAct: Compressing Retrieved Documents Actively for Question Answering", EMNLP 2024. At most one call
for each segment of five passages, and one to read.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Passage
from rqa_prompts import between

from . import asking
from .replies import holding

if TYPE_CHECKING:
    from robust_qa import Toolbox

_COMPLETE = re.compile(r"^[^\w\n]*+complete[^\w\n:：]*+[:：][^\w\n]*+(yes|no)\b.*$", re.I | re.M)
_MARK = re.compile(r"<<\s*SUMMARY", re.I)
_NOTHING = re.compile(r"\W*+(?:none|nothing(?: yet)?)?\W*+", re.I)  # as the prompt says for an empty summary


class CompAct:
    """Compresses the passages into a summary, segment by segment, and reads the summary."""

    needs = frozenset({"retrieve", "read", "generate"})

    @dataclass
    class Options(asking.PassageOptions):
        segment: Annotated[int, Meta(ge=1)] = 5  # passages to compress at a time

    def __init__(self, options: Options) -> None:
        self.segment = options.segment
        self.agent = asking.Agent(options, "compact", reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in at most k / segment + 1 calls for k passages.

        Cites the compressed passages that contain the answer. Abstains if no passage is found, the summary is empty, or
        the reader finds no answer; with `abstain = false`, the reader answers without a summary.
        """
        passages = await toolbox.retrieve(question)
        summary, seen, summaries = "", 0, list[str]()
        while seen < len(passages):
            segment = passages[seen : seen + self.segment]
            reply = await self.agent.ask(toolbox, "compress", segment, summary=summary or "(nothing yet)")
            found, complete = compressed(reply)
            summary = found or summary  # an empty reply keeps the last summary
            summaries.append(summary)
            seen += len(segment)
            if complete and summary:  # an empty summary is not evidence
                toolbox.note(f"the evidence is complete after {seen} of {len(passages)} passages")
                break
        details = {"summaries": summaries, "passages_read": seen}
        if not summary and self.agent.abstain:
            reason = "Nothing in the passages bears on the question." if passages else "No passage was found."
            return Answer(None, reason=reason, details=details)
        reading = await self.agent.read(toolbox, question, [Passage(summary, id="summary")] if summary else [])
        if reading.text is None:
            reason = reading.reason or "The compressed passages do not hold an answer."
            return Answer(None, reason=reason, details=details)
        answer = Answer(reading.text, citations=holding(reading.text, passages[:seen]))
        return dataclasses.replace(answer, details=details)


def compressed(reply: str) -> tuple[str, bool]:
    """Return the summary in a reply, and whether the reply calls it complete. Without form, all is summary."""
    verdicts = _COMPLETE.findall(reply)
    marked = between(reply, "SUMMARY") or [""] if _MARK.search(reply) else [reply]
    summary = _COMPLETE.sub("", marked[-1]).strip()
    return "" if _NOTHING.fullmatch(summary) else summary, bool(verdicts) and verdicts[-1].lower() == "yes"

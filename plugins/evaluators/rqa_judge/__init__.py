"""`judge`: a language model as evaluator, to compare with a trained one (Yan et al., 2024, Table 4).

    rqa train thresholds questions.jsonl --evaluator judge

It takes one call for each text. In the paper, the best such judge (few-shot) was right less often than the T5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import CutError, Passage, Registry, RqaError, hookimpl
from robust_qa.kit import ask_each
from rqa_prompts import Prompter, Prompts, fenced

if TYPE_CHECKING:
    from robust_qa import Toolbox

_VERDICT = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_SCORES = {"yes": 1.0, "no": -1.0}
UNCLEAR = 0.0  # score if the reply is neither yes nor no, was cut before its verdict, or was refused


class Judge:
    """Asks the language model whether each text answers the question: 1 for yes, -1 for no."""

    needs = frozenset({"generate"})

    @dataclass
    class Options:
        """The [evaluator.NAME] table."""

        mode: Literal["plain", "cot", "few-shot"] = "plain"  # ask directly, let it reason first, or show examples
        reader: str | None = None  # reader that judges, such as a cheaper one; default: the one that answers
        # maximum tokens of a reply; default: the reader's
        max_tokens: Annotated[int, Meta(ge=1)] | None = None
        # files that replace prompts: plain, cot, few-shot; or paper: Tables 8 to 10
        prompts: Prompts = field(default_factory=dict)

    def __init__(self, options: Options) -> None:
        self._options = options
        self.read_by = (options.reader,) if options.reader else ()
        self._prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def score(self, question: str, texts: Sequence[str], toolbox: Toolbox) -> list[float]:
        """Return the verdict on each text, from concurrent calls. An empty text scores -1 without a call.

        Raises the error if every call fails.
        """
        asked = [text for text in texts if text.strip()]
        verdicts = iter(await ask_each(partial(self._verdict, question, toolbox), asked))
        scores = [next(verdicts) if text.strip() else -1.0 for text in texts]
        return [UNCLEAR if isinstance(score, RqaError) else score for score in scores]

    async def _verdict(self, question: str, toolbox: Toolbox, text: str) -> float:
        asked = {"question": fenced(question)}
        reply = await self._prompter.ask(
            toolbox, self._options.mode, [Passage(text)], fields=asked, temperature=0.0, reader=self._options.reader
        )
        said = _VERDICT.findall(reply.text)
        aloud = self._options.mode == "cot"
        # Reasoning may mention both words, so only the last one counts, and only if the reply is complete.
        if reply.finish == "length" and (aloud or not said):
            raise CutError
        if not said:
            return UNCLEAR
        return _SCORES[said[-1 if aloud else 0].lower()]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.evaluator("judge", "rqa_judge:Judge", summary="a language model that says yes or no of each text")

"""Measure how well evaluators separate passages with an answer from others, in one table over question sets.

    python benchmarks/evaluators.py popqa.jsonl nq.jsonl --evaluator t5 --evaluator embedded@0.2

A set is JSONL. Each row has `question`, `answers` and `passages`. A passage is relevant if it contains a gold answer,
both normalised; evaluators read its title first. `overlap`, the share of the question's words that a passage has, is
measured for every set. `--evaluator` adds a configured evaluator or one that needs no configuration. The number after
`@` is the threshold from which a question's action is Correct.

- AUC: over the passages of all questions, how often a relevant one scores above another; matters for thresholds
- within: the same for the passages of one question, as the mean over questions with both kinds; matters for ranking
- accuracy: share of questions whose action is right: Correct if a passage is relevant, Incorrect if none is. The
  threshold is chosen on one half of the questions and measured on the other, and vice versa (nan if a half has only one
  kind of question)
- at @: the same with the given threshold
- always: the same if every question's action is Correct
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from robust_qa import Toolbox
from robust_qa.answering.session import Session
from robust_qa.config import layers as config
from robust_qa.host.loading import Host
from robust_qa.kit import words
from rqa_train.evaluator.rows import Asked, read_rows
from rqa_train.evaluator.thresholds import Judged, action_accuracy, single
from rqa_train.metrics import auc

_STOP = frozenset(
    "a an and are at by did do does for from in is of on or the to was were what when where which who".split()
)


def overlap(question: str, text: str) -> float:
    """Return the share of the question's words, without frequent ones, in `text`, scaled to [-1, 1]."""
    asked = set(words(question)) - _STOP
    return 2 * len(asked & set(words(text))) / len(asked) - 1 if asked else -1.0


def judge(asked: Sequence[Asked], scores: Sequence[Sequence[float]]) -> list[Judged]:
    return [
        Judged(tuple(of), tuple(bool(candidate.relevant) for candidate in one.candidates))
        for one, of in zip(asked, scores, strict=True)
    ]


def crossed(judged: Sequence[Judged]) -> float:
    """Return the accuracy with a threshold from the other half; NaN if a half has only one kind of question."""
    halves = judged[::2], judged[1::2]
    if any(len({one.answerable for one in half}) < 2 for half in halves):
        return float("nan")
    right = 0.0
    for chosen_on, measured in (halves, halves[::-1]):
        threshold, _ = single(chosen_on)
        right += action_accuracy(measured, threshold, threshold)[0] * len(measured)
    return right / len(judged)


async def scored(toolbox: Toolbox, asked: Sequence[Asked]) -> list[list[float]]:
    return await asyncio.gather(
        *(toolbox.score(one.question, [candidate.text for candidate in one.candidates]) for one in asked)
    )


HEADER = "set         evaluator     questions  passages    AUC  within  accuracy   at @  always  passages/s"


def line(name: str, evaluator: str, judged: Sequence[Judged], upper: float | None, seconds: float) -> str:
    """Return a row of the table, in per cent."""
    scores = [score for one in judged for score in one.scores]
    area = auc(scores, [relevant for one in judged for relevant in one.relevant])
    both = [auc(one.scores, one.relevant) for one in judged if len(set(one.relevant)) == 2]
    within = mean(both) if both else float("nan")
    given = "-" if upper is None else f"{100 * action_accuracy(judged, upper, upper)[0]:.1f}"
    always = 100 * sum(one.answerable for one in judged) / len(judged)
    return (
        f"{name[:11]:11} {evaluator[:13]:13} {len(judged):9}  {len(scores):8} {100 * area:6.1f} {100 * within:7.1f}"
        f" {100 * crossed(judged):9.1f} {given:>6} {always:7.1f} {len(scores) / seconds:11,.0f}"
    )


async def measure(path: Path, evaluators: Sequence[str], file: Path | None) -> None:
    asked = read_rows([path])
    began = time.perf_counter()
    plain = [[overlap(one.question, candidate.text) for candidate in one.candidates] for one in asked]
    print(line(path.stem, "overlap", judge(asked, plain), None, time.perf_counter() - began), flush=True)
    for given in evaluators:
        name, _, upper = given.partition("@")
        overrides = [("defaults.evaluator", name), ("cache.enabled", "false")]
        async with Session(config.load(file=file, overrides=overrides), Host.from_environment()) as session:
            toolbox = session.toolbox("reader", "evaluator")  # `judge` asks the reader
            await toolbox.score(asked[0].question, [asked[0].candidates[0].text])  # loads the model
            began = time.perf_counter()
            found = await scored(toolbox, asked)
            seconds = time.perf_counter() - began
        print(line(path.stem, name, judge(asked, found), float(upper) if upper else None, seconds), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="FILE", help="question sets, JSONL")
    parser.add_argument("--evaluator", action="append", default=[], metavar="NAME[@UPPER]")
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    given = parser.parse_args()
    print(HEADER)
    for path in given.sets:
        asyncio.run(measure(path, given.evaluator, given.config))


if __name__ == "__main__":
    main()

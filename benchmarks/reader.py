"""Measure how well readers read: exact match, F1, accuracy, refusals and confidence, in a table for each reader.

    python benchmarks/reader.py --eval ../shared/data/eval --qamr ../shared/data/train/qamr.jsonl
    python benchmarks/reader.py --eval ../shared/data/eval --model my-reader/model --reader embedded

A row of <set>.jsonl has `question`, `answers` and `passages` ({title, text}), and every reader reads these passages.

- QAMR EM, F1: as in SQuAD, on sentences of QAMR held out of training, whose paragraphs all contain the answer
- acc: share of rows whose answer contains a gold answer; a row without an answer is wrong
- EM: share of rows whose answer equals a gold answer; words: mean length of the answers; none: share refused
- AUC: of each passage's score, for separating those that contain a gold answer; the score is from the evaluator of the
  same name, or else the reader's confidence in the passage alone
- at 100/75/50/25 %: accuracy of the rows with the highest confidence (nothing refused)
- off: share refused over the passages of another question of the set, half of the set away
- odds: share of rows with a conflicting answer besides the given one
- right: share of these conflicting answers that contain a gold answer
- rgb: rows answered from `passages` (acc), and refused over `negative_passages` (none); then, with the later half of
  the passages replaced by `counterfactual_passages`, the share with a conflict, and the share with the right answer
  among the answers shown
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reader_rows.published import qamr_rows
from robust_qa import Passage, Reading
from robust_qa.kit import contains_answer, gold_facts, with_title
from rqa_train.metrics import auc, exact, f1

SETS = ("popqa", "nq", "triviaqa", "2wiki")
SHARES = (1.0, 0.75, 0.5, 0.25)

Request = tuple[str, list[Passage]]


def load(name: str, model: Path | None, threshold: float | None) -> Any:
    """Return the reader `name`, with `threshold` instead of its own."""
    if name == "embedded":
        from rqa_embedded import EmbeddedReader

        return EmbeddedReader(EmbeddedReader.Options(model=model, threshold=threshold))
    from rqa_lexical import Lexical

    return Lexical(Lexical.Options() if threshold is None else Lexical.Options(threshold=threshold))


def read(reader: Any, requests: Sequence[Request]) -> list[Reading]:
    """Read all `requests`, in batches if the reader can."""
    if hasattr(reader, "read_many"):
        return [r for at in range(0, len(requests), 64) for r in reader.read_many(requests[at : at + 64])]
    return [reader.read(question, passages) for question, passages in requests]


def passage_scores(name: str, model: Path | None, forced: Any, requests: Sequence[Request]) -> list[float]:
    """Return the score of each passage of each request, in order."""
    if name == "embedded":
        from rqa_embedded import EmbeddedEvaluator

        judge = EmbeddedEvaluator(EmbeddedEvaluator.Options(model=model))
        texts = [(question, [with_title(p.title, p.text) for p in passages]) for question, passages in requests]
        return [score for one in texts for score in judge.score(*one)]
    alone = read(forced, [(question, [passage]) for question, passages in requests for passage in passages])
    return [reading.score or 0.0 if reading.text else 0.0 for reading in alone]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def passages_of(row: dict[str, Any], key: str = "passages") -> list[Passage]:
    return [Passage(p["text"], title=p.get("title", "")) if isinstance(p, dict) else Passage(p) for p in row[key]]


def measure_set(name: str, path: Path, own: Any, forced: Any, judge: Callable[[Sequence[Request]], list[float]]) -> str:
    """Return a line of the table. `own` refuses by its own threshold, `forced` always answers."""
    rows = rows_of(path)
    requests = [(row["question"], passages_of(row)) for row in rows]
    answers = read(own, requests)
    text = [reading.text or "" for reading in answers]
    right = [contains_answer(t, row["answers"]) for t, row in zip(text, rows, strict=True)]
    same = [bool(t) and exact(t, row["answers"]) for t, row in zip(text, rows, strict=True)]
    given = [len(t.split()) for t in text if t]
    always = read(forced, requests)
    confidence = [reading.score or 0.0 if reading.text else 0.0 for reading in always]
    always_right = [contains_answer(r.text or "", row["answers"]) for r, row in zip(always, rows, strict=True)]
    at = accuracy_of_the_surest(confidence, always_right)
    there = [
        contains_answer(f"{p.title} \n {p.text}", row["answers"])
        for row, (_, ps) in zip(rows, requests, strict=True)
        for p in ps
    ]
    scores = judge(requests)
    half = len(requests) // 2
    strange = [(question, requests[n - half][1]) for n, (question, _) in enumerate(requests)]
    off = [reading.text is None for reading in read(own, strange)]
    words = sum(given) / max(1, len(given))
    odds = [len(sides(reading)) > 1 for reading in answers]
    others = [
        contains_answer(rival.text or "", row["answers"])
        for reading, row in zip(answers, rows, strict=True)
        for rival in sides(reading)[1:]
    ]
    return (
        f"{name:10} {pct(right)} {pct(same)} {words:6.1f} {pct(not t for t in text)} {pct(off)} {pct(odds)} "
        + f"{pct(others) if others else '     -'} "
        + f"{auc(scores, there):6.2f} "
        + " ".join(f"{100 * share:6.1f}" for share in at)
        + f" {calibration_error(confidence, always_right):6.2f}"
    )


def sides(reading: Reading) -> Sequence[Reading]:
    """The answer and its rivals. Without a sure answer, the rivals begin with the likeliest one."""
    return reading.rivals if reading.text is None else (reading, *reading.rivals)


def accuracy_of_the_surest(confidence: Sequence[float], right: Sequence[bool]) -> list[float]:
    """Return the accuracy of the most confident share, for each of SHARES."""
    order = sorted(range(len(right)), key=lambda n: -confidence[n])
    surest = [order[: max(1, round(share * len(order)))] for share in SHARES]
    return [sum(right[n] for n in taken) / max(1, len(taken)) for taken in surest]


def calibration_error(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Return the expected calibration error: |confidence - accuracy| over ten bins of equal width."""
    bins: defaultdict[int, list[float]] = defaultdict(list)
    for value, good in zip(confidence, right, strict=True):
        bins[min(int(value * 10), 9)].append(value - good)
    return sum(abs(sum(off)) for off in bins.values()) / max(1, len(right))


def pct(values: Any) -> str:
    listed = list(values)
    return f"{100 * sum(listed) / max(1, len(listed)):6.1f}"


def measure_qamr(path: Path, forced: Any, count: int) -> str:
    rows = [r for r in qamr_rows(path, random.Random(1), held=True, absent=0.0) if r.answers]
    rows = random.Random(2).sample(rows, min(count, len(rows)))
    began = time.perf_counter()
    found = read(forced, [(row.question, [Passage(row.context, title=row.title)]) for row in rows])
    pace = len(rows) / (time.perf_counter() - began)
    em = [exact(r.text or "", row.answers) for r, row in zip(found, rows, strict=True)]
    scores = [f1(r.text or "", row.answers) for r, row in zip(found, rows, strict=True)]
    return f"QAMR held out ({len(rows)} rows): EM {pct(em)}  F1 {pct(scores)}  ({pace:.0f} rows/s)"


def measure_rgb(path: Path, own: Any) -> str:
    rows = [row for row in rows_of(path) if gold_facts(row["answers"])]
    answered = read(own, [(row["question"], passages_of(row)) for row in rows])
    right = [
        all(contains_answer(reading.text or "", fact) for fact in gold_facts(row["answers"]))
        for reading, row in zip(answered, rows, strict=True)
    ]
    negative = read(own, [(row["question"], passages_of(row, "negative_passages")) for row in rows])
    refused = [reading.text is None for reading in negative]
    planted = read(own, [(row["question"], half_planted(row)) for row in rows])
    told = [[side.text or "" for side in sides(reading)] for reading in planted]
    named = [
        any(all(contains_answer(text, fact) for fact in gold_facts(row["answers"])) for text in texts)
        for texts, row in zip(told, rows, strict=True)
    ]
    return (
        f"rgb: acc {pct(right)}  refused over negative passages {pct(refused)}  "
        f"half planted: at odds {pct(len(texts) > 1 for texts in told)}, the right one told {pct(named)}"
    )


def half_planted(row: dict[str, Any]) -> list[Passage]:
    """Return the passages of a row, with the later half replaced by counterfactual ones."""
    true, false = passages_of(row), passages_of(row, "counterfactual_passages")
    half = len(true) // 2
    return [*true[:half], *false[: len(true) - half]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, metavar="FOLDER", help="folder of the question sets")
    parser.add_argument("--qamr", type=Path, metavar="FILE", help="QAMR's file, to measure its held-out part")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="another model for `embedded`")
    parser.add_argument("--reader", action="append", metavar="NAME", help="default: embedded and lexical")
    parser.add_argument("--rows", type=int, default=1000, help="rows of QAMR (default: 1000)")
    given = parser.parse_args()
    for name in given.reader or ["embedded", "lexical"]:
        own, forced = load(name, given.model, None), load(name, given.model, 0.0)
        print(f"== {name}")
        if given.qamr:
            print(measure_qamr(given.qamr, forced, given.rows))
        print("set           acc     EM  words   none    off   odds  right    AUC  100 %   75 %   50 %   25 %    ECE")
        judge = partial(passage_scores, name, given.model, forced)
        for one in SETS:
            print(measure_set(one, given.eval / f"{one}.jsonl", own, forced, judge), flush=True)
        print(measure_rgb(given.eval / "rgb_counterfactual.jsonl", own))


if __name__ == "__main__":
    main()

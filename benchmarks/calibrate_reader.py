"""Fit the probabilities of the packaged reader, and report them in five folds by document folder.

    python benchmarks/calibrate_reader.py CORPUS QUESTIONS.jsonl TRAIN [--write]

Half of the weight is on QUESTIONS over the documents of CORPUS, with ten passages of `hybrid` each. The other half is
on questions that `rqa train reader` holds out of the corpora in TRAIN. Each fold leaves out the questions of a fifth of
the folders, and measures them with a fit on the others. --write saves a fit on all questions in reader.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robust_qa import Passage
from robust_qa.kit import answer_key, normalise
from rqa_bm25.hybrid import Hybrid
from rqa_embedded.choice import choose, read
from rqa_embedded.engine import PACKAGED, CachingEngine, save_settings
from rqa_embedded.evidence import find_evidence, find_parts, judge, quotes
from rqa_training.reader.calibrate import Asked, Refitted, asked_of, fit, retrieved
from rqa_training.reader.mixture import mixture

PASSAGES = 10
FOLDS = 5
HELD_OUT = {"qamr": 500, "sentences": 500, "cloze": 300}  # questions by source, without benchmarks' templates


class Remembering(CachingEngine):
    """Keeps all vectors, because every fold needs the same ones."""

    def __init__(self) -> None:
        super().__init__()
        self._vectors: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(new, super().embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


class Embedder:
    """The packaged embedder, as an EmbedderHandle."""

    name = "embedded"
    languages = ("en",)

    def __init__(self, engine: CachingEngine) -> None:
        self.identity = engine.identity
        self._engine = engine

    async def embed(self, texts: list[str]) -> Any:
        return self._engine.embed(texts)


async def search(engine: CachingEngine, corpus: Path, questions: list[dict[str, Any]]) -> list[list[Passage]]:
    with tempfile.TemporaryDirectory() as folder:
        retriever = Hybrid(Hybrid.Options(index=Path(folder)), embedder=Embedder(engine))  # type: ignore[arg-type]
        report = retriever.index([corpus])
        if asyncio.iscoroutine(report):
            await report
        return [await retriever.retrieve(question["question"], PASSAGES) for question in questions]


def tokens(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def covers(text: str, question: dict[str, Any]) -> bool:
    """Return whether `text` has 60 % of the words of the evidence."""
    evidence = [question[name] for name in ("evidence", "evidence_text", "evidence2") if question.get(name)]
    held = tokens(text)
    return any(sum((held & tokens(each)).values()) >= 0.6 * sum(tokens(each).values()) for each in evidence)


def right(question: dict[str, Any], text: str) -> float:
    """Return whether `text` has a gold answer as whole words, or all gold answers if the question asks for all."""
    if question["kind"] == "yes-no":
        return float(normalise(text).split()[:1] == normalise(question["answers"][0]).split()[:1])
    groups = question.get("answers_each") or question.get("parts")
    if groups is None:
        groups = [[each] for each in question["answers"]] if question.get("all_required") else [question["answers"]]
    held = f" {answer_key(text)} "
    return float(
        all(any(f" {answer_key(gold)} " in held for gold in (g if isinstance(g, list) else [g])) for g in groups)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    questions = [json.loads(line) for line in given.questions.read_text(encoding="utf-8").splitlines()]
    engine = Remembering()
    passages = asyncio.run(search(engine, given.corpus, questions))
    evidence = find_evidence(
        engine, [(each["question"], found) for each, found in zip(questions, passages, strict=True)]
    )
    asked = [
        Asked(own, [covers(passage.text, question) for passage in found], partial(right, question))
        for question, found, own in zip(questions, passages, evidence, strict=True)
    ]
    rows = mixture(given.train, 13, held=True)
    random.Random(1).shuffle(rows)
    held_out = [
        row for source, n in HELD_OUT.items() for row in [r for r in rows if r.source == source and r.answerable][:n]
    ]
    others = asked_of(engine, retrieved(held_out))
    assigned = folds([(each["doc"] or each.get("topic_doc") or "").partition("/")[0] for each in questions])
    results: list[dict[str, float]] = []
    for fold in range(FOLDS):
        settings = fit(
            engine, [[one for one, at in zip(asked, assigned, strict=True) if at != fold], others], engine.settings
        )
        tested = [n for n, at in enumerate(assigned) if at == fold]
        results += answered(
            Refitted(engine, settings), [questions[n] for n in tested], [asked[n] for n in tested], fold
        )
    report(results)
    settings = fit(engine, [asked, others], engine.settings)
    print(settings)
    if given.write:
        save_settings(PACKAGED, settings)


def folds(folders: list[str]) -> list[int]:
    """Return the fold of each question: whole folders, the largest first, each to the smallest fold."""
    sizes = [0] * FOLDS
    chosen = {}
    for folder, count in Counter(folders).most_common():
        chosen[folder] = sizes.index(min(sizes))
        sizes[chosen[folder]] += count
    return [chosen[folder] for folder in folders]


def answered(
    engine: Refitted, questions: list[dict[str, Any]], asked: list[Asked], fold: int
) -> list[dict[str, float]]:
    found = [one.evidence for one in asked]
    results = []
    for question, one, parts, scores in zip(
        questions, asked, find_parts(engine, found), judge(engine, found), strict=True
    ):
        shown = [
            covers(one.evidence.passages[quote.passage].text[quote.start : quote.end], question)
            for quote in quotes(parts, one.evidence.passages)
        ]
        choice = choose(one.evidence, parts)
        reading = read(one.evidence, parts, engine.settings, 0.0)
        threshold = engine.settings.threshold
        first = max(range(len(scores)), key=lambda n: scores[n])
        results.append(
            {
                "fold": fold,
                "answerable": question["kind"] != "not-in-documents",
                "shown@1": any(shown[:1]),
                "shown@3": any(shown[:3]),
                "confidence": reading.score or 0.0,
                "threshold": threshold,
                "right": right(question, reading.text or "") if choice and question["answers"] else 0.0,
                "conflict": bool(reading.rivals),
                "real": question["kind"] == "conflict",
                "first": one.holds[0],
                "judged": one.holds[first],
            }
        )
    return results


def report(results: list[dict[str, float]]) -> None:
    answerable = [each for each in results if each["answerable"]]
    for name in ("shown@1", "shown@3", "first", "judged"):
        by_fold = [np.mean([each[name] for each in answerable if each["fold"] == fold]) for fold in range(FOLDS)]
        print(f"{name}: {np.mean([each[name] for each in answerable]):.3f}, worst fold {min(by_fold):.3f}")
    for name, excess in (("their own", 0.0), ("0.05 lower", 0.05), ("0.1 lower", 0.1)):
        asserted = [each for each in results if each["confidence"] >= each["threshold"] - excess]
        absent = [each for each in results if not each["answerable"]]
        refused = np.mean([each["confidence"] < each["threshold"] - excess for each in absent])
        truth = np.mean([each["right"] for each in asserted]) if asserted else 0.0
        print(
            f"threshold {name}: asserted {len(asserted) / len(results):.3f}, right {truth:.3f}, refused {refused:.3f}"
        )
    expected, right = (sum(each[name] for each in results) for name in ("confidence", "right"))
    print(f"expected right {expected:.1f}, right {right:.0f}")
    conflicts = [each["real"] for each in results if each["conflict"]]
    print(f"conflicts: {sum(conflicts):.0f} real of {len(conflicts)}")


if __name__ == "__main__":
    main()

"""Measure the verdicts of `rqa check` without a language model, over real documents.

    python benchmarks/check.py CORPUS QUESTIONS.jsonl

Each claim is checked against the ten passages that the hybrid retriever finds for it in all documents. Pairs of a claim
and its true verdict:

- asked, paraphrase: the gold answer of a question as a sentence in other words (check.tsv). Supported.
- asked, edited: the same sentence with another number, name or other word, or with or without a negation. Contradicted.
- asked, elsewhere: the paraphrase again, without the passages of the question's document. Not found: near misses.
- asked, absent: an answer to a question that the documents do not answer. Not found.
- copied: two sentences of each document, word for word. Supported.
- changed: one sentence of each document with another number, name, or a negation. Contradicted.
- copied, elsewhere: the copied sentences, without the passages of their document. Not found. Nothing corrects for other
  documents that say the same, so some of these are supported in truth.

The claims of check.tsv were written before the method, by its author. The similarity and the rules were chosen on pairs
of the same kinds from these documents; only the threshold is held out. It is fitted on the documents of one half (by a
hash of the path) to the mean of two macro F1, of the asked and of the other pairs, and measured on the other half, both
ways. The figures, chosen before the first run: precision and recall of each verdict for all pairs, for the asked ones
and for the others; the verdicts of each kind above; and the same without the count of sources, and without the
comparison of negations.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_qa import Passage, Question
from robust_qa.answering import Session
from robust_qa.cli import Answering, Run
from robust_qa.cli.answering import in_session
from robust_qa.documents import Cut, find, read
from robust_qa.kit import sentences
from rqa_check import agreement
from rqa_check.checking import Close, close_sentences, verdict
from rqa_check.weighing import Sides, majority, sides

VERDICTS = ("supported", "contradicted", "not found")
THRESHOLDS = [step / 100 for step in range(56, 81)]
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"(?<=[a-z,;:('\"] )[A-Z][\w’'-]*[a-z][\w’'-]*(?: [A-Z][\w’'-]+)*")
VERB = re.compile(r"\b(?:is|are|was|were|can|must|will|should|may|has|does|do)\b(?! not)")


@dataclass(frozen=True, slots=True)
class Pair:
    kind: str
    document: str
    claim: str
    truth: str
    elsewhere: bool = False

    @property
    def asked(self) -> bool:
        return self.kind.startswith("asked")

    @property
    def half(self) -> int:
        return hashlib.md5(self.document.encode()).digest()[0] % 2


def asked_pairs(questions: Path) -> Iterator[Pair]:
    rows = {row["id"]: row for row in map(json.loads, questions.read_text("utf-8").splitlines())}
    for line in Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines():
        name, edit, claim, edited = line.split("\t")
        document = rows[name]["doc"]
        if not document:
            yield Pair("asked, absent", name, claim, "not found")
            continue
        yield Pair("asked, paraphrase", document, claim, "supported")
        yield Pair(f"asked, edited {edit}", document, edited, "contradicted")
        yield Pair("asked, elsewhere", document, claim, "not found", elsewhere=True)


def copied_pairs(corpus: Path) -> Iterator[Pair]:
    rng = random.Random(0)
    usable = {str(path.relative_to(corpus)): list(sentences_in(path)) for path in find([corpus]).files}
    names = [(document, name) for document, own in usable.items() for each in own for name in NAME.findall(each)]
    for document, own in usable.items():
        for sentence in rng.sample(own, min(2, len(own))):
            yield Pair("copied", document, sentence, "supported")
            yield Pair("copied, elsewhere", document, sentence, "not found", elsewhere=True)
        for kind, pattern in (("number", NUMBER), ("name", NAME), ("negation", VERB)):
            if fit := [sentence for sentence in own if pattern.search(sentence)]:
                sentence = rng.choice(fit)
                found = pattern.search(sentence)
                assert found
                instead = {
                    "number": str(int(found[0]) + rng.choice([2, 3, 5])) if kind == "number" else "",
                    "name": rng.choice([name for where, name in names if where != document and name not in sentence]),
                    "negation": f"{found[0]} not",
                }[kind]
                changed = sentence[: found.start()] + instead + sentence[found.end() :]
                yield Pair(f"changed {kind}", document, changed, "contradicted")


def sentences_in(path: Path) -> Iterator[str]:
    for document in read(path, lambda *_: None):
        for excerpt in Cut().passages(document):
            for start, end in sentences(excerpt.text):
                text = " ".join(excerpt.text[start:end].split())
                if 6 <= len(text.split()) <= 40 and text[0].isupper() and text[-1] in ".!":
                    yield text


async def found_for(pair: Pair, session: Session) -> tuple[list[Close], Sides]:
    toolbox = session.toolbox_for(Question(pair.claim))
    passages: Sequence[Passage] = await toolbox.retrieve(k=20 if pair.elsewhere else 10)
    if pair.elsewhere:
        passages = [each for each in passages if not each.source.endswith(pair.document)][:10]
    (close,) = await close_sentences([pair.claim], [passages], toolbox)
    near = [each for each in close if each.similarity >= THRESHOLDS[0]]
    return near, await sides(pair.claim, passages, toolbox) if near else Sides()


Measured = Sequence[tuple[Pair, list[Close], Sides]]


def confusion(measured: Measured, least: float) -> Counter[tuple[str, str]]:
    table: Counter[tuple[str, str]] = Counter()
    for pair, near, told in measured:
        found = verdict(pair.claim, near, least)
        table[pair.truth, (majority(found, told) if found.verdict == "supported" else found).verdict] += 1
    return table


def scores(table: Counter[tuple[str, str]]) -> dict[str, tuple[float, float, float]]:
    found = {}
    for name in VERDICTS:
        right = table[name, name]
        precision = right / max(1, sum(table[truth, name] for truth in VERDICTS))
        recall = right / max(1, sum(table[name, other] for other in (*VERDICTS, "disputed")))
        found[name] = precision, recall, 2 * precision * recall / max(1e-9, precision + recall)
    return found


def macro(measured: Measured, least: float) -> float:
    return sum(f1 for _, _, f1 in scores(confusion(measured, least)).values()) / len(VERDICTS)


def fitted(measured: Measured) -> float:
    asked = [each for each in measured if each[0].asked]
    others = [each for each in measured if not each[0].asked]
    return max(THRESHOLDS, key=lambda least: macro(asked, least) + macro(others, least))


def report(measured: Measured) -> None:
    by_half = [[each for each in measured if each[0].half == half] for half in (0, 1)]
    thresholds = [fitted(by_half[1]), fitted(by_half[0])]  # each half's, fitted on the other one
    print(f"thresholds {thresholds[0]} and {thresholds[1]}, of both halves {fitted(measured)}")

    def total(kept: Iterable[str]) -> Counter[tuple[str, str]]:
        wanted = set(kept)
        parts = [[each for each in own if each[0].kind in wanted] for own in by_half]
        return sum(map(confusion, parts, thresholds), Counter[tuple[str, str]]())

    kinds = sorted({pair.kind for pair, *_ in measured})
    asked = [kind for kind in kinds if kind.startswith("asked")]
    for name, kept in (("all", kinds), ("asked", asked), ("copied and changed", set(kinds) - set(asked))):
        told = "; ".join(f"{v}: precision {p:.2f}, recall {r:.2f}" for v, (p, r, _) in scores(total(kept)).items())
        print(f"{name} ({total(kept).total()}): {told}")
    for kind in kinds:
        table = total([kind])
        names = (*VERDICTS, "disputed")
        told = ", ".join(f"{name} {sum(table[truth, name] for truth in VERDICTS)}" for name in names)
        print(f"  {kind}: {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    given = parser.parse_args()
    pairs = [*asked_pairs(given.questions), *copied_pairs(given.corpus)]

    async def work(session: Session) -> Measured:
        return [(pair, *await found_for(pair, session)) for pair in pairs]

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"RQA_DATA_DIR": folder, "RQA_CACHE_DIR": f"{folder}/cache"}
        rqa = [sys.executable, "-c", "from robust_qa.main import main; main()", "-q"]
        subprocess.run([*rqa, "index", str(given.corpus)], check=True)
        measured = in_session(Run(verbosity=-1), Answering(), work)
    report(measured)
    print("without the count of sources:")
    measured = [(pair, near, Sides()) for pair, near, _ in measured]
    report(measured)
    print("without the comparison of negations:")
    agreement._is_negative = lambda _: False  # type: ignore[assignment]
    report(measured)


if __name__ == "__main__":
    main()

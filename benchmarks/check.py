"""Measure the verdicts of `rqa check` without a language model, over real documents.

    python benchmarks/check.py CORPUS QUESTIONS.jsonl

Each claim is checked against the ten passages that the hybrid retriever finds for it in all documents. Pairs of a claim
and its true verdict:

- asked, paraphrase: the gold answer of a question as a sentence in other words (check.tsv). Supported.
- asked, edited: the same sentence with another number, name or other word, or with or without a negation. Contradicted.
- asked, elsewhere: the paraphrase again, without the passages of the question's document. Not decided: near misses.
- asked, absent: an answer to a question that the documents do not answer. Not decided.
- copied: two sentences of each document, word for word. Supported.
- changed: one sentence of each document with another number, name, or a negation. Contradicted.
- copied, elsewhere: the copied sentences, without the passages of their document. Not decided. Nothing corrects for
  other documents that say the same, so some of these are supported in truth.

The claims of check.tsv were written before the first method, by its author. The judge did not learn from these
documents. Printed: precision and recall of each verdict for all pairs, for the asked ones and for the others, and the
verdicts of each kind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_qa import Passage, Question
from robust_qa.answering import Session
from robust_qa.cli import Answering, Run
from robust_qa.cli.answering import in_session
from robust_qa.documents import Cut, find, read
from robust_qa.kit import sentences
from rqa_check import check_answer

VERDICTS = ("supported", "contradicted", "not decided", "disputed")
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


def asked_pairs(questions: Path) -> Iterator[Pair]:
    rows = {row["id"]: row for row in map(json.loads, questions.read_text("utf-8").splitlines())}
    for line in Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines():
        name, edit, claim, edited = line.split("\t")
        document = rows[name]["doc"]
        if not document:
            yield Pair("asked, absent", name, claim, "not decided")
            continue
        yield Pair("asked, paraphrase", document, claim, "supported")
        yield Pair(f"asked, edited {edit}", document, edited, "contradicted")
        yield Pair("asked, elsewhere", document, claim, "not decided", elsewhere=True)


def copied_pairs(corpus: Path) -> Iterator[Pair]:
    rng = random.Random(0)
    usable = {str(path.relative_to(corpus)): list(sentences_in(path)) for path in find([corpus]).files}
    names = [(document, name) for document, own in usable.items() for each in own for name in NAME.findall(each)]
    for document, own in usable.items():
        for sentence in rng.sample(own, min(2, len(own))):
            yield Pair("copied", document, sentence, "supported")
            yield Pair("copied, elsewhere", document, sentence, "not decided", elsewhere=True)
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


async def verdict_of(pair: Pair, session: Session) -> str:
    toolbox = session.toolbox_for(Question(pair.claim))
    passages: Sequence[Passage] = await toolbox.retrieve(k=20 if pair.elsewhere else 10)
    if pair.elsewhere:
        passages = [each for each in passages if not each.source.endswith(pair.document)][:10]
    [checked] = await check_answer(pair.claim.replace(". ", ", "), toolbox, passages)
    return checked.verdict


def report(measured: Sequence[tuple[Pair, str]]) -> None:
    def table(kept: Callable[[str], bool]) -> Counter[tuple[str, str]]:
        return Counter((pair.truth, verdict) for pair, verdict in measured if kept(pair.kind))

    kinds = sorted({pair.kind for pair, _ in measured})
    groups: list[tuple[str, Callable[[str], bool]]] = [
        ("all", lambda kind: True),
        ("asked", lambda kind: kind.startswith("asked")),
        ("copied and changed", lambda kind: not kind.startswith("asked")),
    ]
    for name, kept in groups:
        counts, told = table(kept), []
        for verdict in VERDICTS[:3]:
            right = counts[verdict, verdict]
            said = sum(counts[truth, verdict] for truth in VERDICTS)
            true = sum(counts[verdict, other] for other in VERDICTS)
            told.append(f"{verdict}: precision {right / max(1, said):.2f}, recall {right / max(1, true):.2f}")
        print(f"{name} ({counts.total()}): {'; '.join(told)}")
    for kind in kinds:
        counts = table(kind.__eq__)
        print(
            f"  {kind}: " + ", ".join(f"{name} {sum(counts[truth, name] for truth in VERDICTS)}" for name in VERDICTS)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    given = parser.parse_args()
    pairs = [*asked_pairs(given.questions), *copied_pairs(given.corpus)]

    async def work(session: Session) -> list[tuple[Pair, str]]:
        return [(pair, await verdict_of(pair, session)) for pair in pairs]

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"RQA_DATA_DIR": folder, "RQA_CACHE_DIR": f"{folder}/cache"}
        rqa = [sys.executable, "-c", "from robust_qa.main import main; main()", "-q"]
        subprocess.run([*rqa, "index", str(given.corpus)], check=True)
        measured = in_session(Run(verbosity=-1), Answering(), work)
    report(measured)


if __name__ == "__main__":
    main()

"""Measure the verdicts of `rqa check` without a language model.

    python benchmarks/check.py CORPUS --eval EVAL_FOLDER

Each document of CORPUS gives up to ten sentences with a number. Supported: the sentence without its last clause or, if
it has one clause, as it is. Contradicted: the same with its first number replaced by a number of another document. Not
found: the same, checked against the passages of the next document. Documents alternate between a development and a
held-out half. --eval adds sentences with the gold answer from popqa.jsonl and nq.jsonl (supported), and from
rgb_counterfactual.jsonl (contradicted: the sentence with the false answer, against the true passages).

Figures, chosen before the first run: precision and recall of each verdict, and the share of contradicted sentences that
count as supported, over thresholds in steps of 0.1.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path

from rqa_check import check_sentences

from robust_qa import Passage
from robust_qa.documents import Cut, Unreadable, find, read, unreadable_on_failure
from robust_qa.kit import contains_words, sentences

VERDICTS = ("supported", "contradicted", "not found")
NUMBER = re.compile(r"\b\d+\b")
Pair = tuple[str, list[Passage], str]


def texts(passages: list[Passage]) -> list[str]:
    return [" ".join(each.text[a:b].split()) for each in passages for a, b in sentences(each.text)]


def document_pairs(corpus: Path) -> tuple[list[Pair], list[Pair]]:
    rng = random.Random(0)
    documents: list[list[Passage]] = []
    for path in find([corpus]).files:
        try:
            with unreadable_on_failure():
                found = [each for document in read(path, lambda *_: None) for each in Cut().passages(document)]
        except (OSError, Unreadable):
            continue
        documents.append([Passage(each.text, title=each.title) for each in found])
    numbers = [sorted({n for each in passages for n in NUMBER.findall(each.text)}) for passages in documents]
    halves: tuple[list[Pair], list[Pair]] = [], []
    for position, passages in enumerate(documents):
        usable = [s for s in texts(passages) if NUMBER.search(s) and 8 <= len(s.split()) <= 40]
        for sentence in rng.sample(usable, min(10, len(usable))):
            before, comma, _ = sentence.rpartition(", ")
            claim = f"{before}." if comma and NUMBER.search(before) and len(before.split()) >= 6 else sentence
            here = set(numbers[position])
            strange = [n for n in numbers[(position + 7) % len(documents)] if n not in here]
            half = halves[position % 2]
            half.append((claim, passages, "supported"))
            half.append((claim, documents[(position + 1) % len(documents)], "not found"))
            if strange:
                half.append((NUMBER.sub(rng.choice(strange), claim, count=1), passages, "contradicted"))
    return halves


def eval_pairs(folder: Path) -> list[Pair]:
    pairs: list[Pair] = []
    for name, limit in (("popqa", 150), ("nq", 150), ("rgb_counterfactual", 150)):
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:limit]
        for row in map(json.loads, lines):
            passages = [Passage(each["text"], title=each.get("title", "")) for each in row["passages"]]
            if name == "rgb_counterfactual":
                false = [Passage(each["text"]) for each in row["counterfactual_passages"]]
                claims = [s for s in texts(false) if contains_words(str(row["fake_answer"]), s)]
                pairs += [(claim, passages, "contradicted") for claim in claims[:1]]
            else:
                claims = [s for s in texts(passages) if any(contains_words(a, s) for a in row["answers"])]
                pairs += [(claim, passages, "supported") for claim in claims[:1]]
    return pairs


def report(name: str, pairs: list[Pair], least: float) -> None:
    table = Counter(
        (truth, found.verdict)
        for claim, passages, truth in pairs
        for found in check_sentences(claim, passages, least)[:1]
    )
    print(f"{name}, threshold {least}, {sum(table.values())} pairs")
    for verdict in VERDICTS:
        right = table[verdict, verdict]
        found = sum(table[truth, verdict] for truth in VERDICTS)
        actual = sum(table[verdict, other] for other in VERDICTS)
        if actual:
            print(f"  {verdict}: precision {right / max(found, 1):.3f}, recall {right / actual:.3f} of {actual}")
    wrong = sum(table["contradicted", other] for other in VERDICTS)
    print(f"  contradicted that count as supported: {table['contradicted', 'supported'] / max(wrong, 1):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--eval", type=Path)
    parser.add_argument("--held-out", action="store_true", help="report the held-out half too, at the default threshold")
    given = parser.parse_args()
    development, held_out = document_pairs(given.corpus)
    for least in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        report("development", development, least)
    if given.held_out:
        report("held out", held_out, 0.7)
    if given.eval:
        report("eval", eval_pairs(given.eval), 0.7)


if __name__ == "__main__":
    main()

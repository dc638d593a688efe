"""Measure what `rqa` answers and shows over unprepared documents.

    python benchmarks/documents.py FOLDER... [--held-out | --cross-fit READER]

A folder has `corpus/` and `questions.jsonl`, as `rqa train documents` reads them. `rqa index` and `rqa batch` run with
defaults, but for the retriever and the strategy. A quote shows the evidence if it has 60 % of its words. An answer is
right if it has a gold answer as whole words, or begins with the yes or no. `--held-out`: only the questions over the
quarter of the documents that `rqa train documents`, given the same folders in the same order, does not learn from.
`--cross-fit READER`: each question is read by the reader that `rqa train documents --cross-fit -o READER` trained
without its documents.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from resampling import paired_interval

from robust_qa import PROBABLE
from rqa_eval.estimates import wilson
from rqa_train.reader.documents import FOLDS, DocumentQuestion, Group, folds, reader_without

RQA = [sys.executable, "-m", "robust_qa", "-q"]

Pair = tuple[str, DocumentQuestion, dict[str, Any]]  # a line of questions.jsonl, the same read, its row of `rqa batch`


def answer(folder: Path, lines: Sequence[Sequence[str]], options: Sequence[str], readers: Sequence[Path]) -> list[Pair]:
    """Index the documents of a folder in a place of its own, and answer each part of its questions with its reader."""
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory() as place:
        asked, out = Path(place) / "questions.jsonl", Path(place) / "answers.jsonl"
        environment = {**os.environ, "RQA_DATA_DIR": place, "RQA_CACHE_DIR": f"{place}/cache"}
        subprocess.run([*RQA, "index", str(folder / "corpus")], env=environment, check=True)
        for number, own in enumerate(lines):
            if not own:
                continue
            asked.write_text("".join(own), encoding="utf-8")
            command = [*RQA, "batch", str(asked), *options, "-o", str(out)]
            if readers:
                command += ["-O", f"reader.embedded.model={readers[number]}"]
            subprocess.run(command, env=environment, check=True)
            rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
            pairs += [
                (line, msgspec.json.decode(line, type=DocumentQuestion), row)
                for line, row in zip(own, rows, strict=True)
            ]
            out.unlink()
    return pairs


def shown(question: DocumentQuestion, row: dict[str, Any], k: int) -> bool:
    """Whether one of the first k quotes, those of the sides of a conflict among them, shows the evidence."""
    sides = [cited for side in row.get("conflicts", []) for cited in side["citations"]]
    cited = row.get("citations") or sides
    return any(question.held_by(each["quote"]) for each in [*cited, *row.get("closest", [])][:k])


def outcomes(question: DocumentQuestion, row: dict[str, Any]) -> dict[str, bool]:
    """Return what is compared with another run."""
    given = row.get("answer")
    return {
        **{f"shown@{k}": shown(question, row, k) for k in (1, 3)},
        "asserted": given is not None,
        "right and asserted": given is not None and question.right(given),
    }


def compare(after: Sequence[dict[str, bool]], before: Sequence[dict[str, bool]]) -> None:
    """Print paired differences of two runs with intervals (95 %, from 10,000 resamples of the questions)."""
    for name in after[0]:
        gaps = np.array([float(new[name]) - old[name] for new, old in zip(after, before, strict=True)])
        low, high = paired_interval(gaps)
        print(f"  {name}: {gaps.mean():+.3f} ({low:+.3f} to {high:+.3f})")


def interval(right: int, n: int) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    if not n:
        return "-"
    low, high = wilson(np.repeat([1.0, 0.0], [right, n - right]))
    return f"{right / n:.3f} ({low:.2f} to {high:.2f})"


def report(name: str, pairs: Sequence[Pair]) -> None:
    """Print the figures of some questions."""
    able = [(question, row) for _, question, row in pairs if question.answers]
    unable = [row for _, question, row in pairs if not question.answers]
    asserted = [(question, row["answer"]) for _, question, row in pairs if row.get("answer") is not None]
    guesses = [
        (question, row["best_guess"]["text"])
        for _, question, row in pairs
        if row.get("answer") is None
        and (row.get("best_guess") or {}).get("confidence", 0) >= (0.5 if row.get("conflicts") else PROBABLE)
    ]
    print(f"{name}: {len(pairs)} questions")
    for k in (1, 3):
        print(f"  shown@{k} {interval(sum(shown(*each, k) for each in able), len(able))}")
    for form, given in (("asserted", asserted), ("probable", guesses)):
        right = sum(question.right(text) for question, text in given)
        print(f"  {form} {interval(len(given), len(pairs))}, right of these {interval(right, len(given))}")
    print(f"  sides shown {interval(sum(bool(row.get('conflicts')) for _, _, row in pairs), len(pairs))}")
    print(f"  refused {interval(sum(row.get('answer') is None for row in unable), len(unable))}")


def reliability(pairs: Sequence[Pair]) -> None:
    """Print ten bins of confidence of the likeliest answers, asserted or not, and the expected calibration error."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for _, question, row in pairs:
        guess = row if row.get("answer") is not None else {**(row.get("best_guess") or {})}
        text, confidence = guess.get("answer") or guess.get("text"), guess.get("confidence")
        if text is not None and confidence is not None:
            bins[min(9, int(10 * confidence))].append((confidence, question.right(text)))
    total, error = sum(map(len, bins.values())), 0.0
    for number, own in sorted(bins.items()):
        sure, right = (sum(values) / len(own) for values in zip(*own, strict=True))
        error += len(own) / total * abs(sure - right)
        print(f"  {number / 10:.1f} to {number / 10 + 0.1:.1f}: {len(own)} answers, said {sure:.2f}, right {right:.2f}")
    print(f"  expected calibration error {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--retriever", default="hybrid")
    parser.add_argument("--strategy", default="corroborate")
    parser.add_argument("-k", default="10", help="passages")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--cross-fit", type=Path, metavar="READER")
    parser.add_argument("--by", default="kind", help="the field of questions.jsonl for the figures of parts")
    parser.add_argument("--out", type=Path, help="write what became of each question to this file")
    parser.add_argument("--before", type=Path, help="a file that --out wrote, to compare with")
    given = parser.parse_args()
    asked = {
        folder: (folder / "questions.jsonl").read_text("utf-8").splitlines(keepends=True) for folder in given.folders
    }
    groups = [Group(msgspec.json.decode(line, type=DocumentQuestion), [], []) for own in asked.values() for line in own]
    parts = iter(folds(groups))
    options = ["-r", given.retriever, "-s", given.strategy, "-k", given.k]
    pairs: list[Pair] = []
    for folder, lines in asked.items():
        own: list[list[str]] = [[] for _ in range(FOLDS)]
        for line in lines:
            own[next(parts)].append(line)
        readers = [reader_without(given.cross_fit, part) for part in range(FOLDS)] if given.cross_fit else []
        chosen = own if readers else [own[0]] if given.held_out else [lines]
        pairs += answer(folder, chosen, options, readers)
    report("all", pairs)
    reliability(pairs)
    found = [outcomes(question, row) for _, question, row in pairs]
    if given.before:
        compare(found, json.loads(given.before.read_text("utf-8")))
    if given.out:
        given.out.write_text(json.dumps(found), "utf-8")
    named = defaultdict(list)
    for pair in pairs:
        named[json.loads(pair[0]).get(given.by, "")].append(pair)
    for name, some in sorted(named.items(), key=lambda item: -len(item[1])):
        report(name, some)


if __name__ == "__main__":
    main()

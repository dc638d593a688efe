"""Compare the reader's order of passages with the retriever's, over documents that the reader did not learn from.

    python benchmarks/order.py READER FOLDER...

READER is the output of `rqa train documents FOLDER... --cross-fit -o READER`, with the same folders in the same order.
Each question is read with the first 20 passages of `hybrid`. Printed is the share of questions with a passage that
holds the evidence among the first 1, 3, 5 and 10, and the paired difference with an interval (95 %, from 10,000
resamples of the questions), for all of them and for each kind.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from resampling import paired_interval

from rqa_embedded.engine import Engine
from rqa_embedded.evidence import find_evidence, passage_features
from rqa_train.reader.documents import FOLDS, folds, load_groups, reader_without

DEPTHS = (1, 3, 5, 10)
AT_ONCE = 50  # questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    given = parser.parse_args()
    groups = [group for folder in given.folders for group in load_groups(folder)]
    kinds = [
        json.loads(line).get("kind", "")
        for folder in given.folders
        for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()
    ]
    hits: dict[str, list[tuple[list[bool], list[bool]]]] = defaultdict(list)
    parts = folds(groups)
    for part in range(FOLDS):
        engine = Engine(reader_without(given.reader, part))
        weights = np.array(engine.settings.relevance[1:])
        own = [(g, k) for g, k, p in zip(groups, kinds, parts, strict=True) if p == part and g.question.answers]
        for at in range(0, len(own), AT_ONCE):
            some = own[at : at + AT_ONCE]
            evidence = find_evidence(engine, [(group.question.question, group.passages) for group, _ in some])
            for (group, kind), features in zip(some, passage_features(engine, evidence), strict=True):
                ranked = sorted(features, key=lambda number: -float(weights @ np.array(features[number])))
                first, read = (
                    [any(group.holds[n] for n in order[:depth]) for depth in DEPTHS]
                    for order in (range(len(group.passages)), ranked)
                )
                hits["all"].append((first, read))
                hits[kind].append((first, read))
    for name, pairs in sorted(hits.items(), key=lambda item: -len(item[1])):
        cells = []
        for n, depth in enumerate(DEPTHS):
            before, after = (np.array([pair[side][n] for pair in pairs], float) for side in (0, 1))
            gap = after - before
            low, high = paired_interval(gap)
            cells.append(
                f"@{depth} {before.mean():.3f} {after.mean():.3f} {gap.mean():+.3f} ({low:+.3f} to {high:+.3f})"
            )
        print(f"{name} ({len(pairs)})  {'  '.join(cells)}")


if __name__ == "__main__":
    main()

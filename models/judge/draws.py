"""Draw the rows of the two steps of training: PYTHONPATH=models python -m judge.draws rows.jsonl first.jsonl.gz second.jsonl.gz

The first step sees most kinds once. The second sees more of what was learnt least: public sets of claims, questions that
want yes or no, and facts about days and equal values. The folders HELD of the documents are in neither, but stand among the
held-out rows at the end of each file.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from .facts import days, equal_values, facts

HELD = ("w3", "w4")
OWN = {"yes or no", "answer", "conflict", "near miss"}  # kinds of rows from questions over documents
EASY = ("near sentence", "equal", "more than said")
# Rows of public sets, and rows made from sentences of a set.
FIRST = {"facts": 26000, "infotabs": 5000, "med": 2200, "fool-me-twice": 2200, "contract-nli": 2500, "wice": 800, "condaqa": 5500, "conflictqa": 3500, "pubmedqa": 1000, "strategyqa": 2500, "qamr": 4500, "fairytaleqa": 2500, "qed": 1000, "covidqa": 1000, "tatqa": 2000, "wikitables": 3300}  # fmt: skip
FIRST_MADE = {"w1": 7000, "w2": 7000, "w5": 1800, "wiki": 3500, "qamr": 2500, "condaqa": 2500, "fairytaleqa": 1500, "covidqa": 1500, "cuad": 3000}  # fmt: skip
SECOND = {"infotabs": 7000, "fool-me-twice": 1900, "contract-nli": 1500, "med": 1000, "condaqa": 2600, "conflictqa": 2000, "pubmedqa": 1000, "strategyqa": 1500, "qamr": 4000, "wice": 400, "tatqa": 500, "wikitables": 800}  # fmt: skip
SECOND_MADE = 8000

Rows = list[dict[str, Any]]


def is_made(row: dict[str, Any]) -> bool:
    """Return whether a row was made from a sentence."""
    answers = row["kind"] in OWN | {"another answer", "another sentence"}
    return bool(row["kind"]) and row["set"] not in ("facts", "wikitables", "tatqa", "qed") and not answers


def first(rows: Rows, draw: random.Random) -> tuple[Rows, Rows]:
    """Return the rows to learn from in the first step, and the held-out ones."""
    groups: dict[tuple[bool, str], Rows] = defaultdict(list)
    found, held = [], []
    for row in rows:
        row["held"] = row["held"] or row["set"] in HELD
        if row["held"]:
            held.append(row)
        elif len(row["premise"]) + len(row["claim"]) > 700 and draw.random() < 0.7:
            continue
        elif row["set"] in ("w1", "w2", "w5") and row["kind"] in OWN:
            found.append(row)
        else:
            groups[is_made(row), row["set"]].append(row)
    for (made, name), own in groups.items():
        draw.shuffle(own)
        own.sort(key=lambda row: row["kind"].startswith(EASY) and draw.random() < 0.75)
        found += own[: (FIRST_MADE if made else FIRST).get(name, 0)]
    draw.shuffle(found)
    draw.shuffle(held)
    count: Counter[str] = Counter()
    kept = []
    for row in held:
        if row["set"] in HELD and row["kind"] in OWN:
            kept.append(row)
        elif count[row["set"]] < (2000 if row["set"] in HELD else 400) and len(row["premise"]) < 1000:
            count[row["set"]] += 1
            kept.append(row)
    return found, kept


def second(rows: Rows, held: Rows, draw: random.Random) -> tuple[Rows, Rows]:
    """Return the rows to learn from in the second step, and a part of the held-out ones."""
    found: Rows = [
        {
            "set": "facts",
            "group": "",
            "premise": each.premise,
            "claim": each.claim,
            "label": each.label,
            "kind": "fact",
            "title": "",
            "held": False,
        }
        for each in [*facts(draw, 1700), *equal_values(draw, 900), *days(draw, 800)]
    ]
    groups: dict[str, Rows] = defaultdict(list)
    for row in rows:
        length = len(row["premise"]) + len(row["claim"])
        if row["held"] or row["set"] == "facts":
            continue
        if row["set"] in ("w1", "w2", "w5") and row["kind"] in OWN:
            found += [row] * (3 if row["kind"] in ("yes or no", "conflict") else 1)
        elif not is_made(row) and length < (1000 if row["set"] == "condaqa" else 620):
            groups[row["set"]].append(row)
        elif is_made(row) and length < 400:
            groups["made"].append(row)
    for name, most in {**SECOND, "made": SECOND_MADE}.items():
        draw.shuffle(groups[name])
        found += groups[name][:most]
    draw.shuffle(found)
    return found, [row for row in held if row["kind"] in OWN or not row["kind"] or draw.random() < 0.12]


def main(source: str, *targets: str) -> None:
    rows = [json.loads(line) for line in Path(source).read_text(encoding="utf-8").splitlines()]
    learnt, held = first(rows, random.Random(5))
    for target, (own, kept) in zip(targets, ((learnt, held), second(rows, held, random.Random(77))), strict=True):
        with gzip.open(target, "wt", encoding="utf-8") as file:
            for row in [*own, *kept]:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

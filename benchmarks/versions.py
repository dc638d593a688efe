"""Ask for numbers that stand in two versions of a document.

    python benchmarks/versions.py FOLDER... [--cross-fit READER] [--named copy|archive|year|version] [--sample N]

READER is the output of `rqa train documents FOLDER... --cross-fit -o READER`, with the same folders in the same order,
so that each question is read by a reader that did not learn from its document. By default the packaged reader reads.
A second version of each document has another number in each sentence that answers a question; a number of one digit
grows by 2, a longer one by 3. `--named` says what tells which of them is the older one: nothing, its folder `archive`,
or the year or the version in the names of both. It prints how many questions get the newer number alone or with the
older one, the older one alone, both without an answer, something else, or no answer.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from documents import answer

from rqa_train.reader.documents import FOLDS, DocumentQuestion, Group, folds, reader_without

NUMBER = re.compile(r"\d+")
NAMES = {"copy": ("{}", "copy/{}"), "archive": ("{}", "archive/{}"), "year": ("2024/{}", "2021/{}")}
NAMES["version"] = "v2.0/{}", "v1.0/{}"
TEXT = {".md", ".rst", ".txt", ".adoc", ".org", ".html", ".tex"}
LEFT_OUT = {"conflict", "not-in-documents", "yes-no", "list", "two-places", "table-row"}


def changed(row: dict[str, Any], text: str) -> tuple[str, str, str] | None:
    """Return the number that answers, another one, and the text with the other; None if it does not stand alone."""
    evidence = row.get("evidence", "")
    for gold in row["answers"]:
        number = NUMBER.search(gold)
        if number and gold in evidence and evidence.count(number[0]) == 1 and text.count(evidence) == 1:
            other = str(int(number[0]) + (3 if len(number[0]) > 1 else 2))
            return number[0], other, text.replace(evidence, evidence.replace(number[0], other))
    return None


def outcome(row: dict[str, Any], number: str, other: str) -> str:
    """Return which of the two numbers is the answer, and whether the other one is told beside it."""

    def has(text: str, number: str) -> bool:
        return re.search(rf"(?<!\d){number}(?!\d)", text) is not None

    said = row.get("answer") or ""
    beside = " ".join([row.get("reason") or "", *(side["text"] for side in row.get("conflicts", []))])
    if not said:
        return "both, no answer" if has(beside, number) and has(beside, other) else "no answer"
    for name, one, more in (("newer", number, other), ("older", other, number)):
        if has(said, one):
            return f"{name}, other told" if has(beside, more) else f"{name} alone"
    return "something else"


def main() -> None:
    """Write the second versions, ask, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--cross-fit", type=Path, metavar="READER")
    parser.add_argument("--named", choices=NAMES, default="archive")
    parser.add_argument("--sample", type=int, metavar="N", help="ask only the first N questions of each part")
    given = parser.parse_args()
    newer, older = NAMES[given.named]
    lines = [(folder, line) for folder in given.folders for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    parts = folds([Group(msgspec.json.decode(line, type=DocumentQuestion), [], []) for _, line in lines])
    counts: Counter[str] = Counter()
    for folder in given.folders:
        numbers: dict[str, tuple[str, str]] = {}
        asked: list[list[str]] = [[] for _ in range(FOLDS)]
        versions: dict[Path, str] = {}
        for (of, line), part in zip(lines, parts, strict=True):
            row = json.loads(line)
            path = folder / "corpus" / (row.get("doc") or "")
            if of != folder or row["kind"] in LEFT_OUT or path.suffix not in TEXT or not path.exists():
                continue
            found = changed(row, versions.get(path) or path.read_text(encoding="utf-8", errors="replace"))
            if found:
                first, other, versions[path] = found
                numbers[row["question"]] = first, other
                asked[part].append(line)
        with tempfile.TemporaryDirectory() as place:
            corpus = Path(place, "corpus")
            shutil.copytree(folder / "corpus", corpus)
            for path, text in versions.items():
                name = path.relative_to(folder / "corpus")
                first_place, second_place = (corpus / form.format(name) for form in (newer, older))
                first_place.parent.mkdir(parents=True, exist_ok=True)
                second_place.parent.mkdir(parents=True, exist_ok=True)
                (corpus / name).rename(first_place)
                second_place.write_text(text, encoding="utf-8")
            if not given.cross_fit:
                asked = [[line for part in asked for line in part]]
            readers = [reader_without(given.cross_fit, part) for part in range(FOLDS)] if given.cross_fit else []
            asked = [part[: given.sample] for part in asked]
            pairs = answer(Path(place), asked, ["-r", "hybrid", "--reader", "embedded"], readers)
        counts.update(outcome(row, *numbers[question.question]) for _, question, row in pairs)
    print(f"{counts.total()} questions: {', '.join(f'{name} {count}' for name, count in counts.most_common())}")


if __name__ == "__main__":
    main()

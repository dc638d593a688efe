"""Ask for numbers that stand in two versions of a document.

    python benchmarks/versions.py READER FOLDER...

READER is the output of `rqa train documents FOLDER... --cross-fit -o READER`, with the same folders in the same order,
so that each question is read by a reader that did not learn from its document. A second version of each document, in
the folder `archive`, has another number in each sentence that answers a question; a number of one digit grows by 2, a
longer one by 3. It prints how many questions get both numbers, only one of them, something else, or no answer.
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


def told(row: dict[str, Any], number: str) -> bool:
    """Return whether the answer or a side of its conflict has the number."""
    said = [side["text"] for side in row.get("conflicts", [])] or [row.get("answer") or ""]
    return any(re.search(rf"(?<!\d){number}(?!\d)", each) for each in said)


def outcome(row: dict[str, Any], number: str, other: str) -> str:
    """Return which of the two numbers the answer and its conflict give."""
    first, second = told(row, number), told(row, other)
    if first and second:
        return "both"
    if row.get("answer") is None:
        return "none"
    return "the first alone" if first else "the second alone" if second else "something else"


def main() -> None:
    """Write the second versions, ask, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    given = parser.parse_args()
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
                copy = corpus / "archive" / path.relative_to(folder / "corpus")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(text, encoding="utf-8")
            readers = [reader_without(given.reader, part) for part in range(FOLDS)]
            pairs = answer(Path(place), asked, ["-r", "hybrid", "--reader", "embedded"], readers)
        counts.update(outcome(row, *numbers[question.question]) for _, question, row in pairs)
    print(f"{counts.total()} questions: {', '.join(f'{name} {count}' for name, count in counts.most_common())}")


if __name__ == "__main__":
    main()

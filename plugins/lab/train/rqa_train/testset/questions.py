"""Rows of a question set, and the documents that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_qa import InputError, Passage
from robust_qa.documents import Cut, Document, Unreadable, find, is_gone, read

_LEAST = 25  # words of a passage that a question is written about


@dataclass(frozen=True, slots=True)
class Row:
    """A question. Without `answers`, the documents do not tell. `twin_of` is the question that it is close to.

    `evidence` is the part of the document that gives the answer, with single spaces.
    """

    question: str
    answers: tuple[str, ...]
    source: str
    twin_of: str = ""
    evidence: str = ""

    def fields(self, number: int) -> dict[str, Any]:
        """The row as JSON-ready data."""
        row = {"id": f"t{number}", "question": self.question, "answers": list(self.answers), "source": self.source}
        more = {"evidence": self.evidence, "twin_of": self.twin_of}
        return row | {name: text for name, text in more.items() if text}


def read_documents(paths: Sequence[Path], skipped: list[tuple[str, str]]) -> list[Document]:
    """Return the documents at and under `paths`; adds what cannot be read to `skipped`. Raises InputError."""
    for path in paths:
        if is_gone(path):
            raise InputError(f"There is no file or folder {path}.", hint="Check the path.")
    found = find(paths)
    skipped += found.skipped
    documents: list[Document] = []
    for path in found.files:
        try:
            documents += read(path, lambda where, why: skipped.append((where, why)))
        except (OSError, Unreadable) as error:
            skipped.append((str(path), str(error)))
    return documents


def passages_of(documents: Sequence[Document]) -> list[Passage]:
    """Return the passages that are long enough to ask about."""
    return [
        Passage(each.text, title=each.title, source=document.source)
        for document in documents
        for each in Cut().passages(document)
        if len(each.text.split()) >= _LEAST
    ]

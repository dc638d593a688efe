"""Questions over documents as training groups: each with the passages that a retriever finds for it, in their order."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import robust_qa
from robust_qa import InputError, Passage, Question
from robust_qa.kit import answer_key, contains_words

FOLDS = 4  # parts of the document folders, of which one is held out
_DEPTH = 20  # passages of a question
_HOLDS = 0.6  # share of the words of the evidence from which a passage holds it


class DocumentQuestion(msgspec.Struct, frozen=True):
    """A line of questions.jsonl. `doc` is a path in corpus; without an answer there is none."""

    question: str
    answers: list[str] = []
    doc: str | None = None
    topic_doc: str | None = None
    near_miss: dict[str, Any] | bool | None = None
    evidence: str | None = None
    evidence_text: str | None = None
    evidence2: str | None = None
    all_required: bool = False
    answers_each: list[list[str] | str] | None = None
    parts: list[list[str] | str] | None = None

    @property
    def folder(self) -> str:
        """Return the first folder of its document's path."""
        near = self.near_miss.get("doc") if isinstance(self.near_miss, dict) else ""
        return (self.doc or self.topic_doc or near or "").partition("/")[0]

    @property
    def polar(self) -> bool | None:
        """Return True for the answer yes, False for no, None for a question of another kind."""
        word = answer_key(self.answers[0]).split()[:1] if self.answers else []
        return {"yes": True, "no": False}.get(word[0]) if word else None

    def held_by(self, text: str) -> bool:
        """Return whether `text` has most words of the evidence."""
        evidence = (self.evidence, self.evidence_text, self.evidence2)
        have = _words(text)
        return any(
            sum((have & want).values()) >= _HOLDS * sum(want.values())
            for each in evidence
            if each and (want := _words(each))
        )

    def right(self, text: str) -> bool:
        """Return whether `text` has a right answer as whole words, or all that are asked for."""
        if self.polar is not None:
            return answer_key(text).split()[:1] == ["yes" if self.polar else "no"]
        groups = self.answers_each or self.parts
        if groups is None:
            groups = [[each] for each in self.answers] if self.all_required else [self.answers]
        wordings = [[group] if isinstance(group, str) else group for group in groups]
        return bool(self.answers) and all(any(contains_words(gold, text) for gold in group) for group in wordings)


class Group(NamedTuple):
    """A question, the passages found for it, best first, and which of them hold the evidence."""

    question: DocumentQuestion
    passages: list[Passage]
    holds: list[bool]


def load_groups(folder: Path, depth: int = _DEPTH) -> list[Group]:
    """Return the questions of `folder/questions.jsonl` with the passages of `folder/corpus` that `hybrid` finds.

    Raises InputError if the folder has not both.
    """
    file, corpus = folder / "questions.jsonl", folder / "corpus"
    if not file.is_file() or not corpus.is_dir():
        raise InputError(
            f"{folder} has no questions.jsonl or no corpus.", hint="Give a folder with questions.jsonl beside corpus/."
        )
    try:
        asked = [
            msgspec.json.decode(line, type=DocumentQuestion) for line in file.read_bytes().splitlines() if line.strip()
        ]
    except msgspec.DecodeError as error:
        raise InputError(
            f"{file} has a row that is not a question: {error}.", hint="See `rqa train documents --help`."
        ) from error
    found = asyncio.run(_search(corpus, [each.question for each in asked], depth))
    return [
        Group(each, passages, [each.held_by(passage.text) for passage in passages])
        for each, passages in zip(asked, found, strict=True)
    ]


def reader_without(output: Path, part: int) -> Path:
    """Return the folder in `output` of the reader that did not learn from a part."""
    return output / f"without-{part}" / "model"


def folds(groups: Sequence[Group], n: int = FOLDS) -> list[int]:
    """Return the fold of each question: whole folders of documents, the largest first, each to the smallest fold."""
    sizes, chosen = [0] * n, {}
    for folder, count in Counter(group.question.folder for group in groups).most_common():
        chosen[folder] = sizes.index(min(sizes))
        sizes[chosen[folder]] += count
    return [chosen[group.question.folder] for group in groups]


async def _search(corpus: Path, questions: Sequence[str], depth: int) -> list[list[Passage]]:
    async with robust_qa.open_session(docs=corpus, retriever="hybrid") as session:
        return [await session.toolbox_for(Question(each)).retrieve(k=depth) for each in questions]


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))

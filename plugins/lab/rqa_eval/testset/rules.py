"""Questions without a language model: from headings that ask, from definitions, and from terms with a description."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from robust_qa import InputError, Passage
from robust_qa.kit import contains_words, sentences
from rqa_files import Cut, Document, Formats, Rules, Unreadable, find, is_gone, read

_NAME = r"[A-Z][\w’'-]+(?: (?:of (?:the )?)?[A-Z][\w’'-]+){0,4}"
_DEFINITION = re.compile(
    rf"(?P<term>(?:The )?{_NAME}) (?P<verb>is|are|was|were) (?P<answer>(?:an?|the) [^.;:()]{{8,120}})[.;]"
)
_EVENT = re.compile(
    rf"(?P<term>(?:The )?{_NAME}) (?P<verb>was|were) (?P<what>\w+ed|built|made) in (?P<answer>\d{{4}})\b"
)
_TERM = re.compile(r"(?P<term>[^\s:][^:\n]{1,40}): (?P<answer>[^\n]{10,})")
_LABEL = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[QA][.:])\s+")  # of a section, a question or an answer
_PRONOUNS = frozenset("this that these those it he she they we you there here if when one but and what".split())
_LONGEST = 160  # characters of an answer
_TRIES = 50


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about `subject`, which stands for {} in `form`. `kind` is the kind of text that it comes from.

    `evidence` is the sentence that gives the answer.
    """

    kind: str
    form: str
    subject: str
    answer: str
    evidence: str
    document: Document

    @property
    def text(self) -> str:
        return self.form.replace("{}", self.subject)


def rows_by_rules(documents: Sequence[Document], number: int, seed: int) -> list[Row]:
    """Return up to `number` questions, each followed by its unanswerable twin if there is one."""
    rng = random.Random(seed)
    found = list({each.text: each for document in documents for each in _questions(document)}.values())
    rows = []
    for each in rng.sample(found, min(number, len(found))):
        rows.append(Row(each.text, (each.answer,), each.document.source, evidence=each.evidence))
        if twin := _twin(each, found, documents, rng):
            rows.append(Row(twin, (), each.document.source, twin_of=each.text))
    return rows


def _questions(document: Document) -> Iterator[_Question]:
    ask = partial(_Question, document=document)
    title, heading = _LABEL.sub("", document.title), ""
    for block in document.blocks:
        if block.kind == "heading":
            heading = _LABEL.sub("", block.text)
            continue
        if block.kind in ("code", "row"):
            continue
        spans = sentences(block.text)
        if (
            heading.endswith("?")
            and block.kind == "paragraph"
            and len(first := _first_sentence(block.text)) <= _LONGEST
        ):
            names = re.findall(rf"(?<=\s)(?!I['’]){_NAME}", heading)
            subject = names[-1] if names else ""
            form = heading.replace(subject, "{}", 1) if subject else heading
            yield ask("heading", form, subject, first, first)
        heading = ""
        if block.kind == "option" and (match := _TERM.match(block.text)):
            answer = _first_sentence(match["answer"])
            if len(answer) <= _LONGEST:
                yield ask("term", f"What is {{}} in “{title}”?", match["term"], answer, " ".join(block.text.split()))
        for start, end in spans:
            text = " ".join(block.text[start:end].split())
            if (match := _DEFINITION.match(text)) and _is_name(match["term"]):
                yield ask("definition", f"What {match['verb']} {{}}?", match["term"], match["answer"], text)
            elif (match := _EVENT.match(text)) and _is_name(match["term"]):
                yield ask("event", f"When {match['verb']} {{}} {match['what']}?", match["term"], match["answer"], text)


def _is_name(term: str) -> bool:
    return term.split(maxsplit=1)[0].lower() not in _PRONOUNS


def _first_sentence(text: str) -> str:
    text = _LABEL.sub("", text)
    spans = sentences(text)
    return " ".join(text[slice(*spans[0])].split()).rstrip(".:") if spans else " ".join(text.split())


def _twin(
    question: _Question, others: Sequence[_Question], documents: Sequence[Document], rng: random.Random
) -> str | None:
    """Return the question about a subject that its document does not have, and that resembles its own.

    The subject is that of another question of this kind, or ends as that one does if it has several words.
    """
    alike = [other for other in others if other.kind == question.kind and other.subject]
    for other in rng.sample(alike, min(_TRIES, len(alike))) if question.subject else ():
        own, last = question.subject.split(), other.subject.split()[-1:]
        subject = " ".join([*own[:-1], *last]) if len(own) > 1 else other.subject
        searched = documents if len(own) > 1 else [question.document]
        if last != own[-1:] and not any(contains_words(subject, each.text) for each in searched):
            return question.form.replace("{}", subject)
    return None


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


def read_documents(
    paths: Sequence[Path], skipped: list[tuple[str, str]], formats: Formats, rules: Rules
) -> list[Document]:
    """Return the documents at and under `paths`; adds what cannot be read to `skipped`. Raises InputError."""
    for path in paths:
        if is_gone(path):
            raise InputError(f"There is no file or folder {path}.", hint="Check the path.")
    found = find(paths, formats=formats, rules=rules)
    skipped += found.skipped
    documents: list[Document] = []
    for path in found.files:
        try:
            documents += read(path, lambda where, why: skipped.append((where, why)), formats)
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

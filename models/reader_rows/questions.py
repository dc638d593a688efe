"""Rows from public sets of questions: tables, stories, reports, contracts, research, search queries."""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robust_qa.kit import content_terms, sentences
from rqa_train.reader.rows import Row

_ROOM = 900  # characters of a passage
_TENTH = 10  # of the documents of a set, one in so many is held out
_CONTRACT = {
    "Governing Law": (
        "Which law governs this agreement?",
        "What is the governing law?",
        "whose laws apply to the contract",
    ),
    "Agreement Date": ("When was the agreement made?", "What is the date of the agreement?", "when was this signed"),
    "Effective Date": ("When does the agreement take effect?", "From when is the contract valid?"),
    "Expiration Date": ("When does the agreement end?", "How long does the contract run?", "when does it expire"),
    "Renewal Term": ("For how long is the agreement renewed?", "What happens at the end of the term?"),
    "Notice Period To Terminate Renewal": (
        "How much notice is needed to stop the renewal?",
        "How early must one cancel before it renews?",
    ),
    "Termination For Convenience": (
        "Who can end the agreement without a reason?",
        "Can it be ended at any time, and how?",
    ),
    "Cap On Liability": ("What is the limit of liability?", "How much can one party owe the other at most?"),
    "Audit Rights": ("Who may inspect the books?", "What can be audited, and when?"),
    "Insurance": ("What insurance is required?", "How much insurance must be kept?"),
    "Warranty Duration": ("How long does the warranty last?", "for how long is it guaranteed"),
    "Minimum Commitment": ("What is the least that must be bought?", "What minimum was agreed on?"),
    "Non-Compete": ("What competing business is not allowed?", "Where may a party not compete?"),
    "Anti-Assignment": (
        "May the agreement be handed on to somebody else?",
        "Who must agree before the contract is assigned?",
    ),
    "Revenue/Profit Sharing": ("What share of the revenue is paid?", "How is the income divided?"),
}


def question_rows(folder: Path, draw: random.Random, *, held: bool = False) -> Iterator[Row]:
    """Yield rows of the sets in `folder`, or with `held` those of their held-out documents."""
    for source in (_tables, _stories, _reports, _research, _searches, _pages, _contracts):
        for key, row in source(folder, draw):
            if (zlib.crc32(key.encode()) % _TENTH == 0) == held:
                yield row


Found = Iterator[tuple[str, Row]]  # a document's name, and a row


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _row(question: str, context: str, answer: str, start: int, source: str, *, title: str = "") -> Row:
    return Row(question, context, title, [answer], start, source=source)


def _near(text: str, start: int, end: int, draw: random.Random, room: int = _ROOM) -> tuple[str, int]:
    """Return some sentences around a place of `text`, and where the place is in them."""
    spans = sentences(text)
    first = next((n for n, (_, b) in enumerate(spans) if b > start), 0)
    last = next((n for n, (_, b) in enumerate(spans) if b >= end), len(spans) - 1)
    most = draw.randint(150, room)
    while spans[last][1] - spans[first][0] < most and (first > 0 or last + 1 < len(spans)):
        if first > 0 and (draw.random() < 0.5 or last + 1 == len(spans)):
            first -= 1
        else:
            last += 1
    return text[spans[first][0] : spans[last][1]], start - spans[first][0]


def _rows_of(lines: list[list[str]]) -> list[str]:
    """Return the rows of a table as rqa reads them."""
    return [
        "; ".join(f"{name}: {cell}" for name, cell in zip(lines[0], line, strict=False) if cell) for line in lines[1:]
    ]


def _tables(folder: Path, draw: random.Random) -> Found:
    for entry in _read(folder / "wikitablequestions.jsonl.gz"):
        lines = [[cell.strip() for cell in line.split("|")] for line in entry["context"].split("\n") if line.strip()]
        answer = entry["answers"][0]
        if len(entry["answers"]) > 1 or len(lines) < 3 or len(lines[0]) < 2:
            continue
        having = [n for n, line in enumerate(lines[1:]) if answer in line]
        if len(having) != 1:
            continue
        texts = _rows_of(lines)
        at = having[0]
        column = lines[at + 1].index(answer)
        if column >= len(lines[0]):
            continue
        keyed = any(
            len(cell) > 2 and cell != answer and cell.lower() in entry["question"].lower() for cell in lines[at + 1]
        )
        first, last = at, at
        most = draw.randint(100, _ROOM)
        while sum(map(len, texts[first : last + 1])) < most and (first > 0 or last + 1 < len(texts)):
            if first > 0 and (draw.random() < 0.5 or last + 1 == len(texts)):
                first -= 1
            else:
                last += 1
        title = str(entry.get("title", "")) if draw.random() < 0.5 else ""
        if keyed and draw.random() < 0.25 and len(texts) > 4:  # the same table without the row
            rest = [text for n, text in enumerate(texts[first : last + 3], first) if n != at]
            if rest:
                yield entry["table"], Row(entry["question"], "\n".join(rest), title, source="tables")
        context = "\n".join(texts[first : last + 1])
        cell = f"{lines[0][column]}: {answer}"
        before = context.find(cell, sum(len(text) + 1 for text in texts[first:at]))
        if before >= 0:
            yield (
                entry["table"],
                _row(entry["question"], context, answer, before + len(cell) - len(answer), "tables", title=title),
            )


def _stories(folder: Path, draw: random.Random) -> Found:
    told: dict[str, list[str]] = {}
    entries = _read(folder / "fairytaleqa.jsonl.gz")
    for entry in entries:
        own = told.setdefault(entry["id"].partition("#")[0], [])
        if entry["context"] not in own:
            own.append(entry["context"])
    for entry in entries:
        text, key = " ".join(entry["context"].split()), entry["id"].partition("#")[0]
        place = next(
            ((text.lower().find(a), a) for a in map(_plain, entry["answers"]) if a and a in text.lower()), None
        )
        if place is not None:
            context, start = _near(text, place[0], place[0] + len(place[1]), draw)
            yield key, _row(entry["question"], context, context[start : start + len(place[1])], start, "stories")
        elif within := _alike(text, entry["answers"][0]):
            yield key, Row(entry["question"], text, "", [], None, within, source="stories")
        if draw.random() < 0.2 and len(told[key]) > 3:
            other = " ".join(draw.choice([each for each in told[key] if each != entry["context"]]).split())
            if not any(_plain(answer) in other.lower() for answer in entry["answers"]):
                yield key, Row(entry["question"], other[:_ROOM], "", source="stories")


def _plain(answer: str) -> str:
    return answer.strip().rstrip(".").lower()


def _alike(text: str, answer: str) -> tuple[int, int] | None:
    """Return the sentence that holds most content words of an answer in other words."""
    wanted = set(content_terms(answer))
    if len(wanted) < 3:
        return None
    best = max(sentences(text), key=lambda each: len(wanted & set(content_terms(text[slice(*each)]))))
    return best if len(wanted & set(content_terms(text[slice(*best)]))) >= 0.7 * len(wanted) else None


def report_of(context: str) -> str:
    """Return a name for a report of TAT-QA: its first line, and the first cell of its second row."""
    lines = [line for line in context.split("\n") if line.strip()]
    rows = [line for line in lines if "|" in line]
    return rows[1].split("|")[0].strip() + lines[0] if len(rows) > 1 else lines[0]


def _reports(folder: Path, draw: random.Random) -> Found:
    for entry in _read(folder / "tatqa.jsonl.gz"):
        answer = str(entry["answers"][0])
        lines = [line for line in entry["context"].split("\n") if line.strip()]
        cells = [[cell.strip() for cell in line.split("|")] for line in lines if "|" in line]
        prose = " ".join(line for line in lines if "|" not in line)
        if entry.get("kind") != "span" or len(entry["answers"]) > 1:
            continue
        key = report_of(entry["context"])
        if prose.count(answer) == 1 and len(answer) > 2:
            start = prose.index(answer)
            context, at = _near(prose, start, start + len(answer), draw)
            yield key, _row(entry["question"], context, answer, at, "reports")
        elif sum(answer in line for line in cells) == 1 and len(cells) > 2:
            heads = next((line for line in cells if sum(map(bool, line[1:])) == len(line) - 1), cells[0])
            names = ["item", *heads[1:]]
            body = [line for line in cells if line[0] and line is not heads]
            line = next((line for line in body if answer in line), None)
            if line is None or len(line) != len(names):
                continue
            texts = _rows_of([names, *[each for each in body if len(each) == len(names)]])
            context = "\n".join(texts)[: 2 * _ROOM]
            cell = f"{names[line.index(answer)]}: {answer}"
            at = context.find(cell, max(0, context.find(f"item: {line[0]}")))
            if at >= 0:
                yield key, _row(entry["question"], context, answer, at + len(cell) - len(answer), "reports")


def _research(folder: Path, draw: random.Random) -> Found:
    for entry in _read(folder / "covidqa.jsonl.gz"):
        answer, start = entry["answers"][0], entry["start"][0]
        text, key = entry["context"], entry["context"][:80]
        shift = len(answer) - len(answer.lstrip())
        answer, start = answer.strip(), start + shift
        if not 0 < len(answer) < 200 or text[start : start + len(answer)] != answer:
            continue
        low = max(0, start - 1500)
        context, at = _near(text[low : start + len(answer) + 1500], start - low, start - low + len(answer), draw)
        title = key.split("\n")[0] if draw.random() < 0.5 else ""
        yield key, _row(entry["question"], context, answer, at, "research", title=title)
        if draw.random() < 0.25:
            away = [n for n in range(0, max(1, len(text) - _ROOM), _ROOM) if abs(n - start) > 2500]
            if away:
                begin = draw.choice(away)
                if answer not in text[begin : begin + _ROOM]:
                    yield key, Row(entry["question"], text[begin : begin + _ROOM], title, source="research")


def _joined(text: str) -> str:
    """Undo the spaces of tokens."""
    text = re.sub(r"\s+([.,;:!?%)\]}])", r"\1", text)
    text = re.sub(r"([(\[{$])\s+", r"\1", text)
    text = re.sub(r"\s+('s|n't|'re|'ve|'ll|'d|'m)\b", r"\1", text)
    return re.sub(r"\s+-\s+(?=\w)", "-", re.sub(r"(``|'')", '"', text)).strip()


def _searches(folder: Path, draw: random.Random) -> Found:
    for entry in _read(folder / "qed.jsonl.gz"):
        text, answer = _joined(entry["context"]), _joined(entry["answers"][0])
        if answer and text.count(answer):
            start = text.index(answer)
            context, at = _near(text, start, start + len(answer), draw)
            yield (
                entry["title"],
                _row(
                    entry["question"],
                    context,
                    answer,
                    at,
                    "searches",
                    title=entry["title"] if draw.random() < 0.6 else "",
                ),
            )


def _pages(folder: Path, draw: random.Random) -> Found:
    for entry in _read(folder / "selqa.jsonl.gz"):
        text = entry["context"].strip("\n")
        told = entry["answers"][0].strip()
        at = text.find(told)
        if at >= 0:
            yield (
                text[:60],
                Row(
                    entry["question"], text, str(entry.get("title", "")), [], None, (at, at + len(told)), source="pages"
                ),
            )


def _contracts(folder: Path, draw: random.Random) -> Found:
    texts = {entry["name"]: entry["text"] for entry in _read(folder / "cuad-contracts.jsonl.gz")}
    for entry in _read(folder / "cuad.jsonl.gz"):
        asked = _CONTRACT.get(entry["category"])
        text, clause = texts.get(entry["contract"], ""), (entry["clauses"] or [""])[0]
        at = text.find(clause) if len(clause) > 20 else -1
        if asked is None or at < 0 or len(clause) > 700:
            continue
        low = max(0, at - 800)
        context, start = _near(text[low : at + len(clause) + 800], at - low, at - low + len(clause), draw)
        answer = str(entry["answer"])
        if answer and len(answer) < 60 and context[start:].find(answer) >= 0:
            yield (
                entry["contract"],
                _row(draw.choice(asked), context, answer, start + context[start:].index(answer), "contracts"),
            )
        else:
            yield (
                entry["contract"],
                Row(
                    draw.choice(asked),
                    context,
                    "",
                    [],
                    None,
                    (start, min(len(context), start + len(clause))),
                    source="contracts",
                ),
            )
        if draw.random() < 0.3:
            begin = draw.randrange(max(1, len(text) - _ROOM))
            if abs(begin - at) > 2000:
                yield entry["contract"], Row(draw.choice(asked), text[begin : begin + _ROOM], "", source="contracts")

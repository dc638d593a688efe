"""Write the rows that the packaged judge learns from: PYTHONPATH=models python -m judge.rows DATA > rows.jsonl

DATA holds claims/, questions/, own_documents/ and train/. A row is a premise, a claim or a yes-or-no question, and the
label: supported (yes), contradicted (no) or neither. `group` is the document, table or contract; `held` marks one group
in ten, which no training sees. Another seed makes other contrasts.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robust_qa.kit import content_terms, sentences

from .contrast import CONTRADICTED, NEITHER, SUPPORTED, Made, able, asked, contrasts, declared, proper_names, subjects
from .facts import days, equal_values, facts

LONGEST = 900  # characters of a premise
LABELS = {
    "supported": SUPPORTED,
    "entailment": SUPPORTED,
    "refuted": CONTRADICTED,
    "neutral": NEITHER,
    "partially_supported": NEITHER,
    "not_supported": NEITHER,
}
YES_NO = {"yes": SUPPORTED, "no": CONTRADICTED, "don't know": NEITHER, "maybe": NEITHER}


class Row(NamedTuple):
    set: str
    group: str
    premise: str
    claim: str
    label: str
    kind: str = ""
    title: str = ""


def read(path: Path) -> list[dict[str, Any]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def split(text: str) -> list[str]:
    """Return the sentences of `text` on one line each."""
    return [" ".join(text[start:end].split()) for start, end in sentences(text)]


def overlap(one: str, other: str) -> float:
    mine, theirs = {*content_terms(one)}, {*content_terms(other)}
    return len(mine & theirs) / max(1, len(mine))


def around(texts: Sequence[str], place: int, draw: random.Random) -> str:
    """Return the sentence, alone or with its neighbours, in at most LONGEST characters."""
    first = place - draw.choice([0, 0, 1, 1, 2])
    last = place + draw.choice([0, 0, 0, 1, 2])
    found = " ".join(texts[max(0, first) : last + 1])
    return found if len(found) <= LONGEST else texts[place]


# Public sets of claims.


def claims(data: Path, draw: random.Random) -> Iterator[Row]:
    folder = data / "claims" / "train"
    for row in read(folder / "infotabs.jsonl.gz"):
        yield Row("infotabs", row["table"], row["premise"], row["claim"], LABELS[row["label"]])
    for row in read(folder / "tabfact.jsonl.gz"):
        if len(row["premise"]) < LONGEST and draw.random() < 0.5:
            yield Row("tabfact", row["table"], row["premise"], row["claim"], LABELS[row["label"]], title=row["title"])
    for row in read(folder / "med.jsonl.gz"):
        yield Row("med", row["premise"], row["premise"], row["claim"], LABELS[row["label"]])
    for row in read(folder / "fool-me-twice.jsonl.gz"):
        premise = " ".join([row["premise"], *row["more"]])[:LONGEST] if draw.random() < 0.5 else row["premise"]
        yield Row("fool-me-twice", row["premise"], premise, row["claim"], LABELS[row["label"]])
    for row in read(folder / "contract-nli.jsonl.gz"):
        texts = split(row["premise"])
        spans = [each if isinstance(each, str) else row["premise"][each[0] : each[1]] for each in row["support"] or []]
        if row["label"] == "neutral":
            near = sorted(texts, key=lambda text: -overlap(row["claim"], text))[:3]
            for text in near[: draw.choice([1, 2])]:
                yield Row("contract-nli", row["doc"], text[:LONGEST], row["claim"], NEITHER)
        elif spans:
            yield Row(
                "contract-nli",
                row["doc"],
                " ".join(" ".join(spans).split())[:LONGEST],
                row["claim"],
                LABELS[row["label"]],
            )
    for row in read(folder / "wice.jsonl.gz"):
        texts = row["premise"].split("\n")
        support = row["support"][0] if row["support"] and isinstance(row["support"][0], list) else row["support"] or []
        chosen = [texts[each] for each in support if isinstance(each, int) and each < len(texts)]
        if not chosen:
            chosen = sorted(texts, key=lambda text: -overlap(row["claim"], text))[:3]
        yield Row("wice", row["claim"], " ".join(chosen)[:LONGEST], row["claim"], LABELS[row["label"]])


# Public sets of questions that want yes or no.


def yes_no(data: Path, draw: random.Random) -> Iterator[Row]:
    folder = data / "questions" / "train"
    for row in read(folder / "condaqa.jsonl.gz"):
        if (answer := row["answers"][0].lower()) in YES_NO:
            yield Row(
                "condaqa", row["cue"] + row["context"][:40], row["context"][:1200], row["question"], YES_NO[answer]
            )
    for row in read(folder / "pubmedqa.jsonl.gz"):
        label = YES_NO[row["answers"][0]]
        yield Row("pubmedqa", row["id"], row["long"], row["question"], label)
        texts = split(row["context"])
        if len(texts) > 3:
            yield Row("pubmedqa", row["id"], " ".join(texts[:2])[:LONGEST], row["question"], NEITHER)
    for row in read(folder / "strategyqa.jsonl.gz"):
        yield Row(
            "strategyqa", row["id"], row["context"].replace("\n", " "), row["question"], YES_NO[row["answers"][0]]
        )
        facts = row["context"].split("\n")
        if len(facts) > 2:
            yield Row("strategyqa", row["id"], draw.choice(facts), row["question"], NEITHER)
    negative = re.compile(r"\b(?:not|no|never|cannot|without)\b|n['’]t\b")
    for row in read(folder / "conflictqa-strategyqa.jsonl.gz"):
        answers = [
            (row["memory_answer"], row["parametric_memory"], row["counter_memory"]),
            (row["counter_answer"], row["counter_memory"], row["parametric_memory"]),
        ]
        signs = [bool(negative.search(answer)) for answer, _, _ in answers]
        for (answer, own, other), sign in zip(answers, signs, strict=True):
            if not own or not other:
                continue
            if draw.random() < 0.5:
                yield Row("conflictqa", row["question"], own[:1200], answer, SUPPORTED)
                yield Row("conflictqa", row["question"], other[:1200], answer, CONTRADICTED)
            if signs[0] != signs[1] and draw.random() < 0.5:
                yield Row(
                    "conflictqa", row["question"], own[:1200], row["question"], CONTRADICTED if sign else SUPPORTED
                )


# Questions with an answer: the answer is a claim.


def both_forms(question: str, answer: str, draw: random.Random) -> str:
    """Return a claim: a plain statement where the question has such a form, else question and answer."""
    said = declared(question, answer) if draw.random() < 0.7 else None
    return said or f"{question.strip().rstrip('?')}? {answer}"


def answers(data: Path, draw: random.Random) -> Iterator[Row]:
    by_context: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read(data / "train" / "qamr.jsonl"):
        by_context[row["context"]].append(row)
    contexts = sorted(by_context)
    draw.shuffle(contexts)
    for context in contexts[:9000]:
        rows = by_context[context]
        for row in draw.sample(rows, min(2, len(rows))):
            claim = both_forms(row["question"], row["answer"], draw)
            yield Row("qamr", context, context, claim, SUPPORTED, "answer")
            others = [
                each["answer"]
                for each in rows
                if not ({*each["answer"].lower().split()} & {*row["answer"].lower().split()})
            ]
            alike = [
                each
                for each in others
                if each[:1].isupper() == row["answer"][:1].isupper()
                and each[:1].isdigit() == row["answer"][:1].isdigit()
            ]
            if alike:
                yield Row(
                    "qamr",
                    context,
                    context,
                    both_forms(row["question"], draw.choice(alike), draw),
                    CONTRADICTED,
                    "another answer",
                )
        other = draw.choice(contexts)
        row = draw.choice(by_context[other])
        yield Row(
            "qamr", context, context, both_forms(row["question"], row["answer"], draw), NEITHER, "another sentence"
        )
    folder = data / "questions" / "train"
    for name, share in (("fairytaleqa", 0.7), ("qed", 1.0), ("covidqa", 1.0), ("tatqa", 0.8)):
        pool: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in read(folder / f"{name}.jsonl.gz"):
            if row["kind"] not in ("arithmetic", "count", "multi-span") and row.get("explicit", "explicit") in (
                "explicit",
                True,
                1,
            ):
                pool[row["context"]].append(row)
        for context, rows in pool.items():
            texts = [" ".join(each.split()) for each in context.split("\n")] if name == "tatqa" else split(context)
            for row in rows:
                if draw.random() > share:
                    continue
                answer = " ".join(row["answers"][0].split())
                ranked = sorted(
                    range(len(texts)), key=lambda n: -overlap(answer, texts[n]) - overlap(row["question"], texts[n])
                )
                place = next((n for n in ranked if answer.lower() in texts[n].lower()), ranked[0])
                if name != "fairytaleqa" and answer.lower() not in texts[place].lower():
                    continue
                claim = both_forms(row["question"], answer, draw)
                yield Row(name, context[:80], around(texts, place, draw), claim, SUPPORTED, "answer")
                far = [n for n in ranked[:6] if abs(n - place) > 2 and answer.lower() not in texts[n].lower()]
                if far:
                    yield Row(name, context[:80], texts[far[0]][:LONGEST], claim, NEITHER, "near sentence")
                others = [
                    each["answers"][0]
                    for each in rows
                    if each is not row
                    and not ({*content_terms(each["answers"][0])} & {*content_terms(answer)})
                    and each["question"].split()[0] == row["question"].split()[0]
                ]
                if others and name != "covidqa":
                    yield Row(
                        name,
                        context[:80],
                        around(texts, place, draw),
                        both_forms(row["question"], draw.choice(others), draw),
                        CONTRADICTED,
                        "another answer",
                    )


def table_rows(data: Path, draw: random.Random, most: int = 9000) -> Iterator[Row]:
    """Questions whose answer is in one row of a table: that row supports it, other rows leave it open."""
    rows = read(data / "questions" / "train" / "wikitablequestions.jsonl.gz")
    draw.shuffle(rows)
    made = 0
    for row in rows:
        lines = [[cell.strip() for cell in line.split("|")] for line in row["context"].split("\n") if line.strip()]
        head, body = lines[0], lines[1:]
        answer = row["answers"][0]
        having = [(line, line.index(answer)) for line in body if answer in line and len(line) == len(head)]
        if len(having) != 1 or made > most or len(row["answers"]) > 1 or not 3 < len(body) < 60:
            continue
        line, column = having[0]
        keys = [cell for cell in line if len(cell) > 2 and cell != answer and cell.lower() in row["question"].lower()]
        if not keys:
            continue
        unit = "; ".join(f"{name}: {cell}" for name, cell in zip(head, line, strict=True) if name and cell)
        claim = both_forms(row["question"], answer, draw)
        made += 3
        yield Row("wikitables", row["table"], unit[:LONGEST], claim, SUPPORTED, "cell")
        values = sorted({other[column] for other in body if len(other) == len(head)} - {answer, ""})
        if values:
            yield Row(
                "wikitables",
                row["table"],
                unit[:LONGEST],
                both_forms(row["question"], draw.choice(values), draw),
                CONTRADICTED,
                "another cell",
            )
        other = draw.choice([each for each in body if each != line and len(each) == len(head)] or [line])
        if other != line and not any(key in other for key in keys):
            yield Row(
                "wikitables",
                row["table"],
                "; ".join(f"{name}: {cell}" for name, cell in zip(head, other, strict=True) if name and cell)[:LONGEST],
                claim,
                NEITHER,
                "another row",
            )


def own(data: Path, draw: random.Random) -> Iterator[Row]:
    """Questions over real documents, by author (the set is the author's folder)."""
    for folder in sorted((data / "own_documents").glob("w[1-5]")):
        texts: dict[str, str] = {}
        rows = read(folder / "questions.jsonl")
        for row in rows:
            if row["kind"] in ("not-in-documents", "list", "two-places", "why", "how") or not row.get("evidence"):
                continue
            group, evidence = row["doc"], " ".join(row["evidence"].split())
            if group not in texts:
                texts[group] = (
                    (folder / "corpus" / group).read_text(encoding="utf-8", errors="replace")
                    if (folder / "corpus" / group).exists()
                    else ""
                )
            title = Path(group).stem.replace("-", " ").replace("_", " ") if draw.random() < 0.3 else ""
            found = split(texts[group])
            places = [n for n, each in enumerate(found) if evidence[:60] in each]
            wide = around(found, places[0], draw)[:1200] if places else evidence
            answer = row["answers"][0]
            if row["kind"] == "yes-no":
                if answer.lower() in YES_NO:
                    for premise in {evidence, wide}:
                        yield Row(
                            folder.name, group, premise, row["question"], YES_NO[answer.lower()], "yes or no", title
                        )
            elif row["kind"] != "conflict":
                claim = both_forms(row["question"], answer, draw)
                yield Row(folder.name, group, draw.choice([evidence, wide]), claim, SUPPORTED, "answer", title)
            else:
                if row.get("evidence2") and len(row["answers"]) > 1:
                    yield Row(
                        folder.name,
                        group,
                        " ".join(row["evidence2"].split())[:LONGEST],
                        f"{row['question'].rstrip('?')}? {answer}",
                        CONTRADICTED,
                        "conflict",
                    )
                continue
            for miss in row.get("negatives", ())[:2]:
                claim = row["question"] if row["kind"] == "yes-no" else both_forms(row["question"], answer, draw)
                yield Row(folder.name, group, " ".join(miss["evidence"].split())[:LONGEST], claim, NEITHER, "near miss")


# Contrasts made from real sentences.


def documents(data: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the set, the group and the sentences of texts."""
    for folder in sorted((data / "own_documents").glob("w[1-5]")):
        for path in sorted((folder / "corpus").rglob("*")):
            if (
                path.suffix in (".md", ".txt", ".rst", ".html", ".org", ".adoc", "")
                and path.is_file()
                and path.stat().st_size < 400_000
            ):
                text = re.sub(r"<[^>]+>|[*_`#>]+", " ", path.read_text(encoding="utf-8", errors="replace"))
                yield folder.name, str(path.relative_to(folder / "corpus")), split(text)
    grouped: dict[str, list[str]] = defaultdict(list)
    for row in read(data / "train" / "wiki_passages.jsonl"):
        grouped[str(row.get("title", ""))].append(str(row.get("text") or row.get("passage") or ""))
    for title, found in grouped.items():
        yield "wiki", title, [each for text in found for each in split(text)]
    contexts: dict[str, None] = {}
    for row in read(data / "train" / "qamr.jsonl"):
        contexts.setdefault(row["context"])
    listed = list(contexts)
    for at in range(0, len(listed), 40):
        yield "qamr", f"qamr {at}", listed[at : at + 40]
    for name in ("condaqa", "fairytaleqa", "covidqa"):
        seen: dict[str, None] = {}
        for row in read(data / "questions" / "train" / f"{name}.jsonl.gz"):
            seen.setdefault(row["context"][:6000])
        for context in seen:
            yield name, context[:80], split(context)
    for row in read(data / "questions" / "train" / "cuad-contracts.jsonl.gz"):
        yield "cuad", row["name"], split(row["text"][:20_000])


SHARES = {
    "w1": 6000,
    "w2": 6000,
    "w3": 6000,
    "w4": 6000,
    "w5": 3000,
    "wiki": 5000,
    "qamr": 5000,
    "condaqa": 5000,
    "fairytaleqa": 3000,
    "covidqa": 2500,
    "cuad": 3500,
}


def made(data: Path, draw: random.Random) -> Iterator[Row]:
    """Yield up to six claims about each of some sentences of each set, as sentences and as questions."""
    of: dict[str, list[tuple[str, int, list[str]]]] = defaultdict(list)
    for name, group, texts in documents(data):
        of[name] += [(group, place, texts) for place, text in enumerate(texts) if able(text)]
    for name, places in of.items():
        draw.shuffle(places)
        chosen = places[: SHARES[name]]
        sample = [texts[place] for _, place, texts in chosen]
        names, heads = proper_names(sample), subjects(sample)
        for group, place, texts in chosen:
            text = texts[place]
            found = [*contrasts(text, names, heads, draw)]
            near = [n for n in range(max(0, place - 12), min(len(texts), place + 12)) if n != place and able(texts[n])]
            ranked = sorted(near, key=lambda n: -overlap(text, texts[n]))
            if ranked and overlap(text, texts[ranked[0]]) < 0.7:
                found.append(Made(text, texts[ranked[0]], NEITHER, "near sentence"))
                claim = draw.choice(found)
                if claim.premise == text and claim.kind != "near sentence":
                    found.append(
                        Made(texts[ranked[-1] if len(ranked) < 3 else ranked[1]], claim.claim, NEITHER, "near sentence")
                    )
            by_label: dict[str, list[Made]] = defaultdict(list)
            for each in draw.sample(found, len(found)):
                by_label[each.label].append(each)
            for label, several in by_label.items():
                for each in several[: 1 if label == SUPPORTED and all(one.kind == "equal" for one in several) else 2]:
                    if each.kind == "equal" and draw.random() < 0.6:
                        continue
                    if draw.random() < 0.4:
                        each = asked(each) or each
                    premise = each.premise
                    if premise == text and label != NEITHER and draw.random() < 0.4:
                        premise = around(texts, place, draw)
                    yield Row(name, group, premise, each.claim, label, each.kind)


def invented(draw: random.Random) -> Iterator[Row]:
    for number, each in enumerate([*facts(draw, 9000), *equal_values(draw, 1500), *days(draw, 1500)]):
        yield Row("facts", f"facts {number // 60}", each.premise, each.claim, each.label, each.kind)


def main(folder: str, seed: str = "13") -> None:
    draw, data = random.Random(int(seed)), Path(folder)
    sources: list[Iterable[Row]] = [
        claims(data, draw),
        yes_no(data, draw),
        answers(data, draw),
        table_rows(data, draw),
        own(data, draw),
        made(data, draw),
        invented(draw),
    ]
    count: Counter[tuple[str, str]] = Counter()
    for source in sources:
        for row in source:
            premise, claim = " ".join(row.premise.split()), " ".join(row.claim.split())
            if not premise or not claim or len(claim) > 500:
                continue
            held = zlib.crc32(row.group.encode()) % 10 == 0
            count[row.set, row.label] += 1
            print(json.dumps({**row._asdict(), "premise": premise, "claim": claim, "held": held}, ensure_ascii=False))
    for key, value in sorted(count.items()):
        print(*key, value, file=sys.stderr)
    print("rows", sum(count.values()), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])

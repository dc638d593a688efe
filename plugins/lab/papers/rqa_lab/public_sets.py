"""Readers of public question sets. Each yields entries whose rows are in the format of rqa."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from robust_qa import InputError
from rqa_eval.entries import HINT, Entry, json_lines, load_json, numbered, same, table_rows
from rqa_eval.items import Malformed

_MATCHES = frozenset({"equals", "contains", "icontains"})  # promptfoo's assertions that state an answer
_LETTERS = str.maketrans("12345", "ABCDE")  # of choices, as in the code of Self-RAG
_ASSERTION = re.compile(r"[a-z-]+(\([\d.]+\))?:")  # of promptfoo, such as "llm-rubric: ..."


def kilt(path: Path) -> Iterator[Entry]:
    """A KILT set."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        answers = [output["answer"] for output in row.get("output") or () if output.get("answer")]
        return {"id": row.get("id"), "question": row["input"], "answers": answers or None}

    return converted(json_lines(path), change)


def squad(path: Path) -> Iterator[Entry]:
    """SQuAD. The paragraph is the passage. An impossible question has an empty list of answers."""
    number = 0
    for a, article in enumerate(_listed(path, load_object(path), "", "data")):
        for p, paragraph in enumerate(_listed(path, article, f"data[{a}]", "paragraphs")):
            for q, asked in enumerate(_listed(path, paragraph, f"data[{a}].paragraphs[{p}]", "qas")):
                number += 1
                place = {"title": article.get("title") or "", "text": paragraph.get("context")}
                change = partial(_squad, passage=place)
                yield number, f"data[{a}].paragraphs[{p}].qas[{q}]", partial(convert, partial(same, asked), change)


def _squad(asked: Mapping[str, Any], passage: Mapping[str, Any]) -> dict[str, Any]:
    answers = [answer["text"] for answer in asked.get("answers") or ()]
    known = {"answers": answers} if answers or asked.get("is_impossible") else {}
    return {"id": asked.get("id"), "question": asked["question"], **known, "passages": [passage]}


def _listed(path: Path, value: Any, where: str, name: str) -> list[Any]:
    inner = value.get(name) if isinstance(value, dict) else None
    if not isinstance(inner, list):
        raise InputError(f"{path}: {where or 'it'} has no list `{name}`, so it is not a SQuAD set.", hint=HINT)
    return inner


def hotpotqa(path: Path) -> Iterator[Entry]:
    """HotpotQA, 2WikiMultihopQA and their kin, whose `context` has titles and sentences."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        passages = [
            {"title": title, "text": " ".join(map(str.strip, sentences))} for title, sentences in row["context"]
        ]
        kept = {name: value for name, value in row.items() if name not in ("_id", "context", "answer")}
        answers = {"answers": [row["answer"]]} if isinstance(row.get("answer"), str) else {}
        return {"id": row.get("_id"), **kept, **answers, "passages": passages}

    return converted(json_rows(path), change)


def promptfoo(path: Path) -> Iterator[Entry]:
    """Tests of promptfoo: JSON or JSON Lines with `vars`, or a table whose `__expected` states the answer."""

    def test(row: Mapping[str, Any]) -> dict[str, Any]:
        expected = [
            each["value"]
            for each in row.get("assert") or ()
            if isinstance(each, dict) and each.get("type") in _MATCHES and isinstance(each.get("value"), str)
        ]
        return {**row["vars"], **({"answers": expected} if expected else {})}

    def table(row: Mapping[str, Any]) -> dict[str, Any]:
        expected = str(row.get("__expected") or "")
        answer = re.sub(r"^(equals|i?contains):", "", expected)
        is_other = answer == expected and _ASSERTION.match(expected)
        return {**row, "answers": None if is_other else answer.strip() or None}

    if not path.suffix.startswith(".json"):
        return converted(table_rows(path), table)
    if path.suffix == ".json" and isinstance(tests := load_object(path).get("tests"), list):
        return converted(numbered(tests, "test"), test)
    return converted(json_rows(path), test)


def triviaqa(path: Path) -> Iterator[Entry]:
    """TriviaQA in one file, with answer aliases."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": row.get("QuestionId"), "question": row["Question"], "answers": row.get("Answer") or None}

    rows = load_object(path).get("Data")
    if not isinstance(rows, list):
        raise InputError(f"{path} has no list `Data`, so it is not a TriviaQA set.", hint=HINT)
    return converted(((n, f"Data[{n - 1}]", partial(same, row)) for n, row in enumerate(rows, start=1)), change)


def beir(path: Path) -> Iterator[Entry]:
    """The queries of a BEIR set, with the ids of their relevant passages."""
    queries = path / "queries.jsonl" if path.is_dir() else path
    relevant = _judgements(queries.parent / "qrels")

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        identity = str(row["_id"])
        return {"id": identity, "question": row["text"], "relevant": relevant.get(identity, [])}

    for entry in converted(json_lines(queries), change):
        if not relevant or _in_split(entry, relevant):
            yield entry


def _in_split(entry: Entry, relevant: Mapping[str, list[str]]) -> bool:
    try:
        return entry[2]()["id"] in relevant
    except Malformed:
        return True


def _judgements(folder: Path) -> dict[str, list[str]]:
    """Return the ids of the relevant passages by query, from the test split if there is one."""
    files = {file.stem: file for file in sorted(folder.glob("*.tsv"))} if folder.is_dir() else {}
    file = next((files[name] for name in ("test", "dev", *files) if name in files), None)
    relevant: dict[str, list[str]] = {}
    if file is None:
        return relevant
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            fields = line.decode().split("\t")
            query, passage, score = fields[0], fields[1], int(fields[2])
        except (IndexError, ValueError) as error:
            if number == 1:
                continue  # the header
            raise InputError(f"{file}, line {number} is not `query<TAB>passage<TAB>score`.") from error
        if score > 0:
            relevant.setdefault(query, []).append(passage)
    return relevant


# -- the sets of the papers


def ctxs(path: Path) -> Iterator[Entry]:
    """Sets with retrieved passages in `ctxs`, as Self-RAG, CRAG and DPR publish them.

    Their claims from PubHealth have the answer true or false, their ARC questions have `choices`.
    """

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        row = _renamed(row, "ctxs", "passages")
        if "answerKey" in row:
            return _arc(row)
        answers = row.get("answers")
        if answers in (["true"], ["false"]):
            return {**row, **_claim(row["question"], answers[0])}
        return row

    return converted(json_rows(path), change)


def self_rag(path: Path) -> Iterator[Entry]:
    """Sets as in `ctxs`, for prompts that have the instruction: a claim or a question with its choices, and no more."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        row = _renamed(row, "ctxs", "passages") if "ctxs" in row else row
        if "answerKey" in row:
            return _arc(row, instruction="")
        if row.get("answers") in (["true"], ["false"]):
            return {**row, **_claim(row["question"], row["answers"][0]), "question": row["question"]}
        return dict(row)

    return converted(json_rows(path), change)


def ramdocs(path: Path) -> Iterator[Entry]:
    """RAMDocs. All of its `gold_answers` are right at the same time."""
    return converted(json_rows(path), lambda row: _renamed(row, "documents", "passages"))


def _renamed(row: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {**{name: value for name, value in row.items() if name != old}, new: row[old]}


def asqa(path: Path) -> Iterator[Entry]:
    """ASQA: the facts are the short answers to the disambiguated questions (also with ALCE's passages in `docs`).

    The first `long_answer` stays, too: an answer's recall of its words is a metric of the papers.
    """

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        found = {
            "id": row.get("sample_id"),
            "question": row.get("question") or row["ambiguous_question"],
            "answers": [pair["short_answers"] for pair in row["qa_pairs"]],
        }
        written = row.get("answer") or next((one.get("long_answer") for one in row.get("annotations") or ()), None)
        found |= {"long_answer": written} if written else {}
        return {**found, "passages": row["docs"]} if "docs" in row else found

    content = load_json(path)
    if isinstance(content, list):
        return converted(numbered(content), change)
    split = content.get("dev") if isinstance(content, dict) else None
    if not isinstance(split, dict):
        raise InputError(f"{path} has no questions in `dev`, so it is not an ASQA set.", hint=HINT)
    rows = ({"sample_id": id, **row} if isinstance(row, dict) else row for id, row in split.items())
    return converted(numbered(rows), change)


def bioasq(path: Path) -> Iterator[Entry]:
    """BioASQ's task B: questions with an exact answer. Summary questions have none and are left out."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        exact = row["exact_answer"]
        answers = [one if isinstance(one, list) else [one] for one in (exact if isinstance(exact, list) else [exact])]
        if row["type"] != "list":  # the alternatives of one fact
            answers = [[name for one in answers for name in one]]
        passages = [
            {"text": snippet["text"], "id": f"{snippet.get('document') or ''}#{n}", "source": snippet.get("document")}
            for n, snippet in enumerate(row.get("snippets") or (), start=1)
        ]
        return {"id": row.get("id"), "question": row["body"], "answers": answers, "passages": passages or None}

    rows = load_object(path).get("questions")
    if not isinstance(rows, list):
        raise InputError(f"{path} has no list `questions`, so it is not a BioASQ set.", hint=HINT)
    return converted(
        numbered(row for row in rows if not (isinstance(row, dict) and row.get("type") == "summary")), change
    )


def rgb(path: Path) -> Iterator[Entry]:
    """RGB: positive passages, then negative ones. Each entry of `answer` is a fact, as in its code."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        answer = row["answer"]
        good, bad = _flat(row["positive"]), _flat(row["negative"])
        found: dict[str, Any] = {
            "id": row.get("id"),
            "question": row["query"],
            "answers": [
                one if isinstance(one, list) else [one] for one in (answer if isinstance(answer, list) else [answer])
            ],
            "passages": good + bad,
            "negative_passages": bad,
        }
        if "positive_wrong" in row:
            found |= {"fake_answer": row["fakeanswer"], "counterfactual_passages": _flat(row["positive_wrong"]) + bad}
        return found

    return converted(json_rows(path), change)


def _flat(texts: Sequence[Any]) -> list[str]:
    """Return the texts, of which some are in lists: the documents for one part of the question."""
    return [text for one in texts for text in (one if isinstance(one, list) else [one])]


def arc(path: Path) -> Iterator[Entry]:
    """ARC, as published or as on the Hugging Face hub. The question lists the choices."""
    return converted(json_rows(path), _arc)


def _arc(
    row: Mapping[str, Any], instruction: str = "\nChoose the best of these answers and give its letter."
) -> dict[str, Any]:
    """Return the row with `choices` by label and the `choice` that is right. The labels 1 to 5 become A to E."""
    asked = row["question"]
    given = row["choices"] if "choices" in row else asked["choices"]
    pairs = (
        zip(given["label"], given["text"], strict=True)
        if isinstance(given, dict)
        else [(one["label"], one["text"]) for one in given]
    )
    choices = {str(label).translate(_LETTERS): text for label, text in pairs}
    key = str(row["answerKey"]).translate(_LETTERS)
    if key not in choices:
        raise Malformed(f"its `answerKey` {key} is none of the labels {', '.join(choices)}")
    stem = asked if isinstance(asked, str) else asked["stem"]
    listed = "".join(f"\n{label}: {text}" for label, text in choices.items())
    others = {name: value for name, value in row.items() if name not in ("question", "choices", "answerKey")}
    return {
        **others,
        "question": f"{stem}{instruction}{listed}",
        "answers": [choices[key]],
        "choices": choices,
        "choice": key,
    }


def pubhealth(path: Path) -> Iterator[Entry]:
    """PubHealth, a TSV file. As in Self-RAG only the true and the false claims are asked."""
    csv.field_size_limit(1 << 30)  # of whole articles
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t"), start=1):
            if row.get("label") in ("true", "false"):
                asked = {"id": row.get("claim_id"), **_claim(row["claim"], row["label"])}
                yield number, f"row {number}", partial(same, asked)


def _claim(claim: str, verdict: str) -> dict[str, Any]:
    """Return the question about a claim."""
    return {
        "question": f"{claim}\nDecide whether this claim is right. Answer true or false.",
        "answers": [verdict],
        "choices": {"true": "true", "false": "false"},
        "choice": verdict,
    }


# -- reading


def json_rows(path: Path) -> Iterator[Entry]:
    """Yield the lines of a JSON lines file, or the elements of a JSON list."""
    with path.open("rb") as file:
        is_list = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    yield from numbered(load_json(path)) if is_list else json_lines(path)


def load_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, empty if it is something else. Raises InputError."""
    content = load_json(path)
    return content if isinstance(content, dict) else {}


def converted(entries: Iterable[Entry], change: Callable[[Any], dict[str, Any]]) -> Iterator[Entry]:
    """Yield the entries with `change` applied to their rows."""
    for number, where, row in entries:
        yield number, where, partial(convert, row, change)


def convert(row: Callable[[], Any], change: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the changed row. Raises Malformed if a field is missing or has another type."""
    try:
        return change(row())
    except Malformed:
        raise
    except KeyError as error:
        raise Malformed(f"it has no `{error.args[0]}`") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise Malformed("its fields do not match the layout") from error

"""Readers of more public sets, in their published form: long documents, several hops, and sets made of conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rqa_eval.entries import Entry, table_rows
from rqa_eval.items import Malformed

from .public_sets import converted, json_rows

_CONFLICTS = ("misinformation_conflict_evidence", "temporal_conflict_evidence", "semantic_conflict_evidence")


def nq(path: Path) -> Iterator[Entry]:
    """Natural Questions, simplified. The passages are the long answers that annotators marked."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        words = row["document_text"].split(" ")
        marked = [one["long_answer"] for one in row["annotations"]]
        spans = {(one["start_token"], one["end_token"]) for one in marked if one["start_token"] >= 0}
        short = [(one["start_token"], one["end_token"]) for each in row["annotations"] for one in each["short_answers"]]
        answers = [_text(words, *span) for span in short]
        answers += [each["yes_no_answer"].lower() for each in row["annotations"] if each["yes_no_answer"] != "NONE"]
        asked = {"id": row.get("example_id"), "question": row["question_text"], "answers": list(dict.fromkeys(answers))}
        return {**asked, "passages": [_text(words, *span) for span in sorted(spans)] or None}

    return converted(json_rows(path), change)


def _text(words: list[str], start: int, end: int) -> str:
    """Return the words without the tags of HTML, which are words of their own."""
    return " ".join(word for word in words[start:end] if not (word.startswith("<") and word.endswith(">")))


def musique(path: Path) -> Iterator[Entry]:
    """MuSiQue. A question that is not answerable from its paragraphs has an empty list of answers."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        passages = [
            {"id": str(one["idx"]), "title": one["title"], "text": one["paragraph_text"]} for one in row["paragraphs"]
        ]
        gold = [row["answer"], *row.get("answer_aliases", ())] if row.get("answerable", True) else []
        relevant = [str(one["idx"]) for one in row["paragraphs"] if one.get("is_supporting")]
        hops = len(row.get("question_decomposition") or ())
        asked = {"id": row.get("id"), "question": row["question"], "answers": gold, "passages": passages}
        return {**asked, "relevant": relevant, "hops": hops}

    return converted(json_rows(path), change)


def alce(path: Path) -> Iterator[Entry]:
    """ALCE's QAMPARI and ELI5, with its passages in `docs`. The facts are the answers, or the claims of ELI5."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in row.items() if name not in ("docs", "answers", "answer", "claims")}
        facts = row.get("answers") or [[claim] for claim in row.get("claims") or ()]
        return {**kept, "answers": facts, "long_answer": row.get("answer"), "passages": row["docs"]}

    return converted(json_rows(path), change)


def nq_swap(path: Path) -> Iterator[Entry]:
    """NQ-Swap. The context with the other entity is for `--attack counterfactual`."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        wrong = row["sub_answer"]
        return {
            "question": row["question"],
            "answers": row["org_answer"],
            "passages": [row["org_context"]],
            "fake_answer": wrong[0] if isinstance(wrong, list) else wrong,
            "counterfactual_passages": [row["sub_context"]],
        }

    return converted(json_rows(path), change)


def conflictbank(path: Path) -> Iterator[Entry]:
    """ConflictBank's questions. The passages are the evidence, then what misinformation, time and meaning change."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        options = dict(zip("ABCD", row["options"], strict=False))
        right, wrong = (_option(options, row, *names) for names in _OPTIONS)
        first = row.get("correct_evidence") or row.get("default_evidence")
        others = [row.get(name) or row.get("fact_conflict_evidence", "") for name in _CONFLICTS[:1]]
        others += [row.get(name, "") for name in _CONFLICTS[1:]]
        return {
            "id": row.get("id"),
            "question": row["question"],
            "answers": [options[right]],
            "passages": [text for text in (first, *others) if text],
            "wrong_answers": [options[wrong]],
            "choices": options,
            "choice": right,
        }

    return converted(json_rows(path), change)


_OPTIONS = (("correct_option",), ("replaced_option", "replace_option"))


def _option(options: Mapping[str, str], row: Mapping[str, Any], *names: str) -> str:
    """Return the label of the option that the row names by its label, number or text."""
    value = next((row[name] for name in names if name in row), None)
    found = [label for n, (label, text) in enumerate(options.items()) if value in (label, n, text)]
    if not found:
        raise Malformed(f"its `{names[0]}` is none of the options")
    return found[0]


def wikicontradict(path: Path) -> Iterator[Entry]:
    """WikiContradict, a CSV file. Both answers are right at the same time, each by one of the two contexts."""

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        title = row.get("WikipediaArticleTitle") or ""
        return {
            "id": row.get("question_ID"),
            "question": row["question"],
            "answers": [[row["answer1"]], [row["answer2"]]],
            "passages": [{"title": title, "text": row["context1"]}, {"title": title, "text": row["context2"]}],
            "contradiction": row.get("contradictType"),
        }

    return converted(table_rows(path), change)

"""A finished evaluation as `rqa eval` leaves it, without running one: for tests of what reads such folders.

    python tests/standins/eval_run.py FOLDER

writes a run over two sets, three strategies (one answers well, one answers worse and cites nothing, one fails on every
row) and the view `conflict`; some of the text is hostile to terminals and to HTML.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]

HOSTILE = "</script><script>alert(1)</script>\x1b[31m"
STRATEGIES = ("rag", "norag", "usc")
METRICS = (
    ("accuracy", "a gold answer is contained in the answer", "share", "higher"),
    ("f1", "overlap of words with a gold answer", "share", "higher"),
    ("citation-precision", "citations that support the answer", "share", "higher"),
    ("refusal", "questions not answered", "share", ""),
    ("calls", "calls of the language model", "count", "lower"),
    ("tokens", "tokens in and out", "count", "lower"),
    ("seconds", "time of a question", "seconds", "lower"),
    ("cost", "at the configured prices", "money", "lower"),
)
SLICES = ("both right", "conflicting", "both wrong")


def write_run(folder: Path, *, rows: int = 6) -> Path:
    """The run, in `folder`: `rows` questions of each set. Figures are not those of any model."""
    questions = [_question(n, name) for name in ("cities", "rivers") for n in range(1, rows + 1)]
    (folder / "answers").mkdir(parents=True)
    _write_json(folder / "run.json", _description(rows))
    _write_lines(folder / "questions.jsonl", questions)
    for strategy in STRATEGIES:
        answers = [_answer(number, question, strategy) for number, question in enumerate(questions, start=1)]
        _write_lines(folder / "answers" / f"{strategy}.jsonl", answers)
    scores = [_scores(number, question) for number, question in enumerate(questions, start=1)]
    _write_lines(folder / "scores.jsonl", scores)
    _write_json(folder / "metrics.json", _metrics(scores))
    return folder


def _description(rows: int) -> Row:
    return {
        "format": 1,
        "rqa": "0.1.0",
        "began": "2026-11-20T18:40:00+00:00",
        "sets": [
            {"name": name, "path": f"/data/{name}.jsonl", "sha256": "0" * 64, "format": "jsonl", "rows": rows}
            for name in ("cities", "rivers")
        ],
        "strategies": [{"name": name, "file": f"answers/{name}.jsonl"} for name in STRATEGIES],
        "conditions": ["as given"],
        "views": ["conflict"],
        "sample": None,
        "seed": 0,
        "answering": {"reader": "reader.local", "reader options": "0" * 16},
        "baseline": "norag",
        "metric": "accuracy",
    }


def _question(number: int, name: str) -> Row:
    text = f"Where is number {number} of the {name}?" + (HOSTILE if number == 1 else "")
    passages = [{"id": str(k), "title": f"Page {k}", "text": f"Text {k} about {number}."} for k in range(3)]
    return {
        "id": f"{name}-{number}",
        "set": name,
        "condition": "as given",
        "source_row": number,
        "question": text,
        "gold": [["France", "FR"]],
        "passages": passages,
    }


def _answer(number: int, question: Row, strategy: str) -> Row:
    line = {key: value for key, value in question.items() if key != "passages"} | {"row": number}
    if strategy == "usc":
        return line | {"error": {"type": "CallTimeout", "message": "reader.local did not answer.", "row": number}}
    right = _right(number, strategy)
    usage = {"calls": 1, "prompt_tokens": 700 if strategy == "rag" else 60, "completion_tokens": 12, "cached": 0}
    step = {"started": 0.0, "seconds": 0.2, "usage": usage, "cached": False, "retries": 0, "error": ""}
    citation = {"quote": f"Text 0 about {number}.", "title": "Page 0", "source": "", "id": "0", "origin": "external"}
    return line | {
        "answer": None if number == 2 else "In France." if right else f"In Spain. {HOSTILE}",
        "abstained": number == 2,
        "confidence": 0.8,
        "citations": [citation] if strategy == "rag" else [],
        "usage": usage,
        "seconds": 0.21,
        "strategy": strategy,
        "details": {},
        "trace": [
            step | {"kind": "generate", "what": "read", "component": "reader.local", "data": {"reply": "In France."}},
            step | {"kind": "note", "what": "decided", "component": "", "data": {}},
        ],
    }


def _right(number: int, strategy: str) -> bool:
    return number % (3 if strategy == "rag" else 2) != 0 and number != 2


def _scores(number: int, question: Row) -> Row:
    source = question["source_row"]
    right = {name: _right(source, name) for name in ("rag", "norag")}
    agreed = SLICES[0] if all(right.values()) else SLICES[1] if any(right.values()) else SLICES[2]
    scores = {name: _measured(name, right[name], source) for name in right}
    scores["usc"] = {name: 0.0 if unit == "share" else None for name, _, unit, _ in METRICS}
    return {
        "row": number,
        "set": question["set"],
        "condition": "as given",
        "slices": {"conflict": [agreed]},
        "scores": scores,
    }


def _measured(strategy: str, right: bool, number: int) -> Row:
    tokens = 712.0 if strategy == "rag" else 72.0
    return {
        "accuracy": float(right),
        "f1": right * 2 / 3,
        "citation-precision": 1.0 if strategy == "rag" else None,
        "refusal": float(number == 2),
        "calls": 1.0,
        "tokens": tokens,
        "seconds": 0.21,
        "cost": tokens * 1e-6,
    }


def _metrics(scores: list[Row]) -> Row:
    groups = []
    for name in (None, "cities", "rivers"):
        chosen = [line for line in scores if name in (None, line["set"])]
        groups.append(_group(name, None, chosen))
        groups += [_group(name, cut, [line for line in chosen if cut in line["slices"]["conflict"]]) for cut in SLICES]
    strategies = [
        {"name": name, "state": "done", "rows": len(scores), "failed": 0, "message": ""} for name in STRATEGIES
    ]
    strategies[-1] |= {"state": "failed", "failed": len(scores), "message": "reader.local did not answer."}
    return {
        "format": 1,
        "metric": "accuracy",
        "baseline": "norag",
        "metrics": [dict(zip(("name", "summary", "unit", "better"), metric, strict=True)) for metric in METRICS],
        "strategies": strategies,
        "views": {"conflict": ["norag", "rag"]},
        "groups": groups,
    }


def _group(name: str | None, cut: str | None, lines: list[Row]) -> Row:
    measured = {s: {m[0]: _value([line["scores"][s][m[0]] for line in lines]) for m in METRICS} for s in STRATEGIES}
    for strategy in ("rag", "usc"):
        for metric, value in measured[strategy].items():
            against = measured["norag"][metric]["value"]
            if value["value"] is not None and against is not None:
                gap = value["value"] - against
                value["difference"] = {
                    "value": gap,
                    "low": gap - 0.1,
                    "high": gap + 0.1,
                    "p": 0.02 if abs(gap) > 0.1 else 0.4,
                    "significant": abs(gap) > 0.1,
                }
    view = "conflict" if cut else None
    return {
        "set": name,
        "condition": "as given",
        "view": view,
        "slice": cut,
        "rows": len(lines),
        "strategies": measured,
    }


def _value(values: Iterable[float | None]) -> Row:
    there = [value for value in values if value is not None]
    if not there:
        return {"value": None, "rows": 0, "low": None, "high": None}
    mean = sum(there) / len(there)
    return {"value": mean, "rows": len(there), "low": mean * 0.9, "high": mean * 1.1}


def _write_json(path: Path, value: Row) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")


def _write_lines(path: Path, lines: Iterable[Row]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


if __name__ == "__main__":
    write_run(Path(sys.argv[1]))

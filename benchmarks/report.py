"""Measure how long `rqa report` takes over a large run, and how large its page is.

    python benchmarks/report.py [--rows 10000] [--strategies 10] [--keep FOLDER]

The run is random: passages of 100 words, answers, and traces of three steps. Its figures have no meaning.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORDS = [
    f"{begin}{middle}{end}" for begin in "bdfgklmnprst" for middle in "aeiou" for end in ("ra", "lin", "to", "mes")
]
NAMES = ("norag", "rag", "cot", "genread", "astute", "activerag", "crag", "eor", "robustrag", "usc", "madra", "compact")
METRICS = (
    ("accuracy", "share", "higher"), ("em", "share", "higher"), ("f1", "share", "higher"), ("calls", "count", "lower"),
    ("tokens", "count", "lower"), ("seconds", "seconds", "lower"),
)  # fmt: skip
SLICES = ("0%", "1-20%", "21-50%", "51-100%")


def main() -> None:
    """Make the run, report it, and print time and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--strategies", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="leave the run and its pages here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        run = folder / "run"
        write_run(run, options.rows, [NAMES[n % 12] + "'" * (n // 12) for n in range(options.strategies)])
        print(f"run: {sum(f.stat().st_size for f in run.rglob('*') if f.is_file()) / 1e6:,.0f} MB")
        took("terminal", ["report", str(run)])
        took("csv", ["report", str(run), "-o", str(folder / "report.csv")])
        took("html", ["report", str(run), "-o", str(folder / "report.html")])
        took("inconsistency", ["report", "inconsistency", str(run), "-o", str(folder / "inconsistency.html")])


def took(name: str, arguments: list[str]) -> None:
    """Run `rqa` with the arguments; print seconds and the peak memory of all runs so far."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "robust_qa", *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{name}: {seconds:.1f} s, at most {memory:,.0f} MB of memory {done.stderr.strip().rpartition(':')[2]}")


def write_run(folder: Path, rows: int, names: list[str]) -> None:
    """Write a finished run of random answers, reproducibly."""
    chance = random.Random(0)
    (folder / "answers").mkdir(parents=True)
    files = {name: (folder / "answers" / f"{n}.jsonl") for n, name in enumerate(names)}
    skill = {name: 0.3 + 0.5 * n / len(names) for n, name in enumerate(names)}
    answers = {name: file.open("w") for name, file in files.items()}
    scores: list[dict[str, Any]] = []
    with (folder / "questions.jsonl").open("w") as questions:
        for row in range(1, rows + 1):
            asked = question(chance, row)
            put(questions, asked)
            measured = {}
            for name in names:
                line = answer(chance, asked, row, chance.random() < skill[name], names.index(name) + 1)
                put(answers[name], line)
                measured[name] = measure(line, asked)
            view = {"retrieval-precision": [chance.choice(SLICES)]}
            scores.append({"row": row, "set": "made-up", "condition": "as given", "slices": view, "scores": measured})
    for file in answers.values():
        file.close()
    with (folder / "scores.jsonl").open("w") as out:
        for score in scores:
            put(out, score)
    cuts = [
        (None, scores),
        *((cut, [s for s in scores if cut in s["slices"]["retrieval-precision"]]) for cut in SLICES),
    ]
    plan = {
        "format": 1, "began": "2026-01-01T00:00:00+00:00", "sets": [{"name": "made-up", "rows": rows}],
        "strategies": [{"name": name, "file": f"answers/{files[name].name}"} for name in names],
        "conditions": ["as given"],
    }  # fmt: skip
    figures = {
        "format": 1, "metric": "accuracy", "baseline": names[0],
        "metrics": [dict(zip(("name", "unit", "better"), metric, strict=True)) for metric in METRICS],
        "strategies": [{"name": name, "rows": rows} for name in names],
        "groups": [group(cut, lines, names) for cut, lines in cuts if lines],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(plan))
    (folder / "metrics.json").write_text(json.dumps(figures))


def put(out: Any, line: dict[str, Any]) -> None:
    """Write a JSON line."""
    out.write(json.dumps(line) + "\n")


def text(chance: random.Random, words: int) -> str:
    """Return random words."""
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def question(chance: random.Random, row: int) -> dict[str, Any]:
    """Return a question with ten passages, some of which have its answer."""
    gold = f"{chance.choice(WORDS)} {chance.choice(WORDS)}"
    texts = [
        f"{text(chance, 50)} It is {gold if chance.random() < 0.15 else 'unknown'}. {text(chance, 50)}"
        for _ in range(10)
    ]
    passages = [{"id": f"{row}-{n}", "title": text(chance, 2), "text": body} for n, body in enumerate(texts)]
    asked = f"What is the {' '.join(chance.choices(WORDS, k=6))}?"
    return {
        "id": f"q{row}",
        "set": "made-up",
        "condition": "as given",
        "question": asked,
        "gold": [[gold]],
        "passages": passages,
    }


def answer(chance: random.Random, asked: dict[str, Any], row: int, right: bool, calls: int) -> dict[str, Any]:
    """Return a strategy's answer line, with a trace of three steps."""
    said = asked["gold"][0][0] if right else None if chance.random() < 0.1 else text(chance, 2)
    usage = {
        "calls": calls,
        "prompt_tokens": 900 * calls,
        "completion_tokens": chance.randint(10, 60) * calls,
        "cached": 0,
    }
    step = {"started": 0.0, "seconds": 0.2, "usage": usage, "cached": False, "retries": 0, "error": ""}
    passage = asked["passages"][0]
    return {
        "id": asked["id"], "question": asked["question"], "row": row, "answer": said, "abstained": said is None,
        "confidence": round(chance.random(), 2), "usage": usage, "seconds": 0.2 * calls + chance.random() / 9,
        "citations": [{"quote": passage["text"][:160], "title": passage["title"], "source": "", "id": passage["id"]}],
        "trace": [
            step | {"kind": "generate", "what": "draft", "component": "reader", "data": {"reply": text(chance, 40)}},
            step | {"kind": "generate", "what": "answer", "component": "reader", "data": {"reply": text(chance, 12)}},
            step | {"kind": "note", "what": "chose the draft", "component": "", "data": {"share": chance.random()}},
        ],
    }  # fmt: skip


def measure(line: dict[str, Any], asked: dict[str, Any]) -> dict[str, float]:
    """Return random metrics of an answer."""
    right = float(line["answer"] == asked["gold"][0][0])
    tokens = line["usage"]["prompt_tokens"] + line["usage"]["completion_tokens"]
    return {
        "accuracy": right,
        "em": right,
        "f1": right,
        "calls": line["usage"]["calls"],
        "tokens": tokens,
        "seconds": line["seconds"],
    }


def group(cut: str | None, lines: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    """Return the means of some rows."""

    def estimate(name: str, metric: str) -> dict[str, Any]:
        mean = sum(line["scores"][name][metric] for line in lines) / len(lines)
        base = sum(line["scores"][names[0]][metric] for line in lines) / len(lines)
        wide = 1 / len(lines) ** 0.5 if mean <= 1 else mean / 50
        found = {
            "value": mean,
            "rows": len(lines),
            "low": max(0.0, mean - wide),
            "high": min(mean + wide, max(1.0, mean * 2)),
        }
        difference = {"value": mean - base, "low": mean - base - wide, "high": mean - base + wide, "p": 0.01}
        return (
            found if name == names[0] else found | {"difference": difference | {"significant": abs(mean - base) > wide}}
        )

    strategies = {name: {metric: estimate(name, metric) for metric, _, _ in METRICS} for name in names}
    view = "retrieval-precision" if cut else None
    return {
        "set": "made-up",
        "condition": "as given",
        "view": view,
        "slice": cut,
        "rows": len(lines),
        "strategies": strategies,
    }


if __name__ == "__main__":
    main()

"""Measure rqa beside its peers on the samples in benchmarks/data, and write one page.

    python benchmarks/scoreboard.py [--reader NAME] [--base-url URL --model NAME] [--langgraph PYTHON]

Needs `pip install -e '.[dev]' -e plugins/lab/train`. Writes scoreboard.json, scoreboard.md and scoreboard.svg beside
this file. Two runs give the same figures; the times, which differ, are in a part of their own. Peers that are installed
are measured: Python's SQLite, bm25s, rg, qmd, and LangGraph in the Python given. The others are named. `--reader` and
`--base-url` add rqa with another reader or with the model of a server, and that model over what FTS5 finds. The page
tells how answers are scored.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import json
import os
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import calls
import msgspec
import numpy as np
import scoreboard_page
from resampling import paired_interval
from systems import PEERS, PROGRAMS, WHOLE, Row, installed, sample

from robust_qa.kit import answer_key, contains_words
from rqa_train.reader.documents import DocumentQuestion

HERE = Path(__file__).parent
QUESTIONS = ("unseen_documents", "tatqa", "fairytaleqa", "pubmedqa")
CLAIMS = ("contractnli", "wice", "pairs")
RQA = [sys.executable, "-m", "robust_qa"]
RUNS = 9  # of a start-up
CALLED = 200  # questions to the endpoint
# A small process starts a command, because the kernel counts the memory of the process that starts it, too.
LAUNCH = """import os, sys, time
began = time.perf_counter()
_, status, used = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), time.perf_counter() - began, used.ru_maxrss, file=sys.stderr)
"""

Count = tuple[int, int]  # how many, of how many


# -- scoring


def holds(name: str, row: Row, question: DocumentQuestion, shown: Sequence[str]) -> bool:
    """Return whether a text that is shown, given as its document and itself, has the evidence."""
    document, text = shown
    if name == "pubmedqa":
        return document == str(row["doc"])
    return bool(question.held_by(text) if row.get("evidence") else question.right(text))


def evident(name: str, row: Row, question: DocumentQuestion, document: str) -> bool:
    """Return whether there is evidence to find: marked, or a gold answer in the document."""
    return name == "pubmedqa" or bool(row.get("evidence")) or question.right(document)


def score_questions(name: str, asked: Sequence[Row], documents: dict[str, str], found: Sequence[Row]) -> dict[str, Any]:
    """Return counts, and whether the evidence was first for each question with evidence."""
    able = unable = answered = right = refused = agreed = conflicts = 0
    first, three = [], []
    for row, result in zip(asked, found, strict=True):
        question = msgspec.convert(row, DocumentQuestion)
        answer = result["answer"]
        if row["kind"] != "conflict":
            agreed += 1
            conflicts += bool(result["sides"])
        if not question.answers:
            unable += 1
            refused += answer is None
        else:
            able += 1
            answered += answer is not None
            right += answer is not None and question.right(answer)
            if evident(name, row, question, documents[row["doc"]]):
                hits = [holds(name, row, question, shown) for shown in result["shown"]]
                first.append(any(hits[:1]))
                three.append(any(hits))
    given = answered + unable - refused
    return {
        "first": (sum(first), len(first)),
        "three": (sum(three), len(three)),
        "answered": (answered, able),
        "right": (right, given),
        "refused": (refused, unable),
        "conflict": (conflicts, agreed),
        "each": first,
    }


def tells(text: str, gold: str) -> bool:
    """Return whether a text has a gold answer as whole words, or is a part of it."""
    text, gold = answer_key(text), answer_key(gold)
    return contains_words(gold, text) or (len(text) > 2 and contains_words(text, gold))


def score_ramdocs(asked: Sequence[Row], found: Sequence[Row]) -> dict[str, Any]:
    """Score what an answer and the sides of its conflict tell, and what the first three passages hold."""
    sums: Counter[str] = Counter()
    for row, result in zip(asked, found, strict=True):
        answer, golds, planted = result["answer"], row["answers"], row["wrong_answers"]
        told = [*result["sides"], *([answer] if answer else [])]
        shown = [text for _, text in result["shown"]]
        if len(golds) > 1 or planted:
            sums["several"] += 1
            sums["told"] += all(any(tells(text, gold) for text in told) for gold in golds)
            sums["shown"] += all(any(tells(text, gold) for text in shown) for gold in golds)
        else:
            sums["conflict"] += bool(result["sides"])
        if answer:
            sums["answered"] += 1
            sums["right"] += any(tells(answer, gold) for gold in golds)
            sums["planted"] += any(tells(answer, gold) for gold in planted)
    return {
        "told": (sums["told"], sums["several"]),
        "shown": (sums["shown"], sums["several"]),
        "conflict": (sums["conflict"], len(asked) - sums["several"]),
        "answered": (sums["answered"], len(asked)),
        "right": (sums["right"], sums["answered"]),
        "planted": (sums["planted"], sums["answered"]),
    }


def score_claims(wanted: Sequence[str], found: Sequence[str]) -> dict[str, Count]:
    pairs = Counter(zip(wanted, found, strict=True))
    counts: dict[str, Count] = {}
    for label in ("supported", "contradicted"):
        counts[f"{label} precision"] = pairs[label, label], sum(each == label for each in found)
        counts[f"{label} recall"] = pairs[label, label], sum(each == label for each in wanted)
    counts["contradicted called supported"] = pairs["contradicted", "supported"], counts["contradicted recall"][1]
    return counts


# -- running


def process(command: Sequence[str], out: Any = subprocess.DEVNULL) -> tuple[float, float]:
    """Return the wall seconds and the peak megabytes of a process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *command]
    run = subprocess.run(launch, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    status, seconds, kibibytes = run.stderr.splitlines()[-1].split()
    if status not in ("0", "6"):  # 6: rqa ran well and the outcome is negative
        raise SystemExit(f"{' '.join(command)}: {run.stderr[-800:]}")
    return float(seconds), int(kibibytes) * 1024 / 1e6


def answered(system: str, name: str, given: argparse.Namespace, folder: Path) -> Row:
    out = folder / f"{system}-{name}.json"
    options = [("--reader", given.reader), ("--base-url", given.base_url), ("--model", given.model)]
    extra = [part for option, value in options if value for part in (option, value)]
    command = [sys.executable, str(HERE / "systems.py"), system, name, str(out), "--rows", str(given.rows), *extra]
    process(command)
    found: Row = json.loads(out.read_text("utf-8"))
    return found


def checked(asked: Sequence[Row], folder: Path) -> tuple[list[str], float, float]:
    """Return the verdict of `rqa check` on each claim, the seconds and the peak megabytes."""
    file, out = folder / "claims.jsonl", folder / "verdicts.jsonl"
    rows = [{"answer": " ".join(row["claim"].split()), "passages": row["passages"]} for row in asked]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with out.open("wb") as stream:
        seconds, megabytes = process([*RQA, "check", "-f", str(file), "--no-cache"], out=stream)
    verdicts = []
    for line in out.read_text("utf-8").splitlines():
        found = {each["verdict"] for each in json.loads(line)["sentences"]}
        # A claim of several sentences is contradicted if one is, and supported if all are.
        against = found & {"contradicted", "disputed"}
        verdicts.append("contradicted" if against else "supported" if found == {"supported"} else "neither")
    return verdicts, seconds, megabytes


def measured_questions(given: argparse.Namespace, systems: Sequence[str], folder: Path) -> tuple[Row, Row]:
    figures: Row = {}
    times: Row = {}
    for name in (*QUESTIONS, "ramdocs"):
        documents, asked = sample(name, given.rows)
        each: dict[str, list[bool]] = {}
        figures[name], times[name] = {"rows": len(asked)}, {}
        for system in systems:
            if system == "qmd" and name not in WHOLE:
                continue
            result = answered(system, name, given, folder)
            if name == "ramdocs":
                score = score_ramdocs(asked, result["rows"])
            else:
                score = score_questions(name, asked, documents, result["rows"])
                each[system] = score.pop("each")
            figures[name][system] = score
            if system == "rqa" and name != "ramdocs":
                found = [{**row, "shown": row["found"]} for row in result["rows"]]
                searched = score_questions(name, asked, documents, found)
                each["rqa-search"] = searched["each"]
                figures[name]["rqa-search"] = {depth: searched[depth] for depth in ("first", "three")}
            seconds = result["seconds"]
            times[name][system] = {
                "median_seconds": round(statistics.median(seconds), 4),
                "preparing_seconds": round(result["opening"], 2),
                "megabytes": round(result["megabytes"]),
            }
            print(f"{name} {system} {score} {sum(seconds):.0f} s", file=sys.stderr, flush=True)
        for system in (peer for peer in PEERS if peer in each):
            gaps = np.array(each["rqa-search"], float) - np.array(each[system], float)
            low, high = paired_interval(gaps)
            figures[name][system]["rqa-search ahead"] = [round(float(each), 3) for each in (gaps.mean(), low, high)]
    return figures, times


def measured_claims(given: argparse.Namespace, folder: Path) -> tuple[Row, Row]:
    figures: Row = {}
    times: Row = {}
    for name in CLAIMS:
        _, asked = sample(name, given.rows)
        verdicts, seconds, megabytes = checked(asked, folder)
        figures[name] = {"rows": len(asked), "rqa": score_claims([row["label"] for row in asked], verdicts)}
        if name == "pairs":
            kinds: Counter[str] = Counter(f"{row['kind']}, {found}" for row, found in zip(asked, verdicts, strict=True))
            figures[name]["kinds"] = dict(sorted(kinds.items()))
        times[name] = {"seconds_each": round(seconds / len(asked), 3), "megabytes": round(megabytes)}
        print(f"{name} {figures[name]} {seconds:.0f} s", file=sys.stderr, flush=True)
    return figures, times


# -- what it costs to have


def closure(name: str, seen: set[str]) -> float:
    """Return the megabytes of an installed distribution and of all that it requires."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return 0.0
    seen.add(key)
    try:
        own = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return 0.0
    paths = [Path(str(each.locate())) for each in own.files or ()]
    size = sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file()) / 1e6
    from packaging.requirements import Requirement

    needed = [Requirement(each) for each in own.requires or ()]
    return size + sum(
        closure(each.name, seen) for each in needed if not each.marker or each.marker.evaluate({"extra": ""})
    )


def folder_size(path: Path) -> float:
    files = (each for each in path.rglob("*") if each.suffix != ".pyc" and each.is_file() and not each.is_symlink())
    return sum(each.stat().st_size for each in files) / 1e6


def megabytes_installed(langgraph: str | None) -> dict[str, float]:
    """Return the megabytes of rqa and its peers with all that they require, without Python, Node and Bun."""
    root = HERE.parent
    own = folder_size(root / "robust_qa") + folder_size(root / "plugins")
    own -= folder_size(root / "plugins/lab/papers") + folder_size(root / "plugins/lab/train")
    found = {"rqa": own + closure("robust-qa", set())}
    if installed("bm25s"):
        found["bm25s"] = closure("bm25s", set())
    if program := shutil.which("rg"):
        found["ripgrep"] = Path(program).resolve().stat().st_size / 1e6
    if program := shutil.which("qmd"):
        modules = next(each for each in Path(program).resolve().parents if each.name == "node_modules")
        found["qmd"] = folder_size(modules)
    if langgraph:
        code = f"import importlib.metadata, re\nfrom pathlib import Path\n{inspect.getsource(closure)}\nseen = set()\n"
        code += "print(closure('langgraph', seen) + closure('langchain-openai', seen))"
        found["langgraph"] = float(subprocess.run([langgraph, "-c", code], capture_output=True, check=True).stdout)
    return {name: round(size, 1) for name, size in found.items()}


def start_ups(langgraph: str | None) -> dict[str, Row]:
    """Return the median milliseconds and the peak megabytes of commands that take turns."""
    harbour = ["-d", str(HERE.parent / "examples" / "harbour")]
    commands = {
        'python -c "import click"': [sys.executable, "-c", "import click"],
        "rqa --version": [*RQA, "--version"],
        "rqa --help": [*RQA, "--help"],
        "rqa ask -d examples/harbour": [*RQA, "ask", "--no-cache", *harbour, "Who was the last keeper?"],
        "rqa search -d examples/harbour": [*RQA, "search", *harbour, "last keeper"],
        'python -c "import sqlite3"': [sys.executable, "-c", "import sqlite3"],
        'python -c "import bm25s"': [sys.executable, "-c", "import bm25s"] if installed("bm25s") else [],
        "rg keeper examples/harbour": ["rg", "keeper", harbour[1]] if shutil.which("rg") else [],
        "qmd --help": ["qmd", "--help"] if shutil.which("qmd") else [],
        'python -c "import langgraph.graph, langchain_openai"': [
            langgraph,
            "-c",
            "import langgraph.graph, langchain_openai",
        ]
        if langgraph
        else [],
    }
    commands = {name: command for name, command in commands.items() if command}
    for command in commands.values():
        process(command)  # writes the compiled modules, and the index
    taken = [{name: process(command) for name, command in commands.items()} for _ in range(RUNS)]
    return {
        name: {
            "milliseconds": round(statistics.median(each[name][0] for each in taken) * 1000),
            "megabytes": round(max(each[name][1] for each in taken)),
        }
        for name in commands
    }


def versions(langgraph: str | None) -> dict[str, str]:
    found = {"rqa": importlib.metadata.version("robust-qa").partition("+")[0], "python": platform.python_version()}
    found["sqlite"] = sqlite3.sqlite_version
    if installed("bm25s"):
        found["bm25s"] = importlib.metadata.version("bm25s")
    if shutil.which("rg"):
        found["ripgrep"] = subprocess.run(
            ["rg", "--version"], capture_output=True, text=True, check=True
        ).stdout.split()[1]
    if program := shutil.which("qmd"):
        package = next(
            each / "package.json" for each in Path(program).resolve().parents if (each / "package.json").exists()
        )
        found["qmd"] = json.loads(package.read_text("utf-8"))["version"]
    if langgraph:
        code = "import importlib.metadata as m; print(m.version('langgraph'))"
        found["langgraph"] = subprocess.run(
            [langgraph, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", help="measure rqa with this reader, too")
    parser.add_argument("--base-url", help="measure the model of this OpenAI-compatible server, too")
    parser.add_argument("--model")
    parser.add_argument("--langgraph", metavar="PYTHON", default=sys.executable if find_spec("langgraph") else None)
    parser.add_argument(
        "--rows", type=int, default=0, help="only the first questions of each set, to see that all runs"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the page (default: benchmarks)")
    given = parser.parse_args()
    peers = [peer for peer in PEERS if installed(peer)]
    extra = ["rqa-reader"] * bool(given.reader) + ["rqa-model", "model"] * bool(given.base_url)
    began, load = time.perf_counter(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ |= {f"RQA_{each}_DIR": f"{temporary}/{each}" for each in ("CONFIG", "DATA", "CACHE")}
        figures, times = measured_questions(given, ["rqa", *peers, *extra], folder)
        told, taken = measured_claims(given, folder)
        cost = {
            "start_up": start_ups(given.langgraph),
            "calls": calls.measure(min(CALLED, given.rows or CALLED), given.langgraph),
        }
    missing = [PROGRAMS.get(peer, peer) for peer in PEERS if peer not in peers] + ["LangGraph"] * (not given.langgraph)
    result: Row = {
        "versions": versions(given.langgraph),
        "not_measured": missing,
        "figures": {**figures, **told},
        "megabytes_installed": megabytes_installed(given.langgraph),
        "times": {**times, **taken, **cost, "load": [round(each, 1) for each in (load, os.getloadavg()[0])]},
    }
    result["times"]["minutes"] = round((time.perf_counter() - began) / 60, 1)
    (given.out / "scoreboard.json").write_text(
        json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    scoreboard_page.write(result, given.out)


if __name__ == "__main__":
    main()

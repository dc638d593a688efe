"""Write the page and the picture of the scoreboard from its results. The prose is in scoreboard_page.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rqa_eval.estimates import wilson

Row = dict[str, Any]

QUESTIONS = {
    "unseen_documents": "Own documents, unseen",
    "tatqa": "TAT-QA",
    "fairytaleqa": "FairytaleQA",
    "pubmedqa": "PubMedQA",
}
CLAIMS = {"contractnli": "ContractNLI", "wice": "WiCE", "pairs": "Pairs written by hand"}
ANSWERING = {
    "rqa": "rqa",
    "rqa-reader": "rqa --reader",
    "rqa-model": "rqa with the model",
    "model": "the model, over FTS5",
}
SYSTEMS = {
    **ANSWERING,
    "rqa-search": "rqa search",
    "fts5": "SQLite FTS5",
    "bm25s": "bm25s",
    "ripgrep": "ripgrep",
    "qmd": "qmd search",
    "vectors": "vector store",
    "langgraph": "LangGraph",
}


def interval(count: Sequence[int]) -> tuple[float, float]:
    some, of = count
    return wilson(np.repeat([1.0, 0.0], [some, of - some]))


def share(count: Sequence[int] | None) -> str:
    """Return a share in per cent with its interval and the number of cases."""
    if not count or not count[1]:
        return "–"
    low, high = interval(count)
    return f"{100 * count[0] / count[1]:.0f} ({100 * low:.0f} to {100 * high:.0f}; {count[1]})"


def points(difference: Sequence[float] | None) -> str:
    if not difference:
        return "–"
    mean, low, high = (100 * each for each in difference)
    return f"{mean:+.0f} ({low:+.0f} to {high:+.0f})"


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def by_set(figures: Row, figure: str, cell: Any) -> str:
    """Return a table of one figure: systems down, sets of questions across."""
    rows = [
        [said, *(cell(figures[name].get(system, {}).get(figure)) for name in QUESTIONS)]
        for system, said in SYSTEMS.items()
        if any(figure in figures[name].get(system, {}) for name in QUESTIONS) and system != "model"
    ]
    return table(["", *QUESTIONS.values()], rows)


def answers(figures: Row) -> str:
    kinds = ("answered", "right", "refused", "conflict")
    rows = [
        [QUESTIONS[name], said, *(share(figures[name][system][kind]) for kind in kinds)]
        for name in QUESTIONS
        for system, said in ANSWERING.items()
        if system in figures[name]
    ]
    return table(["", "", "answered", "right of the answers", "refused", "false conflict"], rows)


def ramdocs(figures: Row) -> str:
    kinds = ("told", "shown", "conflict", "answered", "right", "planted")
    rows = [
        [said, *(share(own[kind]) if system in ANSWERING or kind == "shown" else "" for kind in kinds)]
        for system, said in SYSTEMS.items()
        if (own := figures.get(system))
    ]
    return table(["", "told", "shown", "false conflict", "answered", "right of these", "planted of these"], rows)


def claims(figures: Row) -> str:
    rows = [
        [
            said,
            *(share(count) for count in own["rqa"].values()),
            share([own["rqa"]["supported recall"][1], own["rows"]]),
        ]
        for name, said in CLAIMS.items()
        if (own := figures[name])
    ]
    heads = ("supported: precision", "recall", "contradicted: precision", "recall", "contradicted called supported")
    return table(["", *heads, "base"], rows)


def cost(result: Row) -> str:
    times = result["times"]
    kinds = ("median_seconds", "preparing_seconds", "megabytes")
    own = times["unseen_documents"]
    rows = [[said, *(own[system][kind] for kind in kinds)] for system, said in SYSTEMS.items() if system in own]
    checks = ", ".join(f"{times[name]['seconds_each']:.2f} ({said})" for name, said in CLAIMS.items())
    sizes = ([SYSTEMS[name], number] for name, number in result["megabytes_installed"].items())
    starts = ([f"`{name}`", own["milliseconds"], own["megabytes"]] for name, own in times["start_up"].items())
    return "\n\n".join([
        table(["", "seconds", "preparing", "peak MB"], rows),
        f"Seconds a claim, start-up included: {checks}.",
        table(["installed with what it requires, without Python and Bun", "MB"], sizes),
        table(["a process", "ms", "peak MB"], starts),
    ])  # fmt: skip


def calls(result: Row) -> str:
    rows = (
        [SYSTEMS[name], f"{own['questions_a_second']:.0f}", f"{own['milliseconds_a_call']:.1f}"]
        for name, own in result["times"]["calls"].items()
    )
    return table(["", "questions a second", "processor ms a call"], rows)


def run(result: Row) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    times, missing = result["times"], ", ".join(result["not_measured"])
    before, after = times["load"]
    return (
        f"Measured in {times['minutes']:.0f} minutes on two shared cores (x86-64) with a load of {before} before and "
        f"{after} after: {versions}." + (f" Not measured, because not installed: {missing}." if missing else "")
    )


STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 } .axis { stroke: #59636e }
.rqa { fill: #0969da } .peer { fill: #8c959f } .right { fill: #1a7f37 } .wrong { fill: #cf222e } .none { fill: #afb8c1 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .axis { stroke: #c9d1d9 } .rqa { fill: #4493f8 } .peer { fill: #6e7681 }
.right { fill: #3fb950 } .wrong { fill: #f85149 } .none { fill: #484f58 } }
</style>"""
WIDTH, BAR, LEFT, SCALE = 760, 22, 190, 4.4  # pixels; of a row, of the names, and of a per cent


def picture(figures: Row) -> str:
    """Return bars: evidence first over the unseen documents by system, and what becomes of a question by set."""
    parts: list[str] = []

    def text(x: float, y: float, said: str, kind: str = "name") -> None:
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{said}</text>')

    def bar(start: float, y: float, per_cent: float, kind: str) -> None:
        box = f'x="{LEFT + SCALE * start:.1f}" y="{y}" width="{SCALE * per_cent:.1f}" height="{BAR - 6}"'
        parts.append(f'<rect {box} class="{kind}"/>')

    unseen, y = figures["unseen_documents"], BAR
    of = unseen["rqa"]["first"][1]
    text(
        8,
        y,
        f"The first text has the evidence: % of {of} questions over unseen documents, with 95 % intervals",
        "title",
    )
    for system in (each for each in SYSTEMS if each in unseen and each not in ("rqa-reader", "rqa-model", "model")):
        y += BAR
        some = unseen[system]["first"][0]
        low, high = interval(unseen[system]["first"])
        ends = f'x1="{LEFT + SCALE * 100 * low:.1f}" x2="{LEFT + SCALE * 100 * high:.1f}"'
        text(8, y + 12, SYSTEMS[system] + (", by quotes" if system == "rqa" else ""))
        bar(0, y, 100 * some / of, "rqa" if system.startswith("rqa") else "peer")
        parts.append(f'<line {ends} y1="{y + BAR / 2 - 3}" y2="{y + BAR / 2 - 3}" class="axis"/>')
        text(LEFT + SCALE * 100 * high + 8, y + 12, f"{100 * some / of:.0f}")
    y += 2 * BAR
    text(8, y, "What rqa answers without a model: % of the questions with an answer, right / wrong / none", "title")
    for name, said in QUESTIONS.items():
        y += BAR
        (given, able), (right, _) = figures[name]["rqa"]["answered"], figures[name]["rqa"]["right"]
        text(8, y + 12, said)
        shares = [100 * each / able for each in (right, given - right, able - given)]
        for number, kind in enumerate(("right", "wrong", "none")):
            bar(sum(shares[:number]), y, shares[number], kind)
        text(LEFT + SCALE * 100 + 8, y + 12, " / ".join(f"{each:.0f}" for each in shares))
    size = f'viewBox="0 0 {WIDTH} {y + BAR}" width="{WIDTH}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = "<title>How often the evidence is first, and what rqa answers. scoreboard.md has the numbers.</title>"
    return "\n".join([head, title, STYLE, *parts, "</svg>\n"])


def write(result: Row, folder: Path) -> None:
    figures = result["figures"]
    parts = {
        "run": run(result),
        "first": by_set(figures, "first", share),
        "three": by_set(figures, "three", share),
        "ahead": by_set(figures, "rqa-search ahead", points),
        "answers": answers(figures),
        "ramdocs": ramdocs(figures["ramdocs"]),
        "claims": claims(figures),
        "cost": cost(result),
        "calls": calls(result),
    }
    page = Path(__file__).with_suffix(".md").read_text("utf-8").format(**parts)
    (folder / "scoreboard.md").write_text(page, encoding="utf-8")
    (folder / "scoreboard.svg").write_text(picture(figures), encoding="utf-8")

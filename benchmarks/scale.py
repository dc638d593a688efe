"""What 10 million questions and 100 million passages need and cost, computed from figures that were measured.

    python benchmarks/scale.py > benchmarks/scale.md

Nothing was run at that size. Change the figures or the assumptions below, and run the script again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

QUESTIONS, PASSAGES = 10_000_000, 100_000_000
HOUR, MINUTE, GB = 3600.0, 60.0, 1e9


class Figure(NamedTuple):
    """A number, what it counts, and where it is from."""

    value: float
    of: str
    origin: str


MEASURED = {
    "call": Figure(0.78, "ms of processor time of rqa for a call of a model", "`peers.py`"),
    "rag": Figure(1167, "tokens a question with `rag`, 10 passages", "README, With a language model"),
    "astute": Figure(1938, "tokens a question with `astute`, 10 passages", "README, With a language model"),
    "windows": Figure(136, "passages that the packaged reader reads a second, on two cores", "`reading_speed.py`"),
    "embedded": Figure(300, "passages that the packaged model embeds a second, on two cores", "`postgres.py`"),
    "local": Figure(865, "bytes of a passage in the local hybrid index", "`postgres.py`"),
    "postgres": Figure(5125, "bytes of a passage in Postgres, with its indexes", "`postgres.py`"),
    "hnsw": Figure(2048, "bytes of these in the HNSW index", "`postgres.py`"),
    "written": Figure(
        1920, "passages that one process writes to Postgres a second, without embedding", "`postgres.py`"
    ),
}
ASSUMED = {
    "latency": Figure(2, "seconds for a call of a model", "a hosted model with short replies"),
    "calls": Figure(10_000, "calls a minute that the provider allows", "a middle tier"),
    "tokens": Figure(10e6, "tokens a minute that the provider allows", "a middle tier"),
    "prompt": Figure(0.15, "dollars for a million prompt tokens", "a small hosted model"),
    "reply": Figure(0.60, "dollars for a million generated tokens", "a small hosted model"),
    "length": Figure(50, "generated tokens a call", "short answers"),
    "batch": Figure(0.5, "of the price in a provider's batch", "the usual discount"),
    "core": Figure(0.04, "dollars for a core and hour", "a rented machine"),
    "memory": Figure(128, "GB of memory of a database machine", "a rented machine"),
    "used": Figure(0.7, "of the memory holds the HNSW index, which is slow on disk", "room for queries and caches"),
}


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def listed(figures: Mapping[str, Figure]) -> str:
    """Return the figures as a table."""
    return table(
        ("figure", "of what", "from"), [(f"{value:,.9g}", of, origin) for value, of, origin in figures.values()]
    )


def amount(value: float) -> str:
    """Return a number with two significant digits: more would be more than is known."""
    digits = 1 - math.floor(math.log10(value)) if value else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def asked(name: str, calls: int, tokens: float) -> tuple[str, ...]:
    """Return the row of a strategy that asks a hosted model."""
    all_calls = QUESTIONS * calls
    rate = min(ASSUMED["calls"].value, ASSUMED["tokens"].value / (tokens / calls))  # calls a minute
    generated = all_calls * ASSUMED["length"].value
    prompt = QUESTIONS * tokens - generated
    price = (prompt * ASSUMED["prompt"].value + generated * ASSUMED["reply"].value) / 1e6
    return (
        f"`{name}`",
        f"{all_calls / 1e6:g} million",
        f"{amount(QUESTIONS * tokens / 1e9)} billion",
        amount(all_calls / rate / 60),
        amount(rate / MINUTE * ASSUMED["latency"].value),
        amount(all_calls * MEASURED["call"].value / 1000 / HOUR),
        amount(price),
        amount(price * ASSUMED["batch"].value),
    )


def questions() -> str:
    """Return the part about questions."""
    head = ("strategy", "calls", "tokens", "hours", "calls in flight", "core hours of rqa", "dollars", "in batches")
    rows = [asked("rag", 1, MEASURED["rag"].value), asked("astute", 2, MEASURED["astute"].value)]
    hours = QUESTIONS * 10 / MEASURED["windows"].value / HOUR * 2
    return f"""{table(head, rows)}

Hours at the provider's limits, which decide: one core makes {amount(1000 / MEASURED["call"].value)} calls a second.
`rqa batch --engine ray` divides the limits among its workers, so more machines do not help here.
With `--engine provider` the provider sets the pace.

Without a language model, the packaged reader takes {amount(hours)} core hours for ten passages a question, or
{amount(hours * ASSUMED["core"].value)} dollars. It only computes: 100 cores of a Ray cluster need
{amount(hours / 100)} hours."""


def passages() -> str:
    """Return the part about passages."""
    embedding = PASSAGES / MEASURED["embedded"].value / HOUR * 2
    hnsw = PASSAGES * MEASURED["hnsw"].value / GB
    machines = math.ceil(hnsw / (ASSUMED["memory"].value * ASSUMED["used"].value))
    writing = PASSAGES / MEASURED["written"].value / HOUR
    needs = {
        "embedding": f"{amount(embedding)} core hours, {amount(embedding * ASSUMED['core'].value)} dollars",
        "local hybrid index": f"{amount(PASSAGES * MEASURED['local'].value / GB)} GB of disk",
        "Postgres": f"{amount(PASSAGES * MEASURED['postgres'].value / GB)} GB of disk, {amount(hnsw)} GB of it HNSW",
        "memory for HNSW": f"one machine of {amount(hnsw / ASSUMED['used'].value)} GB, or {machines} of those above",
        "writing to Postgres": f"{amount(writing)} hours by one process",
    }
    return table(("part", "needs"), [*needs.items()])


def main() -> None:
    print(f"""\
# Past these machines: {QUESTIONS / 1e6:g} million questions, {PASSAGES / 1e6:g} million passages

Computed by `python benchmarks/scale.py`. **Nothing was run at this size.** Sizes and times are taken to grow with the
number of passages, which is a little too good for HNSW.

## Measured

{listed(MEASURED)}

## Assumed

{listed(ASSUMED)}

## Questions

{questions()}

## Passages

{passages()}

The local index compares a question's vector with all others, so its search time grows with the number of passages
(see the README): it is not made for this size. HNSW misses more of the nearest passages when there are more: one in six
of a million near copies. rqa does not divide an index over several databases. Use one large machine, or several under a
store that divides its index, such as OpenSearch or Qdrant, through the bridge to Haystack in rqa-bridges(7).""")


if __name__ == "__main__":
    main()

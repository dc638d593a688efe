"""What a run of `rqa eval` in the working directory wrote and printed."""

import json
from pathlib import Path
from typing import Any

RUN = Path("run")


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (RUN / name).read_text("utf-8").splitlines()]


def figures(metric: str, **group: Any) -> dict[str, Any]:
    """The value of a metric for each strategy, over all questions or those of a slice."""
    place = group if "slice" in group else {"view": None, **group}
    groups = json.loads((RUN / "metrics.json").read_text("utf-8"))["groups"]
    (found,) = (one for one in groups if place.items() <= one.items())
    return {name: measured[metric]["value"] for name, measured in found["strategies"].items()}


def table(out: str, title: str) -> dict[str, list[str]]:
    """The first cells of each line of the table with that title, by the name that begins it."""
    whole = out.split(f"{title}\n", 1)[1].split("\n\n", 1)[0]
    found: dict[str, list[str]] = {}
    for name, *cells in (line.split() for line in whole.splitlines()):
        found.setdefault(name, cells)
    return found

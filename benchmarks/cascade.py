"""Strategy `cascade` over two readers of different cost, fitted on one half of the questions and measured on the other.

    python benchmarks/cascade.py popqa.jsonl nq.jsonl triviaqa.jsonl [--metric em]

The steps are `rag` with the reader `lexical`, which counts as free, and with `embedded` (threshold 0), of which each
question is a call. The halves are the odd and the even rows of each set. `rqa train cascade` fits with its defaults:
95 % of the accuracy of the better step, for as few calls as possible. Printed for each direction: the accuracy of both
steps and of the cascade on the other half, its share of the calls of `embedded`, its share of the accuracy of the
better step, and the paired difference to that step with its 95 % interval (Newcombe) and p (McNemar's exact test).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS = ("rag:lexical", "rag:embedded")
RQA = [sys.executable, "-m", "robust_qa", "-q"]


def rqa(*arguments: str | Path) -> None:
    """Run `rqa`."""
    subprocess.run([*RQA, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def halves(sets: Sequence[Path], folder: Path) -> list[list[Path]]:
    """Write the odd and the even rows of each set to files of their own."""
    found = []
    for number in range(2):
        (folder / str(number)).mkdir()
        files = [folder / str(number) / path.name for path in sets]
        for path, file in zip(sets, files, strict=True):
            lines = path.read_text("utf-8").splitlines(keepends=True)
            file.write_text("".join(lines[number::2]), "utf-8")
        found.append(files)
    return found


def direction(fitted_on: Sequence[Path], measured_on: Sequence[Path], folder: Path, metric: str) -> None:
    """Print the figures of a cascade that is fitted on some files and measured on others."""
    threshold = ("-O", "reader.embedded.threshold=0")
    rqa("eval", *fitted_on, "-s", ",".join(STEPS), "-o", folder / "fit", *threshold)
    rqa("train", "cascade", folder / "fit", "-o", folder / "cascade.toml", "--costs", "0,1", "--metric", metric)
    print("\n".join((folder / "cascade.toml").read_text("utf-8").splitlines()[1:5]))
    options = ("-s", ",".join((*STEPS, "cascade")), "--metrics", metric, *threshold)
    config = ("--config", folder / "cascade.toml")
    for baseline in STEPS:
        rqa(*config, "eval", *measured_on, *options, "--baseline", baseline, "-o", folder / baseline)
    means = measured(folder / STEPS[0], metric)
    better = max(STEPS, key=lambda step: means[step]["value"])
    found = measured(folder / better, metric)["cascade"]
    answers = (folder / better / "answers" / "cascade.jsonl").read_text("utf-8").splitlines()
    calls = sum(json.loads(line)["details"]["step"] == STEPS[1] for line in answers) / len(answers)
    gap = found["difference"]
    accuracies = ", ".join(f"{name} {100 * means[name]['value']:.1f}" for name in (*STEPS, "cascade"))
    print(f"{len(answers)} questions: {metric} {accuracies}; calls {100 * calls:.1f} %")
    print(
        f"{100 * found['value'] / means[better]['value']:.1f} % of {better}; difference {100 * gap['value']:+.1f} "
        f"[{100 * gap['low']:+.1f}, {100 * gap['high']:+.1f}], p {gap['p']:.2g}\n"
    )


def measured(run: Path, metric: str) -> dict[str, Any]:
    """Return the metric of each strategy over all sets."""
    strategies = json.loads((run / "metrics.json").read_text("utf-8"))["groups"][0]["strategies"]
    return {name: found[metric] for name, found in strategies.items()}


def main() -> None:
    """Print the figures of both directions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--metric", default="accuracy")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        odd, even = halves(given.sets, Path(name))
        for number, (fitted_on, measured_on) in enumerate([(odd, even), (even, odd)], start=1):
            folder = Path(name) / f"direction{number}"
            folder.mkdir()
            direction(fitted_on, measured_on, folder, given.metric)


if __name__ == "__main__":
    main()

"""Training data for the voter, read from a run of the ensemble on questions with gold answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from robust_qa import InputError
from robust_qa.kit import contains_answer, gold_facts, normalise
from rqa_eor.similarity import f1
from rqa_eor.voting import Pooling, scores, winners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Row = dict[str, Any]

Metric = Literal["containment", "em", "f1"]

_METRICS: dict[Metric, Callable[[str, str], float]] = {
    "containment": lambda answer, gold: float(contains_answer(answer, [gold])),
    "em": lambda answer, gold: float(normalise(answer) == normalise(gold)),
    "f1": partial(f1, normal=normalise),  # SQuAD's normalisation, as in `rqa eval`
}


def right(answer: str, gold: Sequence[Any], metric: Metric) -> float:
    """Return the metric of `answer` for its best gold answer, from 0 to 1.

    If the gold lists several facts, the worst fact counts.
    """
    return min(max(_METRICS[metric](answer, one) for one in fact) for fact in gold_facts(gold))


def gold_of(path: Path) -> list[list[Any]]:
    """Return the gold answers of each row, which are in `answers`, or in `answer` as in Natural Questions.

    Raises InputError for a row without.
    """
    found: list[list[Any]] = []
    for number, row in _rows(path):
        gold = row.get("answers", row.get("answer")) if isinstance(row, dict) else None
        gold = [gold] if isinstance(gold, str) else gold
        if not isinstance(gold, list) or not gold_facts(gold):
            raise InputError(
                f"{path}, line {number} has no gold answers.",
                hint='Add them: {"question": "...", "answers": ["..."]}.',
            )
        found.append(gold)
    if not found:
        raise InputError(f"{path} has no questions.")
    return found


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON lines after line {max(number - 1, 0)}: {error}.") from error


@dataclass(frozen=True, slots=True)
class Ballots:
    """The answers of n retrievers to q questions.

    `tensor` (q, k, n, n) holds k similarities. `present` (q, n) is true for each answer. `right` (q, n) holds the
    metric. `pooling` and `threshold` configure the vote.
    """

    retrievers: tuple[str, ...]
    similarities: tuple[str, ...]
    tensor: Floats
    present: NDArray[np.bool_]
    right: Floats
    pooling: Pooling = "mean"
    threshold: float = 0.8

    def elected(self, weights: Floats, lambdas: Floats) -> Floats:
        """Return the metric of each question's winner, (q,); 0 without a winner."""
        import numpy as np

        scored = scores(self.tensor, self.present, weights, lambdas, self.pooling, threshold=self.threshold)
        chosen = winners(scored, weights)
        rows = np.arange(len(chosen))
        elected: Floats = np.where(np.isfinite(scored[rows, chosen]), self.right[rows, chosen], 0.0)
        return elected

    def of(self, rows: NDArray[np.integer[Any]]) -> Self:
        """Return the ballots of these questions."""
        return replace(self, tensor=self.tensor[rows], present=self.present[rows], right=self.right[rows])


def load(path: Path, metric: Metric, golds: Sequence[list[Any]]) -> tuple[Ballots, int]:
    """Read the output of `rqa batch -s eor --details`. Returns the ballots and the number of skipped rows.

    A row is skipped if it or one of its retrievers failed. Raises InputError if every row is skipped.
    """
    import numpy as np

    lines = sorted((row for _, row in _rows(path)), key=lambda row: int(row["row"]))
    complete = [(row, gold) for row, gold in zip(lines, golds, strict=True) if _complete(row)]
    rows = [row for row, _ in complete]
    if not rows:
        raise InputError(f"All {len(lines)} rows in {path} have failed calls.")
    details = [row["details"] for row in rows]
    retrievers = tuple(dict.fromkeys(entry["retriever"] for detail in details for entry in detail["retrievers"]))
    similarities = tuple(details[0]["similarities"])
    shape = len(rows), len(similarities), len(retrievers), len(retrievers)
    tensor = np.zeros(shape)  # float64 like the vote: ties must go the same way
    metric_values = np.zeros((shape[0], shape[2]))
    present = np.zeros(metric_values.shape, dtype=bool)
    for number, ((_, gold), detail) in enumerate(zip(complete, details, strict=True)):
        answered = [entry for entry in detail["retrievers"] if entry["answer"] is not None]
        at = [retrievers.index(entry["retriever"]) for entry in answered]
        positions = [detail["answers"].index(entry["answer"]) for entry in answered]
        present[number, at] = True
        metric_values[number, at] = [right(entry["answer"], gold, metric) for entry in answered]
        for k, name in enumerate(similarities if answered else ()):
            tensor[number, k][np.ix_(at, at)] = np.array(detail["similarities"][name])[np.ix_(positions, positions)]
    first = details[0]
    ballots = Ballots(retrievers, similarities, tensor, present, metric_values, first["pooling"], first["threshold"])
    return ballots, len(lines) - len(rows)


def _complete(row: Row) -> bool:
    details = row.get("details") or {}
    return bool(details) and not any(entry["error"] for entry in details["retrievers"])

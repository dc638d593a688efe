"""What a run of the ensemble over questions with gold answers teaches: who said what, how alike, and how right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from robust_qa import InputError
from robust_qa.kit import contains_answer, gold_facts, normalise

from .similarity import f1
from .voting import Pooling, scores, winners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Row = dict[str, Any]

Metric = Literal["containment", "em", "f1"]

_METRICS: dict[Metric, Callable[[str, str], float]] = {
    "containment": lambda answer, gold: float(contains_answer(answer, [gold])),
    "em": lambda answer, gold: float(normalise(answer) == normalise(gold)),
    "f1": partial(f1, normal=normalise),  # SQuAD's own, as `rqa eval` has it
}


def right(answer: str, gold: Sequence[Any], metric: Metric) -> float:
    """How right `answer` is, 0 to 1: by the gold answer that suits it best.

    Of several facts each has to be met, and the worst one counts.
    """
    return min(max(_METRICS[metric](answer, one) for one in fact) for fact in gold_facts(gold))


def check_gold(path: Path) -> int:
    """The number of rows of the file, all of which have gold answers. InputError names the first that has none."""
    count = 0
    for number, row in _rows(path):
        count += 1
        gold = row.get("answers") if isinstance(row, dict) else None
        if not isinstance(gold, list) or not gold_facts(gold):
            raise InputError(
                f"{path}, line {number} has no gold answers to learn from.",
                hint='Give each row a list of them, as in {"question": "...", "answers": ["..."]}.',
            )
    if not count:
        raise InputError(f"There are no questions in {path}.")
    return count


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not made of JSON lines after line {max(number - 1, 0)}: {error}.") from error


@dataclass(frozen=True, slots=True)
class Ballots:
    """q questions answered with n retrievers and compared by k similarities.

    `tensor` (q, k, n, n) has the similarities, `present` (q, n) where there is an answer, `right` (q, n) how right it
    is. The vote is held by `pooling` and `threshold`.
    """

    retrievers: tuple[str, ...]
    similarities: tuple[str, ...]
    tensor: Floats
    present: NDArray[np.bool_]
    right: Floats
    pooling: Pooling = "mean"
    threshold: float = 0.8

    def elected(self, weights: Floats, lambdas: Floats) -> Floats:
        """How right the winner of each question is, (q,); 0 where there is none."""
        import numpy as np

        scored = scores(self.tensor, self.present, weights, lambdas, self.pooling, threshold=self.threshold)
        chosen = winners(scored, weights)
        rows = np.arange(len(chosen))
        elected: Floats = np.where(np.isfinite(scored[rows, chosen]), self.right[rows, chosen], 0.0)
        return elected

    def of(self, rows: NDArray[np.integer[Any]]) -> Self:
        """Those questions alone."""
        return replace(self, tensor=self.tensor[rows], present=self.present[rows], right=self.right[rows])


def load(path: Path, metric: Metric) -> tuple[Ballots, int]:
    """The ballots in the output of `rqa batch -s eor --details`, and how many of its rows are of no use.

    Of no use is a row that failed, or a retriever of which did. InputError when there is no other.
    """
    import numpy as np

    lines = sorted((row for _, row in _rows(path)), key=lambda row: int(row["row"]))
    rows = [row for row in lines if _sound(row)]
    if not rows:
        raise InputError(f"None of {len(lines)} rows in {path} can be learnt from: calls failed in all of them.")
    accounts = [row["details"] for row in rows]
    retrievers = tuple(dict.fromkeys(entry["retriever"] for account in accounts for entry in account["retrievers"]))
    similarities = tuple(accounts[0]["similarities"])
    shape = len(rows), len(similarities), len(retrievers), len(retrievers)
    tensor = np.zeros(shape)  # as precise as the vote itself, or ties go another way
    rightness = np.zeros((shape[0], shape[2]))  # in float32 means of the same would differ
    present = np.zeros(rightness.shape, dtype=bool)
    for number, (row, account) in enumerate(zip(rows, accounts, strict=True)):
        said = [entry for entry in account["retrievers"] if entry["answer"] is not None]
        at = [retrievers.index(entry["retriever"]) for entry in said]
        places = [account["answers"].index(entry["answer"]) for entry in said]
        present[number, at] = True
        rightness[number, at] = [right(entry["answer"], row["answers"], metric) for entry in said]
        for k, name in enumerate(similarities if said else ()):
            tensor[number, k][np.ix_(at, at)] = np.array(account["similarities"][name])[np.ix_(places, places)]
    first = accounts[0]
    ballots = Ballots(retrievers, similarities, tensor, present, rightness, first["pooling"], first["threshold"])
    return ballots, len(lines) - len(rows)


def _sound(row: Row) -> bool:
    details = row.get("details") or {}
    return bool(details) and not any(entry["error"] for entry in details["retrievers"])

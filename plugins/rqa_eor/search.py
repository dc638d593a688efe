"""The search for the voter's parameters (Section 4.2): weights w and lambda that make the most winners right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robust_qa import ConfigError
from robust_qa.kit import install_hint

from .ballots import Ballots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

HIGHEST = 0.6  # of a weight or lambda, against reliance on one retriever (Section 4.3)
LEAST = 0.1  # a retriever of less is out of the pool (Section 4.3)
_DIGITS = 3  # of a parameter
_EVALUATIONS = 60  # of the objective, for each parameter


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights (n,), 0 for a retriever out of the pool, and lambdas (k,); `value` is the metric's mean."""

    weights: Floats
    lambdas: Floats
    value: float


@dataclass(frozen=True, slots=True)
class Held:
    """The metric's mean on questions that nothing was fitted to: plain voting, fitted voting, the best retriever.

    `error` is the standard error of the gain, fitted less plain.
    """

    plain: float
    fitted: float
    single: float
    error: float


def plain(ballots: Ballots) -> Fit:
    """Voting without fitting: all weights alike, and all lambdas."""
    import numpy as np

    return _fit(ballots, np.full(len(ballots.retrievers), HIGHEST), np.full(len(ballots.similarities), HIGHEST))


def fit(ballots: Ballots, *, restarts: int = 4, seed: int = 0) -> Fit:
    """The best that Nelder-Mead finds from several starts, or `plain` where it finds nothing better.

    The first start weighs each retriever by how often it alone is right, the others are random. A start's simplex
    switches each retriever and each similarity off in turn.
    """
    import numpy as np

    n, k = len(ballots.retrievers), len(ballots.similarities)
    alone = ballots.right.mean(0)
    starts = [np.concatenate([HIGHEST * alone / max(alone.max(), 1e-9), np.full(k, HIGHEST / 2)])]
    random = np.random.default_rng(seed)
    starts += [random.uniform(LEAST, HIGHEST, n + k) for _ in range(restarts - 1)]
    found = [plain(ballots)]
    for start in starts:
        best = _descend(ballots, start)
        found.append(_fit(ballots, *np.split(best, [n])))
    return max(found, key=lambda one: one.value)  # the first of equals


def minimiser() -> Any:
    """SciPy's `minimize`. ConfigError when it is not installed."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ConfigError("Training the voter needs SciPy.", hint=f"Run `{install_hint('train')}`.") from error
    return minimize


def _descend(ballots: Ballots, start: Floats) -> Floats:
    import numpy as np

    n = len(ballots.retrievers)
    simplex = np.vstack([start, np.tile(start, (len(start), 1))])
    for d in range(len(start)):
        simplex[d + 1, d] = 0.0 if start[d] > 0 else HIGHEST
    found = minimiser()(
        lambda at: -_value(ballots, *np.split(at, [n])),
        np.clip(start, 0.0, HIGHEST),
        method="Nelder-Mead",
        bounds=[(0.0, HIGHEST)] * len(start),
        options={"initial_simplex": simplex, "maxfev": _EVALUATIONS * len(start), "xatol": 1e-3, "fatol": 1e-6},
    )
    best: Floats = found.x
    return best


def _fit(ballots: Ballots, weights: Floats, lambdas: Floats) -> Fit:
    """What the parameters come to, written with as many digits as a configuration gets."""
    import numpy as np

    weights, lambdas = np.round(weights, _DIGITS), np.round(lambdas, _DIGITS)
    return Fit(_kept(weights), lambdas, _value(ballots, weights, lambdas))


def _kept(weights: Floats) -> Floats:
    import numpy as np

    return np.where(weights < LEAST, 0.0, weights)


def _value(ballots: Ballots, weights: Floats, lambdas: Floats) -> float:
    """The objective: the mean of the metric over the winners."""
    kept = _kept(weights)
    if not kept.any() or not lambdas.any():
        return 0.0
    return float(ballots.elected(kept, lambdas).mean())


def cross_validate(ballots: Ballots, *, folds: int = 5, restarts: int = 4, seed: int = 0) -> Held:
    """Fit on all folds but one and measure on that one, in turn: what the fit is worth on questions it has not seen."""
    import numpy as np

    count = len(ballots.right)
    fold = np.random.default_rng(seed).permutation(count) % folds
    even = plain(ballots)
    by_plain, by_fitted, by_single = ballots.elected(even.weights, even.lambdas), np.zeros(count), np.zeros(count)
    for held in range(folds):
        seen, unseen = ballots.of(np.flatnonzero(fold != held)), np.flatnonzero(fold == held)
        part, fitted = ballots.of(unseen), fit(seen, restarts=restarts, seed=seed)
        by_fitted[unseen] = part.elected(fitted.weights, fitted.lambdas)
        by_single[unseen] = part.right[:, seen.right.mean(0).argmax()]
    gain = by_fitted - by_plain
    return Held(
        float(by_plain.mean()),
        float(by_fitted.mean()),
        float(by_single.mean()),
        float(gain.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0,
    )

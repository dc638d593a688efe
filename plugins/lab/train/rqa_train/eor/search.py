"""Search for the weights w and lambda with the best metric of the winners (Section 4.2)."""

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

_MAX = 0.6  # weight or lambda, so that no retriever dominates (Section 4.3)
_MIN = 0.1  # retrievers of a lower weight leave the pool (Section 4.3)
_DIGITS = 3  # of a parameter in the configuration
_EVALUATIONS = 60  # of the objective for each parameter


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights (n,), 0 for a retriever that leaves the pool, lambdas (k,), and the mean metric."""

    weights: Floats
    lambdas: Floats
    value: float


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The mean metric on held-out questions for plain voting, fitted voting and the best single retriever.

    `error` is the standard error of the gain of fitted over plain voting.
    """

    plain: float
    fitted: float
    single: float
    error: float


def plain(ballots: Ballots) -> Fit:
    """Return equal weights and equal lambdas."""
    import numpy as np

    return _fit(ballots, np.full(len(ballots.retrievers), _MAX), np.full(len(ballots.similarities), _MAX))


def fit(ballots: Ballots, *, restarts: int = 4, seed: int = 0) -> Fit:
    """Return the best fit of Nelder-Mead from several starts, or `plain` if none is better.

    The first start weights each retriever by its own metric; the others are random. The initial simplex of a start
    switches off one retriever or similarity at each corner.
    """
    import numpy as np

    n, k = len(ballots.retrievers), len(ballots.similarities)
    single = ballots.right.mean(0)
    starts = [np.concatenate([_MAX * single / max(single.max(), 1e-9), np.full(k, _MAX / 2)])]
    random = np.random.default_rng(seed)
    starts += [random.uniform(_MIN, _MAX, n + k) for _ in range(restarts - 1)]
    found = [plain(ballots)]
    for start in starts:
        best = _nelder_mead(ballots, start)
        found.append(_fit(ballots, *np.split(best, [n])))
    return max(found, key=lambda one: one.value)  # the first of equals


def load_minimize() -> Any:
    """Return SciPy's `minimize`. Raises ConfigError if SciPy is not installed."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ConfigError("Training the voter needs SciPy.", hint=f"Run `{install_hint('train')}`.") from error
    return minimize


def _nelder_mead(ballots: Ballots, start: Floats) -> Floats:
    import numpy as np

    n = len(ballots.retrievers)
    simplex = np.vstack([start, np.tile(start, (len(start), 1))])
    for d in range(len(start)):
        simplex[d + 1, d] = 0.0 if start[d] > 0 else _MAX
    found = load_minimize()(
        lambda at: -_value(ballots, *np.split(at, [n])),
        np.clip(start, 0.0, _MAX),
        method="Nelder-Mead",
        bounds=[(0.0, _MAX)] * len(start),
        options={"initial_simplex": simplex, "maxfev": _EVALUATIONS * len(start), "xatol": 1e-3, "fatol": 1e-6},
    )
    best: Floats = found.x
    return best


def _fit(ballots: Ballots, weights: Floats, lambdas: Floats) -> Fit:
    """Round the parameters as the configuration does, and measure them."""
    import numpy as np

    weights, lambdas = np.round(weights, _DIGITS), np.round(lambdas, _DIGITS)
    return Fit(_without_small(weights), lambdas, _value(ballots, weights, lambdas))


def _without_small(weights: Floats) -> Floats:
    import numpy as np

    return np.where(weights < _MIN, 0.0, weights)


def _value(ballots: Ballots, weights: Floats, lambdas: Floats) -> float:
    """Return the objective: the mean metric of the winners."""
    weights = _without_small(weights)
    if not weights.any() or not lambdas.any():
        return 0.0
    return float(ballots.elected(weights, lambdas).mean())


def cross_validate(ballots: Ballots, *, folds: int = 5, restarts: int = 4, seed: int = 0) -> CrossValidation:
    """Fit on all folds but one, measure on that one, and repeat for each fold."""
    import numpy as np

    count = len(ballots.right)
    fold = np.random.default_rng(seed).permutation(count) % folds
    even = plain(ballots)
    by_plain, by_fitted, by_single = ballots.elected(even.weights, even.lambdas), np.zeros(count), np.zeros(count)
    for held_out in range(folds):
        train, test = ballots.of(np.flatnonzero(fold != held_out)), np.flatnonzero(fold == held_out)
        part, fitted = ballots.of(test), fit(train, restarts=restarts, seed=seed)
        by_fitted[test] = part.elected(fitted.weights, fitted.lambdas)
        by_single[test] = part.right[:, train.right.mean(0).argmax()]
    gain = by_fitted - by_plain
    return CrossValidation(
        float(by_plain.mean()),
        float(by_fitted.mean()),
        float(by_single.mean()),
        float(gain.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0,
    )

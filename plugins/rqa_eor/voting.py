"""The voter: Equations 6 and 7 of the paper and the pooling functions of its Appendix C.4, over all questions at once.

In shapes q are questions, k similarities, n retrievers. A retriever that gave no answer neither votes nor wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Flags = NDArray[np.bool_]
    Counts = NDArray[np.integer[Any]]

Pooling = Literal["mean", "max", "top", "plurality", "majority"]

_DIGITS = 9  # of a score; what differs beyond them differs by the order of a sum


def similarity(tensor: Floats, lambdas: Floats) -> Floats:
    """Equation 6: S(r_i, r_j), the sum over k of lambda_k sim_k(r_i, r_j). From (q, k, n, n) and (k,) to (q, n, n)."""
    q, k, n, _ = tensor.shape
    mixed: Floats = (lambdas.astype(tensor.dtype) @ tensor.reshape(q, k, n * n)).reshape(q, n, n)
    return mixed


def pool(similar: Floats, voting: Flags, pooling: Pooling = "mean", *, threshold: float = 0.8) -> Floats:
    """What the n - 1 similarities of each answer to the other answers come to, by Appendix C.4; 0 when there are none.

    From (q, n, n) and (q, n), true where there is an answer, to (q, n). `threshold` is s, from which on two answers
    count as equivalent.

    - mean: the sum of them divided by their number;
    - max: the largest;
    - top: the mean of the k largest, where k = ceil(n / 2) - 1, at least 1;
    - plurality: let m_i be how many of them are s or more. For the answers with the largest m the mean of their m
      largest, for the others 0;
    - majority: the mean of the k largest for the answers with m_i >= k, which with themselves are half of all; for the
      others 0.
    """
    import numpy as np

    others = voting[:, :, None] & voting[:, None, :] & ~np.eye(similar.shape[-1], dtype=bool)
    rivals = others.sum(-1)
    if pooling == "mean":
        return _ratio((similar * others).sum(-1), rivals)
    if pooling == "max":
        return _top_mean(similar, others, np.minimum(rivals, 1))
    half = np.maximum(-(-voting.sum(-1, keepdims=True) // 2) - 1, 1)
    if pooling == "top":
        return _top_mean(similar, others, half)
    # With a tolerance: lambdas such as 0.1 + 0.2 would else put equal answers below their own threshold.
    equivalent = ((similar >= threshold - 1e-6) & others).sum(-1)
    if pooling == "plurality":
        return _top_mean(similar, others, np.where(equivalent == equivalent.max(-1, keepdims=True), equivalent, 0))
    return _top_mean(similar, others, np.where(equivalent >= half, half, 0))


def _top_mean(similar: Floats, others: Flags, k: Counts) -> Floats:
    """The mean of the k largest similarities to others, or of all where there are fewer."""
    import numpy as np

    ranked = -np.sort(np.where(others, -similar, np.inf), -1)
    k = np.minimum(k, others.sum(-1))
    sums = np.where(np.isfinite(ranked), ranked, 0).cumsum(-1)
    return _ratio(np.where(k > 0, np.take_along_axis(sums, np.maximum(k, 1)[..., None] - 1, -1)[..., 0], 0), k)


def _ratio(sums: Floats, counts: Counts) -> Floats:
    import numpy as np

    divided: Floats = sums / np.maximum(counts, 1)
    return divided


def scores(
    tensor: Floats,
    present: Flags,
    weights: Floats,
    lambdas: Floats,
    pooling: Pooling = "mean",
    *,
    threshold: float = 0.8,
) -> Floats:
    """Equation 7: score_i = w_i pool over j != i of S(r_i, r_j), (q, n); -inf where there is no answer, or w_i is 0.

    A retriever of weight 0 is out of the pool (Section 4.2), and does not vote. `threshold` is a share of the sum of
    the lambdas, that is, of what an answer has in common with itself.
    """
    import numpy as np

    voting = present & (weights > 0)
    mixed = similarity(tensor, lambdas)
    pooled = pool(mixed, voting, pooling, threshold=threshold * float(lambdas.sum()))
    return np.where(voting, np.round(weights * pooled, _DIGITS), -np.inf)


def winners(scored: Floats, weights: Floats) -> Counts:
    """The position of the highest score of each question, (q,); ties go to the higher weight, then to the earlier."""
    import numpy as np

    order = np.argsort(-weights, kind="stable")
    first: Counts = order[np.argmax(scored[:, order], axis=1)]
    return first

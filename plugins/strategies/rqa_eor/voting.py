"""The voter: Equations 6 and 7 of the paper and the pooling functions of its Appendix C.4, for many questions at once.

In shapes, q counts questions, k similarities and n retrievers. A retriever without an answer does not vote.
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

_DIGITS = 9  # of a score; later digits depend on the order of summation


def similarity(tensor: Floats, lambdas: Floats) -> Floats:
    """Return Equation 6, (q, n, n): S(r_i, r_j) = sum over k of lambda_k sim_k(r_i, r_j).

    `tensor` is (q, k, n, n), `lambdas` (k,).
    """
    q, k, n, _ = tensor.shape
    mixed: Floats = (lambdas.astype(tensor.dtype) @ tensor.reshape(q, k, n * n)).reshape(q, n, n)
    return mixed


def pool(similar: Floats, voting: Flags, pooling: Pooling = "mean", *, threshold: float = 0.8) -> Floats:
    """Combine the similarities of each answer to the other answers (Appendix C.4).

    `similar` is (q, n, n); `voting` is (q, n) and true for each answer. Returns (q, n); 0 without other answers. Two
    answers are equivalent if their similarity is at least `threshold` (s).

    - mean: the mean similarity;
    - max: the largest similarity;
    - top: the mean of the k largest, with k = ceil(n / 2) - 1, at least 1;
    - plurality: with m_i the number of answers equivalent to answer i, the mean of the m_i largest for the answers
      with the largest m_i, and 0 for the others;
    - majority: the mean of the k largest for the answers with m_i >= k, and 0 for the others.
    """
    import numpy as np

    others = voting[:, :, None] & voting[:, None, :] & ~np.eye(similar.shape[-1], dtype=bool)
    other_count = others.sum(-1)
    if pooling == "mean":
        return _ratio((similar * others).sum(-1), other_count)
    if pooling == "max":
        return _top_mean(similar, others, np.minimum(other_count, 1))
    half = np.maximum(-(-voting.sum(-1, keepdims=True) // 2) - 1, 1)
    if pooling == "top":
        return _top_mean(similar, others, half)
    # Rounding errors of the lambdas must not put equal answers below their threshold.
    equivalent = ((similar >= threshold - 1e-6) & others).sum(-1)
    if pooling == "plurality":
        return _top_mean(similar, others, np.where(equivalent == equivalent.max(-1, keepdims=True), equivalent, 0))
    return _top_mean(similar, others, np.where(equivalent >= half, half, 0))


def _top_mean(similar: Floats, others: Flags, k: Counts) -> Floats:
    """Return the mean of the k largest similarities to others, or of all if there are fewer."""
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
    """Return Equation 7: score_i = w_i pool over j != i of S(r_i, r_j), (q, n).

    The score is -inf without an answer and for weight 0: such a retriever does not vote (Section 4.2). `threshold` is
    a share of the sum of the lambdas, the similarity of an answer to itself.
    """
    import numpy as np

    voting = present & (weights > 0)
    mixed = similarity(tensor, lambdas)
    pooled = pool(mixed, voting, pooling, threshold=threshold * float(lambdas.sum()))
    return np.where(voting, np.round(weights * pooled, _DIGITS), -np.inf)


def winners(scored: Floats, weights: Floats) -> Counts:
    """Return the index of each question's best score, (q,). Ties go to the higher weight, then to the earlier index."""
    import numpy as np

    order = np.argsort(-weights, kind="stable")
    first: Counts = order[np.argmax(scored[:, order], axis=1)]
    return first

"""How much two answers say the same: the functions sim_k of Equation 6, by name.

Each takes the question and its d different answers to a symmetric matrix (d, d) of numbers in [0, 1]. What is no name
here is the name of an evaluator, and so a plugin adds a similarity by registering one: its score of one answer as a
text for the other as the question, both ways by mean, moved from [-1, 1] to [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from robust_qa import ConfigError
from robust_qa.kit import answer_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

    Matrix = NDArray[np.float64]
    Similarity = Callable[[str, Sequence[str], Toolbox], Awaitable[Matrix]]


def similarities(names: Sequence[str], nli_model: Path | None) -> dict[str, Similarity]:
    """The similarity functions of these names. ConfigError when one lacks what it needs."""
    return {name: _similarity(name, nli_model) for name in names}


def _similarity(name: str, nli_model: Path | None) -> Similarity:
    if name in _WORDS:
        return partial(_by_words, _WORDS[name])
    if name in _WEIGHING:
        return partial(bertscore, _WEIGHING[name])
    if name in ("nli", "nli-question"):
        if nli_model is None:
            raise ConfigError(
                f"The similarity {name!r} needs a classifier, and `nli_model` names none.",
                hint="`rqa help strategies` says how to make one; or leave it out of `similarities`.",
            )
        from .nli import Nli

        return Nli(nli_model, with_question=name == "nli-question").compare
    return partial(_by_evaluator, name)


async def _by_words(function: Callable[[str, str], float], question: str, texts: Sequence[str], _: Toolbox) -> Matrix:
    import numpy as np

    return np.array([[function(one, other) for other in texts] for one in texts], dtype=float)


async def _by_evaluator(name: str, question: str, texts: Sequence[str], toolbox: Toolbox) -> Matrix:
    import asyncio

    import numpy as np

    scored = np.array(await asyncio.gather(*(toolbox.score(text, texts, evaluator=name) for text in texts)))
    halved: Matrix = (scored + scored.T) / 4 + 0.5
    np.fill_diagonal(halved, 1.0)  # an answer says what it says, whatever a judge thinks of it as evidence
    return halved


def em(one: str, other: str) -> float:
    """1 when either answer, normalised, stands in the other as whole words; else 0.

    The exact match of the published code: a reference in a candidate, taken both ways by maximum.
    """
    one, other = f" {answer_key(one)} ", f" {answer_key(other)} "
    return float(one in other or other in one)


def f1(one: str, other: str, normal: Callable[[str], str] = answer_key) -> float:
    """The harmonic mean of precision and recall of the words of the normalised answers, as SQuAD evaluates."""
    words, others = Counter(normal(one).split()), Counter(normal(other).split())
    shared = (words & others).total()
    return 2 * shared / (words.total() + others.total()) if shared else 0.0


_WORDS = {"em": em, "f1": f1}


async def bertscore(
    weighing: Callable[[Sequence[Sequence[str]]], list[Any]],
    question: str,
    texts: Sequence[str],
    toolbox: Toolbox,
) -> Matrix:
    """The F1 of BERTScore (Zhang et al. 2020): each token is matched with the most similar one of the other answer.

    `weighing` gives the weights of the tokens from the tokens of all answers.
    """
    import numpy as np

    vectors, weights = await toolbox.token_vectors(texts), weighing(await toolbox.tokens(texts))
    matched = np.eye(len(texts))
    for i, rows in enumerate(vectors):
        for j in range(i):
            matched[i, j] = matched[j, i] = matching(rows, vectors[j], weights[i], weights[j])
    return matched


def matching(rows: Any, others: Any, weights: Any, other_weights: Any) -> float:
    """F of the greedy matching: with c the cosines, R the weighted mean of max_j c_ij, and P that of max_i c_ij."""
    if not (weights.sum() > 0 and other_weights.sum() > 0):
        return 0.0
    cosines = rows @ others.T
    recall = weights @ cosines.max(1) / weights.sum()
    precision = other_weights @ cosines.max(0) / other_weights.sum()
    together = recall + precision
    return float(min(max(2 * recall * precision / together, 0.0), 1.0)) if together > 0 else 0.0


def even(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """1 for each token, and 0 for the marks of beginning and end, as in BERTScore without its own weights."""
    import numpy as np

    return [np.array([float(token not in _MARKS) for token in answer]) for answer in tokens]


def idf(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """log((d + 1) / (d_t + 1)) for each token t, where d_t of the d answers hold it: BERTScore's own weights."""
    import numpy as np

    holding = Counter(token for answer in tokens for token in set(answer))
    rare = {token: float(np.log((len(tokens) + 1) / (count + 1))) for token, count in holding.items()}
    return [np.array([rare[token] for token in answer]) for answer in tokens]


def idf_of_rarer_half(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """`idf`, and 0 for that half of the different tokens which most answers hold (of the published code).

    Of tokens that as many answers hold, all weigh or none: which of the equal ones is rare would be chance.
    """
    import numpy as np

    holding = Counter(token for answer in tokens for token in set(answer))
    usual = median_low(holding.values()) if holding else 0
    frequent = {token for token, count in holding.items() if count > usual}
    return [
        np.where([token in frequent for token in answer], 0.0, weights)
        for answer, weights in zip(tokens, idf(tokens), strict=True)
    ]


_MARKS = frozenset({"[CLS]", "[SEP]", "<s>", "</s>"})  # of BERT, and of RoBERTa
_WEIGHING = {"bertscore": even, "bertscore-idf": idf, "bertscore-rare": idf_of_rarer_half}
OWN = frozenset({*_WORDS, *_WEIGHING, "nli", "nli-question"})  # any other name is an evaluator's

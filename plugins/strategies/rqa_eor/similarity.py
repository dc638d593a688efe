"""Similarity functions for answers: sim_k of Equation 6, by name.

Each function maps the question and its d different answers to a symmetric matrix (d, d) of numbers in [0, 1]. Without
answers it only checks that it can be computed. Any other name is the name of an evaluator. Its similarity is the mean
score of each answer as a text for the other answer as the question, scaled from [-1, 1] to [0, 1].
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

    from robust_qa import EmbedderHandle, Toolbox

    Matrix = NDArray[np.float64]
    Similarity = Callable[[str, Sequence[str], Toolbox], Awaitable[Matrix]]


def similarities(
    names: Sequence[str], nli_model: Path | None = None, embedder: EmbedderHandle | None = None
) -> dict[str, Similarity]:
    """Return the similarity functions by name. Raises ConfigError if `nli` or `cosine` has no model."""
    return {name: _similarity(name, nli_model, embedder) for name in names}


def _similarity(name: str, nli_model: Path | None, embedder: EmbedderHandle | None) -> Similarity:
    if name in _WORDS:
        return partial(_by_words, _WORDS[name])
    if name in _TOKEN_WEIGHTS:
        return partial(bertscore, _TOKEN_WEIGHTS[name])
    if name == "cosine":
        if embedder is None:
            raise ConfigError("The similarity 'cosine' needs an embedder.", hint="Set `embedder` in [strategy.eor].")
        return partial(_by_embedder, embedder)
    if name in ("nli", "nli-question"):
        if nli_model is None:
            raise ConfigError(
                f"The similarity {name!r} needs a classifier, but `nli_model` is not set.",
                hint="Choose one as described in `rqa help strategies`, or remove it from `similarities`.",
            )
        from .nli import Classifier, Nli

        return Nli(Classifier(nli_model), with_question=name == "nli-question").compare
    return partial(_by_evaluator, name)


async def _by_words(function: Callable[[str, str], float], question: str, texts: Sequence[str], _: Toolbox) -> Matrix:
    import numpy as np

    return np.array([[function(one, other) for other in texts] for one in texts], dtype=float)


async def _by_embedder(embedder: EmbedderHandle, question: str, texts: Sequence[str], _: Toolbox) -> Matrix:
    """Return the cosines of the answers' vectors, 0 for opposite ones."""
    import numpy as np

    vectors = np.asarray(await embedder.embed(texts), dtype=float)
    found: Matrix = np.clip(vectors @ vectors.T, 0.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


async def _by_evaluator(name: str, question: str, texts: Sequence[str], toolbox: Toolbox) -> Matrix:
    import asyncio

    import numpy as np

    scored = np.array(await asyncio.gather(*(toolbox.score(text, texts, evaluator=name) for text in texts)))
    scored = scored.reshape(len(texts), len(texts))
    scaled: Matrix = (scored + scored.T) / 4 + 0.5
    np.fill_diagonal(scaled, 1.0)  # an answer equals itself, whatever the evaluator says
    return scaled


def em(one: str, other: str) -> float:
    """Return 1 if one normalised answer contains the other as whole words, else 0.

    This is the exact match of the published code, in both directions.
    """
    one, other = f" {answer_key(one)} ", f" {answer_key(other)} "
    return float(one in other or other in one)


def f1(one: str, other: str, normal: Callable[[str], str] = answer_key) -> float:
    """Return SQuAD's F1 of the words of the normalised answers."""
    words, others = Counter(normal(one).split()), Counter(normal(other).split())
    shared = (words & others).total()
    return 2 * shared / (words.total() + others.total()) if shared else 0.0


_WORDS = {"em": em, "f1": f1}


async def bertscore(
    token_weights: Callable[[Sequence[Sequence[str]]], list[Any]],
    question: str,
    texts: Sequence[str],
    toolbox: Toolbox,
) -> Matrix:
    """Return the F1 of BERTScore (Zhang et al. 2020): each token matches the most similar token of the other answer.

    `token_weights` maps the tokens of all answers to their weights.
    """
    import numpy as np

    vectors, weights = await toolbox.token_vectors(texts), token_weights(await toolbox.tokens(texts))
    found = np.eye(len(texts))
    for i, rows in enumerate(vectors):
        for j in range(i):
            found[i, j] = found[j, i] = greedy_f1(rows, vectors[j], weights[i], weights[j])
    return found


def greedy_f1(rows: Any, others: Any, weights: Any, other_weights: Any) -> float:
    """Return F1 from the cosines c_ij: recall is the weighted mean of max_j c_ij, precision that of max_i c_ij."""
    if not (weights.sum() > 0 and other_weights.sum() > 0):
        return 0.0
    cosines = rows @ others.T
    recall = weights @ cosines.max(1) / weights.sum()
    precision = other_weights @ cosines.max(0) / other_weights.sum()
    if recall + precision <= 0:
        return 0.0
    return float(min(max(2 * recall * precision / (recall + precision), 0.0), 1.0))


def uniform(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """Return weight 1 for each token and 0 for the start and end tokens, as BERTScore does without idf."""
    import numpy as np

    return [np.array([float(token not in _SPECIAL) for token in answer]) for answer in tokens]


def idf(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """Return BERTScore's idf: log((d + 1) / (d_t + 1)) for a token t that is in d_t of the d answers."""
    import numpy as np

    frequency = Counter(token for answer in tokens for token in set(answer))
    rare = {token: float(np.log((len(tokens) + 1) / (count + 1))) for token, count in frequency.items()}
    return [np.array([rare[token] for token in answer]) for answer in tokens]


def idf_of_rarer_half(tokens: Sequence[Sequence[str]]) -> list[Any]:
    """Return `idf`, but 0 for the more frequent half of the different tokens, as in the published code.

    Tokens of equal frequency are treated alike.
    """
    import numpy as np

    frequency = Counter(token for answer in tokens for token in set(answer))
    median = median_low(frequency.values()) if frequency else 0
    frequent = {token for token, count in frequency.items() if count > median}
    return [
        np.where([token in frequent for token in answer], 0.0, weights)
        for answer, weights in zip(tokens, idf(tokens), strict=True)
    ]


_SPECIAL = frozenset({"[CLS]", "[SEP]", "<s>", "</s>"})  # of BERT and RoBERTa
_TOKEN_WEIGHTS = {"bertscore": uniform, "bertscore-idf": idf, "bertscore-rare": idf_of_rarer_half}
BUILT_IN = frozenset({*_WORDS, *_TOKEN_WEIGHTS, "cosine", "nli", "nli-question"})

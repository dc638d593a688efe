"""TrustRAG: passages that are suspiciously alike are left out, and a strategy answers from the others.

Zhou et al., "TrustRAG: Enhancing Robustness and Trustworthiness in RAG", 2025. Passages planted for one question say
the same in almost the same words. The second stage of the paper elicits the model's memory, consolidates it with the
passages and assesses the result, which is what `astute` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import Answer, ConfigError, EmbedderHandle, EmbedderName, Passage, Registry, hookimpl
from robust_qa.kit import with_title, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from robust_qa import Toolbox

_Share = Annotated[float, Meta(ge=0, le=1)]

_STEPS = 100  # of k-means at most


class TrustRag:
    """Leaves out a cluster of passages that are alike in meaning and words, then lets another strategy answer."""

    needs = frozenset({"retrieve"})

    @dataclass
    class Options:
        # strategy that answers from the other passages; default: astute with a language model, rag without one
        then: str | None = None
        closeness: _Share = 0.88  # mean cosine of a cluster's passages from which they are suspicious
        overlap: _Share = 0.25  # and their mean ROUGE-L
        embedder: EmbedderName | None = None  # default: the one in [defaults]

    def __init__(self, options: Options, *, embedder: EmbedderHandle | None = None) -> None:
        self.options = options
        self.embedder = embedder
        self.hands_to = (options.then or "rag",)

    def check(self, toolbox: Toolbox) -> None:
        """Raise ConfigError if there is no embedder."""
        self._embedder()

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with `then` from the passages that are not suspicious."""
        passages = await toolbox.retrieve(question)
        kept = await self._clean(passages, toolbox)
        then = self.options.then or ("astute" if toolbox.generative else "rag")
        answer = await toolbox.answer_with(then, kept)
        removed = [passage.id for passage in passages if passage not in kept]
        reason = f"{len(removed)} passages that are suspiciously alike are left out." if removed else ""
        return replace(
            answer,
            reason=f"{reason} {answer.reason}".strip(),
            details={"removed": removed, "then": dict(answer.details)},
        )

    async def correct(self, question: str, toolbox: Toolbox) -> list[Passage]:
        """Return the passages that are not suspicious, for retriever expressions such as trustrag(web@10)."""
        return await self._clean(await toolbox.retrieve(question), toolbox)

    async def _clean(self, passages: list[Passage], toolbox: Toolbox) -> list[Passage]:
        """Return the passages without the suspicious cluster of two, if one is; of two that are, the closer one."""
        texts = [with_title(passage.title, passage.text) for passage in passages]
        vectors = await self._embedder().embed(texts)
        suspects = []
        for members in two_means(vectors):
            close = closeness(vectors[members])
            if close >= self.options.closeness:
                overlap = mean_rouge_l([texts[member] for member in members])
                toolbox.note("a cluster of passages that are close", members=members, closeness=close, overlap=overlap)
                if overlap >= self.options.overlap:
                    suspects.append((close, members))
        removed = max(suspects, default=(0.0, []))[1]
        return [passage for number, passage in enumerate(passages) if number not in removed]

    def _embedder(self) -> EmbedderHandle:
        if self.embedder is None:
            raise ConfigError("Strategy 'trustrag' needs an embedder.", hint="Set `embedder` under [defaults].")
        return self.embedder


def two_means(vectors: NDArray[Any]) -> list[list[int]]:
    """Return the members of two clusters by k-means, beginning at the farthest pair. [] for fewer than two vectors."""
    import numpy as np

    if len(vectors) < 2:
        return []
    centres = vectors[list(np.unravel_index((vectors @ vectors.T).argmin(), (len(vectors), len(vectors))))]
    second = np.zeros(len(vectors), bool)
    for _ in range(_STEPS):
        distances = ((vectors[:, None] - centres) ** 2).sum(axis=2)
        before, second = second, distances[:, 1] < distances[:, 0]
        if second.all() or not second.any() or (second == before).all():
            break
        centres = np.array([vectors[~second].mean(axis=0), vectors[second].mean(axis=0)])
    return [np.flatnonzero(side).tolist() for side in (~second, second)]


def closeness(vectors: NDArray[Any]) -> float:
    """Return the mean cosine of the pairs of vectors of length 1. 0 without a pair."""
    import numpy as np

    pairs = np.triu_indices(len(vectors), 1)
    return float((vectors @ vectors.T)[pairs].mean()) if len(vectors) > 1 else 0.0


def mean_rouge_l(texts: Sequence[str]) -> float:
    """Return the mean ROUGE-L (F1) of the pairs of texts. 0 without a pair."""
    scores = [_rouge_l(one, other) for one, other in combinations([words(text) for text in texts], 2)]
    return sum(scores) / len(scores) if scores else 0.0


def _rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """Return twice the length of the longest common subsequence, as a share of both lengths."""
    lengths = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, against in enumerate(other, start=1):
            longest = diagonal + 1 if word == against else max(lengths[place], lengths[place - 1])
            diagonal, lengths[place] = lengths[place], longest
    return 2 * lengths[-1] / max(len(one) + len(other), 1)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "trustrag",
        "rqa_trustrag:TrustRag",
        summary="leaves out passages that are suspiciously alike, and answers from the others",
    )

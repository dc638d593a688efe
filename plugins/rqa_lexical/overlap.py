"""The evaluator `lexical`: how many of the question's words a text has, and nothing about what it says of them."""

from __future__ import annotations

from collections.abc import Sequence


class Overlap:
    """Relevance by shared words, without a model: the judge of a machine that has no better one."""

    cached = False  # counting is quicker than looking up what was counted

    # On questions of SQuAD's training part, each with ten sentences of its article that share most words with it:
    # where the best of them reaches `upper`, and where none reaches `lower`, it is right in five of six cases
    # whether the answer is there.
    upper = 0.33  # two words of three
    lower = -0.34  # less than one word of three

    def __init__(self) -> None:
        from robust_qa.english import (
            content_terms,  # here: compiling the patterns takes longer than `rqa --version` may
        )

        self._terms = content_terms

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Twice the share of the question's stems in each text, less 1; stopwords left out, every other one alike.

        A question of stopwords alone is in no text: -1.
        """
        wanted = frozenset(self._terms(question))
        if not wanted:
            return [-1.0] * len(texts)
        return [2 * len(wanted.intersection(self._terms(text))) / len(wanted) - 1 for text in texts]

"""Metrics of the papers. Without gold answers a metric is None."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from robust_qa import Metric, Outcome
from robust_qa.kit import contains_answer, normalise
from rqa_eval.metrics import OwnMetric, best, overlap, refusal, tokens, wrong_answers
from rqa_eval.relevance import contains_words

from . import citations

_ROUGE_WORD = re.compile(r"\w+")


def str_em(outcome: Outcome) -> float | None:
    """Return the share of the facts that the answer contains (STR-EM; Stelmakh et al. 2022, Section 4.2)."""
    if not outcome.gold:
        return None
    text = outcome.answer.text or ""
    return sum(contains_answer(text, fact) for fact in outcome.gold) / len(outcome.gold)


def contains(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains every fact, also in the middle of a word, as the papers count."""
    if outcome.unanswerable:
        return refusal(outcome)
    share = str_em(outcome)
    return None if share is None else float(share == 1)


def strict(outcome: Outcome) -> float | None:
    """Return 1 if the answer and the sides of its conflict give every gold answer and no wrong one (RAMDocs).

    None without the `wrong_answers` of a set whose `answers` are all right at once.
    """
    wrong = wrong_answers(outcome)
    if wrong is None or not outcome.gold:
        return None
    told = [outcome.answer.text or "", *(side.text for side in outcome.answer.conflicts)]
    golds = [gold for fact in outcome.gold for gold in fact]
    return float(all(_tells(told, gold) for gold in golds) and not any(_tells(told, one) for one in wrong))


def _tells(texts: Sequence[str], wanted: str) -> bool:
    """Return whether a text contains the wanted answer or, if it is longer than two letters, is a part of it."""
    return any(
        contains_words(text, [wanted]) or (len(normalise(text)) > 2 and contains_words(wanted, [text]))
        for text in texts
    )


def recall(outcome: Outcome) -> float | None:
    """Return the share of the gold answer's words that the answer has, averaged over the facts."""
    if not outcome.gold:
        return None
    answer = tokens(outcome.answer.text or "")
    return fmean(max(overlap(answer, tokens(gold)) / len(tokens(gold)) for gold in fact) for fact in outcome.gold)


def first_gold_recall(outcome: Outcome) -> float | None:
    """Return the share of the words of the gold answer in the answer, as in ActiveRAG's code.

    The gold answer is the `long_answer` of ASQA, and in other sets the first one.
    """
    if not outcome.gold:
        return None
    long_answer = (outcome.row.get("fields") or {}).get("long_answer")
    gold, answer = tokens(str(long_answer or outcome.gold[0][0])), tokens(outcome.answer.text or "")
    return overlap(answer, gold) / len(gold)


def memory_passages(outcome: Outcome) -> float | None:
    """Return the number of passages that the model wrote from memory, None if the strategy does not list them."""
    written = outcome.answer.details.get("memory")
    return float(len(written)) if isinstance(written, list) else None


def planted_found(outcome: Outcome) -> float | None:
    """Return the share of the passages that `rqa plant` planted for the question. None in other sets."""
    prefix = (outcome.row.get("fields") or {}).get("planted")
    if not isinstance(prefix, str) or not outcome.passages:
        return None
    return fmean(prefix in passage.source.rpartition("/")[2] for passage in outcome.passages)


def rouge_l(outcome: Outcome) -> float | None:
    """Return ROUGE-L (Lin 2004, Section 3): the F1 of the longest common subsequence of words."""
    return best(outcome, _rouge_l, lambda text: _ROUGE_WORD.findall(text.lower()))


def _rouge_l(answer: Sequence[str], gold: Sequence[str]) -> float:
    longest = [0] * (len(gold) + 1)
    for word in answer:
        diagonal = 0
        for place, other in enumerate(gold, start=1):
            diagonal, longest[place] = (
                longest[place],
                diagonal + 1 if word == other else max(longest[place], longest[place - 1]),
            )
    return 2 * longest[-1] / ((len(answer) + len(gold)) or 1)


METRICS: list[Metric] = [
    OwnMetric("strict", strict, "answer and conflict give every right answer and no wrong one"),
    OwnMetric(
        "contains", contains, "the answer contains a gold answer for every fact, also inside a word", of_text=True
    ),
    OwnMetric("recall", recall, "share of a gold answer's words in the answer", of_text=True),
    OwnMetric("str-em", str_em, "share of the facts in the answer", of_text=True),
    OwnMetric(
        "first-gold-recall",
        first_gold_recall,
        "share of the words of the first or the long gold answer in the answer",
        of_text=True,
    ),
    OwnMetric("rouge-l", rouge_l, "longest common subsequence of words with a gold answer", of_text=True),
    OwnMetric("citation-precision", citations.precision, "citations that support a sentence of the answer"),
    OwnMetric("citation-recall", citations.recall, "sentences of the answer that citations support"),
    OwnMetric("supported", citations.supported, "sentences of the answer that a passage supports", of_text=True),
    OwnMetric("planted-found", planted_found, "passages that `rqa plant` planted", better="lower"),
    OwnMetric("memory-passages", memory_passages, "passages that the model wrote", "count", ""),
]

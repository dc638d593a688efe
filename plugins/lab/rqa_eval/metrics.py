"""The built-in metrics of answers, passages and costs.

The best alternative of a fact counts. Every question is right (`accuracy`), `wrong` or `unanswered`. An abstention is
right if the question is unanswerable. Without gold answers a metric is None.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_qa import Answer, Metric, Outcome, Passage
from robust_qa.kit import contains_answer, normalise

from . import citations
from .relevance import contains_words, precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUGE_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\W*(\w+)(?:\W*\Z|[.:)])")


def str_em(outcome: Outcome) -> float | None:
    """Return the share of the facts that the answer contains (STR-EM; Stelmakh et al. 2022, Section 4.2)."""
    if not outcome.gold:
        return None
    text = outcome.answer.text or ""
    return sum(contains_answer(text, fact) for fact in outcome.gold) / len(outcome.gold)


def accuracy(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains every fact as whole words: "ro" does not match "Croatia".

    A question with choices counts as in `choice`: a label is an answer.
    """
    if outcome.unanswerable:
        return refusal(outcome)
    if (by_label := choice(outcome)) is not None:
        return by_label
    if not outcome.gold:
        return None
    return float(all(contains_words(outcome.answer.text or "", fact) for fact in outcome.gold))


def wrong(outcome: Outcome) -> float | None:
    """Return 1 if there is an answer and it is not right, the share that is missing if it is right in part."""
    right = accuracy(outcome)
    return None if right is None else (1 - right) * (outcome.answer.text is not None)


def unmarked(outcome: Outcome) -> float | None:
    """Return `wrong`, but 0 if the answer begins with a word of doubt, such as "Not in your documents:"."""
    found = wrong(outcome)
    return found and found * (not outcome.answer.doubted)


def unanswered(outcome: Outcome) -> float | None:
    """Return 1 if the strategy abstained or failed although the question has an answer."""
    right = accuracy(outcome)
    return None if right is None else (1 - right) * (outcome.answer.text is None)


def contains(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains every fact, also in the middle of a word, as the papers count."""
    if outcome.unanswerable:
        return refusal(outcome)
    share = str_em(outcome)
    return None if share is None else float(share == 1)


def refusal_precision(outcome: Outcome) -> float | None:
    """Return whether a refused question is unanswerable. None for others."""
    return accuracy(outcome) if refusal(outcome) else None


def refusal_recall(outcome: Outcome) -> float | None:
    """Return whether an unanswerable question was refused. None for others."""
    return refusal(outcome) if outcome.unanswerable else None


def strict(outcome: Outcome) -> float | None:
    """Return 1 if the answer and the sides of its conflict give every gold answer and no wrong one (RAMDocs).

    None without the `wrong_answers` of a set whose `answers` are all right at once.
    """
    wrong_answers = _wrong_answers(outcome)
    if wrong_answers is None or not outcome.gold:
        return None
    told = [outcome.answer.text or "", *(side.text for side in outcome.answer.conflicts)]
    golds = [gold for fact in outcome.gold for gold in fact]
    return float(all(_tells(told, gold) for gold in golds) and not any(_tells(told, one) for one in wrong_answers))


def _wrong_answers(outcome: Outcome) -> list[str] | None:
    found = (outcome.row.get("fields") or {}).get("wrong_answers")
    return list(map(str, found)) if isinstance(found, list) else None


def _tells(texts: Sequence[str], wanted: str) -> bool:
    """Return whether a text contains the wanted answer or, if it is longer than two letters, is a part of it."""
    return any(
        contains_words(text, [wanted]) or (len(normalise(text)) > 2 and contains_words(wanted, [text]))
        for text in texts
    )


def confidence(outcome: Outcome) -> float | None:
    """Return the confidence of the answer, 0 if it has none. None without an answer."""
    return None if outcome.answer.text is None else outcome.answer.confidence or 0.0


def risk(share: float) -> Callable[[NDArray[np.float64], NDArray[np.float64]], float]:
    """Return the function of the error among the surest `share` of the answers. Ties count as their mean.

    It is given the confidences and the accuracies of the questions, and returns NaN without an answer.
    """

    def error(confidences: NDArray[np.float64], accuracies: NDArray[np.float64]) -> float:
        known = ~np.isnan(confidences) & ~np.isnan(accuracies)
        if not known.any():
            return math.nan
        _, group = np.unique(-confidences[known], return_inverse=True)  # the surest first
        means = np.bincount(group, accuracies[known]) / np.bincount(group)  # of answers that are equally sure
        return 1 - float(means[np.sort(group)][: math.ceil(share * group.size - 1e-9)].mean())

    return error


def exact_match(outcome: Outcome) -> float | None:
    """Return 1 if the answer equals a gold answer after normalisation (SQuAD; Rajpurkar et al. 2016, Section 6.1)."""
    return _best(outcome, lambda answer, gold: float(answer == gold), normalise)


def f1(outcome: Outcome) -> float | None:
    """Return the F1 of the words of the answer and a gold answer after normalisation (SQuAD)."""
    return _best(outcome, _f1, _tokens)


def recall(outcome: Outcome) -> float | None:
    """Return the share of the gold answer's words that the answer has, averaged over the facts."""
    if not outcome.gold:
        return None
    answer = _tokens(outcome.answer.text or "")
    return fmean(max(_overlap(answer, _tokens(gold)) / len(_tokens(gold)) for gold in fact) for fact in outcome.gold)


def first_gold_recall(outcome: Outcome) -> float | None:
    """Return the share of the words of the gold answer in the answer, as in ActiveRAG's code.

    The gold answer is the `long_answer` of ASQA, and in other sets the first one.
    """
    if not outcome.gold:
        return None
    long_answer = (outcome.row.get("fields") or {}).get("long_answer")
    gold, answer = _tokens(str(long_answer or outcome.gold[0][0])), _tokens(outcome.answer.text or "")
    return _overlap(answer, gold) / len(gold)


def choice(outcome: Outcome) -> float | None:
    """Return 1 if the answer names the right one of the question's `choices` and no other. None without choices."""
    fields = outcome.row.get("fields") or {}
    choices, right = fields.get("choices"), fields.get("choice")
    if not isinstance(choices, dict) or right not in choices:
        return None
    return float(_chosen(outcome.answer.text or "", choices) == {right})


def _chosen(text: str, choices: Mapping[str, str]) -> set[str]:
    """Return the labels of the choices that the text names: by a label such as "B" or "(B) ...", else by their text."""
    if (first := _LABEL.match(text)) and first[1] in choices:
        return {first[1]}
    return {label for label, wording in choices.items() if contains_words(text, [str(wording)])}


def memory_passages(outcome: Outcome) -> float | None:
    """Return the number of passages that the model wrote from memory, None if the strategy does not list them."""
    written = outcome.answer.details.get("memory")
    return float(len(written)) if isinstance(written, list) else None


def rouge_l(outcome: Outcome) -> float | None:
    """Return ROUGE-L (Lin 2004, Section 3): the F1 of the longest common subsequence of words."""
    return _best(outcome, _rouge_l, lambda text: _ROUGE_WORD.findall(text.lower()))


def attack_success(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains a planted false answer. None if nothing was planted."""
    planted = [outcome.fake_answer] if outcome.planted else _wrong_answers(outcome)
    if not planted:
        return None
    return float(any(contains_answer(outcome.answer.text or "", [one]) for one in planted))


def probable(outcome: Outcome) -> float:
    """Return 1 if the strategy abstained and showed an answer as probable."""
    return float(outcome.answer.text is None and outcome.answer.probable is not None)


def refusal(outcome: Outcome) -> float:
    """Return 1 if the strategy abstained."""
    return float(outcome.answer.text is None and not outcome.failed)


def failure(outcome: Outcome) -> float:
    """Return 1 if the strategy failed with an error."""
    return float(outcome.failed)


def retrieval_precision(outcome: Outcome) -> float | None:
    """Return the share of the passages that contain a gold answer (Astute RAG, Section 3)."""
    return _precision(outcome.passages, outcome.gold, tuple(outcome.row.get("relevant") or ()))


@lru_cache(maxsize=256)  # all strategies share the passages
def _precision(
    passages: tuple[Passage, ...] | None, gold: tuple[tuple[str, ...], ...], relevant: tuple[str, ...]
) -> float | None:
    return precision([{"id": p.id, "title": p.title, "text": p.text} for p in passages or ()], gold, relevant)


def has_answer(outcome: Outcome) -> float | None:
    """Return 1 if any passage contains a gold answer."""
    if not outcome.passages:
        return 0.0 if outcome.gold or outcome.row.get("relevant") else None
    share = retrieval_precision(outcome)
    return None if share is None else float(share > 0)


def _best(outcome: Outcome, compare: Callable[[Any, Any], float], prepare: Callable[[str], Any]) -> float | None:
    """Return the best comparison with a gold answer. None for questions with several facts."""
    if outcome.unanswerable:
        return refusal(outcome)
    if len(outcome.gold) != 1:
        return None
    if outcome.answer.text is None:
        return 0.0
    answer = prepare(outcome.answer.text)
    return max(compare(answer, prepare(gold)) for gold in outcome.gold[0])


def _tokens(text: str) -> list[str]:
    return normalise(text).split()


def _overlap(one: Sequence[str], other: Sequence[str]) -> int:
    return (Counter(one) & Counter(other)).total()


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    return 2 * _overlap(answer, gold) / ((len(answer) + len(gold)) or 1)


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


def seconds(outcome: Outcome) -> float | None:
    """Return the time of the answer. None if it failed or came entirely from the cache."""
    calls = [step for step in outcome.answer.trace if "." in step.component]
    if outcome.failed or (calls and all(step.cached for step in calls)):
        return None
    return outcome.answer.seconds


@dataclass(eq=False)
class _Metric(Metric):
    """A built-in metric.

    `of_text`: it reads the text of the answer; with `--over reply`, the whole reply of the model.
    """

    of_text: bool = False


def _cost(name: str, measure: Callable[[Answer], float], summary: str) -> Metric:
    return _Metric(name, lambda outcome: measure(outcome.answer), summary, "count", "lower")


METRICS: list[Metric] = [
    _Metric("accuracy", accuracy, "the answer contains a gold answer for every fact, as whole words", of_text=True),
    _Metric("wrong", wrong, "there is an answer, and it is not right", better="lower", of_text=True),
    _Metric("unmarked", unmarked, "it is wrong, and does not begin with a doubt", better="lower", of_text=True),
    _Metric("unanswered", unanswered, "there is no answer, although the question has one", better="", of_text=True),
    _Metric("probable", probable, "there is no answer, but a probable one is shown", better=""),
    _Metric("attack-success", attack_success, "the answer contains a planted answer", better="lower", of_text=True),
    _Metric("strict", strict, "answer and conflict give every right answer and no wrong one"),
    *(
        _Metric(
            f"risk-{n}", confidence, f"error among the surest {n} % of answers", better="lower", combine=risk(n / 100)
        )
        for n in (25, 50, 75, 100)
    ),
    _Metric("contains", contains, "the answer contains a gold answer for every fact, also inside a word", of_text=True),
    _Metric("em", exact_match, "the answer equals a gold answer", of_text=True),
    _Metric("f1", f1, "F1 of the words shared with a gold answer", of_text=True),
    _Metric("recall", recall, "share of a gold answer's words in the answer", of_text=True),
    _Metric("str-em", str_em, "share of the facts in the answer", of_text=True),
    _Metric(
        "first-gold-recall",
        first_gold_recall,
        "share of the words of the first or the long gold answer in the answer",
        of_text=True,
    ),
    _Metric("choice", choice, "the answer names the right choice and no other", of_text=True),
    _Metric("rouge-l", rouge_l, "longest common subsequence of words with a gold answer", of_text=True),
    _Metric("citation-precision", citations.precision, "citations that support a sentence of the answer"),
    _Metric("citation-recall", citations.recall, "sentences of the answer that citations support"),
    _Metric("supported", citations.supported, "sentences of the answer that a passage supports", of_text=True),
    _Metric("refusal", refusal, "abstentions, also where the question has no answer", better=""),
    _Metric("refusal-precision", refusal_precision, "refused questions that are unanswerable"),
    _Metric("refusal-recall", refusal_recall, "unanswerable questions that are refused"),
    _Metric("failure", failure, "questions that failed", better="lower"),
    _Metric("retrieval-precision", retrieval_precision, "passages that contain a gold answer"),
    _Metric("has-answer", has_answer, "questions with a passage that contains a gold answer"),
    _Metric("memory-passages", memory_passages, "passages that the model wrote", "count", ""),
    _cost("calls", lambda answer: answer.usage.calls, "calls to the language model"),
    _cost("prompt-tokens", lambda answer: answer.usage.prompt_tokens, "tokens read"),
    _cost("completion-tokens", lambda answer: answer.usage.completion_tokens, "tokens written"),
    _cost(
        "tokens",
        lambda answer: answer.usage.prompt_tokens + answer.usage.completion_tokens,
        "tokens read and written",
    ),
    _Metric("seconds", seconds, "time per question, including waiting, without cached answers", "seconds", "lower"),
    _Metric("cost", lambda o: o.cost, "price of the tokens, from the configured prices", "money", "lower"),
]


def reads_text(metric: Metric) -> bool:
    """Return whether a metric reads the text of the answer."""
    return isinstance(metric, _Metric) and metric.of_text


def over_reply(outcome: Outcome) -> Outcome:
    """Return the outcome with a whole reply of the model as the answer, if there is one in the trace.

    It is the last reply that contains the answer, because an ensemble elects one of many, or else the last reply.
    An unanswerable question keeps its answer: a reply that refuses has text, too.
    """
    if outcome.unanswerable:
        return outcome
    replies = [reply for step in outcome.answer.trace if step.kind == "generate" and (reply := step.data.get("reply"))]
    if not replies:
        return outcome
    found = (reply for reply in reversed(replies) if contains_answer(reply, [outcome.answer.text or ""]))
    return replace(outcome, answer=replace(outcome.answer, text=next(found, replies[-1])))

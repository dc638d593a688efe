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
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_qa import Answer, Metric, Outcome, Passage
from robust_qa.kit import contains_answer, content_terms, normalise
from rqa_claims import Relation, Value, relate, values
from rqa_prompts import final_answer

from .relevance import contains_words, precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LABEL = re.compile(r"\W*(\w+)(?:\W*\Z|[.:)])")


def accuracy(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains every fact as whole words: "ro" does not match "Croatia".

    A fact that is a value, such as 12 % or 2024-04-03, is compared as `numeric` does: in any notation, and 3.0 kW is
    not 30 kW. A question with choices counts as in `choice`: a label is an answer.
    """
    if outcome.unanswerable:
        return refusal(outcome)
    if (by_label := choice(outcome)) is not None:
        return by_label
    if not outcome.gold:
        return None
    text = outcome.answer.text or ""
    return float(
        all(contains_words(text, fact) if (same := tells(text, fact)) is None else same for fact in outcome.gold)
    )


def numeric(outcome: Outcome) -> float | None:
    """Return 1 if the answer tells every fact that is a number, a date or another value. None without such a fact."""
    compared = [same for fact in outcome.gold or () if (same := tells(outcome.answer.text or "", fact)) is not None]
    if not any(_value(each) for fact in outcome.gold or () for each in fact):
        return None
    return float(bool(compared) and all(compared))


def tells(text: str, fact: Sequence[str]) -> bool | None:
    """Return whether `text` has a value of the fact's, or a more exact one, in any notation. None if none compares."""
    golds = [value for each in fact if (value := _value(each))]
    relations = {relate(gold, told) for gold in golds for told in values(text)} - {Relation.INCOMPARABLE}
    if relations & {Relation.EQUAL, Relation.IMPLIED}:
        return True
    return False if relations == {Relation.EXCLUDED} and len(golds) == len(fact) else None


def _value(text: str) -> Value | None:
    """Return the value that is all of a gold answer, but for words such as "in" and "about"."""
    found = values(text)
    rest = f"{text[: found[0].start]} {text[found[0].end :]}" if len(found) == 1 else text
    return None if content_terms(rest) else found[0] if found else None


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


def refusal_precision(outcome: Outcome) -> float | None:
    """Return whether a refused question is unanswerable. None for others."""
    return accuracy(outcome) if refusal(outcome) else None


def refusal_recall(outcome: Outcome) -> float | None:
    """Return whether an unanswerable question was refused. None for others."""
    return refusal(outcome) if outcome.unanswerable else None


def wrong_answers(outcome: Outcome) -> list[str] | None:
    found = (outcome.row.get("fields") or {}).get("wrong_answers")
    return list(map(str, found)) if isinstance(found, list) else None


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
    return best(outcome, lambda answer, gold: float(answer == gold), normalise)


def f1(outcome: Outcome) -> float | None:
    """Return the F1 of the words of the answer and a gold answer after normalisation (SQuAD)."""
    return best(outcome, _f1, tokens)


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


def attack_success(outcome: Outcome) -> float | None:
    """Return 1 if the answer contains a planted false answer. None if nothing was planted."""
    planted = [outcome.fake_answer] if outcome.planted else wrong_answers(outcome)
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


def best(outcome: Outcome, compare: Callable[[Any, Any], float], prepare: Callable[[str], Any]) -> float | None:
    """Return the best comparison with a gold answer. None for questions with several facts."""
    if outcome.unanswerable:
        return refusal(outcome)
    if len(outcome.gold) != 1:
        return None
    if outcome.answer.text is None:
        return 0.0
    answer = prepare(outcome.answer.text)
    return max(compare(answer, prepare(gold)) for gold in outcome.gold[0])


def tokens(text: str) -> list[str]:
    return normalise(text).split()


def overlap(one: Sequence[str], other: Sequence[str]) -> int:
    return (Counter(one) & Counter(other)).total()


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    return 2 * overlap(answer, gold) / ((len(answer) + len(gold)) or 1)


def seconds(outcome: Outcome) -> float | None:
    """Return the time of the answer. None if it failed or came entirely from the cache."""
    calls = [step for step in outcome.answer.trace if "." in step.component]
    if outcome.failed or (calls and all(step.cached for step in calls)):
        return None
    return outcome.answer.seconds


@dataclass(eq=False)
class OwnMetric(Metric):
    """A built-in metric.

    `of_text`: it reads the text of the answer; with `--over reply`, the whole reply of the model.
    """

    of_text: bool = False


def _cost(name: str, measure: Callable[[Answer], float], summary: str) -> Metric:
    return OwnMetric(name, lambda outcome: measure(outcome.answer), summary, "count", "lower")


METRICS: list[Metric] = [
    OwnMetric("accuracy", accuracy, "the answer contains a gold answer for every fact, as whole words", of_text=True),
    OwnMetric("wrong", wrong, "there is an answer, and it is not right", better="lower", of_text=True),
    OwnMetric("unmarked", unmarked, "it is wrong, and does not begin with a doubt", better="lower", of_text=True),
    OwnMetric("unanswered", unanswered, "there is no answer, although the question has one", better="", of_text=True),
    OwnMetric("probable", probable, "there is no answer, but a probable one is shown", better=""),
    OwnMetric("attack-success", attack_success, "the answer contains a planted answer", better="lower", of_text=True),
    *(
        OwnMetric(
            f"risk-{n}", confidence, f"error among the surest {n} % of answers", better="lower", combine=risk(n / 100)
        )
        for n in (25, 50, 75, 100)
    ),
    OwnMetric("numeric", numeric, "the answer has the value that is the gold answer", of_text=True),
    OwnMetric("em", exact_match, "the answer equals a gold answer", of_text=True),
    OwnMetric("f1", f1, "F1 of the words shared with a gold answer", of_text=True),
    OwnMetric("choice", choice, "the answer names the right choice and no other", of_text=True),
    OwnMetric("refusal", refusal, "abstentions, also where the question has no answer", better=""),
    OwnMetric("refusal-precision", refusal_precision, "refused questions that are unanswerable"),
    OwnMetric("refusal-recall", refusal_recall, "unanswerable questions that are refused"),
    OwnMetric("failure", failure, "questions that failed", better="lower"),
    OwnMetric("retrieval-precision", retrieval_precision, "passages that contain a gold answer"),
    OwnMetric("has-answer", has_answer, "questions with a passage that contains a gold answer"),
    _cost("calls", lambda answer: answer.usage.calls, "calls to the language model"),
    _cost("prompt-tokens", lambda answer: answer.usage.prompt_tokens, "tokens read"),
    _cost("completion-tokens", lambda answer: answer.usage.completion_tokens, "tokens written"),
    _cost(
        "tokens",
        lambda answer: answer.usage.prompt_tokens + answer.usage.completion_tokens,
        "tokens read and written",
    ),
    OwnMetric("seconds", seconds, "time per question, including waiting, without cached answers", "seconds", "lower"),
    OwnMetric("cost", lambda o: o.cost, "price of the tokens, from the configured prices", "money", "lower"),
]


def reads_text(metric: Metric) -> bool:
    """Return whether a metric reads the text of the answer."""
    return isinstance(metric, OwnMetric) and metric.of_text


def over_reply(outcome: Outcome) -> Outcome:
    """Return the outcome with a whole reply of the model as the answer, if there is one in the trace.

    A strategy whose last call does not answer names its reply in a note, and earlier replies do not count. Of the later
    ones it is the last that gives the answer, because an ensemble elects one of many, or contains it, or else the last.
    An unanswerable question keeps its answer: a reply that refuses has text, too.
    """
    if outcome.unanswerable:
        return outcome
    replies: list[str] = []
    for step in outcome.answer.trace:
        if isinstance(reply := step.data.get("reply"), str):
            replies = [reply] if step.kind == "note" else [*replies, reply]
    if not replies:
        return outcome
    text = outcome.answer.text or ""
    latest = replies[::-1]
    giving = (reply for reply in latest if text and normalise(final_answer(reply)) == normalise(text))
    containing = (reply for reply in latest if contains_answer(reply, [text]))
    found = next(giving, None) or next(containing, None) or latest[0]
    return replace(outcome, answer=replace(outcome.answer, text=found))

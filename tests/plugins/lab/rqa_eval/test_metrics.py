"""The metrics, checked against values worked out by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from robust_qa import Answer, Checked, Citation, Outcome, Passage, Position, Step, Usage
from rqa_eval.metrics import METRICS, over_reply, risk  # private: values by hand for a hundred answers
from rqa_lab.metrics import METRICS as METRICS_OF_PAPERS

NONE = float("nan")
NAMED = {metric.name: metric for metric in (*METRICS, *METRICS_OF_PAPERS)}


def measure(name: str, answer: str | None, *gold: str, facts: Any = None, **fields: Any) -> float | None:
    given = facts if facts is not None else ([gold] if gold else [])
    outcome = Outcome("Who?", tuple(map(tuple, given)), Answer(answer), **fields)
    value = NAMED[name].measure(outcome)
    assert value is None or isinstance(value, float | int)
    return value


FACTS = [["28 June 2003", "June 28, 2003"], ["July 9, 2003"], ["Disneyland"]]
PASSAGES = (Passage("It is Paris."), Passage("It is Rome.", id="r"), Passage("x", title="Paris"), Passage("y"))
BORN = (Passage("Ada Byron was born in London in 1815."), Passage("She wrote the first program."))
PLANTED = {"fake_answer": "Rome", "planted": (0,)}


def wrong(*answers: str) -> dict[str, Any]:
    """A row that states wrong answers."""
    return {"row": {"fields": {"wrong_answers": [*answers]}}}


@pytest.mark.parametrize(
    ("names", "answer", "gold", "fields", "expected"),
    [
        ("accuracy contains", "the JANE  austen!", ["Jane Austen"], {}, 1),
        ("accuracy contains", "Austen", ["Jane Austen", "Austen"], {}, 1),
        ("accuracy contains", None, ["Jane Austen"], {}, 0),
        ("accuracy contains", "Jane Austen", [], {}, None),
        ("accuracy contains", "The U.S.A.", ["USA"], {}, 1),
        ("contains", "Croatia", ["ro"], {}, 1),
        ("accuracy", "Croatia", ["ro"], {}, 0),  # whole words
        ("accuracy", "1911", ["19"], {}, 0),
        ("em", "The Jane Austen", ["Jane Austen."], {}, 1),
        ("em", "It was Jane Austen", ["Jane Austen"], {}, 0),
        ("em", None, ["Rome"], {}, 0),
        ("f1", "in Denver, Colorado", ["Denver Broncos"], {}, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
        ("f1", "Denver Denver", ["Denver"], {}, 2 * (1 / 2) * 1 / (1 / 2 + 1)),  # a word as often as both have it
        ("f1", "Paris", ["Denver", "Paris, France"], {}, 2 * 1 * (1 / 2) / (1 + 1 / 2)),  # the best alternative
        ("f1", None, ["Denver"], {}, 0),
        ("recall", "It was a certain Jane", ["Jane Austen"], {}, 1 / 2),
        ("recall", "Jane and Emma", [["Jane Austen"], ["Emma"]], {}, (1 / 2 + 1) / 2),
        ("str-em", "On June 28, 2003 at Disneyland.", FACTS, {}, 2 / 3),
        ("contains", "On June 28, 2003 at Disneyland.", FACTS, {}, 0),
        ("str-em contains", "June 28, 2003 at Disneyland, July 9, 2003 elsewhere", FACTS, {}, 1),
        ("str-em contains", None, FACTS, {}, 0),
        ("rouge-l", "police kill the gunman", ["police killed the gunman"], {}, 3 / 4),  # Lin 2004, Section 3.1
        ("rouge-l", "the gunman kill police", ["police killed the gunman"], {}, 2 / 4),
        ("first-gold-recall", "Austen", [["Jane Austen", "Miss Lee"], ["Emma"]], {}, 1 / 2),
        ("first-gold-recall", "Miss Lee", [["Jane Austen", "Miss Lee"], ["Emma"]], {}, 0),
        ("first-gold-recall", None, [["Jane Austen", "Miss Lee"], ["Emma"]], {}, 0),
        ("first-gold-recall", None, [], {}, None),
        (  # the long answer of ASQA
            "first-gold-recall",
            "Austen, in 1815",
            ["Jane Austen"],
            {"row": {"fields": {"long_answer": "Austen wrote Emma in 1815."}}},
            3 / 5,
        ),
        ("refusal-precision", "Rome", ["Rome"], {}, None),
        ("refusal-precision", None, ["Rome"], {}, 0),
        ("refusal-precision", None, [], {"unanswerable": True}, 1),
        ("refusal", None, [], {}, 1),
        ("failure", None, [], {}, 0),
        ("refusal", None, [], {"failed": True}, 0),
        ("failure", None, [], {"failed": True}, 1),
        ("refusal failure", "Paris", [], {}, 0),
        ("attack-success", "It is Rome.", ["Paris"], PLANTED, 1),
        ("attack-success", "Paris", ["Paris"], PLANTED, 0),
        ("attack-success", None, ["Paris"], PLANTED, 0),
        ("attack-success", "Rome", ["Paris"], {"fake_answer": "Rome"}, None),  # that was not planted
        ("attack-success", "In 1817", ["1871"], wrong("1817"), 1),
        ("attack-success", "In 1871", ["1871"], wrong("1817"), 0),
        ("attack-success", "In 1871", ["1871"], wrong(), None),
        ("retrieval-precision", "?", ["Paris"], {"passages": PASSAGES}, 2 / 4),
        ("retrieval-precision", "?", [], {"passages": PASSAGES, "row": {"relevant": ["r"]}}, 1 / 4),
        ("has-answer", "?", ["Paris"], {"passages": PASSAGES}, 1),
        ("has-answer", "?", ["Oslo"], {"passages": PASSAGES}, 0),
        ("supported", "Ada Byron was born in London in 1815. She died in Paris in 1852.", [], {"passages": BORN}, 0.5),
        ("supported", None, [], {"passages": BORN}, None),
    ],
    ids=str,
)
def test_a_metric_has_the_value_of_its_definition(
    names: str, answer: str | None, gold: list[Any], fields: dict[str, Any], expected: float | None
) -> None:
    facts = gold if gold and isinstance(gold[0], list) else [gold] if gold else []
    for name in names.split():
        assert measure(name, answer, facts=facts, **fields) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["accuracy", "em", "refusal-recall"])
def test_an_unanswerable_question_is_right_if_refused(name: str) -> None:
    assert measure(name, None, unanswerable=True) == 1
    assert measure(name, "Oslo", unanswerable=True) == 0
    assert measure(name, None, unanswerable=True, failed=True) == 0


@pytest.mark.parametrize(
    ("sure", "right", "expected"),
    [
        ([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], {0.25: 0, 0.5: 1 / 2, 0.75: 1 / 3, 1.0: 1 / 2}),
        ([0.5, 0.5], [1, 0], {0.25: 1 / 2, 1.0: 1 / 2}),  # equally sure: in no order
        ([0.9, NONE], [1, 0], {0.25: 0, 1.0: 0}),  # only answers count
        ([0.9, NONE, 0.8], [1, 0, NONE], {1.0: 0}),  # the last one cannot be scored
    ],
)
def test_the_risk_is_the_error_of_the_surest_answers(sure: Any, right: Any, expected: dict[float, float]) -> None:
    found = {share: risk(share)(np.array(sure), np.array(right)) for share in expected}
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("answer", "sides", "expected"),
    [
        ("1871", ["1871", "1902"], 1),
        (None, ["1871", "1902"], 1),  # an abstention that shows both
        ("1871", [], 0),  # 1902 is right, too
        ("1871", ["1902", "1817"], 0),  # 1817 is wrong
    ],
)
def test_strict_wants_every_right_answer_told_and_no_wrong_one(answer: Any, sides: list[str], expected: float) -> None:
    row = {"fields": {"wrong_answers": ["1817"]}}
    given = Answer(answer, conflicts=tuple(map(Position, sides)))
    outcome = Outcome("When?", (("1871", "1902"),), given, row=row)
    assert NAMED["strict"].measure(outcome) == expected
    assert measure("strict", answer, "1871", "1902") is None  # of other sets, the answers are alternatives


@pytest.mark.parametrize(("verdict", "expected"), [("supported", 1), ("not decided", 0)])
def test_a_wrong_answer_with_a_doubt_before_it_is_marked(verdict: Any, expected: float) -> None:
    given = Answer("1817", checks=(Checked("1817", verdict),))
    outcome = Outcome("When?", (("1871",),), given)
    assert [NAMED[name].measure(outcome) for name in ("wrong", "unmarked")] == [1, expected]
    assert measure("unmarked", "1871", "1871") == 0


def test_a_probable_answer_is_no_answer() -> None:
    outcome = Outcome("When?", (("1871",),), Answer(None, best_guess=Position("1871", 0.6)))
    found = {name: NAMED[name].measure(outcome) for name in ("accuracy", "wrong", "unanswered", "probable")}
    assert found == {"accuracy": 0, "wrong": 0, "unanswered": 1, "probable": 1}


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("B", 1),
        ("B. A root has none.", 1),
        ("It is the leaf.", 1),
        ("The leaf, and not the root.", 0),  # two of them
        ("C) the leaf", 0),
        ("A plant needs the leaf.", 1),  # no label, but an article
        (None, 0),
    ],
)
def test_a_choice_is_right_if_the_answer_names_it_and_no_other(answer: Any, right: int) -> None:
    row = {"fields": {"choices": {"A": "the root", "B": "the leaf", "C": "the bark"}, "choice": "B"}}
    assert measure("choice", answer, "the leaf", row=row) == right
    assert measure("accuracy", answer, "the leaf", row=row) == right


def test_the_whole_reply_of_an_ensemble_is_one_with_its_answer() -> None:
    trace = tuple(Step("generate", "read", data={"reply": text}) for text in ("So Rome it is.", "Oslo, I say."))
    for answer, reply in (("Rome", "So Rome it is."), ("Oslo", "Oslo, I say."), (None, "Oslo, I say.")):
        outcome = over_reply(Outcome("Where?", (), Answer(answer, trace=trace)))
        assert outcome.answer.text == reply
    assert over_reply(Outcome("Where?", (), Answer("Rome"))).answer.text == "Rome"


@pytest.mark.parametrize("passages", [None, ()])
def test_has_answer_is_zero_without_passages(passages: Any) -> None:
    assert measure("has-answer", "?", "Paris", passages=passages) == 0
    assert measure("has-answer", "?", passages=passages, row={"relevant": ["r"]}) == 0
    assert measure("has-answer", "?", passages=passages) is None


def test_costs_are_those_of_the_answer_and_a_failure_has_no_time() -> None:
    answer = Answer("x", usage=Usage(2, 300, 20), seconds=1.5)
    outcome, failed = Outcome("?", (), answer, cost=0.25), Outcome("?", (), answer, failed=True, cost=0.25)
    names = ("calls", "prompt-tokens", "completion-tokens", "tokens", "seconds", "cost")
    assert [NAMED[name].measure(outcome) for name in names] == [2, 300, 20, 320, 1.5, 0.25]
    assert [NAMED[name].measure(failed) for name in names] == [2, 300, 20, 320, None, 0.25]


@pytest.mark.parametrize(("cached", "told"), [((True, True), None), ((True, False), 1.5), ((), 1.5)])
def test_cached_answers_have_no_time(cached: Sequence[bool], told: float | None) -> None:
    calls = [Step("read", "?", "reader.x", cached=was) for was in cached]
    answer = Answer("x", seconds=1.5, trace=(Step("retrieve", "?", "given"), *calls, Step("note", "so it is")))
    assert NAMED["seconds"].measure(Outcome("?", (), answer)) == told


# -- citations


def cited(name: str, answer: str | None, *quotes: str) -> float | None:
    value = NAMED[name].measure(Outcome("Who?", (), Answer(answer, citations=tuple(map(Citation, quotes)))))
    assert value is None or isinstance(value, float | int)
    return value


@pytest.mark.parametrize(
    ("answer", "quote", "borne_out"),
    [
        ("Marie Curie", "In 1911 Marie Curie won it again.", True),
        ("Rome", "It is in Romeo and Juliet.", False),  # a word, not some letters
        ("東京", "日本の首都は東京です。", True),  # where words are not parted
        ("It was Pierre Curie.", "In 1911 Marie Curie won it again.", False),
        ("She won the prize for chemistry in 1911.", "In 1911 the prize for chemistry was won by Marie Curie.", True),
        ("Curie won the Nobel prize for chemistry in 1912.", "Curie won the Nobel prize for chemistry in 1911.", False),
        ("He lost the war against the French and fled.", "In 1911 the prize for chemistry was won.", False),
        ("It was.", "In 1911 it is.", False),  # nothing to go by
    ],
)
def test_a_quote_supports_what_it_contains(answer: str, quote: str, borne_out: bool) -> None:
    assert cited("citation-recall", answer, quote) == cited("citation-precision", answer, quote) == borne_out


MARIE, HENRI = "Marie Curie won.", "Henri Becquerel shared it with her."


def test_citations_that_support_a_sentence_together_both_count() -> None:
    answer, halves = "Curie the chemist was born in Warsaw, Poland.", ("Curie, a chemist.", "Born in Warsaw, Poland.")
    assert cited("citation-recall", answer, *halves) == cited("citation-precision", answer, *halves) == 1
    assert cited("citation-recall", answer, halves[0]) == cited("citation-precision", answer, halves[0]) == 0
    assert cited("citation-precision", answer, *halves, "Nobody knows.") == 2 / 3

"""Each similarity, against values computed by hand."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from robust_qa import ConfigError
from robust_qa.testing import embedder_handle, toolbox
from rqa_eor.similarity import em, f1, greedy_f1, idf, idf_of_rarer_half, similarities


def compared(name: str, texts: Sequence[str], **components: Any) -> np.ndarray[Any, Any]:
    compare = similarities([name], None)[name]
    found: np.ndarray[Any, Any] = asyncio.run(compare("Who?", texts, toolbox("Who?", **components)))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("The Beatles!", "beatles", 1),
        ("Paris", "Paris, France", 1),
        ("in 1815, or so", "1815", 1),
        ("18", "1815", 0),  # no whole word
        ("art", "Bart", 0),
        ("Jane Austen", "Austen, Jane", 0),
        ("巴黎", "巴黎", 1),
        ("The", "A", 0),  # of articles alone, which normalising removes
        ("?", "?", 1),
        ("1.5 million", "15 million", 0),
        ("-15", "15", 0),
        ("-15 °C", "minus 15 °C", 1),
        ("2-1", "21", 0),
        ("$1.50", "$150", 0),
        ("1914–18", "1914-18", 1),
        ("10,000", "10000", 1),
    ],
)
def test_em_is_containment_of_whole_words_either_way(one: str, other: str, alike: int) -> None:
    assert em(one, other) == em(other, one) == alike


def test_f1_is_the_overlap_of_words() -> None:
    # "jane austen" and "miss jane austen wrote it" share 2 words: 2 * 2 / (2 + 5) = 4 / 7.
    assert f1("Jane Austen", "Miss Jane Austen wrote it") == pytest.approx(4 / 7)
    # Each word counts as often as it is there: "new new york" and "new york city" share 2 of 3 and 3.
    assert f1("new new york", "New York City") == pytest.approx(4 / 6)
    assert f1("Austen", "Dickens") == 0
    assert f1("-15", "15") == f1("3.5%", "35%") == 0


def test_all_answers_are_compared_at_once() -> None:
    assert compared("em", ["Paris", "Paris, France", "Rome"]).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


# -- bertscore

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
BETWEEN = [math.sqrt(0.5), math.sqrt(0.5)]


class Encoder:
    """An evaluator with fixed token vectors."""

    VECTORS = {"a": EAST, "b": NORTH, "c": BETWEEN, "[CLS]": [-1.0, 0.0]}  # noqa: RUF012

    def score(self, question: str, texts: list[str]) -> list[float]:
        return [0.0 for _ in texts]

    def token_vectors(self, texts: list[str]) -> list[Any]:
        return [np.array([self.VECTORS[token] for token in text.split()]) for text in texts]


class Tokeniser(Encoder):
    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [text.split() for text in texts]


class Wide(Tokeniser):
    """Each letter has a direction of its own."""

    VECTORS = dict(zip("abcdx", np.eye(5).tolist(), strict=True))  # noqa: RUF012


def test_bertscore_matches_each_token_with_the_most_similar_one() -> None:
    # "a b" and "c": a and b each match c with cos 45 degrees = 0.7071, so R = 0.7071; c matches either: P = 0.7071.
    # "a b" and "a": a matches a with 1, b with 0: R = 0.5; P = 1; F = 2 * 0.5 / 1.5 = 0.6667.
    # "c" and "a": 0.7071.
    found = compared("bertscore", ["a b", "c", "a"], evaluator=Tokeniser())
    assert found[np.triu_indices(3, 1)] == pytest.approx([math.sqrt(0.5), 2 / 3, math.sqrt(0.5)])
    assert found.diagonal().tolist() == [1, 1, 1] and (found == found.T).all()


def test_bertscore_ignores_start_and_end_tokens() -> None:
    assert compared("bertscore", ["[CLS] a", "[CLS] b"], evaluator=Tokeniser())[0, 1] == 0


def test_opposite_and_empty_answers_have_similarity_0() -> None:
    one, weight = np.array([EAST]), np.ones(1)
    assert greedy_f1(one, -one, weight, weight) == 0
    assert greedy_f1(one, np.zeros((0, 2)), weight, np.zeros(0)) == 0


def test_idf_weighs_tokens_by_how_few_answers_hold_them() -> None:
    # Of 3 answers, a stands in all: ln(4 / 4) = 0; b in two: ln(4 / 3); c in one: ln(4 / 2).
    found = idf([["a", "b"], ["a", "b", "b"], ["a", "c"]])
    assert found[1] == pytest.approx([0, math.log(4 / 3), math.log(4 / 3)])
    assert found[2] == pytest.approx([0, math.log(2)])


def test_the_more_frequent_half_of_the_tokens_may_weigh_nothing() -> None:
    # a in 3 answers, b in 2, c and d in 1 each: a and b are the more frequent half.
    found = idf_of_rarer_half([["a", "b", "c"], ["a", "b"], ["a", "d"]])
    assert [weights.tolist() for weights in found] == [[0, 0, pytest.approx(math.log(2))], [0, 0], [0, found[0][2]]]


def test_tokens_of_equal_frequency_are_treated_alike() -> None:
    # Of 5 tokens x is in all answers, and each other in two.
    answers = ["x a c", "x b c", "x a d", "x b d"]
    found = compared("bertscore-rare", answers, evaluator=Wide())
    assert found[0, 1] == found[2, 3] == found[0, 2] == found[1, 3] == 0.5
    turned = compared("bertscore-rare", answers[::-1], evaluator=Wide())
    assert (turned == found[::-1, ::-1]).all()


def test_bertscore_with_idf_ignores_tokens_of_every_answer() -> None:
    # "a b" and "a c": a weighs nothing, b and c the same; each matches the other with 0.7071 at best.
    found = compared("bertscore-idf", ["a b", "a c"], evaluator=Tokeniser())
    assert found[0, 1] == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(
    ("name", "evaluator", "complaint"),
    [
        ("bertscore", object(), "it has no token_vectors"),
        ("bertscore", Encoder(), "it has no tokens"),
    ],
)
def test_an_evaluator_that_gives_no_vectors_is_named(name: str, evaluator: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"evaluator\.test .*{complaint}"):
        compared(name, ["a", "b"], evaluator=evaluator)


# -- an embedder as a similarity


class Compass:
    """An embedder with fixed vectors."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [{"a": EAST, "b": NORTH, "c": BETWEEN, "-a": [-1.0, 0.0]}[text] for text in texts]


def test_cosine_compares_the_vectors_of_an_embedder() -> None:
    compare = similarities(["cosine"], embedder=embedder_handle(Compass()))["cosine"]
    found = asyncio.run(compare("Who?", ["a", "b", "c", "-a"], toolbox("Who?")))  # type: ignore[arg-type]
    assert found[0] == pytest.approx([1, 0, math.sqrt(0.5), 0])
    assert found.diagonal().tolist() == [1, 1, 1, 1]


def test_cosine_without_an_embedder_is_refused() -> None:
    with pytest.raises(ConfigError, match="'cosine' needs an embedder"):
        similarities(["cosine"])


# -- an evaluator as a similarity


class Judge:
    """Return fixed scores, and 1 for any other pair."""

    def __init__(self, **known: float) -> None:
        self.known = known

    def score(self, question: str, texts: list[str]) -> list[float]:
        return [self.known.get(f"{question}_{text}", 1.0) for text in texts]


def test_any_other_name_is_an_evaluator() -> None:
    # a judged by b: 0.6, b judged by a: -0.2; the mean is 0.2, and from [-1, 1] to [0, 1] that is 0.6.
    found = compared("judge", ["a", "b"], names={"judge": Judge(a_b=0.6, b_a=-0.2)})
    assert found == pytest.approx(np.array([[1, 0.6], [0.6, 1]]))


def test_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'rouge'"):
        compared("rouge", ["a", "b"])


def test_diagonal_is_1_for_any_evaluator() -> None:
    found = compared("judge", ["a", "b"], names={"judge": Judge(a_a=-1.0, b_b=0.0)})
    assert found.diagonal().tolist() == [1.0, 1.0]

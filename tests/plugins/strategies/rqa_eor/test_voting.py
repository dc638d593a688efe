"""Equations 6 and 7, Appendix C.4 and the similarities: the strategy's scores against values computed by hand."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from robust_qa import Answer, ConfigError, Passage, Question, Reading
from robust_qa.testing import StaticRetriever, embedder_handle, toolbox
from rqa_eor import Eor


class Titles:
    """A reader that answers with the title of the passage. The title "?" means no answer."""

    cached = False

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        title = passages[0].title
        return Reading(None) if title == "?" else Reading(title, None, (0,), 0, 1)


class Judge:
    """An evaluator with a fixed score for each pair of answers."""

    def __init__(self, known: dict[tuple[str, str], float]) -> None:
        self.known = known

    def score(self, question: str, texts: list[str]) -> list[float]:
        return [self.known.get((question, text), -1.0) for text in texts]


def vote(
    answers: Sequence[str],
    similarities: Sequence[str],
    *,
    names: dict[str, Any] | None = None,
    evaluator: Any = None,
    embedder: Any = None,
    **options: Any,
) -> Answer:
    """Elect one of these answers, each by a retriever of its own."""
    known = {f"r{n}": StaticRetriever([Passage("Text.", id=str(n), title=each)]) for n, each in enumerate(answers)}
    options.setdefault("weights", [1] * len(answers))
    eor = Eor(
        Eor.Options(pool=[f"{name}@1" for name in known], similarities=similarities, **options), embedder=embedder
    )
    tools = toolbox(Question("Who?"), reader=Titles(), evaluator=evaluator, names=known | (names or {}))
    return asyncio.run(eor.answer("Who?", tools))


def scores(*similar: float, answers: str = "abcdef", **options: Any) -> list[float]:
    """Each answer's score; `similar` are s12 for two answers, s12, s13, s23 for three, and so on."""
    number = next(n for n in range(2, 7) if n * (n - 1) // 2 == len(similar))
    given = [each if each == "?" else letter for each, letter in zip(answers, "abcdef", strict=False)][:number]
    pairs = zip(zip(*np.triu_indices(number, 1), strict=True), similar, strict=True)
    known = {("abcdef"[i], "abcdef"[j]): 2 * s - 1 for (i, j), s in pairs}  # an evaluator scores from -1 to 1
    judge = Judge(known | {(two, one): s for (one, two), s in known.items()})
    entries = vote(given, ["judge"], names={"judge": judge}, **options).details["retrievers"]
    return [entry["score"] for entry in entries]


def similarity(name: str, answers: Sequence[str], **components: Any) -> Any:
    return np.array(vote(answers, [name], **components).details["similarities"][name])


THREE = (0.9, 0.8, 0.1)  # s12, s13, s23
FIVE = (0.2, 0.4, 0.6, 0.8, 0, 0, 0, 0, 0, 0)  # the first answer's, and no others


# -- pooling, Appendix C.4


@pytest.mark.parametrize(
    ("pooling", "threshold", "similar", "expected"),
    [
        # (0.9 + 0.8) / 2, (0.9 + 0.1) / 2, (0.8 + 0.1) / 2; of two answers, the one similarity there is
        ("mean", 0.8, THREE, [0.85, 0.5, 0.45]),
        ("max", 0.8, THREE, [0.9, 0.9, 0.8]),
        # of three, k = ceil(3 / 2) - 1 = 1; of two, 0 and so 1; of five, k = 2: (0.8 + 0.6) / 2
        ("top", 0.8, (0.3,), [0.3, 0.3]),
        ("top", 0.8, FIVE, [0.7, 0.1, 0.2, 0.3, 0.4]),
        # from 0.8 on, the first has two equivalent answers, and the others one each
        ("plurality", 0.8, THREE, [0.85, 0, 0]),
        ("plurality", 0.85, THREE, [0.9, 0.9, 0]),
        # of three, k = 1 other is needed, of five k = 2, which none has
        ("majority", 0.85, THREE, [0.9, 0.9, 0]),
        ("majority", 0.8, FIVE, [0, 0, 0, 0, 0]),
    ],
)
def test_answers_are_pooled_as_in_the_paper(
    pooling: str, threshold: float, similar: Sequence[float], expected: list[float]
) -> None:
    assert scores(*similar, pooling=pooling, threshold=threshold, lambdas=[1]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max", "top", "plurality", "majority"])
def test_missing_answers_are_ignored_and_a_single_one_scores_0(pooling: str) -> None:
    assert scores(*THREE, answers="ab?", pooling=pooling, lambdas=[1])[:2] == pytest.approx([0.9, 0.9])
    assert scores(*THREE, answers="?b?", pooling=pooling, lambdas=[1])[1] == 0


# -- Equations 6 and 7


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        # 0.2 * 0.85, 0.5 * 0.5, 0.1 * 0.45: the second wins, though the first is the most alike.
        ([0.2, 0.5, 0.1], [0.17, 0.25, 0.045]),
        # Without a weight it neither wins nor votes: the second and the third have 0.1 in common.
        ([0, 0.5, 0.4], [0.05, 0.04]),
    ],
)
def test_score_is_weight_times_pooled_similarity(weights: list[float], expected: list[float]) -> None:
    assert scores(*THREE, weights=weights, lambdas=[1]) == pytest.approx(expected, abs=1e-6)


def test_similarity_is_the_sum_of_the_measures_each_times_its_lambda() -> None:
    # em is 1, f1 is 2 * 1 / 3, so S = 0.6 * 1 + 0.3 * 2 / 3 = 0.8.
    answer = vote(["Austen", "Miss Austen"], ["em", "f1"], lambdas=[0.6, 0.3])
    assert [entry["score"] for entry in answer.details["retrievers"]] == pytest.approx([0.8, 0.8], abs=1e-6)


@pytest.mark.parametrize(("weights", "winner"), [([0.2, 0.5, 0.5], "b"), ([0.5, 0.5, 0.2], "a"), ([1, 1, 1], "a")])
def test_ties_go_to_the_higher_weight_and_then_to_the_earlier(weights: list[float], winner: str) -> None:
    assert vote("abc", ["em"], weights=weights).text == winner


# -- the similarities


EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
BETWEEN = [math.sqrt(0.5), math.sqrt(0.5)]


class Encoder:
    """An evaluator with fixed token vectors."""

    VECTORS = {"a": EAST, "b": NORTH, "c": BETWEEN, "d": NORTH, "[CLS]": [-1.0, 0.0]}  # noqa: RUF012

    def score(self, question: str, texts: list[str]) -> list[float]:
        return [0.0 for _ in texts]

    def token_vectors(self, texts: list[str]) -> list[Any]:
        return [np.array([self.VECTORS[token] for token in text.split()]).reshape(-1, 2) for text in texts]


class Tokeniser(Encoder):
    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [text.split() for text in texts]


HALF = math.sqrt(0.5)
RARE = (math.log(4 / 3) + math.log(2) * HALF) / (math.log(4 / 3) + math.log(2))


@pytest.mark.parametrize(
    ("name", "answers", "alike"),
    [
        ("em", ["Paris", "Paris, France"], 1),
        ("em", ["in 1815, or so", "1815"], 1),
        ("em", ["18", "1815"], 0),  # no whole word
        ("em", ["Jane Austen", "Austen, Jane"], 0),
        ("em", ["1.5 million", "15 million"], 0),
        ("em", ["-15 °C", "minus 15 °C"], 1),
        ("f1", ["Jane Austen", "Miss Jane Austen wrote it"], 4 / 7),  # 2 * 2 / (2 + 5)
        ("f1", ["new new york", "New York City"], 4 / 6),  # each word counts as often as it is there
        ("f1", ["3.5%", "35%"], 0),
        ("bertscore", ["[CLS] a", "[CLS] b"], 0),
        # Of two answers a is in both: ln(3 / 3) = 0. b and c are in one each, and match with 0.7071 at best.
        ("bertscore-idf", ["a b", "a c"], HALF),
        # Of three, ln(4 / 3) for b in two and ln(4 / 2) for c in one: b matches b, c matches b with 0.7071.
        ("bertscore-idf", ["a b", "a b c", "a"], 2 * RARE / (RARE + 1)),
        # a is in three answers, b in two, c and d in one each. c matches a and d with 0.7071, d matches b with 1.
        ("bertscore-rare", ["a b c", "a d", "a b"], 2 * HALF / (1 + HALF)),
    ],
)
def test_two_answers_are_so_much_alike(name: str, answers: list[str], alike: float) -> None:
    found = similarity(name, answers, evaluator=Tokeniser())
    assert found[0, 1] == found[1, 0] == pytest.approx(alike)


def test_bertscore_matches_each_token_with_the_most_similar_one() -> None:
    # "a b" and "c": a and b each match c with cos 45 degrees = 0.7071, so R = 0.7071; c matches either: P = 0.7071.
    # "a b" and "a": a matches a with 1, b with 0: R = 0.5; P = 1; F = 2 * 0.5 / 1.5 = 0.6667.
    # "c" and "a": 0.7071.
    found = similarity("bertscore", ["a b", "c", "a"], evaluator=Tokeniser())
    assert found[np.triu_indices(3, 1)] == pytest.approx([math.sqrt(0.5), 2 / 3, math.sqrt(0.5)])
    assert found.diagonal().tolist() == [1, 1, 1] and (found == found.T).all()


@pytest.mark.parametrize(
    ("evaluator", "complaint"), [(Judge({}), "it has no token_vectors"), (Encoder(), "it has no tokens")]
)
def test_an_evaluator_that_gives_no_vectors_is_named(evaluator: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"evaluator\.test .*{complaint}"):
        similarity("bertscore", ["a", "b"], evaluator=evaluator)


class Compass:
    """An embedder with fixed vectors."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [{"a": EAST, "b": NORTH, "c": BETWEEN, "-a": [-1.0, 0.0]}[text] for text in texts]


def test_cosine_compares_the_vectors_of_an_embedder() -> None:
    found = similarity("cosine", ["a", "b", "c", "-a"], embedder=embedder_handle(Compass()))
    assert found[0] == pytest.approx([1, 0, math.sqrt(0.5), 0])
    assert found.diagonal().tolist() == [1, 1, 1, 1]


def test_any_other_name_is_an_evaluator() -> None:
    # a judged by b: 0.6, b judged by a: -0.2; the mean is 0.2, and from [-1, 1] to [0, 1] that is 0.6.
    judge = Judge({("a", "b"): 0.6, ("b", "a"): -0.2, ("a", "a"): -1.0})
    assert similarity("judge", ["a", "b"], names={"judge": judge}) == pytest.approx(np.array([[1, 0.6], [0.6, 1]]))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("cosine", "'cosine' needs an embedder"), ("rouge", "'rouge'"), ("nli", "`nli_model` is not set")],
)
def test_a_similarity_without_its_model_is_refused(name: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        similarity(name, ["a", "b"])

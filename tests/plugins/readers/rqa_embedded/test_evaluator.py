"""The evaluator in its modes judge and dense."""

from __future__ import annotations

import numpy as np
import pytest

from rqa_embedded import EmbeddedEvaluator

TEXTS = ["ada was born in london", "the river", "", "   ", "of paris . " * 300, "東京は日本の首都である。"]


@pytest.fixture(params=["judge", "dense"])
def evaluator(folder, request):
    return EmbeddedEvaluator(EmbeddedEvaluator.Options(model=folder, mode=request.param, threads=1))


def test_scores_are_in_range_and_in_order(evaluator):
    scores = evaluator.score("where was ada born", TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(-1 <= score <= 1 for score in scores)
    assert evaluator.score("where was ada born", TEXTS[::-1]) == pytest.approx(scores[::-1], abs=1e-3)


def test_batched_scores_equal_single_scores(evaluator):
    requests = [("who", TEXTS[:2]), ("when was ada born", TEXTS), ("where", [])]
    for (question, texts), scores in zip(requests, evaluator.score_many(requests), strict=True):
        assert scores == pytest.approx(evaluator.score(question, texts), abs=1e-3)
    assert evaluator.score_many([]) == []


def test_batched_judgments_equal_single_judgments(evaluator):
    requests = [("The ferry costs 4 euros.", ["A crossing costs 4 euros.", "The tower is tall."]), ("It is tall.", [])]
    assert evaluator.judge_many(requests) == [evaluator.judge(*each) for each in requests]


def test_empty_text_scores_minus_1(evaluator):
    assert evaluator.score("who", ["", " \n", "london"])[:2] == [-1.0, -1.0]


def test_tokens_have_vectors_of_unit_length(folder):
    judge = EmbeddedEvaluator(EmbeddedEvaluator.Options(model=folder, threads=1))
    short, long = judge.token_vectors(["ada", "the river in london"])
    assert (short.shape, long.shape) == ((3, 16), (6, 16))  # with [CLS] and [SEP]
    assert np.allclose(np.linalg.norm(long, axis=1), 1.0, atol=1e-5)
    assert judge.tokens(["ada", "Of Paris"]) == [["[CLS]", "ada", "[SEP]"], ["[CLS]", "of", "paris", "[SEP]"]]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How far is the inn from the station?", "The inn is 300 m from the station."),
        ("Who led the fleet in 1944?", "The fleet was led by Adm. Chester Nimitz in 1944."),
        ("What country is Kesh in?", "Kesh is a port in South Sudan."),
    ],
)
def test_abbreviations_and_names_do_not_lower_the_score(question, text):
    evaluator = EmbeddedEvaluator(EmbeddedEvaluator.Options())
    assert evaluator.score(question, [text])[0] > evaluator.upper

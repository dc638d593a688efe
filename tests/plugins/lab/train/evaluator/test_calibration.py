"""`rqa train thresholds` and its thresholds."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from robust_qa import InputError
from rqa_train.evaluator.thresholds import PRESETS, Judged, action_accuracy, choose, curve, single

# Answerable with the best score high, mixed in the middle, unanswerable low.
QUESTIONS = [
    *(Judged((0.9, -1.0), (True, False)) for _ in range(8)),
    *(Judged((0.1,), (bool(n % 2),)) for n in range(8)),
    *(Judged((-0.8, -0.9), (False, False)) for _ in range(8)),
]


def test_actions_are_right_often_enough() -> None:
    assert choose(QUESTIONS, ambiguous=0.65) == (0.5, -0.35)


def test_ambiguous_of_one_half_gives_no_ambiguous_action() -> None:
    skewed = [*QUESTIONS, Judged((0.1,), (True,))]
    upper, lower = choose(skewed, ambiguous=0.5)
    assert upper == lower
    assert action_accuracy(skewed, upper, lower)[1] == 0


def test_equal_scores_share_an_action() -> None:
    tied = [Judged((0.2,), (relevant,)) for relevant in (True, True, False)]
    assert set(choose([*tied, Judged((-0.5,), (False,))], ambiguous=0.5)) == {-0.15}


@pytest.mark.parametrize("relevant", [True, False])
def test_questions_of_one_kind_are_refused(relevant: bool) -> None:
    with pytest.raises(InputError, match="Cannot choose thresholds"):
        choose([Judged((0.5,), (relevant,))])


def test_thresholds_are_optimal_and_ordered() -> None:
    rng = random.Random(5)
    for _ in range(60):
        some = [Judged((rng.randrange(-2, 3) / 2,), (rng.random() < 0.5,)) for _ in range(rng.randint(0, 10))]
        judged = [*some, Judged((1.0,), (False,)), Judged((0.5,), (True,))]

        def value(upper: float, lower: float, judged: list[Judged] = judged) -> float:
            right = [q.answerable if q.best >= upper else not q.answerable for q in judged]
            return sum(0.65 if lower <= q.best < upper else r for q, r in zip(judged, right, strict=True))

        grid = [n / 4 for n in range(-4, 5)]
        upper, lower = choose(judged, ambiguous=0.65)
        assert -1 <= lower <= upper <= 1
        assert value(upper, lower) == pytest.approx(max(value(a, b) for a in grid for b in grid if b <= a))


def test_curve_describes_one_threshold() -> None:
    (point,) = curve(QUESTIONS, [0.5])
    assert (point.above, point.answerable_above, point.unanswerable_below) == (8 / 24, 1.0, 12 / 16)
    assert point.accuracy == 20 / 24
    assert single(QUESTIONS)[1] == 20 / 24


# -- the command

EVALUATOR = """
from robust_qa import hookimpl

class Overlap:
    "Shares of words."
    def score(self, question, texts):
        asked = set(question.lower().split())
        return [2 * len(asked & set(text.lower().split())) / len(asked) - 1 for text in texts]

@hookimpl
def rqa_register(registry):
    registry.evaluator("overlap", Overlap)
"""


@pytest.fixture
def calibrate(rqa: Any, tmp_path: Path) -> Any:
    plugin = tmp_path / "overlap.py"
    plugin.write_text(EVALUATOR)
    return lambda *arguments: rqa("--plugin", plugin, "train", "thresholds", "--evaluator", "overlap", *arguments)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows: list[Any] = []
    for n in range(20):
        passages = [f"white whale {n} by melville", "moles and worms"] if n % 2 else ["moles", f"of {n} worms"]
        rows.append({"question": f"white whale {n} by", "answers": ["melville"], "passages": passages})
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_it_prints_the_configuration_and_the_curve(calibrate: Any, data: Path) -> None:
    ended = calibrate(data)
    assert ended.code == 0, ended.err
    table = tomllib.loads(ended.out)["strategy"]["crag"]
    assert -0.5 < table["lower"] <= table["upper"] <= 1
    assert "20 questions: 50.0 % Correct, 0.0 % Ambiguous, 50.0 % Incorrect; 100.0 % right actions" in ended.err
    assert "always Correct: 50.0 %" in ended.err


def test_each_data_set_has_thresholds_of_its_own(calibrate: Any, data: Path) -> None:
    other = data.with_name("other set.jsonl")
    other.write_text(data.read_text().replace("by melville", "of a sort by melville"))
    ended = calibrate(data, other)
    tables = tomllib.loads(ended.out)["strategy"]
    assert list(tables) == ["crag-data", "crag-other set"]
    assert {table["plugin"] for table in tables.values()} == {"crag"}
    assert ended.err.count("% Incorrect") == 2


def test_configuration_is_for_the_named_strategy(calibrate: Any, data: Path) -> None:
    Path("rqa.toml").write_text('[strategy.mine]\nplugin = "crag"\n[strategy."my own"]\nplugin = "crag"\n')
    assert calibrate(data, "--strategy", "mine").out.startswith("[strategy.mine]\n")
    assert "upper" in tomllib.loads(calibrate(data, "--strategy", "my own").out)["strategy"]["my own"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategy", "rag"], "The strategy rag has no option `lower`"),
        (["--strategy", "nosuch"], "There is no strategy named 'nosuch'"),
    ],
)
def test_strategy_without_thresholds_is_refused_before_scoring(
    calibrate: Any, data: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.delattr("rqa_train.evaluator.tools._judge")
    ended = calibrate(data, *arguments)
    assert ended.code == 2 and message in ended.err


def test_evaluator_of_the_strategy_is_calibrated_and_printed(calibrate: Any, rqa: Any, data: Path) -> None:
    Path("rqa.toml").write_text(
        '[defaults]\nevaluator = "lexical"\n[strategy.crag]\nevaluator = "overlap"\n[strategy.mine]\nplugin = "crag"\n'
    )
    of_strategy = rqa("--plugin", data.with_name("overlap.py"), "train", "thresholds", data)
    assert of_strategy.out == calibrate(data).out
    assert tomllib.loads(of_strategy.out)["strategy"]["crag"]["evaluator"] == "overlap"
    lexical = rqa("train", "thresholds", data, "--evaluator", "lexical")
    assert tomllib.loads(lexical.out)["strategy"]["crag"]["evaluator"] == "lexical"
    configured = rqa("train", "thresholds", data, "--strategy", "mine")
    assert "evaluator" not in tomllib.loads(configured.out)["strategy"]["mine"]


def test_existing_table_is_noted(calibrate: Any, data: Path) -> None:
    assert "already" not in calibrate(data).err
    Path("rqa.toml").write_text("[strategy.crag]\nupper = 0.5\n")
    assert f"{Path('rqa.toml').resolve()} already has a table [strategy.crag]" in calibrate(data).err


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_needs_no_data(rqa: Any, preset: str) -> None:
    table = tomllib.loads(rqa("train", "thresholds", "--preset", preset).out)["strategy"]["crag"]
    assert (table["upper"], table["lower"]) == PRESETS[preset]


def test_a_preset_can_be_tried_on_data(calibrate: Any, data: Path) -> None:
    told = json.loads(calibrate(data, "--json", "--preset", "popqa").out)
    assert (told["upper"], told["lower"]) == (0.59, -0.99)
    assert 0 < told["accuracy"] <= 1


def test_data_or_preset_is_required(rqa: Any) -> None:
    ended = rqa("train", "thresholds")
    assert ended.code == 2
    assert "--preset" in ended.err


def test_invalid_data_is_an_error(calibrate: Any, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\x89PNG\x00")
    ended = calibrate(tmp_path / "bad")
    assert ended.code == 2
    assert "line 1 is not a valid row" in ended.err


def test_equal_questions_with_other_passages_count_separately(rqa: Any, tmp_path: Path) -> None:
    asked = [("John", "painter", "painter"), ("John", "sailor", "swimmer"), ("Ann", "cook", "swimmer")]
    rows = [
        {"question": f"What is {name}'s job?", "answers": [gold], "passages": [f"{name} is a {told}."]}
        for name, gold, told in asked
    ]
    file = tmp_path / "same.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    ended = rqa("train", "thresholds", file, "--evaluator", "lexical")
    assert "3 questions: " in ended.err and "always Correct: 33.3 %" in ended.err


def one_kind(data: Path) -> Path:
    """Keep the questions of `data` with a relevant passage."""
    data.write_text("\n".join(line for line in data.read_text().splitlines() if "by melville" in line))
    return data


def test_data_of_one_kind_is_refused_before_scoring(
    calibrate: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("rqa_train.evaluator.tools._judge")
    ended = calibrate(one_kind(data))
    assert ended.code == 2
    assert "10 of 10 questions have a relevant passage" in ended.err


def test_a_preset_can_be_tried_on_data_of_one_kind(calibrate: Any, data: Path) -> None:
    ended = calibrate(one_kind(data), "--preset", "popqa")
    assert ended.code == 0, ended.err
    assert "100.0 % right actions" in ended.err and "one threshold" not in ended.err
    assert json.loads(calibrate(data, "--preset", "popqa", "--json").out)["single"] is None

"""`rqa train eor`: reading the run, the search and the command."""

import json
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_qa import InputError
from robust_qa.config.layers import load as load_config
from robust_qa.kit import install_hint
from rqa_eor import Eor
from rqa_eor.ballots import Ballots, check_gold, load, right
from rqa_eor.search import cross_validate, fit, plain

# -- metrics


@pytest.mark.parametrize(
    ("answer", "gold", "metric", "rightness"),
    [
        ("It was Jane Austen.", ["Austen", "Dickens"], "containment", 1),
        ("It was Jane Austen.", ["Austen"], "em", 0),
        ("The Austen", ["Dickens", "austen"], "em", 1),
        ("Jane Austen", ["Miss Jane Austen", "Dickens"], "f1", 2 * 2 / (2 + 3)),
        ("Austen in 1815", [["Austen", "J. A."], ["1815"]], "containment", 1),  # each group has to be met
        ("Austen in 1816", [["Austen", "J. A."], ["1815"]], "containment", 0),
        ("Austen", [["!"], ["Austen"]], "containment", 1),  # what normalisation leaves nothing of cannot be met
        ("Austen", ["!", "Austen"], "em", 1),
        ("1", [1], "em", 1),
        ("1.5", ["15"], "f1", 1),  # SQuAD's normalisation, though the vote tells them apart
    ],
)
def test_metric_takes_the_best_gold_answer(answer: str, gold: list[Any], metric: Any, rightness: float) -> None:
    assert right(answer, gold, metric) == pytest.approx(rightness)


# -- reading the run


def entry(retriever: str, answer: str | None, error: str = "") -> dict[str, Any]:
    return {"retriever": retriever, "weight": 1, "answer": answer, "score": 0, "passages": [], "error": error}


def row(number: int, entries: Sequence[dict[str, Any]], em: Sequence[Sequence[float]], **more: Any) -> dict[str, Any]:
    answers = list(dict.fromkeys(e["answer"] for e in entries if e["answer"] is not None))
    details = {
        "retrievers": list(entries),
        "answers": answers,
        "similarities": {"em": em},
        "pooling": "max",
        "threshold": 0.7,
    }
    return {"row": number, "question": "Who?", "answers": ["Austen"], "details": details, **more}


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_run_becomes_a_tensor_of_similarities(tmp_path: Path) -> None:
    first = row(1, [entry("a", "Austen"), entry("b", "Brontë"), entry("c", "Austen")], [[1, 0.2], [0.2, 1]])
    second = row(2, [entry("a", None), entry("d", "Jane Austen")], [[1]])
    ballots, lost = load(written(tmp_path / "run.jsonl", [second, first]), "containment")
    assert (ballots.retrievers, ballots.similarities, lost) == (("a", "b", "c", "d"), ("em",), 0)
    assert ballots.tensor[0, 0] == pytest.approx(
        np.array([[1, 0.2, 1, 0], [0.2, 1, 0.2, 0], [1, 0.2, 1, 0], [0, 0, 0, 0]])
    )
    assert ballots.tensor[1, 0].tolist() == np.diag([0, 0, 0, 1]).tolist()
    assert ballots.present.tolist() == [[True, True, True, False], [False, False, False, True]]
    assert ballots.right.tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]
    assert (ballots.pooling, ballots.threshold) == ("max", 0.7)


def test_metrics_keep_full_precision(tmp_path: Path) -> None:
    said = row(1, [entry("a", "Jane Austen")], [[1]])
    ballots, _ = load(written(tmp_path / "run.jsonl", [said]), "f1")
    assert ballots.right.tolist() == [[right("Jane Austen", ["Austen"], "f1")]]


def test_rows_with_failed_calls_are_skipped(tmp_path: Path) -> None:
    rows = [
        row(1, [entry("a", "Austen")], [[1]]),
        row(2, [entry("a", None, "The key is wrong.")], []),
        {"row": 3, "question": "Who?", "answers": ["x"], "error": {"type": "CallTimeout", "message": "late"}},
    ]
    ballots, lost = load(written(tmp_path / "run.jsonl", rows), "em")
    assert (len(ballots.right), lost) == (1, 2)
    with pytest.raises(InputError, match="All 2 rows"):
        load(written(tmp_path / "run.jsonl", rows[1:]), "em")


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"question": "Who?", "answers": ["x"]}, {"question": "Who?"}], "line 2 has no gold answers"),
        ([{"question": "Who?", "answers": []}], "line 1 has no gold answers"),
        ([{"question": "Who?", "answers": "x"}], "line 1 has no gold answers"),
        ([{"question": "Who?", "answers": [["!"], ["?", None]]}], "line 1 has no gold answers"),
        (["Who?"], "line 1 has no gold answers"),
        ([], "has no questions"),
    ],
)
def test_gold_answers_that_are_missing_are_an_error_that_names_the_line(
    rows: list[Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        check_gold(written(tmp_path / "data.jsonl", rows))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{"])
def test_invalid_json_is_an_error_that_names_the_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"data\.jsonl is not valid JSON lines"):
        check_gold(tmp_path / "data.jsonl")


# -- the search


def ballots(said: Sequence[Sequence[int]], rightness: Sequence[Sequence[float]]) -> Ballots:
    """Build ballots from the answers of each retriever (numbers) and their metrics."""
    answers = np.array(said)
    tensor = (answers[:, None, :, None] == answers[:, None, None, :]).astype(np.float32)
    names = tuple("abcdefgh"[: answers.shape[1]])
    return Ballots(names, ("em",), tensor, np.ones(answers.shape, dtype=bool), np.array(rightness, dtype=np.float32))


ONES = np.ones(1)


def test_metric_is_that_of_the_winners() -> None:
    # a and b agree in the first question and are right; in the second all differ, and the first of the pool is wrong.
    votes = ballots([[1, 1, 2], [1, 2, 3]], [[1, 1, 0], [0, 1, 1]])
    assert votes.elected(np.ones(3), ONES).tolist() == [1, 0]
    assert votes.elected(np.array([0.1, 0.6, 0.2]), ONES).tolist() == [1, 1]
    assert plain(votes).value == 0.5


def test_question_without_answers_scores_0() -> None:
    votes = ballots([[1, 1]], [[1, 1]])
    nobody = Ballots(votes.retrievers, ("em",), votes.tensor, np.zeros((1, 2), dtype=bool), votes.right)
    assert nobody.elected(np.ones(2), ONES).tolist() == [0]


@pytest.fixture
def misled() -> Ballots:
    """Retriever a is always right; b and c are always wrong and mostly agree."""
    rng = np.random.default_rng(7)
    said = [[1, 2, 2 if rng.random() < 0.8 else 3] for _ in range(60)]
    return ballots(said, [[1, 0, 0]] * 60)


@pytest.fixture
def noise() -> Ballots:
    """Eight retrievers that are right by chance."""
    rng = np.random.default_rng(3)
    said = rng.integers(0, 4, (80, 8))
    return ballots(said.tolist(), (rng.random((80, 8)) < 0.5).astype(float).tolist())


class TestSearch:
    @pytest.fixture(autouse=True)
    def scipy(self) -> None:
        pytest.importorskip("scipy", reason="the search needs the extra robust-qa[train]")

    def test_it_finds_the_retriever_that_is_right(self, misled: Ballots) -> None:
        assert plain(misled).value < 0.3
        found = fit(misled)
        assert found.value == 1
        assert found.weights[0] > 0

    def test_weights_are_0_or_within_bounds(self, noise: Ballots) -> None:
        found = fit(noise)
        assert found.weights.max() <= 0.6 and found.lambdas.max() <= 0.6
        assert all(weight == 0 or weight >= 0.1 for weight in found.weights)

    def test_the_same_seed_finds_the_same(self, noise: Ballots) -> None:
        one, other = fit(noise, seed=5), fit(noise, seed=5)
        assert (one.weights.tolist(), one.value) == (other.weights.tolist(), other.value)

    def test_plain_voting_wins_ties(self) -> None:
        agreed = ballots([[1, 1, 1]] * 5, [[1, 1, 1]] * 5)
        assert fit(agreed).weights.tolist() == plain(agreed).weights.tolist()

    def test_cross_validation_shows_a_real_gain(self, misled: Ballots) -> None:
        held = cross_validate(misled, restarts=1)
        assert (held.fitted, held.single) == (1, 1)
        assert held.fitted - held.plain > 2 * held.error

    def test_cross_validation_exposes_overfitting(self, noise: Ballots) -> None:
        found, held = fit(noise, restarts=1), cross_validate(noise, restarts=1)
        learnt = found.value - plain(noise).value
        assert learnt > 0.05
        assert held.fitted - held.plain < learnt / 2

    def test_the_best_retriever_is_not_chosen_on_the_questions_held_out(self) -> None:
        other_best = ballots([[1, 2], [1, 2]], [[1, 0], [0, 1]])
        assert cross_validate(other_best, folds=2, restarts=1).single == 0

    # -- the command

    def test_the_command_trains_and_the_strategy_reads_what_it_writes(self, rqa: Any, data: Path) -> None:
        ended = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--similarity", "em")
        assert ended.code == 0, ended.err
        assert "given-odd" in ended.out and "held out: plain voting" in ended.out
        table = tomllib.loads(Path("voter.toml").read_text())["strategy"]["eor"]
        options = Eor.Options(**table)
        assert options.similarities == ["em"]
        assert options.weights is not None and len(options.weights) == len(table["pool"])
        load_config(file=Path("voter.toml"))
        rqa("--config", "voter.toml", "batch", data, "-s", "eor", "--reader", "lexical", "--details", "-o", "out.jsonl")
        accounts = [json.loads(line)["details"]["retrievers"] for line in Path("out.jsonl").read_text().splitlines()]
        assert [entry["retriever"] for entry in accounts[0]] == table["pool"]
        assert [entry["weight"] for entry in accounts[0]] == table["weights"]

    def test_output_keeps_the_options_of_the_run(self, rqa: Any, data: Path) -> None:
        Path("recall.txt").write_text("{question}")
        given = "order=ascending samples=3 seed=7 temperature=0.5 nli_model=nli prompts.recall=recall.txt"
        options = [f"-Ostrategy.eor.{one}" for one in given.split()]
        ended = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--similarity", "em", *options)
        assert ended.code == 0, ended.err
        written = Eor.Options(**tomllib.loads(Path("voter.toml").read_text())["strategy"]["eor"])
        assert (written.order, written.samples, written.seed, written.temperature) == ("ascending", 3, 7, 0.5)
        assert written.nli_model == str(Path("nli").absolute())
        assert written.prompts == {"recall": str(Path("recall.txt").absolute())}
        again = rqa("--config", "voter.toml", "batch", data, "-s", "eor", "--reader", "lexical", "-o", "out.jsonl")
        assert again.code == 0, again.err

    def test_resume_answers_no_row_again(self, rqa: Any, data: Path) -> None:
        first = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical")
        again = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--resume", "--metric", "em")
        assert (first.code, again.code) == (0, 0), again.err
        assert "nothing to do; 6 were done before" in again.err

    def test_existing_output_is_not_replaced_without_force(self, rqa: Any, data: Path) -> None:
        Path("voter.toml").write_text("# mine\n")
        refused = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical")
        assert refused.code == 2 and "voter.toml already exists" in refused.err
        assert rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--force").code == 0

    def test_progress_line_is_hidden_by_quiet(self, rqa: Any, data: Path) -> None:
        command = ("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--force")
        assert "rqa: fitting the weights to 6 questions\n" in rqa(*command).err
        assert rqa("-q", *command).err == ""

    def test_configured_weights_are_ignored_during_training(self, rqa: Any, data: Path) -> None:
        Path("rqa.toml").write_text(
            '[strategy.eor]\npool = ["given-first", "given-last"]\nweights = [0.0, 0.6]\nlambdas = [0.1, 0.2]\n'
        )
        assert rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical").code == 0
        [first, *_] = [json.loads(line) for line in Path("voter.jsonl").read_text().splitlines()]
        assert [entry["weight"] for entry in first["details"]["retrievers"]] == [1, 1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = ["Emma was written by Jane Austen.", "Emma was printed by Charles Roworth.", "Bath is a town."]
    rows = [
        {"question": "Who wrote Emma?", "answers": ["Austen"], "passages": texts[n % 3 :] + texts[: n % 3]}
        for n in range(6)
    ]
    return written(tmp_path / "data.jsonl", rows)


def test_without_scipy_the_command_says_what_to_install(rqa: Any, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    ended = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical")
    assert ended.code == 2 and install_hint("train") in ended.err
    assert not Path("voter.jsonl").exists()


@pytest.mark.skipif(not find_spec("scipy"), reason="the search needs the extra robust-qa[train]")
def test_data_without_gold_is_refused_before_any_call(rqa: Any, tmp_path: Path) -> None:
    bare = written(tmp_path / "data.jsonl", [{"question": "Who?"}])
    ended = rqa("train", "eor", bare, "-o", "voter.toml")
    assert ended.code == 2 and "line 1 has no gold answers" in ended.err
    assert not Path("voter.jsonl").exists()


@pytest.mark.skipif(not find_spec("scipy"), reason="the search needs the extra robust-qa[train]")
def test_answers_never_replace_the_data(rqa: Any, data: Path) -> None:
    ended = rqa("train", "eor", data, "-o", data.with_suffix(".toml"), "--force")
    assert ended.code == 2 and "would replace the data" in ended.err
    assert check_gold(data) == 6


@pytest.mark.skipif(not find_spec("scipy"), reason="the search needs the extra robust-qa[train]")
def test_output_with_suffix_jsonl_is_refused(rqa: Any, data: Path) -> None:
    ended = rqa("train", "eor", data, "-o", "voter.jsonl", "--reader", "lexical")
    assert ended.code == 2 and "cannot write .jsonl files. End the name in .toml." in ended.err
    assert not Path("voter.jsonl").exists()


@pytest.mark.parametrize("what", ["eor", "evaluator", "reader"])
@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seed_out_of_range_is_refused(what: str, seed: int, rqa: Any, data: Path) -> None:
    ended = rqa("train", what, data, "-o", "out", "--seed", str(seed))
    assert ended.code == 2 and "0<=x<=4294967295" in ended.err

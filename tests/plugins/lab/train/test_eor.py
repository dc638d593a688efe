"""`rqa train eor`."""

import json
import sys
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from robust_qa.kit import install_hint
from rqa_eor import Eor


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def trained() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(Path("voter.toml").read_text())["strategy"]["eor"]
    return table


class TestSearch:
    @pytest.fixture(autouse=True)
    def scipy(self) -> None:
        pytest.importorskip("scipy", reason="the search needs the extra robust-qa[train]")

    def test_it_finds_the_retriever_that_is_right(self, rqa: Any, tmp_path: Path) -> None:
        """Only the passage that given-even has alone is right. The others mislead the lexical reader."""
        texts = ["Brontë {n} wrote Emma {n}.", "Emma {n} is by Austen.", "Dickens {n} wrote Emma {n}.", "No."]
        rows = [
            {
                "question": f"Who wrote Emma {n}?",
                ("answers", "answer")[n % 2]: ["Austen"],  # Natural Questions have `answer`
                "passages": [t.format(n=n) for t in texts],
            }
            for n in range(10)
        ]
        ended = rqa("train", "eor", written(tmp_path / "data.jsonl", rows), "-o", "voter.toml", "--reader", "lexical")
        assert ended.code == 0, ended.err
        assert "10 questions: plain voting 0.0%, fitted 100.0%" in ended.out
        assert "held out: plain voting 0.0%, fitted 100.0%, best single retriever 100.0%" in ended.out
        weights = dict(zip(trained()["pool"], trained()["weights"], strict=True))
        assert weights["given-even"] == max(weights.values())
        assert all(0.1 <= weight <= 0.6 for weight in weights.values())  # Section 4.3

    def test_the_command_trains_and_the_strategy_reads_what_it_writes(self, rqa: Any, data: Path) -> None:
        ended = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical", "--similarity", "em")
        assert ended.code == 0, ended.err
        assert "given-odd" in ended.out and "held out: plain voting" in ended.out
        table = trained()
        options = Eor.Options(**table)
        assert options.similarities == ["em"]
        assert options.weights is not None and len(options.weights) == len(table["pool"])
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
        written = Eor.Options(**trained())
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
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    ended = rqa("train", "eor", data, "-o", "voter.toml", "--reader", "lexical")
    assert ended.code == 2 and install_hint("train") in ended.err
    assert not Path("voter.jsonl").exists()


@pytest.mark.skipif(not find_spec("scipy"), reason="the search needs the extra robust-qa[train]")
@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"question": "Who?", "answers": ["x"]}, {"question": "Who?"}], "line 2 has no gold answers"),
        ([{"question": "Who?", "answers": [["!"], ["?", None]]}], "line 1 has no gold answers"),
        ([], "has no questions"),
    ],
)
def test_data_without_gold_is_refused_before_any_call(rqa: Any, tmp_path: Path, rows: Any, complaint: str) -> None:
    ended = rqa("train", "eor", written(tmp_path / "data.jsonl", rows), "-o", "voter.toml")
    assert ended.code == 2 and complaint in ended.err
    assert not Path("voter.jsonl").exists()


@pytest.mark.skipif(not find_spec("scipy"), reason="the search needs the extra robust-qa[train]")
def test_answers_never_replace_the_data(rqa: Any, data: Path) -> None:
    ended = rqa("train", "eor", data, "-o", data.with_suffix(".toml"), "--force")
    assert ended.code == 2 and "would replace the data" in ended.err
    assert data.read_text().count("\n") == 6


@pytest.mark.parametrize("what", ["eor", "evaluator", "reader"])
def test_seed_out_of_range_is_refused(what: str, rqa: Any, data: Path) -> None:
    ended = rqa("train", what, data, "-o", "out", "--seed", str(2**32))
    assert ended.code == 2 and "0<=x<=4294967295" in ended.err

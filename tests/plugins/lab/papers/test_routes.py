"""From the commands of rqa-papers(7) to the table of a paper, with models that a test can make."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from documentation import PAGES
from standins.openai import Server, serve

BLOCKS = re.findall(r"```sh\n(.*?)```", PAGES["rqa-papers(7)"], re.DOTALL)
PAGES_FOUND = '{"title": "Emma", "url": "https://a.example/", "text": "Jane Austen wrote Emma in 1815."}\n'
SETTINGS = """
[defaults]
reader = "model"
[reader.model]
plugin = "openai"
model = "m"
base_url = "{url}"
[retriever.web]
provider = "static"
file = "pages.jsonl"
[retriever.wiki]
plugin = "web"
provider = "static"
file = "pages.jsonl"
"""


def commands(beginning: str) -> list[list[str]]:
    """The arguments of the commands of the page that begin so."""
    lines = "\n".join(BLOCKS).replace("\\\n", "").splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"rqa {beginning}")]


@pytest.fixture
def model() -> Iterator[Server]:
    Path("pages.jsonl").write_text(PAGES_FOUND)
    with serve(lambda body, _: "Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>") as server:
        Path("rqa.toml").write_text(SETTINGS.format(url=server.url))
        yield server


@pytest.fixture
def to_the_table(rqa: Callable[..., Any]) -> Callable[..., str]:
    """Runs commands of the page one after the other, and returns what the last one prints."""

    def run(*lines: list[str], **instead: str) -> str:
        for line in lines:
            ended = rqa("--config", "rqa.toml", *(instead.get(part.replace("-", "_"), part) for part in line))
            assert ended.code == 0, ended.err
            if line[0] in ("train", "evaluator") and "[evaluator.t5]" in ended.out:
                with Path("rqa.toml").open("a") as file:
                    file.write(f"\n{ended.out}")
        return str(ended.out)

    return run


def popqa() -> None:
    """Pairs to train on, and the set as CRAG publishes it."""
    pairs = [
        f"Who wrote book {n}? [SEP] {'Jane Austen wrote' if n % 2 else 'Ships carried'} it.\t{n % 2}" for n in range(60)
    ]
    Path("popqa-train.tsv").write_text("\n".join(pairs))
    row = {
        "question": "Who wrote Emma?",
        "answers": ["Jane Austen"],
        "ctxs": [{"title": "Emma", "text": "It is a book."}],
    }
    Path("popqa_longtail_w_gs.jsonl").write_text(json.dumps(row))


def test_crag_with_an_evaluator_of_ones_own(to_the_table: Any, model: Server, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra [train]")
    pytest.importorskip("transformers", reason="needs the extra [train]")
    from standins.tiny_models import write_t5

    popqa()
    base = str(write_t5(tmp_path / "tiny", head="label", version="1.0"))
    (train,) = commands("train evaluator")
    evaluate, report = commands("eval --recipe crag-popqa")[0], commands("report crag-popqa")[0]
    strategies = ["-s", "rag,crag,crag-without-correct"]  # self_rag asks for log-probabilities
    table = to_the_table(train, [*evaluate, *strategies], report, t5_large=base, **{"512": "64", "8": "1"})
    assert re.search(r"^ *crag +100", table, re.M), table
    run = json.loads(Path("crag-popqa/run.json").read_text())
    chosen = json.loads(Path("crag-evaluator/model/evaluator.json").read_text())
    assert run["record"]["evaluators"]["evaluator.t5"]["thresholds"] == [chosen["upper"], chosen["lower"]]
    rows = {each: json.loads(Path(f"crag-popqa/answers/{each}.jsonl").read_text()) for each in strategies[1].split(",")}
    for name in ("crag", "crag-without-correct"):
        details = rows[name]["details"]
        assert (details["upper"], details["lower"]) == (chosen["upper"], chosen["lower"])


def test_crag_with_the_published_checkpoint(to_the_table: Any, model: Server, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra [train]")
    pytest.importorskip("transformers", reason="needs the extra [train]")
    from standins.tiny_models import write_t5

    popqa()
    published = str(write_t5(tmp_path / "finetuned_t5", head="classifier", version="1.0"))
    (convert,) = commands("evaluator convert")
    convert[2] = published
    evaluate, report = commands("eval --recipe crag-popqa")[0], commands("report crag-popqa")[0]
    table = to_the_table(convert, [*evaluate, "-s", "crag"], report)
    assert re.search(r"^ *crag +100", table, re.M), table
    details = json.loads(Path("crag-popqa/answers/crag.jsonl").read_text())["details"]
    assert (details["upper"], details["lower"]) == (0.59, -0.99)


def test_eor_with_weights_of_ones_own(to_the_table: Any, model: Server) -> None:
    pytest.importorskip("scipy", reason="the search needs the extra robust-qa[train]")
    rows = [{"question": f"Who wrote Emma {n}?", "answers": ["Jane Austen"]} for n in range(4)]
    for name in ("nq-valid", "nq-test"):
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (train,), (evaluate,) = commands("train eor"), commands("eval --recipe eor-table1")
    to_the_table(train)
    voter = Path("voter.toml").read_text()
    assert 'prompts = "paper"' in voter and "bertscore" in voter
    with Path("rqa.toml").open("a") as file:
        file.write(f"\n{voter}")
    assert re.search(r"^ *eor +100", to_the_table(evaluate), re.M)
    asked = json.loads(Path("eor-1/answers/eor.jsonl").read_text().splitlines()[0])["details"]
    assert len(asked["retrievers"]) <= 16 and "bertscore" in asked["similarities"]

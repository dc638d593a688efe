"""The door for programs: `robust_qa.ask` and `robust_qa.open_session`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

import robust_qa
from robust_qa import Answer, Citation, ConfigError, InputError, MissingError, Position, Question

KEEPER = "The keeper of the light was Bo Renn."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "keeper.md").write_text(f"# The light\n\n{KEEPER}\n")
    return tmp_path / "docs"


def test_one_line_answers_from_a_folder(docs: Path) -> None:
    answer = robust_qa.ask("Who was the keeper of the light?", docs=docs)
    assert answer.text == "Bo Renn" and answer.citations[0].source == str(docs / "keeper.md")
    assert answer.citations[0].quote == KEEPER


def test_one_line_answers_from_passages() -> None:
    assert robust_qa.ask("Who was the keeper of the light?", passages=[KEEPER]).text == "Bo Renn"


async def test_it_works_where_an_event_loop_runs_already(docs: Path) -> None:
    assert robust_qa.ask("Who was the keeper of the light?", docs=str(docs)).text == "Bo Renn"


async def test_a_session_answers_many_questions_in_their_order(docs: Path) -> None:
    questions = ["Who was the keeper of the light?", Question("Who was it?", passages=())] * 5
    async with robust_qa.open_session(docs=docs, strategy="rag", reader="lexical") as session:
        answers = [answer async for answer in session.answer_many(questions, jobs=3)]
    assert [answer.text for answer in answers] == [answers[0].text, None] * 5 and answers[0].text == KEEPER


async def test_a_reader_is_given_as_a_table() -> None:
    with serve(lambda request, _: "Documents: 1\nAnswer: Bo Renn") as server:
        reader = {"plugin": "openai", "base_url": server.url, "model": "m"}
        async with robust_qa.open_session(reader=reader, strategy="rag", k=3) as session:
            answer = await session.answer(Question("Who?", passages=(robust_qa.Passage(KEEPER),)))
    assert (answer.text, answer.usage.calls, len(server.requests)) == ("Bo Renn", 1, 1)


def test_a_blocking_session_closes_before_its_answers_end(docs: Path) -> None:
    with robust_qa.BlockingSession(docs=docs) as session:
        for answer in session.answer_many(["Who was the keeper of the light?"] * 20, jobs=4):
            assert answer.text == "Bo Renn"
            break
    session.close()  # again


def test_settings_are_tables_and_a_configuration_file_is_read_only_when_asked_for(docs: Path) -> None:
    Path("rqa.toml").write_text("[reader.embedded]\nthreshold = 1\n")
    question = "Who was the keeper of the light?"
    assert robust_qa.ask(question, docs=docs).text == "Bo Renn"
    assert robust_qa.ask(question, docs=docs, config="rqa.toml").text is None
    assert robust_qa.ask(question, docs=docs, settings={"reader": {"embedded": {"threshold": 1}}}).text is None


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"reader": "nope"}, ConfigError, "no reader named 'nope'"),
        ({"reader": {"model": "m"}}, ConfigError, "`reader` has no plugin"),
        ({"settings": {"reader": {"embedded": {"treshold": 1}}}}, ConfigError, "treshold"),
        ({"docs": "nowhere"}, (MissingError, InputError), "nowhere"),
        ({"k": 0}, ConfigError, "k"),
        ({}, MissingError, "nothing to answer from"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(how: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        robust_qa.ask("Who?", **how)


def test_a_notebook_shows_an_answer_with_quotes_and_conflicts() -> None:
    citation = Citation("Built in *1871*.", title="History", source="history.md")
    sides = (Position("1871", 0.9, (citation,), chosen=True), Position("1817", 0.05, (citation,)))
    answer = Answer("1871", 0.9, (citation,), sides)
    assert repr(answer) == "Answer('1871', confidence=0.90, sources=['history.md'], conflicts=['1871', '1817'])"
    shown = answer._repr_markdown_()
    assert shown.startswith("**1871** (90%)") and "- 1817 (5%): history.md" in shown
    assert "> Built in \\*1871\\*.\n>\n> history.md" in shown
    assert Answer(None, reason="Not sure.")._repr_markdown_() == "Not sure."


@pytest.mark.parametrize("function", [robust_qa.ask, robust_qa.BlockingSession])
def test_a_misspelt_argument_is_named_with_the_one_that_was_meant(function: Any) -> None:
    with pytest.raises(TypeError, match=r"^There is no argument 'retriver'. Did you mean 'retriever'\?$"):
        function(*(["Who?"] if function is robust_qa.ask else []), retriver="bm25")


TYPED = """
import robust_qa

class Votes:
    needs = frozenset({"retrieve", "read"})

    async def answer(self, question: str, toolbox: robust_qa.Toolbox) -> robust_qa.Answer:
        return robust_qa.Answer(None, reason="No votes.")

@robust_qa.hookimpl
def rqa_register(registry: robust_qa.Registry) -> None:
    registry.strategy("votes", Votes, rank=1, needs=Votes.needs)

robust_qa.ask("Who?", retriever="bm25", k=3)
robust_qa.ask("Who?", retriver="bm25")
robust_qa.BlockingSession(k="3")
"""


def test_a_type_checker_knows_the_arguments_of_programs_and_plugins(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    repository = Path(robust_qa.__file__).parents[1]
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        repository / ".mypy_cache",
        tmp_path / "typed.py",
    ]
    ended = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=300, check=False)
    misspelt, wrong = (line for line in ended.stdout.splitlines() if ": error: " in line)
    assert ":15: error:" in misspelt and 'Unexpected keyword argument "retriver" for "ask"' in misspelt
    assert ":16: error:" in wrong and '"k"' in wrong

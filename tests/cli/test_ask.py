"""`rqa ask`: its options, and errors before the first call."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from robust_qa import Answer, Passage, hookimpl

class Slow:
    @dataclass
    class Options:
        index: Path | None = None

    def __init__(self, options):
        pass

    def retrieve(self, query, k):
        return [Passage("found")]

    def index(self, paths, progress=None):
        print("indexing", flush=True)
        time.sleep(20)

class First:
    needs = frozenset({"retrieve"})

    async def answer(self, question, toolbox):
        return Answer((await toolbox.retrieve())[0].text)

@hookimpl
def rqa_register(registry):
    registry.retriever("given-notes", Slow)
    registry.strategy("first", First, rank=1)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RQA_PLUGINS", "none")
    (tmp_path / "slow.py").write_text(PLUGIN)
    return tmp_path / "slow.py"


def test_a_retriever_whose_name_begins_like_given_is_asked(installed: str, plugin: Path) -> None:
    ended = subprocess.run(
        [installed, "--plugin", str(plugin), "batch", "-r", "given-notes@3"],
        input=json.dumps({"question": "Where?", "passages": ["own"]}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(ended.stdout)["answer"] == "found"


@pytest.mark.parametrize("misspelt", [("-s", "frist"), ("--reader", "lexicla"), ("-O", "defaults.evaluator=jugde")])
def test_a_misspelt_name_is_an_error_before_documents_are_indexed(
    installed: str, plugin: Path, misspelt: tuple[str, str]
) -> None:
    command = [installed, "--plugin", str(plugin), "ask", "--docs", str(plugin), *misspelt, "Where?"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "There is no " in ended.stderr and "indexing" not in ended.stderr


def test_an_interruption_does_not_wait_for_indexing(installed: str, plugin: Path) -> None:
    child = subprocess.Popen(
        [installed, "--plugin", str(plugin), "ask", "--docs", str(plugin), "Where?"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None and child.stderr.readline() == b"indexing\n"  # a plugin's print is no answer
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130 and time.monotonic() - began < 10


FAILING = """
from robust_qa import MissingError, hookimpl

class Failing:
    needs = frozenset()

    async def answer(self, question, toolbox):
        toolbox.note("the passages were judged")
        raise MissingError("The second index is gone.")

@hookimpl
def rqa_register(registry):
    registry.strategy("failing", Failing, rank=1)
"""


def test_explain_shows_the_steps_before_an_error(installed: str, plugin: Path) -> None:
    plugin.write_text(FAILING)
    command = [installed, "--plugin", str(plugin), "ask", "--explain", "Where?"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.index("→ the passages were judged") < ended.stderr.index("rqa: The second index is gone.")


def test_a_read_only_cache_folder_is_an_error_with_a_hint(
    rqa: Any, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setenv("RQA_CACHE_DIR", str(tmp_path / "taken"))
    ended = rqa("--plugin", plugin, "ask", "--docs", tmp_path, "Where?")
    assert (ended.code, ended.out) == (2, "")
    assert f"{tmp_path}/taken/docs" in ended.err and "RQA_CACHE_DIR" in ended.err and "rqa index" in ended.err


def test_a_byte_order_mark_is_no_part_of_the_question(installed: str, plugin: Path) -> None:
    command = [installed, "--plugin", str(plugin), "ask", "--json", "-r", "given-notes"]
    ended = subprocess.run(command, input="\ufeffWhere?\n", capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(ended.stdout)["question"] == "Where?"


CITING = """
from robust_qa import Answer, Citation, Position, hookimpl

class Citing:
    needs = frozenset()

    async def answer(self, question, toolbox):
        cited = Citation("The café opened in 1871 – at last.", title="Łódź")
        return Answer("1871", citations=(cited,), conflicts=(Position("1871", citations=(cited,), chosen=True),))

@hookimpl
def rqa_register(registry):
    registry.strategy("citing", Citing, rank=1)
"""


@pytest.mark.parametrize(
    "command, encoding, cited",
    [
        (["ask"], "ascii", "?The caf? opened"),
        (["ask"], "latin-1", "?The café opened"),
        (["compare", "-s", "citing"], "latin-1", "?The café opened"),
    ],
)
def test_what_an_encoding_lacks_is_a_question_mark(
    installed: str, plugin: Path, command: list[str], encoding: str, cited: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.write_text(CITING)
    monkeypatch.setenv("RQA_PLUGINS", "eval")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    ended = subprocess.run([installed, "--plugin", str(plugin), *command, "When?"], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr.count(b"Error")) == (0, 0)
    assert cited in ended.stdout.decode(encoding)


@pytest.mark.parametrize(
    "file, message",
    [("-", "There are no passages in standard input."), ("gone.jsonl", "Cannot read passages from gone.jsonl: ")],
)
def test_a_missing_passages_file_is_an_error_with_a_hint(rqa: Any, file: str, message: str) -> None:
    ended = rqa("ask", "--passages", file, "When?")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"rqa: {message}") and len(ended.err.splitlines()) == 2


HARBOUR = Path(__file__).parents[2] / "examples" / "harbour"


def test_without_a_sure_answer_the_closest_passages_are_shown(rqa: Any) -> None:
    ended = rqa("ask", "--docs", HARBOUR, "How do keepers get paid?")
    assert ended.code == 0
    assert ended.out.startswith("Not sure of an answer.\n\nThe closest passages:\n[1] ")
    assert "keepers.md" in ended.out


def test_the_closest_passages_do_not_repeat_what_is_cited(rqa: Any) -> None:
    answer = json.loads(rqa("ask", "--json", "--docs", HARBOUR, "Who was the last keeper?").out)
    assert answer["answer"] == "Joan Pascoe"
    cited = {each["source"] for each in answer["citations"]}
    assert answer["closest"] and cited.isdisjoint(each["source"] for each in answer["closest"])


def test_a_short_answer_is_printed_alone_and_its_absence_is_code_6(rqa: Any) -> None:
    ended = rqa("ask", "--short", "--docs", HARBOUR, "Who was the last keeper?")
    assert (ended.code, ended.out) == (0, "Joan Pascoe\n")
    ended = rqa("ask", "--short", "--docs", HARBOUR, "How do keepers get paid?")
    assert (ended.code, ended.out) == (6, "")


def test_short_and_json_exclude_each_other(rqa: Any) -> None:
    assert rqa("ask", "--short", "--json", "Who?").code == 2


def test_passages_that_share_nothing_with_the_question_are_not_shown(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "bread.txt").write_text("Bread is baked from flour and water.\n")
    (tmp_path / "boats.txt").write_text("Boats leave the harbour at noon.\n")
    command = ("ask", "--no-history", "-d", tmp_path / "bread.txt", "-d", tmp_path / "boats.txt")
    ended = rqa(*command, "Who was the keeper of the harbour?")
    assert "boats" in ended.out and "bread" not in ended.out
    unrelated = rqa("ask", "--no-history", "--passages", tmp_path / "bread.txt", "Which planet has rings?")
    assert unrelated.out == "No passage that was found is about the question.\n"

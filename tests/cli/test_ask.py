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
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130 and time.monotonic() - began < 10
    assert err.count(b"interrupted") == 1 and b"the same command again" in err


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
    assert ended.stderr.index("→ the passages were judged") < ended.stderr.index(
        "rqa: error: The second index is gone."
    )


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


HARBOUR = Path(__file__).parents[2] / "examples" / "harbour"


def test_without_a_sure_answer_the_closest_passages_are_shown(rqa: Any) -> None:
    ended = rqa("ask", "--docs", HARBOUR, "How do keepers get paid?")
    assert ended.code == 0
    assert ended.out.startswith("Not sure of an answer.\n\nAlso found:\n[1] ")
    assert "keepers.md" in ended.out


def test_a_disagreement_is_told_alike_by_every_command_and_cites_what_is_shown(rqa: Any, tmp_path: Path) -> None:
    for name, year in (("harbour", 1871), ("chronicle", 1871), ("guide", 1874)):
        (tmp_path / f"{name}.txt").write_text(f"{name}: the lighthouse of Arnholm was built in {year}.\n")
    asked = ("When was the lighthouse of Arnholm built?", "--docs", tmp_path)
    lead = rqa("ask", *asked).out.splitlines()[0]
    assert lead.startswith("Probably: 1871 (")
    assert lead in rqa("history").out and lead in rqa("history", "show", 1).out
    assert lead in rqa("compare", *asked, "-s", "corroborate").out
    whole = json.loads(rqa("ask", *asked, "--json").out)
    assert whole["answer"] is None and sorted(Path(each["source"]).stem for each in whole["citations"]) == [
        "chronicle", "guide", "harbour",
    ]  # fmt: skip


def test_a_short_answer_is_printed_alone_and_its_absence_is_code_6(rqa: Any) -> None:
    ended = rqa("ask", "--short", "--docs", HARBOUR, "Who was the last keeper?")
    assert (ended.code, ended.out) == (0, "Joan Pascoe\n")
    ended = rqa("ask", "--short", "--docs", HARBOUR, "How do keepers get paid?")
    assert (ended.code, ended.out) == (6, "")


CLOSING = """
import time
from robust_qa import Answer, hookimpl

class Lingers:
    needs = frozenset()

    async def answer(self, question, toolbox):
        return Answer("here")

    def close(self):
        time.sleep({seconds})

@hookimpl
def rqa_register(registry):
    registry.strategy("lingers", Lingers)
"""


def test_the_answer_is_printed_before_components_are_closed(installed: str, plugin: Path) -> None:
    plugin.write_text(CLOSING.format(seconds=3))
    command = [installed, "--plugin", str(plugin), "ask", "-s", "lingers", "Where?"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "here\n"
        assert running.poll() is None  # it is closing
        assert running.wait(timeout=30) == 0


def test_a_component_that_does_not_close_is_left_behind_and_named(
    rqa: Any, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robust_qa.calls.contract._CLOSING", 0.1)  # users cannot set it
    plugin.write_text(CLOSING.format(seconds=5))
    began = time.monotonic()
    ended = rqa("--plugin", plugin, "ask", "-s", "lingers", "Where?")
    assert (ended.code, ended.out) == (0, "here\n") and time.monotonic() - began < 4
    assert "rqa: strategy.lingers did not close within 0.1 s, so rqa went on without it." in ended.err


FILTERS = """
from dataclasses import dataclass
from robust_qa import Answer, Passage, hookimpl

class Notes:
    @dataclass
    class Options:
        within: str = ""
        types: str = ""
        since: str = ""

    def __init__(self, options):
        self.options = options

    def retrieve(self, query, k):
        return [Passage(f"{self.options.within} {self.options.types} {self.options.since}")]

class First:
    needs = frozenset({"retrieve"})

    async def answer(self, question, toolbox):
        return Answer((await toolbox.retrieve())[0].text)

@hookimpl
def rqa_register(registry):
    registry.retriever("notes", Notes)
    registry.strategy("first", First, rank=1)
"""


def test_a_retriever_gets_the_filters_as_they_are_typed(rqa: Any, plugin: Path) -> None:
    plugin.write_text(FILTERS)
    filters = ["--in", "travel", "--type", "md", "--since", "2025-03"]
    ended = rqa("--plugin", plugin, "ask", "--short", "-r", "notes", *filters, "Where?")
    assert (ended.code, ended.out) == (0, "travel md 2025-03\n")


def test_a_filter_that_a_retriever_lacks_is_named(rqa: Any, plugin: Path) -> None:
    plugin.write_text(FILTERS)
    ended = rqa("--plugin", plugin, "ask", "-r", "notes", "--in", "travel", "--title", "Spain", "Where?")
    assert ended.code == 2 and "Retriever 'notes' cannot filter by title." in ended.err


@pytest.mark.parametrize("since", ["3x", "May", "2025-02-30", "2025-3-1"])
def test_a_date_that_is_none_is_an_error_for_any_retriever(rqa: Any, plugin: Path, since: str) -> None:
    plugin.write_text(FILTERS)
    ended = rqa("--plugin", plugin, "ask", "-r", "notes", "--since", since, "Where?")
    assert ended.code == 2 and f"--since {since} is not a date. Write 2025-01-31, 31 January 2025, 2025" in ended.err


def test_a_filter_that_leaves_nothing_says_so_and_yesterday_is_a_date(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The lighthouse of Arnholm was built in 1871.")
    asked = ("ask", "--docs", tmp_path, "When was the lighthouse of Arnholm built?")
    assert f"There is nothing to search at or under {Path('nowhere').absolute()}" in rqa(*asked, "--in", "nowhere").err
    assert rqa(*asked, "--since", "yesterday").out.startswith("1871")

"""`rqa search`: passages with their places, without a reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HARBOUR = Path(__file__).parents[4] / "examples/harbour"
Rqa = Callable[..., Any]


def test_passages_have_their_place_and_the_closest_sentences(rqa: Rqa) -> None:
    found = rqa("search", "-d", HARBOUR, "-r", "bm25", "who was the last keeper", "-k", 2)
    assert found.code == 0
    assert found.out.startswith("[1] ") and "keepers.md:" in found.out.splitlines()[0]
    assert "The last keeper was Joan Pascoe" in " ".join(found.out.split())
    assert "[2] " in found.out and "[3] " not in found.out


def test_the_place_is_that_of_the_row_that_fits(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text("boat,fee\n" + "".join(f"Boat {n},{n * 7} EUR\n" for n in range(1, 9)))
    found = rqa("search", "-d", tmp_path, "-r", "bm25", "fee of boat 5")
    assert "fees.csv:6" in found.out.splitlines()[0]


def test_filters_restrict_the_search_and_no_passage_is_an_outcome_of_its_own(rqa: Rqa) -> None:
    search = ("search", "-d", HARBOUR, "-r", "bm25", "keeper", "--json")
    assert {Path(each["file"]).suffix for each in json.loads(rqa(*search, "--type", "md").out)} == {".md"}
    nothing = rqa(*search, "--type", "pdf")
    assert (nothing.code, nothing.out) == (6, "")
    assert "no passage was found" in nothing.err


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("parse http response code", "parseHTTPResponseCode"),
        ("AB1234", "AB-1234/5"),
        ("E-0417", "E0417"),
        ("CX 900", "CX900"),
    ],
)
def test_a_compound_is_found_by_its_parts_and_without_its_separators(
    rqa: Rqa, tmp_path: Path, words: str, written: str
) -> None:
    (tmp_path / "a.md").write_text(f"Look at {written} first.\n\nThe rest is about tides.\n")
    assert written in rqa("search", "-d", tmp_path, "-r", "bm25", words).out


@pytest.mark.parametrize("retriever", ["bm25", "hybrid"])
def test_a_word_that_no_passage_has_is_said_with_the_one_that_may_be_meant(
    rqa: Rqa, tmp_path: Path, retriever: str
) -> None:
    (tmp_path / "a.md").write_text("The treasurer is Ida Moe, who runs the regatta and brings the tent.\n")
    search = ("search", "-d", tmp_path, "-r", retriever)
    assert 'No passage has "tresurer": did you mean "treasurer"?' in rqa(*search, "tresurer").err
    assert 'No passage has "xyzzy".' in rqa(*search, "xyzzy").err
    assert "No passage has" not in rqa(*search, "Who runs the regattas?").err
    ask = ("ask", "-d", tmp_path, "-r", retriever, "--reader", "lexical")
    assert 'did you mean "treasurer"?' in rqa(*ask, "Who is the tresurer?").err
    assert "No passage has" not in rqa(*ask, "Whose luggage contains a tent for the annual regatta?").err


def test_json_is_what_ask_reads(rqa: Rqa) -> None:
    found = rqa("search", "-d", HARBOUR, "-r", "bm25", "who was the last keeper", "--json")
    assert {"text", "title", "source", "place", "score", "file"} <= json.loads(found.out)[0].keys()
    answered = rqa(
        "ask", "--passages", "-", "--reader", "lexical", "Who was the last keeper?", "--json", stdin=found.out
    )
    assert answered.code == 0
    assert json.loads(answered.out)["closest"]


def test_open_starts_the_editor_at_the_line(rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{editor} -n")
    search = ("search", "-d", HARBOUR, "-r", "bm25", "who was the last keeper", "--open")
    assert rqa(*search, 1).code == 0
    option, line, file = (tmp_path / "opened").read_text().splitlines()
    assert option == "-n" and line.startswith("+") and file == str(HARBOUR / "keepers.md")
    assert "There is no passage 99" in rqa(*search, 99).err
    monkeypatch.setenv("EDITOR", str(tmp_path / "absent"))
    assert "Cannot start" in rqa(*search, 1).err

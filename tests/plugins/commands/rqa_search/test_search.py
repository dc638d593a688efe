"""`rqa search`: passages with their places, without a reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
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
    assert "There is nothing to search of the type pdf." in nothing.err


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


REGATTA = "The treasurer is Ida Moe, who runs the annual regatta with Skerry Club and brings the tent.\n"


@pytest.mark.parametrize("retriever", ["bm25", "hybrid"])
def test_a_misspelt_word_is_searched_and_asked_as_the_word_of_the_documents(
    rqa: Rqa, tmp_path: Path, retriever: str
) -> None:
    (tmp_path / "a.md").write_text(REGATTA)
    search = ("search", "-d", tmp_path, "-r", retriever)
    found = rqa(*search, "tresurer of the anual regata")
    assert "The treasurer is Ida Moe" in found.out
    assert "searched with: treasurer, annual, regatta" in found.err
    answered = rqa("ask", "-d", tmp_path, "-r", retriever, "Who is the tresurer?")
    assert answered.out.splitlines()[:2] == ["Ida Moe", "Asked with: treasurer"]
    whole = json.loads(rqa("ask", "-d", tmp_path, "-r", retriever, "--json", "Who is the tresurer?").out)
    assert (whole["question"], whole["corrections"]) == ("Who is the tresurer?", {"tresurer": "treasurer"})


@pytest.mark.parametrize(
    "asked",
    [
        "Where is the treasure?",  # an English word
        "Who runs the reigning club?",
        "Who runs the Skery club?",  # a name
        "Who runs the regatta2?",
        "Who runs the regattas?",
        "What do treasurers bring?",
    ],
)
def test_a_name_a_number_and_a_word_of_the_language_are_not_corrected(rqa: Rqa, tmp_path: Path, asked: str) -> None:
    (tmp_path / "a.md").write_text(REGATTA)
    assert json.loads(rqa("ask", "-d", tmp_path, "--json", "--reader", "lexical", asked).out)["corrections"] == {}


def test_a_word_with_two_neighbours_is_not_corrected(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The causes are many. The curses are few.\n")
    assert "searched with" not in rqa("search", "-d", tmp_path, "cauurses").err


@pytest.mark.parametrize(
    ("words", "written"), [("xray", "x-ray"), ("x-ray", "xray"), ("email", "e-mail"), ("e-mail", "email")]
)
def test_words_are_found_together_and_apart(rqa: Rqa, tmp_path: Path, words: str, written: str) -> None:
    (tmp_path / "a.md").write_text(f"The {written} is sent at noon.\n")
    assert written in rqa("search", "-d", tmp_path, "-r", "bm25", words).out


@pytest.mark.parametrize("retriever", ["bm25", "hybrid"])
def test_a_word_that_no_passage_has_is_said(rqa: Rqa, tmp_path: Path, retriever: str) -> None:
    (tmp_path / "a.md").write_text(REGATTA)
    search = ("search", "-d", tmp_path, "-r", retriever)
    assert 'No passage has "Treasuer-2": did you mean' not in rqa(*search, "Treasuer-2").err
    assert 'No passage has "xyzzy".' in rqa(*search, "xyzzy").err
    assert "No passage has" not in rqa(*search, "Who runs the regattas?").err
    ask = ("ask", "-d", tmp_path, "-r", retriever, "--reader", "lexical")
    assert 'No passage has "Skery": did you mean "skerry"?' in rqa(*ask, "Who is in Skery Club?").err
    assert "No passage has" not in rqa(*ask, "Whose luggage contains a tent for the annual regatta?").err


def test_nonsense_gets_one_message(rqa: Rqa) -> None:
    assert rqa("search", "-d", HARBOUR, "-r", "bm25", "xyzzy").err == 'rqa: No passage has "xyzzy".\n'
    assert rqa("search", "-d", HARBOUR, "-r", "bm25", "xyzzy", "plugh").err == "rqa: no passage was found\n"


def test_a_hit_is_shown_between_its_neighbours_and_has_the_place_of_its_line(rqa: Rqa, tmp_path: Path) -> None:
    lines = [f"Note {n} is about the tide." for n in range(1, 8)]
    (tmp_path / "a.txt").write_text("\n".join([*lines, "Hotels are booked by Ann.", *lines]) + "\n")
    found = rqa("search", "-d", tmp_path, "-r", "bm25", "hotel")
    assert "a.txt:8" in found.out
    assert "“Note 7 is about the tide. Hotels are booked by Ann. Note 1 is about the tide.”" in found.out


def test_the_word_is_marked_also_where_only_its_stem_matches(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Hotels are booked by Ann.\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[4mHotels\x1b[" in rqa("search", "-d", tmp_path, "-r", "bm25", "hotel").out.replace("[0;4m", "[4m")


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


def test_open_says_what_to_do_where_no_program_opens_the_file(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = openpyxl.Workbook()
    book.active.append(["The last keeper was Joan Pascoe."])
    book.save(tmp_path / "keepers.xlsx")
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = rqa("search", "-d", tmp_path / "keepers.xlsx", "-r", "bm25", "keeper", "--open", 1)
    assert ended.code == 1 and "No program here opens" in ended.err and "on a machine with a desktop" in ended.err

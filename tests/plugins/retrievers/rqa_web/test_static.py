"""The provider `static`: a file of results instead of a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from standins.web import Web, html

from robust_qa import InputError, MissingError
from robust_qa.testing import assert_conforms
from rqa_web import Web as Retriever


@pytest.fixture
def results(tmp_path: Path) -> Any:
    """Return a function that writes a file of results and returns its path."""

    def write(*rows: object) -> Path:
        file = tmp_path / "results.jsonl"
        file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
        return file

    return write


LIGHTHOUSE = {"title": "Skerry Point", "url": "https://a.example/1", "text": "The lighthouse was built in 1871."}
FERRY = {"title": "Ferry", "url": "https://a.example/2", "text": "The ferry was built in 1902 and runs daily."}


async def test_results_that_share_most_words_come_first(results: Any, connect: Any, search: Any) -> None:
    retriever = connect(provider="static", file=results(FERRY, LIGHTHOUSE))
    passages, remarks = await search(retriever, "lighthouse built")
    assert [(p.title, p.source) for p in passages] == [
        ("Skerry Point", "https://a.example/1"),
        ("Ferry", "https://a.example/2"),
    ]
    assert (passages[0].text, remarks) == (LIGHTHOUSE["text"], [])


async def test_a_result_without_text_is_a_page_to_fetch(web: Web, results: Any, connect: Any, search: Any) -> None:
    web.routes["/page"] = html("<p>The boiler was serviced by Ada Quill.</p>")
    file = results({"title": "Boiler", "url": f"{web.url}/page", "snippet": "About the boiler."})
    (passage,), _ = await search(connect(provider="static", file=file, robots=False), "boiler")
    assert passage.text == "The boiler was serviced by Ada Quill."


async def test_a_text_without_address_is_identified_by_its_line(results: Any, connect: Any, search: Any) -> None:
    (passage,), _ = await search(connect(provider="static", file=results("", {"text": "A boiler."})), "boiler")
    assert (passage.id, passage.text) == ("results.jsonl:2", "A boiler.")


def test_the_fingerprint_depends_on_the_file(results: Any) -> None:
    first = Retriever(Retriever.Options(provider="static", file=results(FERRY))).fingerprint()
    assert first != Retriever(Retriever.Options(provider="static", file=results(LIGHTHOUSE))).fingerprint()


@pytest.mark.parametrize("row", ["[]", '{"url": "ftp://a.example"}'])
def test_an_invalid_line_is_named(row: str, results: Any) -> None:
    file = results(FERRY, row)
    with pytest.raises(InputError, match=rf"Line 2 of the search results {file}"):
        Retriever(Retriever.Options(provider="static", file=file))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"none\.jsonl"):
        Retriever(Retriever.Options(provider="static", file=tmp_path / "none.jsonl"))


def test_it_conforms(results: Any) -> None:
    rows = [{"title": f"Page {n}", "text": f"Text about moles, number {n}."} for n in range(20)]
    assert_conforms("retriever", Retriever(Retriever.Options(provider="static", file=results(*rows))), query="moles")

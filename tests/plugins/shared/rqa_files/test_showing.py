"""A quote is shown in its document, as rqa read it."""

from __future__ import annotations

from pathlib import Path

from robust_qa.answering import Host
from rqa_files.showing import View, view_of


def shown(file: Path, quote: str, place: str = "") -> View:
    return view_of(file, Host.from_environment().file_formats, quote, place)


def marked(view: View) -> list[str]:
    return [block.text[start:end] for block in view.blocks for start, end in block.marks]


def test_a_quote_is_marked_across_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# The light\n\nIt was\nbuilt in 1871. It stands.\n")
    view = shown(tmp_path / "a.md", "It was built in 1871.")
    assert (view.title, marked(view)) == ("The light", ["It was built in 1871."])


def test_a_quote_of_several_blocks_is_marked_in_each(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("They are:\n\n- red\n- white\n\nNo more.\n")
    assert marked(shown(tmp_path / "a.md", "They are:\n- red\n- white")) == ["They are:", "red", "white"]


def test_of_equal_sentences_that_of_the_line_is_marked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Paid.\n\nUnpaid bills.\n\nPaid.\n")
    view = shown(tmp_path / "a.txt", "Paid.", "line 5")
    assert view.hit == 2


def test_a_row_has_its_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("boat,fee\nAda,12\nBob,15\n")
    view = shown(tmp_path / "a.csv", "boat: Bob; fee: 15", "line 3")
    assert view.hit == 1 and view.blocks[1].cells == [("boat", "Bob"), ("fee", "15")]


def test_a_quote_that_was_cut_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One two three four five.\n")
    assert marked(shown(tmp_path / "a.txt", "… two three four …")) == ["two three four"]


def test_a_quote_that_is_gone_has_no_hit_and_a_long_document_is_cut_around_the_hit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(f"Paragraph {n}." for n in range(1000)))
    assert shown(tmp_path / "a.txt", "nothing").hit is None
    view = shown(tmp_path / "a.txt", "Paragraph 500.")
    assert view.before > 300 and view.after > 300 and marked(view) == ["Paragraph 500."]

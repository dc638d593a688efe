"""Folders with several editions of a document: the one that is asked for answers, and the others are named."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import robust_qa

FOLDERS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "editions.toml").read_text())


@pytest.mark.parametrize("name", FOLDERS)
def test_the_edition_that_is_asked_for_answers(name: str, tmp_path: Path) -> None:
    folder = FOLDERS[name]
    for file, text in folder["files"].items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    given = robust_qa.ask(folder["question"], docs=tmp_path, strategy="corroborate")
    if "sides" in folder:  # nobody says which is newer
        assert given.text is None and {side.text for side in given.conflicts} == set(folder["sides"])
        return
    told = given.text or (given.best_guess.text if given.best_guess else "")  # how sure the reader is is another matter
    assert folder["right"] in told and not given.conflicts
    assert folder.get("sure") in (None, given.text is not None)
    assert all(other in given.reason for other in folder.get("other", ()))
    assert not any(other in given.reason for other in folder.get("apart", ()))


def test_what_the_one_in_force_tells_in_other_words_is_not_told_by_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "rules-2023.md").write_text(
        "# House rules 2023\n\nJumping from the end of the jetty is allowed from May to September.\n"
    )
    (tmp_path / "rules.md").write_text(
        "# House rules (in force from 1 April 2026)\n\nJumping from the jetty is forbidden all year.\n"
    )
    given = robust_qa.ask("Can I jump off the jetty in July?", docs=tmp_path, strategy="corroborate")
    assert given.text in (None, "No") and (given.best_guess is None or given.best_guess.text == "No")
    assert "does not say" not in given.reason

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

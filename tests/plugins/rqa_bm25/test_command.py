"""`rqa index` and `rqa ask` over files that change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,embedded,lexical,rag,norag")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[retriever.hybrid]\nwordz = 5", "[retriever.hybrid] has no option `wordz`"),
        ("[retriever.hybrid]\nindex = '../x'", "outside its folder"),
        ("[retriever.hybrid]\nembedder = 'nowhere'", "no embedder named 'nowhere'"),
        ("[retriever.notes]\nplugin = 'bm25'\nwords = 'many'", "`retriever.notes.words` must be"),
    ],
)
def test_a_wrong_table_is_not_passed_over(table: str, message: str, rqa: Rqa, tmp_path: Path) -> None:
    (Path.cwd() / "rqa.toml").write_text(table)
    (tmp_path / "a.txt").write_text("The panda eats bamboo.")
    checked, ended = rqa("config", "check"), rqa("index", tmp_path / "a.txt")
    assert ended.code == 2 and message in ended.err
    assert ended.err == checked.err
    assert not list(tmp_path.rglob("rqa-index.json"))


def test_a_table_of_a_plugin_that_is_not_installed_is_passed_over(rqa: Rqa, tmp_path: Path) -> None:
    (Path.cwd() / "rqa.toml").write_text("[retriever.elsewhere]\nplugin = 'not-here'\n")
    (tmp_path / "a.txt").write_text("The panda eats bamboo.")
    assert "1 added" in rqa("index", tmp_path / "a.txt").err

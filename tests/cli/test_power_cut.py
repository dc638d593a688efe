"""What a power cut may not do: leave a file that was being replaced empty or half written."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("keys set openai --host api.openai.com", "keys.json"),
        ("config trust", "trusted.json"),
        ("init --user", "config.toml"),
        ("index notes.txt", "rqa-index.json"),
        ("index notes.txt -r hybrid", "vectors"),
        ("ask Who? -O history.enabled=false -d notes.txt --reader lexical -o answer.md", "answer.md"),
        ("batch in.jsonl --reader lexical -o out.jsonl", "out.jsonl.state.json"),
        ("batch in.jsonl --reader lexical -o out.csv", "out.csv"),
        ("eval in.jsonl -s rag --reader lexical -o run", "metrics.json"),
    ],
)
def test_a_file_is_on_disk_before_it_gets_its_name(
    command: str, file: str, rqa: Rqa, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fsync of the file, then its name, then fsync of the folder."""
    Path("rqa.toml").write_text("")
    Path("notes.txt").write_text("The keeper of the light was Ada.")
    Path("in.jsonl").write_text('{"question": "Who?", "answers": ["Ada"], "passages": ["The keeper was Ada."]}\n')
    synced: list[int] = []
    named: dict[str, list[bool | int]] = {}
    fsync, replace = os.fsync, Path.replace

    def syncing(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def replacing(draft: Path, target: Path) -> Path:
        named[Path(target).name] = [draft.stat().st_ino in synced, len(synced), Path(target).parent.stat().st_ino]
        return replace(draft, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "replace", replacing)
    ended = rqa(*shlex.split(command), stdin="sk-hunter2-and-more")
    assert ended.code == 0, ended.err
    was_synced, then, folder = named[file]
    assert was_synced and folder in synced[then:]

"""Fixtures that write a file and read it, with the formats of the built-in plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from robust_qa.host.loading import Host
from rqa_files import Cut, Document, Excerpt, Report
from rqa_files import read as read_as
from rqa_files.document import LIMIT

FORMATS = Host().file_formats


def read(path: Path, report: Report, limit: int = LIMIT) -> Iterator[Document]:
    """Read a file by the formats of the built-in plugins."""
    return read_as(path, report, FORMATS, limit)


@pytest.fixture
def document(tmp_path: Path) -> Callable[[str, str | bytes], Document]:
    """Write a file, and return the one document in it."""

    def read_one(name: str, content: str | bytes) -> Document:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        (found,) = read(tmp_path / name, lambda where, why: None)
        return found

    return read_one


@pytest.fixture
def blocks(document) -> Callable[[str, str], list[tuple[str, str]]]:
    """Write a file, and return the kind and text of each block in it."""
    return lambda name, content: [(block.kind, block.text) for block in document(name, content).blocks]


@pytest.fixture
def passages(document) -> Callable[..., list[Excerpt]]:
    """Write a file, and return its passages."""
    return lambda name, content, words=100: list(Cut(words).passages(document(name, content)))


@pytest.fixture
def text(passages) -> Callable[[str, str], str]:
    """Write a short file, and return the text of its one passage."""

    def read_text(name: str, content: str) -> str:
        (passage,) = passages(name, content)
        return passage.text

    return read_text

"""Trust in a configuration file depends on its path and content."""

import os
import stat
from pathlib import Path

import pytest

from robust_qa.config import trust


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rqa.toml"
    path.write_bytes(b"k = 1")
    return path


def test_nothing_is_trusted_at_first(file: Path) -> None:
    assert not trust.is_trusted(file, b"k = 1")


def test_a_trusted_file_is_trusted_until_it_changes(file: Path) -> None:
    trust.trust(file, b"k = 1")
    assert trust.is_trusted(file, b"k = 1")
    assert not trust.is_trusted(file, b"k = 2")


def test_the_same_content_elsewhere_is_not_trusted(file: Path, tmp_path: Path) -> None:
    trust.trust(file, b"k = 1")
    assert not trust.is_trusted(tmp_path / "other" / "rqa.toml", b"k = 1")


def test_a_link_to_a_trusted_file_is_not_trusted(file: Path, tmp_path: Path) -> None:
    # Its relative paths would name other files: those beside the link.
    trust.trust(file, b"k = 1")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "rqa.toml").symlink_to(file)
    assert not trust.is_trusted(tmp_path / "repository" / "rqa.toml", b"k = 1")


def test_a_folder_reached_by_a_link_is_the_same_folder(file: Path, tmp_path: Path) -> None:
    trust.trust(file, b"k = 1")
    (tmp_path / "link").symlink_to(tmp_path)
    assert trust.is_trusted(tmp_path / "link" / "rqa.toml", b"k = 1")


def test_trust_can_be_undone(file: Path) -> None:
    assert not trust.distrust(file)
    trust.trust(file, b"k = 1")
    assert trust.distrust(file)
    assert not trust.is_trusted(file, b"k = 1")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"null", b'{"x": 1}'])
def test_a_damaged_trust_file_trusts_nothing_and_is_replaced(file: Path, content: bytes) -> None:
    trusted = Path(os.environ["RQA_CONFIG_DIR"], "trusted.json")
    trusted.parent.mkdir()
    trusted.write_bytes(content)
    assert not trust.is_trusted(file, b"k = 1")
    trust.trust(file, b"k = 1")
    assert trust.is_trusted(file, b"k = 1")
    assert stat.S_IMODE(trusted.stat().st_mode) == 0o600

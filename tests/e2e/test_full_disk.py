"""What rqa says when the disk is full: a file system in memory, in a namespace of its own."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
RQA = f"{sys.executable} -m robust_qa"
FULL = """
mount -t tmpfs -o size=3m none {disk} || exit 77
export RQA_CONFIG_DIR={disk}/config RQA_DATA_DIR={disk}/data RQA_CACHE_DIR={disk}/cache
mkdir {disk}/config {disk}/data {disk}/cache
{before}
dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null
{after}
"""


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """The place of the disk, beside a document."""
    (tmp_path / "fee.md").write_text("The annual fee of the club is 20 crowns.")
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


def run(disk: Path, after: str, before: str = "") -> str:
    script = FULL.format(disk=disk, after=after, before=before)
    try:
        ended = subprocess.run([*NAMESPACE, script], cwd=disk.parent, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if ended.returncode == 77 or ended.stderr.startswith("unshare:"):
        pytest.skip(f"cannot mount a file system here: {ended.stderr}")
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("echo sk-123456789 | {rqa} keys set openai --host api.openai.com", "config/keys.json"),
        ("touch rqa.toml; {rqa} config trust rqa.toml", "config/trusted.json"),
        ("cd {disk}/config; {rqa} init", "config/rqa.toml"),
    ],
)
def test_a_file_that_does_not_fit_is_named(command: str, file: str, full: Path) -> None:
    said = run(full, command.format(rqa=RQA, disk=full))
    assert f"rqa: error: Cannot use {full / file}: No space left on device." in said
    assert "The disk is full. Free some space" in said and "permissions" not in said


@pytest.mark.parametrize("command", ["index fee.md", "ask --docs fee.md 'What is the fee?'"])
def test_a_full_disk_while_indexing_is_not_blamed_on_the_plugin(command: str, full: Path) -> None:
    said = run(full, f"{RQA} {command}")
    assert f"Writing the index at {full}" in said and "Check that the disk is not full" in said
    assert "fault of the plugin" not in said


def test_indexing_that_does_not_fit_leaves_the_disk_as_it_was(full: Path) -> None:
    (full.parent / "large.txt").write_text("\n\n".join(random.randbytes(30).hex() for _ in range(60_000)))
    size = f"du -sk {full}/data"
    said = run(full, "", before=f"{RQA} index fee.md; {size}; {RQA} index large.txt; {size}")
    assert "Check that the disk is not full" in said
    before, after = (int(line.split()[0]) for line in said.splitlines() if line.endswith("/data"))
    assert after < before + 100


def test_ask_answers_and_warns_of_history_and_cache(full: Path) -> None:
    said = run(full, f"{RQA} ask 'What is the annual fee?'", before=f"{RQA} index fee.md")
    assert said.startswith(("20 crowns", "rqa: "))
    assert "20 crowns" in said and "fault of the plugin" not in said
    [history] = [line for line in said.splitlines() if "the answer is not in the history" in line]
    assert str(full / "data") in history and ("disk is full" in history or "disk is not full" in history)

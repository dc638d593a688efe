"""The embedded reader as a user meets it: the installed command, no network, a damaged model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rqa_embedded.engine import PACKAGED

pytestmark = pytest.mark.skipif(not (PACKAGED / "model.bin").exists(), reason="the model file is not in this checkout")

ROOT = Path(__file__).parents[2]
HARBOUR = ROOT / "examples" / "harbour"
# A process that ends with 99 as soon as anything looks up a name or opens a connection.
OFFLINE = (
    "import os, sys\n"
    "def guard(event, arguments):\n"
    "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'socket.sendto'):\n"
    "        os.write(2, f'{event} {arguments}'.encode()); os._exit(99)\n"
    "sys.addaudithook(guard)\n"
    "sys.argv[0] = 'rqa'\n"
    "from robust_qa.main import main; main()"
)


def test_a_question_is_answered_with_the_network_forbidden() -> None:
    asked = ["ask", "--json", "--docs", HARBOUR, "-O", "reader.embedded.threshold=0", "Who was the last keeper?"]
    ended = subprocess.run(
        [sys.executable, "-c", OFFLINE, *map(str, asked)], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert answer["answer"] == "Joan Pascoe"
    assert answer["citations"][0]["source"].endswith("keepers.md")


def test_the_guard_would_have_seen_a_connection() -> None:
    code = OFFLINE.replace(
        "from robust_qa.main import main; main()", "import socket; socket.create_connection(('a', 1))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 99


@pytest.mark.parametrize(("harm", "told"), [("damage", "damaged"), ("delete", "incomplete")])
def test_a_damaged_or_missing_model_exits_with_4_and_a_fix(
    installed: str, tmp_path: Path, harm: str, told: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(PACKAGED, folder)
    weights = folder / "model.bin"
    if harm == "delete":
        weights.unlink()
    else:
        content = bytearray(weights.read_bytes())
        content[len(content) // 2] ^= 0xFF
        weights.write_bytes(content)
    asked = ["ask", "--docs", HARBOUR, "--reader", "embedded", "-O", f"reader.embedded.model={folder}", "Who?"]
    ended = subprocess.run([installed, *map(str, asked)], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert told in ended.stderr and "rqa train reader" in ended.stderr

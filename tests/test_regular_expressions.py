"""No passage, reply or page holds an expression for ever: it would hold the whole process, and Ctrl-C with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_no_regular_expression_runs_away_on_repeated_text() -> None:
    program = Path(__file__).with_name("adversarial.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.stdout, ended.returncode) == ("", 0), ended.stderr

"""`rqa index --watch`, as a process."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("watchfiles", reason="needs the extra watch: pip install '.[watch]'")


def test_a_new_file_is_indexed_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The ferry leaves at noon.")
    watching = subprocess.Popen(
        [sys.executable, "-m", "robust_qa", "index", "--watch", "-r", "bm25", "docs"],
        env={**os.environ, "RQA_DATA_DIR": str(tmp_path / "data"), "WATCHFILES_FORCE_POLLING": "1"},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stderr is not None
    limit = threading.Timer(100, watching.kill)
    limit.start()
    try:
        assert "1 added" in watching.stderr.readline()
        (tmp_path / "b.txt").write_text("It returns at six.")
        (tmp_path / "b.txt").rename(tmp_path / "docs" / "b.txt")
        assert "1 added" in watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0
    finally:
        limit.cancel()
        watching.kill()
        watching.communicate()

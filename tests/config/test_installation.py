"""Hints print an install command that works for the way the package was installed."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa.kit import install_hint

Recorded = Callable[..., None]


@pytest.fixture
def recorded(install: Callable[..., Path]) -> Recorded:
    """Record where the package was installed from, as installers do in direct_url.json (PEP 610)."""

    def record(origin: dict[str, Any] | None = None) -> None:
        folder = install("robust-qa", {}, entry_points="")
        if origin is not None:
            (folder / "robust_qa-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin), "utf-8")

    return record


@pytest.fixture(autouse=True)
def _pip_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate environment whose pip is first on the PATH."""
    folder = tmp_path / "env" / "bin"
    folder.mkdir(parents=True)
    (folder / "pip").write_text("#!/bin/sh\n")
    (folder / "pip").chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(folder.parent))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(folder))
    return folder.parent


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkout"
    folder.mkdir()
    return folder


def test_from_an_index_the_name_is_enough(recorded: Recorded) -> None:
    recorded()
    assert install_hint("llama") == "pip install 'robust-qa[llama]'"
    assert install_hint(again=True) == "pip install --force-reinstall --no-deps robust-qa"


@pytest.mark.parametrize(("editable", "flag"), [(False, ""), (True, "--editable ")])
def test_from_a_checkout_its_path_is_named(
    recorded: Recorded, checkout: Path, monkeypatch: pytest.MonkeyPatch, editable: bool, flag: str
) -> None:
    recorded({"url": checkout.as_uri(), "dir_info": {"editable": editable} if editable else {}})
    assert install_hint("llama") == f"pip install {flag}'{checkout}[llama]'"
    monkeypatch.chdir(checkout)
    assert install_hint("llama") == f"pip install {flag}'.[llama]'"


@pytest.mark.parametrize(
    ("receipt", "command"),
    [("pipx_metadata.json", "pipx install --force"), ("uv-receipt.toml", "uv tool install --force")],
)
def test_the_installing_tool_is_named_in_the_command(
    recorded: Recorded, checkout: Path, receipt: str, command: str
) -> None:
    Path(sys.prefix, receipt).touch()
    recorded({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    assert install_hint("llama") == f"{command} --editable '{checkout}[llama]'"


def test_a_command_that_lacks_an_extra_prints_it(
    recorded: Recorded, checkout: Path, rqa: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded({"url": checkout.as_uri(), "dir_info": {}})
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    site = next(Path(entry) for entry in sys.path if (Path(entry) / "robust_qa-1.0.dist-info").is_dir())
    (site / "robust_qa-1.0.dist-info" / "entry_points.txt").write_text("[rqa]\nrqa = rqa_catalogue\n")
    ended = rqa("ask", "-s", "norag", "--reader", "llamacpp", "-O", "reader.llamacpp.model=x.gguf", "Who?")
    assert f"Run `pip install '{checkout}[llama]'`." in ended.err


def test_the_hint_for_an_extra_with_a_distribution_of_its_own_names_its_folder_in_the_repository() -> None:
    if "--editable" not in (hint := install_hint("lab")):
        pytest.skip("rqa is not installed from its repository")
    assert hint.endswith("plugins/lab/papers")

"""Completion in the shell."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[3] / "standins" / "plugin.py"

Rqa = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "completion")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(rqa: Rqa, shell: str) -> None:
    ended = rqa("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"_RQA_COMPLETE={shell}_complete" in ended.out


def complete(installed: str, typed: str) -> list[str]:
    """Return what bash completes after `typed` with the script of `rqa completion bash`."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    program = f"""
        PATH={Path(installed).parent}:$PATH
        eval "$(cd / && rqa completion bash)"
        COMP_WORDS=({typed.rstrip()} {"''" if typed.endswith(" ") else ""})
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _rqa_completion rqa
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ended = subprocess.run([bash, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""
    return ended.stdout.split()


def test_bash_completes_commands_and_options(installed: str) -> None:
    assert complete(installed, "rqa as") == ["ask"]
    assert complete(installed, "rqa keys s") == ["set"]
    assert complete(installed, "rqa ask --str") == ["--strategy"]


def test_bash_completes_components_installed_and_configured(installed: str) -> None:
    Path("rqa.toml").write_text("[reader.parlour]\n")
    assert complete(installed, f"rqa --plugin {PLUGIN} ask --reader par") == ["parlour", "parrot"]


def test_errors_do_not_disturb_completion(installed: str) -> None:
    Path("rqa.toml").write_text("plugins = ['x.py']\n")
    assert complete(installed, f"rqa --plugin {PLUGIN} ask -s jud") == ["judged"]
    Path("rqa.toml").write_text("[broken\n")
    assert complete(installed, f"rqa --plugin {PLUGIN} ask -s jud") == []
    assert complete(installed, "rqa as") == ["ask"]


def test_bash_completes_the_options_of_components_installed_and_configured(installed: str) -> None:
    Path("rqa.toml").write_text('[reader.mine]\nplugin = "parrot"\n')
    command = f"rqa --plugin {PLUGIN} ask -O"
    assert complete(installed, f"{command} reader.parrot.ti") == ["reader.parrot.timeout="]
    assert complete(installed, f"{command} reader.mine.r") == [
        f"reader.mine.{name}=" for name in ("reply", "retries", "rpm")
    ]
    assert complete(installed, f"{command} defaults.s") == ["defaults.strategy="]
    assert complete(installed, f"{command} strategy.judged.timeout") == []


def test_completion_imports_no_engine() -> None:
    environment = os.environ | {"_RQA_COMPLETE": "bash_complete", "COMP_WORDS": "rqa ask -O reader", "COMP_CWORD": "3"}
    environment.pop("RQA_PLUGINS")
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from robust_qa.main import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    *offered, modules = ended.stdout.splitlines()
    assert "plain,reader.embedded.threshold=" in offered
    assert {"numpy", "ctranslate2", "tantivy", "llama_cpp", "torch", "httpx"} & set(modules.split()) == set()

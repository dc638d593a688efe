"""Completion in the shell."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[1] / "standins" / "plugin.py"

Rqa = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "none")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(rqa: Rqa, shell: str) -> None:
    ended = rqa("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"_RQA_COMPLETE={shell}_complete" in ended.out


def test_a_shell_that_is_not_known_is_a_usage_error(rqa: Rqa) -> None:
    assert rqa("completion", "csh").code == 2


def complete(installed: str, typed: str) -> list[str]:
    """Return what bash completes after `typed` with the script of `rqa completion bash`."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    program = f"""
        PATH={Path(installed).parent}:$PATH
        eval "$(rqa completion bash)"
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


def test_bash_completes_expressions_for_a_retriever(installed: str) -> None:
    Path("rqa.toml").write_text('[retriever.give]\n[defaults.expressions]\ngives = "none"\n')
    offered = ["give", "given", "given-even", "given-first", "given-last", "given-odd", "gives"]
    assert complete(installed, "rqa ask -r giv") == offered
    assert complete(installed, "rqa ask -r p") == ["pk"]


def test_a_trouble_does_not_disturb_the_tab_key(installed: str) -> None:
    Path("rqa.toml").write_text("plugins = ['x.py']\n")
    assert complete(installed, f"rqa --plugin {PLUGIN} ask -s jud") == ["judged"]
    Path("rqa.toml").write_text("[broken\n")
    assert complete(installed, f"rqa --plugin {PLUGIN} ask -s jud") == []
    assert complete(installed, "rqa as") == ["ask"]


def test_bash_offers_nothing_where_the_configuration_is_wrong(installed: str) -> None:
    Path("rqa.toml").write_text('[defaults]\nexpressions = "x"\n')
    assert complete(installed, "rqa ask -r ") == []

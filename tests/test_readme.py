"""The README's promises, held against the project."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)


def test_the_first_two_commands_are_single_lines_that_set_everything_up() -> None:
    for command in COMMANDS[:2]:
        assert "\n" not in command
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_ci_runs_the_readmes_test_command() -> None:
    tests = [line for line in README.splitlines() if line.endswith("pytest")]
    assert tests[0] == COMMANDS[1]
    assert "grep -m1 'pytest$' README.md" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_file_the_readme_links_to_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []

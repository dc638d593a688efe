"""The recipes in examples/papers can be loaded, and the commands of rqa-papers(7) name what they have."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli
from documentation import PAGES, ROOT, blocks, only_built_in  # noqa: F401

from rqa_eor.answers import PAPER

RECIPES = sorted((ROOT / "examples" / "papers").glob("*.toml"))
COMMANDS = [
    " ".join(command.replace("\\\n", " ").split())
    for block in blocks(PAGES["rqa-papers(7)"], "sh")
    for command in re.split(r"(?m)^(?=rqa )", block)
    if command.strip()
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_a_recipe_has_no_problems(rqa: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, recipe: Path) -> None:
    monkeypatch.setenv("RQA_KEY_SERPER", "none")
    ended = rqa("--config", recipe, "config", "check")
    assert (ended.code, ended.err) == (0, ""), ended.err


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_every_strategy_of_a_command_is_in_its_recipe_and_is_used(recipe: Path) -> None:
    commands = [command for command in COMMANDS if re.search(rf"--config (?:\S*/)?{recipe.name} ", command)]
    named = {name for command in commands for names in re.findall(r" -s (\S+)", command) for name in names.split(",")}
    assert commands and named == set(tomli.loads(recipe.read_text("utf-8"))["strategy"])


def test_the_page_names_every_recipe() -> None:
    assert set(re.findall(r"`([\w-]+\.toml)`", PAGES["rqa-papers(7)"])) == {one.name for one in RECIPES}


def test_the_pool_of_the_recipe_is_the_default_one() -> None:
    recipe = tomli.loads((ROOT / "examples" / "papers" / "ensemble-of-retrievers.toml").read_text("utf-8"))
    assert sorted(recipe["strategy"]["eor"]["pool"]) == sorted(PAPER)

"""The tables of the papers as recipes of `rqa eval`: strategies, and defaults of its options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

FOLDER = Path(__file__).with_name("recipes")
_SETTINGS = f"{__name__}.settings"


def load(file: str) -> dict[str, Any]:
    """Return the content of a TOML file of the recipes."""
    import tomli

    return tomli.loads((FOLDER / f"{file}.toml").read_text("utf-8"))


class RecipeName(click.ParamType[str]):
    """The name of a recipe. The files are read only if one is named."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. An unknown one is a usage error that lists all."""
        if value not in (known := load("commands")):
            self.fail(f"Unknown recipe {value!r}. Choose from: {', '.join(known)}.", param, ctx)
        return str(value)


def use(ctx: click.Context, param: click.Parameter, name: str | None) -> None:
    """Make the options of the recipe the defaults of the command, and keep its strategies for `settings`."""
    if name is None:
        return
    recipe = load("commands")[name]
    chosen = load(recipe["of"])
    options = {key: value for key, value in recipe.items() if key not in ("of", "about", "strategy")}
    passages = {"k": chosen["defaults"]["k"]} if "k" in chosen.get("defaults", {}) else {}
    ctx.default_map = {**passages, "strategy": [recipe["strategy"]], **options}
    ctx.meta[_SETTINGS] = tuple(
        pair for kind in ("strategy", "evaluator") for pair in _pairs(kind, chosen.get(kind, {}))
    )


def settings() -> tuple[tuple[str, str], ...]:
    """Return the configuration of the recipe as values of -O. They are weaker than those that the user gives."""
    found: tuple[tuple[str, str], ...] = click.get_current_context().meta.get(_SETTINGS, ())
    return found


def _pairs(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _pairs(f"{key}.{name}", inner)
    elif ".prompts." in key:
        yield key, str(FOLDER / value)
    else:
        yield key, value if isinstance(value, str) else json.dumps(value)

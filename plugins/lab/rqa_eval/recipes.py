"""The tables of the papers as recipes of `rqa eval`: strategies, and defaults of its options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

FOLDER = Path(__file__).with_name("recipes")
_SETTINGS = f"{__name__}.settings"

if TYPE_CHECKING:
    from robust_qa.cli import Run


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
    """Make the options of the recipe the defaults of the command, and keep its strategies for `apply`."""
    if name is None:
        return
    recipe = load("commands")[name]
    chosen = load(recipe["of"])
    options = {key: value for key, value in recipe.items() if key not in ("of", "about", "strategy")}
    passages = {"k": chosen["defaults"]["k"]} if "k" in chosen.get("defaults", {}) else {}
    ctx.default_map = {**passages, "strategy": [recipe["strategy"]], **options}
    tree: dict[str, Any] = {kind: chosen[kind] for kind in ("strategy", "evaluator") if kind in chosen}
    if "evaluator" in chosen.get("defaults", {}):  # whose thresholds the strategies name
        tree["defaults"] = {"evaluator": chosen["defaults"]["evaluator"]}
    ctx.meta[_SETTINGS] = name, tree


def apply(run: Run) -> list[str]:
    """Put the recipe below the configuration. Return what the configuration sets in another way, one text each."""
    name, tree = click.get_current_context().meta.get(_SETTINGS, ("", {}))
    if not name:
        return []
    run.set_weakest(f"the recipe {name}", tree, FOLDER)
    values = dict(run.load_config().leaves())
    return [
        f"{key} is {json.dumps(values[key].value, default=str)} by {values[key].layer.origin}, "
        f"and {json.dumps(value)} in the recipe {name}"
        for key, value in _leaves("", tree)
        if key in values and values[key].value != value
    ]


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}" if key else name, inner)
    else:
        yield key, value

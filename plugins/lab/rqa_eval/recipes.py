"""The tables of the papers as recipes of `rqa eval`: strategies, and defaults of its options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import RqaError

FOLDER = Path(__file__).with_name("recipes")
_SETTINGS = f"{__name__}.settings"
_READER = "defaults.reader"
_OF_READER = ("temperature", "seed", "structured")  # settings of a paper's model that hold for any model

if TYPE_CHECKING:
    from robust_qa.cli import Answering, Run


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
    paper = load(recipe["of"])
    options = {key: value for key, value in recipe.items() if key not in ("of", "about", "strategy", "temperature")}
    passages = {"k": paper["defaults"]["k"]} if "k" in paper["defaults"] else {}
    ctx.default_map = {**passages, "strategy": [recipe["strategy"]], **options}
    tree: dict[str, Any] = {kind: paper[kind] for kind in ("strategy", "evaluator") if kind in paper}
    # The strategies name the thresholds of the evaluator.
    tree["defaults"] = {key: paper["defaults"][key] for key in ("evaluator", "prompts") if key in paper["defaults"]}
    model = {**paper["reader"]["model"], **recipe}
    ctx.meta[_SETTINGS] = name, tree, {key: model[key] for key in _OF_READER if key in model}


def chosen() -> str:
    """Return the name of the recipe of this command, or ""."""
    return str(click.get_current_context().meta.get(_SETTINGS, ("",))[0])


def apply(run: Run, answering: Answering) -> list[str]:
    """Put the recipe below the configuration. Return what the configuration sets in another way, one text each."""
    name, tree, of_reader = click.get_current_context().meta.get(_SETTINGS, ("", {}, {}))
    if not name:
        return []
    config = run.load_config(answering.overrides())
    readers = {*config.names("reader"), *(str(value.value) for key, value in config.leaves() if key == _READER)}
    tree["reader"] = {
        reader: _accepted(run, config.table("reader", reader).values, reader, of_reader) for reader in readers
    }
    run.set_weakest(f"the recipe {name}", tree, FOLDER)
    values = dict(run.load_config(answering.overrides()).leaves())
    return [
        f"{key} is {json.dumps(values[key].value, default=str)} by {values[key].layer.origin}, "
        f"and {json.dumps(value)} in the recipe {name}"
        for key, value in _leaves("", tree)
        if key in values and values[key].value != value
    ]


def _accepted(run: Run, table: Mapping[str, Any], reader: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the reader has as options. Each reader of the configuration gets those of the paper."""
    with suppress(RqaError):  # a reader that is not installed is told of if it is used
        plugin = str(table["plugin"].value) if "plugin" in table else reader
        options = run.host.find("reader", plugin).options
        known = {field.name for field in fields(options)} if options else set()
        return {key: value for key, value in settings.items() if key in known}
    return {}


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}" if key else name, inner)
    else:
        yield key, value

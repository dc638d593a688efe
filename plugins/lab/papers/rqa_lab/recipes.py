"""The tables of the papers as recipes of `rqa eval`: strategies, and defaults of its options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import RqaError

FOLDER = Path(__file__).with_name("recipes")
_READER = "defaults.reader"
_OF_READER = ("temperature", "seed", "structured", "max_tokens")  # settings of a paper's model that hold for any model

if TYPE_CHECKING:
    from robust_qa.cli import Answering, Run


def load(file: str) -> dict[str, Any]:
    """Return the content of a TOML file of the recipes."""
    import tomli

    return tomli.loads((FOLDER / f"{file}.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe that was chosen: its name, its tables of the configuration, and the settings of the paper's model."""

    name: str
    tree: Mapping[str, Any]
    of_reader: Mapping[str, Any]

    def apply(self, run: Run, answering: Answering) -> list[str]:
        """Put the recipe below the configuration. Return what the configuration sets in another way, one text each."""
        config = run.load_config(answering.overrides())
        readers = {*config.names("reader"), *(str(value.value) for key, value in config.leaves() if key == _READER)}
        own = {name: _accepted(run, config.table("reader", name).values, name, self.of_reader) for name in readers}
        tree = {**self.tree, "reader": own}
        run.set_weakest(f"the recipe {self.name}", tree, FOLDER)
        values = dict(run.load_config(answering.overrides()).leaves())
        return [
            f"{key} is {json.dumps(values[key].value, default=str)} by {values[key].layer.origin}, "
            f"and {json.dumps(value)} in the recipe {self.name}"
            for key, value in _leaves("", tree)
            if key in values and values[key].value != value
        ]


def use(ctx: click.Context, param: click.Parameter, name: str) -> Recipe:
    """Make the options of the recipe the defaults of the command. An unknown one is a usage error that lists all."""
    if name not in (known := load("commands")):
        raise click.BadParameter(f"Unknown recipe {name!r}. Choose from: {', '.join(known)}.", ctx, param)
    recipe = known[name]
    paper = load(recipe["of"])
    options = {key: value for key, value in recipe.items() if key not in ("of", "about", "strategy", *_OF_READER)}
    passages = {"k": paper["defaults"]["k"]} if "k" in paper["defaults"] else {}
    ctx.default_map = {**passages, "strategy": [recipe["strategy"]], **options}
    tree: dict[str, Any] = {kind: paper[kind] for kind in ("strategy", "evaluator") if kind in paper}
    # The strategies name the thresholds of the evaluator.
    tree["defaults"] = {key: paper["defaults"][key] for key in ("evaluator", "prompts") if key in paper["defaults"]}
    model = {**paper["reader"]["model"], **recipe}
    return Recipe(name, tree, {key: model[key] for key in _OF_READER if key in model})


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

"""config.example.toml has every option with its default, and changes nothing."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import tomli
from documentation import ROOT, defaults, only_built_in, tables  # noqa: F401

from robust_qa import Passage, Question, RqaError
from robust_qa.answering.components import Components
from robust_qa.answering.session import Session
from robust_qa.calls.limits import RESERVED, Limits
from robust_qa.config import layers as config
from robust_qa.host.loading import Host

EXAMPLE = ROOT / "config.example.toml"

LIVE = EXAMPLE.read_text("utf-8")
# With the values and tables that are commented out.
WHOLE = re.sub(r"^# (?=[a-z_]+ = |\[[a-z_.0-9]+\]$)", "", LIVE, flags=re.MULTILINE)


def example_tables(text: str) -> dict[str, dict[str, Any]]:
    """The tables of the example by dotted name. "" has the keys above the first table."""
    found: dict[str, dict[str, Any]] = {"": {}}
    for key, value in tomli.loads(text).items():
        if key in ("defaults", "cache", "history"):
            found[key] = value
        elif isinstance(value, dict):
            found.update({f"{key}.{name}": table for name, table in value.items()})
        else:
            found[""][key] = value
    return found


def test_the_example_has_every_option_under_its_table_and_nothing_else() -> None:
    written = {name: set(table) - RESERVED for name, table in example_tables(WHOLE).items()}
    assert written.pop("") == {"plugins"}
    assert written == {name: set(defaults(owner)) for name, owner in tables().items()}


def test_the_example_has_every_key_of_the_host_once() -> None:
    written = [key for table in example_tables(WHOLE).values() for key in table if key in RESERVED]
    assert sorted(written) == sorted(RESERVED)


def test_every_value_of_the_example_is_the_default_where_there_is_one() -> None:
    live = example_tables(LIVE)
    for table, values in example_tables(WHOLE).items():
        specs = {**defaults(Limits), **defaults(tables().get(table, Limits))}
        for name, value in values.items():
            if name not in ("plugin", "plugins") and (expected := specs[name]) is not dataclasses.MISSING:
                without = () if name in live.get(table, ()) else (None,)
                assert value == expected or expected in without, (table, name)


@pytest.mark.parametrize("text", [LIVE, WHOLE], ids=["as it stands", "with everything in it"])
def test_the_example_is_a_valid_configuration(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(text, "utf-8")
    components = Components(config.load(file=file), Host.from_environment())
    for kind, name in (table.split(".") for table in example_tables(text) if "." in table):
        components.component(kind, name)  # type: ignore[arg-type]
    assert components.defaults


@pytest.mark.parametrize("has_passages", [True, False])
@pytest.mark.parametrize("strategy", [None, "astute", "eor"])
async def test_the_example_changes_nothing_as_it_stands(strategy: str | None, has_passages: bool) -> None:
    async def plan(file: Path | None) -> tuple[Any, ...]:
        passages = (Passage("It is 1871."),) if has_passages else None
        async with Session(config.load(file=file), Host.from_environment()) as session:
            try:
                name, channels = session.choose(has_passages=has_passages, strategy=strategy)
            except RqaError as error:
                return error.kind, error.message, error.hint
            pool = session.toolbox_for(Question("When?", passages=passages)).pool(["bm25", "web"])
        parts = [part and (part.name, part.options) for part in (channels.reader, channels.evaluator)]
        told = {expression: error.message for expression, error in pool.left_out.items()}
        return (
            name,
            session.components.strategy(name).options,
            *parts,
            channels.k,
            channels.given_k,
            channels.expression,
            told,
        )

    assert await plan(EXAMPLE) == await plan(None)

"""The documentation and the code, read into shapes that can be compared.

A page is read as `rqa help` shows it without man(1): headings at the margin, subheadings indented by 3, tags
by 7, their paragraphs by 14, and examples by 11.
"""

import ast
import dataclasses
import json
import re
import shlex
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from robust_qa.answering.assembly import Defaults
from robust_qa.calls.cache import CacheSettings
from robust_qa.cli.manual import plain
from robust_qa.cli.verbosity import VerbosityOption
from robust_qa.config import options as settings
from robust_qa.host.loading import Host
from robust_qa.main import cli

ROOT = Path(__file__).parents[1]
PAGES = {f"{page.stem}({page.suffix[1:]})": page for page in sorted((ROOT / "man").glob("*.[1-9]"))}


# -- reading pages


@dataclass
class Part:
    """What stands under a heading or subheading: all lines, and the paragraph of each tag."""

    lines: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)


def read(name: str) -> dict[tuple[str, str], Part]:
    """The parts of a page, by heading and subheading ("" before the first)."""
    parts: dict[tuple[str, str], Part] = {}
    heading = subheading = tag = ""
    for line, following in pairwise([*plain(PAGES[name].read_text("utf-8")).splitlines(), ""]):
        indent = len(line) - len(line.lstrip())
        if line and indent == 0:
            heading, subheading = line, ""
        elif indent == 3:
            subheading = line.strip()
        part = parts.setdefault((heading, subheading), Part())
        part.lines.append(line)
        if indent == 7:
            tag = line.strip() if re.match(r" {14}\S", following) else ""
        elif indent == 14 and tag:
            part.tags[tag] = f"{part.tags.get(tag, '')} {line.strip()}".strip()
        elif indent < 7 and line:
            tag = ""
    return parts


def under(name: str, heading: str) -> dict[str, Part]:
    """The parts under one heading of a page, by subheading."""
    return {subheading: part for (found, subheading), part in read(name).items() if found == heading and subheading}


def examples() -> Iterator[tuple[str, list[str]]]:
    """Every command line of `rqa` in an example: where it is from, and its arguments."""
    for name in PAGES:
        parts = read(name)
        lines = [line for heading in ("EXAMPLES", "QUICK START") for line in parts.get((heading, ""), Part()).lines]
        shown = [line.strip() for line in lines if re.match(r" {11}| {7}rqa plugins ", line)]
        yield from ((name, arguments) for arguments in command_lines("\n".join(shown)))
    for context in commands():
        text = f"{context.command.help}\n{context.command.epilog}"
        found = re.findall(r"^(?:Examples?: *)?(rqa .*)$", text, re.MULTILINE)
        yield from ((f"{context.command_path} --help", arguments) for arguments in command_lines("\n".join(found)))
    shell = "\n".join(re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL))
    yield from (("README.md", arguments) for arguments in command_lines(shell))


def command_lines(text: str) -> Iterator[list[str]]:
    """The arguments of each `rqa` in lines of shell."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        part: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("|;&"):
                if part and Path(part[0]).name == "rqa":
                    yield part[1 : next((n for n, w in enumerate(part) if set(w) <= set("<>")), None)]
                part = []
            else:
                part.append(word)


# -- reading the code


def commands() -> list[click.Context]:
    """A context for every command that can be run, `rqa` itself first."""
    return list(_descend(cli.make_context("rqa", [], resilient_parsing=True)))


def _descend(context: click.Context) -> Iterator[click.Context]:
    group = context.command
    if not isinstance(group, click.Group) or group.invoke_without_command or context.parent is None:
        yield context
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from _descend(click.Context(command, info_name=name, parent=context))


def usage(context: click.Context, *between: str) -> str:
    """The command with its arguments, as a heading has it."""
    arguments = [p.make_metavar(context) for p in context.command.params if isinstance(p, click.Argument)]
    return " ".join([context.command_path, *between, *arguments])


def own_page(context: click.Context) -> str:
    """The name of the page that the command would have for itself."""
    return f"{context.command_path.replace(' ', '-')}(1)"


def options_part(context: click.Context) -> Part:
    """Where the options of a command other than `rqa` are documented."""
    if own_page(context) in PAGES:
        return read(own_page(context))["OPTIONS", ""]
    return under("rqa(1)", "COMMANDS")[usage(context)]


def options(context: click.Context, *, helping: bool = False) -> set[str]:
    """The options of a command as its help writes them, such as `-k N`, without those that every command has."""
    parameters = context.command.get_params(context) if helping else context.command.params
    parameters = [p for p in parameters if not isinstance(p, VerbosityOption)]
    return {record[0] for p in parameters if isinstance(p, click.Option) and (record := p.get_help_record(context))}


def declared(source: str) -> dict[str, list[str]]:
    """What Python declares: the fields of each class, and what each alias stands for."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            name = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            found[ast.unparse(name)] = [
                str(node.value.value) if isinstance(node.value, ast.Constant) else ast.unparse(node.value)
            ]
    return {
        name: [part.replace("field(default_factory=dict)", "{}") for part in parts] for name, parts in found.items()
    }


def host() -> Host:
    return Host.from_environment()


def tables() -> dict[str, type[Any]]:
    """The dataclass behind every table of the configuration, by the table's name."""
    components = {f"{r.kind}.{r.name}": r.options for r in host().components() if r.options is not None}
    return {"defaults": Defaults, "cache": CacheSettings, **components}


def default(spec: "dataclasses.Field[Any]") -> Any:
    """A field's default, MISSING where it has none."""
    return spec.default if spec.default_factory is dataclasses.MISSING else spec.default_factory()


def fields(owner: type[Any]) -> dict[str, "dataclasses.Field[Any]"]:
    return {spec.name: spec for spec in dataclasses.fields(owner)}


def tag(spec: "dataclasses.Field[Any]", hint: Any) -> str:
    """The tag that documents an option: name, type and default."""
    kind = settings.describe(hint)
    parts = ["a choice" if kind.startswith("one of") else kind.partition(", each ")[0]]
    value = default(spec)
    if value is dataclasses.MISSING:
        parts.append("required")
    elif value is not None:
        parts.append(f"default {json.dumps(value)}")
    return f"{spec.name} ({', '.join(parts)})"


def tags(owner: type[Any]) -> set[str]:
    hints = typing.get_type_hints(owner, include_extras=True)
    return {tag(spec, hints[name]) for name, spec in fields(owner).items()}

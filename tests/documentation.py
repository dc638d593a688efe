"""The pages of the manual and the commands of rqa, in shapes that tests can compare."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from robust_qa.config import environment
from robust_qa.host.loading import Host
from robust_qa.main import cli
from robust_qa.version import OWN_DISTRIBUTION

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SOURCES = sorted((ROOT / "man").glob("*.md"))
_DOCS = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "SKILL.md"]
DOCS = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in _DOCS}
PAGES = {re.sub(r"(.+)\.(\d)\.md", r"\1(\2)", page.name): page.read_text("utf-8") for page in SOURCES}


def _parse(markdown: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(markdown)


def sections(page: str) -> dict[str, str]:
    """What each heading of a page contains, subheadings included. Headings are without backticks."""
    lines = PAGES[page].splitlines()
    headings = [
        (int(token.tag[1]), token.map[0], following.content.replace("`", ""))
        for token, following in pairwise(_parse(PAGES[page]))
        if token.type == "heading_open" and token.map
    ]
    found: dict[str, str] = {}
    for number, (level, line, title) in enumerate(headings):
        end = next((start for other, start, _ in headings[number + 1 :] if other <= level), None)
        found.setdefault(title, "\n".join(lines[line + 1 : end]))
    return found


def spans(markdown: str) -> list[str]:
    """Everything in backticks, without the code blocks."""
    inline = [child for token in _parse(markdown) for child in token.children or ()]
    return [child.content for child in inline if child.type == "code_inline"]


def blocks(markdown: str, language: str) -> list[str]:
    """The code blocks in that language."""
    return [token.content for token in _parse(markdown) if token.type == "fence" and token.info == language]


def terms(markdown: str) -> dict[str, str]:
    """What each list item says, by every span of code before its colon."""
    found = {}
    for item in re.findall(r"^ *- +((?:`[^`]*`[^:`]*)+(?::.*|$)(?:\n +[^ -].*)*)", markdown, re.MULTILINE):
        head = re.match(r"(?:`[^`]*`[^:`]*)+", item)
        assert head
        found.update(dict.fromkeys(re.findall(r"`([^`]*)`", head[0]), item))
    return found


def examples() -> Iterator[tuple[str, list[str]]]:
    """The arguments of every example of `rqa`, with the page or command that it is from."""
    for name, text in {**PAGES, **DOCS, "README.md": README.read_text("utf-8")}.items():
        yield from ((name, arguments) for block in blocks(text, "sh") for arguments in _command_lines(block))
    for context in commands():
        text = f"{context.command.help}\n{context.command.epilog}"
        found = re.findall(r"^(?:Examples?: *)?(rqa .*)$", text, re.MULTILINE)
        yield from ((f"{context.command_path} --help", arguments) for arguments in _command_lines("\n".join(found)))


def _command_lines(text: str) -> Iterator[list[str]]:
    text = re.sub(r"(^|\s)#.*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    words = shlex.shlex(text, posix=True, punctuation_chars="|;&<>\n")
    words.whitespace, words.whitespace_split = " \t", True
    part: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("|;&\n"):
            if part and Path(part[0]).name == "rqa":
                yield part[1 : next((n for n, w in enumerate(part) if set(w) <= set("<>")), None)]
            part = []
        else:
            part.append(word)


def run(*command: str, folder: Path) -> str:
    """What the command prints on stdout in that folder. Fails if its exit code is not 0."""
    folders = {f"RQA_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "CACHE")}
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, **folders, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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


def options(context: click.Context) -> list[click.Option]:
    """The options of `rqa`, or those that a command has besides: `-h`, `-v` and `-q` are understood everywhere."""
    root = context.find_root()
    common = {flag for option in root.command.get_params(root) for flag in option.opts} if context.parent else set()
    options = (option for option in context.command.get_params(context) if isinstance(option, click.Option))
    return [option for option in options if not option.hidden and not common & set(option.opts)]


@pytest.fixture(autouse=True)
def only_built_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No plugins and no configuration but our own."""
    for name in [name for name in os.environ if name.startswith(environment.PREFIX)]:
        monkeypatch.delenv(name)
    for name in (environment.CONFIG_DIR, environment.DATA_DIR, environment.CACHE_DIR):
        monkeypatch.setenv(name, str(tmp_path / name))
    own = [plugin.name for plugin in Host(only=[]).plugins if plugin.distribution.startswith(OWN_DISTRIBUTION)]
    monkeypatch.setenv(environment.PLUGINS, ",".join(own))
    monkeypatch.setenv(environment.STRICT_PLUGINS, "1")
    monkeypatch.chdir(tmp_path)

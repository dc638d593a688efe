"""The manual names everything that a user can write, and nothing else. test_manual_examples.py has the plugins."""

import dataclasses
import inspect
import json
import re
import runpy
import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import tomli
from click.testing import CliRunner
from documentation import (
    DOCS,
    PAGES,
    README,
    ROOT,
    blocks,
    commands,
    examples,
    only_built_in,  # noqa: F401
    options,
    sections,
    spans,
    terms,
)
from standins import openai as standin

from robust_qa import errors
from robust_qa.cli import Run, as_json, reference
from robust_qa.config import environment
from robust_qa.host.loading import Host
from robust_qa.main import cli
from robust_qa.types import Answer
from rqa_rows.rows import OWN_FIELDS

for folder, package in (("papers", "rqa_lab"), ("train", "rqa_train")):
    pytest.importorskip(package, reason=f"the manual has its commands: pip install -e plugins/lab/{folder}")

# -- commands


def part_on(context: click.Context) -> str:
    """The part of the manual on a command: its own page, or its section of another page with the heading."""
    own = f"{context.command_path.replace(' ', '-')}(1)"
    if own in PAGES:
        return sections(own)["Synopsis"] + sections(own)["Options"]
    parts = sections("rqa(1)") | sections("rqa-train(1)") | sections("rqa-history(1)")
    titles = [title for title in parts if f"{title} ".startswith(f"{context.command_path} ")]
    assert titles, f"rqa(1) has no section on {context.command_path}"
    return f"{titles[0]}\n{parts[titles[0]]}"


def test_every_option_is_documented_with_its_default() -> None:
    for context in commands():
        told = {span.split()[0]: text for span, text in terms(part_on(context)).items() if span}
        for option in options(context):
            assert set(option.opts) - set(told) == set(), context.command_path
            if option.metavar:
                assert {f"{flag} {option.metavar}" for flag in option.opts} & set(terms(part_on(context))), option.opts
            if isinstance(option.default, str | int) and option.default:
                assert str(option.default) in told[option.opts[0]], (context.command_path, option.opts)


def test_every_argument_is_documented() -> None:
    for context in commands()[1:]:
        for argument in context.command.params:
            if isinstance(argument, click.Argument):
                name = argument.make_metavar(context).strip("[].")
                assert name in part_on(context), (context.command_path, name)


def test_the_manual_names_no_flag_that_no_command_has() -> None:
    known = {flag for context in commands() for each in context.command.get_params(context) for flag in each.opts}
    for name, text in {**PAGES, **DOCS, "README.md": README.read_text("utf-8")}.items():
        code = [*spans(text), *blocks(text, "sh")]
        lines = [
            line for line in "\n".join(code).splitlines() if not re.match(r"\s*(python|pip|uv|man|git|curl)\b", line)
        ]
        assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", "\n".join(lines))) - known == set(), name


def test_every_page_and_every_command_has_examples() -> None:
    sources = {source for source, _ in examples()}
    pages = {*PAGES} - {"rqa-python(7)"}  # its examples are programs
    assert {*pages, *(f"{context.command_path} --help" for context in commands())} - sources == set()


def test_every_example_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for plugin in ("my_notes.py", "majority.py", "my_tides.py"):
        (tmp_path / plugin).touch()
    for _, arguments in examples():
        for before, file in pairwise(arguments):
            if before == "--config":
                (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / file).touch()
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: Path(value))  # the files do not exist
    understood: list[dict[str, Any]] = []
    for context in commands():
        monkeypatch.setattr(context.command, "callback", lambda **values: understood.append(values))
    for source, arguments in examples():
        understood.clear()
        try:
            cli.main(arguments, prog_name="rqa", standalone_mode=False, obj=Run())
        except click.ClickException as error:
            pytest.fail(f"{source}: rqa {shlex.join(arguments)}: {error.format_message()}")
        assert understood[1:] or set(arguments) & {"--version", "--help", "-h"}, arguments  # `rqa`, and the command


# -- output, exit codes and environment


def test_every_field_of_an_answer_is_documented() -> None:
    assert set(as_json(Answer("1871"))) - set(terms(sections("rqa-ask(1)")["Output"])) == set()


def test_every_field_of_a_batch_line_is_documented() -> None:
    assert OWN_FIELDS - {re.split(r"\W", span)[0] for span in spans(sections("rqa-batch(1)")["Output"])} == set()


def test_every_exit_code_is_documented_with_its_errors() -> None:
    told = terms(sections("rqa(1)")["Exit status"])
    assert {str(code.value) for code in errors.Exit} == set(told)
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.RqaError):
            codes = {code for code, text in told.items() if re.search(rf"\b{name}\b", text)}
            assert codes == {str(error.exit.value)}, name


def test_every_environment_variable_is_documented_and_no_other() -> None:
    constants = {value for value in vars(environment).values() if isinstance(value, str) and value.startswith("RQA_")}
    patterns = {environment.PREFIX: "RQA_TABLE__NAME__KEY", environment.KEY_PREFIX: "RQA_KEY_NAME"}
    known = {patterns.get(name, name) for name in constants} | set(environment.SHORTCUTS)
    assert set(re.findall(r"RQA_\w+", sections("rqa(1)")["Environment"])) == known


# -- configuration and strategies


def test_every_option_has_a_comment_and_stands_in_the_example() -> None:
    every = reference.option_tables(Host.from_environment())
    assert [(t.name, each.name) for t in every for each in reference.options_of(t.owner) if not each.comment] == []
    printed = CliRunner().invoke(cli, ["config", "options"])
    assert (ROOT / "config.example.toml").read_text("utf-8") == printed.stdout, (
        "rqa config options > config.example.toml"
    )


def test_a_default_in_the_example_is_valid_toml_of_its_value() -> None:
    for table in reference.option_tables(Host.from_environment()):
        assert table.owner, table.about
        for each, spec in zip(reference.options_of(table.owner), dataclasses.fields(table.owner), strict=True):
            if each.default:
                default = spec.default if spec.default_factory is dataclasses.MISSING else spec.default_factory()
                value = tomli.loads(f"x = {each.default}")["x"]
                assert value == (list(default) if isinstance(default, tuple) else default), (table.name, each.name)


@pytest.mark.parametrize(("reader", "strategy"), [("embedded", "corroborate"), ("openai", "cascade")])
def test_the_default_strategy_of_the_texts_is_the_one_that_answers(reader: str, strategy: str) -> None:
    assert f"`{strategy}`" in PAGES["rqa(1)"].partition("Without a configuration")[2].partition("\n\n")[0]
    model = ["-O", "reader.openai.model=m"] if reader == "openai" else []
    with standin.serve(lambda request, n: "Nobody knows.") as server:
        model += ["-O", f"reader.openai.base_url={server.url}"] if model else []
        asked = [
            "ask",
            "-O",
            "history.enabled=false",
            "--json",
            "--reader",
            reader,
            *model,
            "-d",
            str(ROOT / "examples/harbour"),
            "Who?",
        ]
        ended = CliRunner().invoke(cli, asked)
        assert ended.stdout, ended.output
        answer = json.loads(ended.stdout)
    assert answer["strategy"] == strategy


def test_every_strategy_is_documented_with_its_prompts() -> None:
    parts = sections("rqa-strategies(7)")
    for registration in Host.from_environment().components("strategy"):
        if "prompts" not in getattr(registration.options, "__annotations__", ()):
            continue
        folder = Path(inspect.getfile(registration.factory)).with_name("prompts")
        folders = (folder / registration.name, folder, ROOT / "plugins" / "shared" / "rqa_prompts" / "prompts")
        prompts = next(each for each in folders if each.is_dir())
        told = set(re.findall(r"\w+", parts[registration.name]))
        assert {prompt.stem for prompt in prompts.glob("*.txt")} - told == set(), registration.name


# -- the pages themselves


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_its_form(name: str) -> None:
    title, _, body = PAGES[name].partition("\n")
    stem = name.partition("(")[0]
    assert title == f"# {name}"
    assert [*sections(name)][1:4] == ["Name", "Synopsis", "Examples"]
    assert re.fullmatch(rf"\n{stem} - .+\n?", sections(name)["Name"])
    assert [line for line in body.splitlines() if line.startswith("|") and line.count(" |") > 4] == []


@pytest.mark.parametrize("name", [*PAGES, *DOCS, "README.md"])
def test_links_and_cross_references_exist(name: str) -> None:
    text = PAGES.get(name) or (ROOT / name).read_text("utf-8")
    folder = ROOT / "man" if name in PAGES else (ROOT / name).parent
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (folder / link).exists()] == []
    assert set(re.findall(r"\brqa(?:-[a-z]+)?\(\d\)", text)) - set(PAGES) == set()


@pytest.fixture
def roff(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("pypandoc", reason="pandoc writes the pages: pip install -e '.[dev]'")
    monkeypatch.setenv("PYPANDOC_PANDOC", "")  # the hook sets it
    return runpy.run_path(str(ROOT / "hatch_build.py"))["roff"]


@pytest.mark.parametrize("name", PAGES)
def test_man_shows_the_page_without_warnings(name: str, roff: Any) -> None:
    version = subprocess.run(["man", "--version"], capture_output=True, text=True) if shutil.which("man") else None
    if not version or "man 2." not in version.stdout:
        pytest.skip("man is not man-db")
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    command = ["man", "--warnings", "-l", "-"]
    shown = subprocess.run(command, input=roff(PAGES[name]), env=variables, capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert shown.stdout.startswith(name.upper())
    assert f"NAME\n       {name.partition('(')[0]} - " in shown.stdout

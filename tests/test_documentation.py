"""The manual pages, the example configuration and the code, held against each other."""

import dataclasses
import importlib.metadata
import inspect
import os
import re
import shlex
import shutil
import subprocess
import tomllib
import typing
from pathlib import Path
from typing import Any

import click
import pytest
from documentation import (
    PAGES,
    ROOT,
    commands,
    declared,
    default,
    examples,
    fields,
    host,
    options,
    options_part,
    own_page,
    read,
    tables,
    tags,
    under,
    usage,
)

import robust_qa
from robust_qa import RqaError, __version__, errors
from robust_qa.answering.assembly import Assembly
from robust_qa.answering.session import Session
from robust_qa.batch.rows import OWN_FIELDS
from robust_qa.calls.limits import RESERVED, Limits
from robust_qa.cli.manual import plain
from robust_qa.cli.output import as_json
from robust_qa.config import environment
from robust_qa.config import layers as config
from robust_qa.host.loading import GROUP, OWN_DISTRIBUTION
from robust_qa.main import cli
from robust_qa.types import Answer, Passage, Question

EXAMPLE = ROOT / "config.example.toml"


@pytest.fixture(autouse=True)
def only_what_is_built_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(environment.PREFIX)]:
        monkeypatch.delenv(name)
    for name in (environment.CONFIG_DIR, environment.DATA_DIR, environment.CACHE_DIR):
        monkeypatch.setenv(name, str(tmp_path / name))
    own = importlib.metadata.distribution(OWN_DISTRIBUTION).entry_points.select(group=GROUP)
    monkeypatch.setenv(environment.PLUGINS, ",".join(entry.name for entry in own))
    monkeypatch.setenv(environment.STRICT_PLUGINS, "1")
    monkeypatch.chdir(tmp_path)


# -- commands and options


def test_rqa_1_has_a_section_for_every_command_with_its_arguments_and_for_no_other() -> None:
    assert set(under("rqa(1)", "COMMANDS")) == {usage(context) for context in commands()[1:]}


def test_a_page_of_its_own_gives_the_commands_usage() -> None:
    for context in commands()[1:]:
        if (name := own_page(context)) in PAGES:
            written = " ".join(" ".join(read(name)["SYNOPSIS", ""].lines[1:]).split())
            assert written == usage(context, "[OPTIONS]")


def test_every_option_stands_with_its_command_and_nothing_else_does() -> None:
    first, *others = commands()
    assert set(read("rqa(1)")["OPTIONS", ""].tags) == options(first, helping=True)
    for context in others:
        assert set(options_part(context).tags) == options(context), context.command_path


def test_every_default_of_an_option_is_told() -> None:
    for context in commands()[1:]:
        part = options_part(context)
        for parameter in context.command.params:
            if isinstance(parameter, click.Option) and isinstance(parameter.default, str | int) and parameter.default:
                record = parameter.get_help_record(context)
                assert record is not None
                assert f"Default: {parameter.default}" in part.tags[record[0]]


def test_no_page_speaks_of_a_flag_that_no_command_has() -> None:
    known = {flag for context in commands() for p in context.command.get_params(context) for flag in p.opts}
    for name, page in {**PAGES, "README.md": ROOT / "README.md"}.items():
        flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", plain(page.read_text("utf-8"))))
        assert flags - known == set(), name


def test_every_command_has_an_example_in_its_help() -> None:
    sources = {source for source, _ in examples()}
    assert {f"{context.command_path} --help" for context in commands()} - sources == set()


def test_every_page_has_examples() -> None:
    assert set(PAGES) - {source for source, _ in examples()} == set()


def test_every_example_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for folder in ("notes", "papers"):
        (tmp_path / folder).mkdir()
    (tmp_path / "my_notes.py").touch()
    (tmp_path / "papers" / "*.pdf").touch()  # nobody expands it here
    understood: list[dict[str, Any]] = []
    for context in commands():
        monkeypatch.setattr(context.command, "callback", lambda **values: understood.append(values))
    for source, arguments in examples():
        understood.clear()
        try:
            cli.main(arguments, prog_name="rqa", standalone_mode=False)
        except click.ClickException as error:
            pytest.fail(f"{source}: rqa {shlex.join(arguments)}: {error.format_message()}")
        assert understood[1:], arguments  # `rqa` itself, and the command


# -- output, exit codes and environment


def test_rqa_ask_1_has_every_field_of_an_answer_as_json() -> None:
    assert set(read("rqa-ask(1)")["OUTPUT", ""].tags) == set(as_json(Answer("1871")))


def test_rqa_batch_1_has_every_field_of_an_output_line() -> None:
    part = read("rqa-batch(1)")["OUTPUT", ""]
    assert {*part.tags, "input"} == OWN_FIELDS
    assert "input." in " ".join(part.lines)


def test_every_exit_code_stands_in_rqa_1() -> None:
    assert set(read("rqa(1)")["EXIT STATUS", ""].tags) == {str(code.value) for code in errors.Exit}


def test_every_error_stands_with_its_exit_code_and_with_no_other() -> None:
    told = read("rqa(1)")["EXIT STATUS", ""].tags
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.RqaError):
            codes = {code for code, paragraph in told.items() if re.search(rf"\b{name}\b", paragraph)}
            assert codes == {str(error.exit.value)}, name


def test_every_environment_variable_stands_in_rqa_1_and_no_other_of_that_prefix() -> None:
    constants = {value for value in vars(environment).values() if isinstance(value, str) and value.startswith("RQA_")}
    patterns = {environment.PREFIX: "RQA_TABLE__NAME__KEY", environment.KEY_PREFIX: "RQA_KEY_NAME"}
    expected = {patterns.get(name, name) for name in constants} | set(environment.SHORTCUTS)
    told = read("rqa(1)")["ENVIRONMENT", ""].tags
    assert {name for name in ", ".join(told).split(", ") if name.startswith("RQA_")} == expected


# -- options of components


def test_rqa_config_5_has_every_option_with_type_and_default_and_no_other() -> None:
    documented = {name.strip("[]"): set(part.tags) for name, part in under("rqa-config(5)", "TABLES").items()}
    assert documented.pop("At the top") == {"plugins (a list)"}
    assert documented.pop("Every component") == {"plugin (text)", *tags(Limits)}
    assert documented == {name: tags(owner) for name, owner in tables().items()}


def test_rqa_config_5_names_every_value_of_a_choice() -> None:
    parts = {name.strip("[]"): part for name, part in under("rqa-config(5)", "TABLES").items()}
    for table, owner in tables().items():
        for name, hint in typing.get_type_hints(owner).items():
            if typing.get_origin(hint) is typing.Literal:
                paragraph = next(text for key, text in parts[table].tags.items() if key.startswith(f"{name} ("))
                assert set(typing.get_args(hint)) - set(re.findall(r"[\w-]+", paragraph)) == set(), (table, name)


def test_rqa_strategies_7_has_every_strategy_with_its_options_and_prompts() -> None:
    parts = under("rqa-strategies(7)", "STRATEGIES")
    registered = {r.name: r for r in host().components("strategy")}
    assert set(parts) == set(registered)
    for name, registration in registered.items():
        told = {key: set(re.findall(r"\w+", text)) for key, text in parts[name].tags.items()}
        assert set(fields(registration.options or object)) - told["Options"] == set(), name
        folder = Path(inspect.getfile(registration.factory)).with_name("prompts")
        prompts = folder if folder.is_dir() else ROOT / "robust_qa" / "prompts"
        assert {prompt.stem for prompt in prompts.glob("*.txt")} - told["Prompts"] == set(), name


def types_told() -> dict[str, list[str]]:
    text = "\n".join(line[7:] for line in read("rqa-plugin(7)")["TYPES", ""].lines)
    return declared(text[text.index("from ") :])


def test_rqa_plugin_7_has_the_fields_of_every_type_as_they_are_declared() -> None:
    told = types_told()
    modules = [ROOT / "robust_qa" / f"{name}.py" for name in ("types", "host/metrics", "protocols")]
    code = {name: fields for module in modules for name, fields in declared(module.read_text("utf-8")).items()}
    assert told == {name: code.get(name) for name in told}


def test_rqa_plugin_7_names_all_that_is_public_with_its_arguments() -> None:
    helpers = [
        (name, arguments)
        for tag in read("rqa-plugin(7)")["HELPERS", ""].tags
        for name, arguments in re.findall(r"(\w+)(?:\((.*?)\))?(?:, |$)", tag)
    ]
    named = {*types_told(), *read("rqa-plugin(7)")["ERRORS", ""].tags, *(name for name, _ in helpers)}
    assert set(robust_qa.__all__) - named == set()
    for name, arguments in helpers:
        if arguments and name in robust_qa.__all__:
            signature = inspect.signature(getattr(robust_qa, name))
            told = re.findall(r"(\w+)(?:=[^,]+)?(?:, |$)", arguments)
            assert told == list(signature.parameters)[: len(told) if "..." in arguments else None], name


# -- config.example.toml

LIVE = EXAMPLE.read_text("utf-8")
# With the values and tables that are commented out.
WHOLE = re.sub(r"^# (?=[a-z_]+ = |\[[a-z_.0-9]+\]$)", "", LIVE, flags=re.MULTILINE)


def example_tables(text: str) -> dict[str, dict[str, Any]]:
    """The tables of the example, by dotted name; "" holds what stands at the top."""
    found: dict[str, dict[str, Any]] = {"": {}}
    for key, value in tomllib.loads(text).items():
        if key in ("defaults", "cache"):
            found[key] = value
        elif isinstance(value, dict):
            found.update({f"{key}.{name}": table for name, table in value.items()})
        else:
            found[""][key] = value
    return found


def test_the_example_has_every_option_under_its_table_and_nothing_else() -> None:
    written = {name: set(table) - RESERVED for name, table in example_tables(WHOLE).items()}
    assert written.pop("") == {"plugins"}
    assert written == {name: set(fields(owner)) for name, owner in tables().items()}


def test_the_example_has_every_key_of_the_host_once() -> None:
    written = [key for table in example_tables(WHOLE).values() for key in table if key in RESERVED]
    assert sorted(written) == sorted(RESERVED)


def test_every_value_of_the_example_is_the_default_where_there_is_one() -> None:
    live = example_tables(LIVE)
    for table, values in example_tables(WHOLE).items():
        specs = {**fields(Limits), **fields(tables().get(table, Limits))}
        for name, value in values.items():
            if name not in ("plugin", "plugins") and (expected := default(specs[name])) is not dataclasses.MISSING:
                without = () if name in live.get(table, ()) else (None,)
                assert value == expected or expected in without, (table, name)


def test_only_options_without_a_value_by_default_and_whole_tables_are_commented_out() -> None:
    live = example_tables(LIVE)
    for table, values in example_tables(WHOLE).items():
        if table in live:
            specs = {**fields(Limits), **fields(tables()[table])} if table else {}
            for name in values.keys() - live[table].keys() - {"plugins"}:
                assert default(specs[name]) in (None, values[name]), (table, name)


def test_every_line_of_the_example_says_what_it_sets() -> None:
    assert [line for line in WHOLE.splitlines() if re.match(r"[a-z_]+ = ", line) and "  # " not in line] == []


@pytest.mark.parametrize("text", [LIVE, WHOLE], ids=["as it stands", "with everything in it"])
def test_the_example_is_a_valid_configuration(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(text, "utf-8")
    assembly = Assembly(config.load(file=file), host())
    for kind, name in (table.split(".") for table in example_tables(text) if "." in table):
        assembly.part(kind, name)  # type: ignore[arg-type]
    assert assembly.defaults


@pytest.mark.parametrize("has_passages", [True, False])
@pytest.mark.parametrize("strategy", [None, "astute", "eor"])
async def test_the_example_changes_nothing_as_it_stands(strategy: str | None, has_passages: bool) -> None:
    async def plan(file: Path | None) -> tuple[Any, ...]:
        passages = (Passage("It is 1871."),) if has_passages else None
        async with Session(config.load(file=file), host()) as session:
            try:
                name, component, channels = session.plan(has_passages=has_passages, strategy=strategy)
            except RqaError as error:
                return error.kind, error.message, error.hint
            pool = session.toolbox_for(Question("When?", passages=passages)).pool(["bm25", "web"])
        parts = [part and (part.name, part.options) for part in (channels.reader, channels.evaluator)]
        told = {expression: error.message for expression, error in pool.left_out.items()}
        return name, component.options, *parts, channels.k, channels.given_k, channels.expression, told

    assert await plan(EXAMPLE) == await plan(None)


# -- the pages themselves


@pytest.mark.parametrize("name", PAGES)
def test_man_has_nothing_to_complain_of(name: str) -> None:
    shown = man("--warnings", name)
    assert shown.stderr == ""


@pytest.mark.parametrize("name", PAGES)
def test_without_man_a_page_reads_the_same(name: str) -> None:
    shown = man("--no-hyphenation", name).stdout.strip().splitlines()[1:-1]  # without header and footer
    rendered = plain(PAGES[name].read_text("utf-8")).splitlines()[1:]
    assert "".join("".join(rendered).split()) == "".join("".join(shown).split())


def man(option: str, name: str) -> "subprocess.CompletedProcess[str]":
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    if "man 2." not in subprocess.run(["man", "--version"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("man is not man-db")
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    command = ["man", option, "-l", str(PAGES[name])]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", PAGES)
def test_without_man_a_page_shows_no_markup(name: str) -> None:
    source = PAGES[name].read_text("utf-8")
    known = set("TH SH SS TP PP B I BR RB IR RI BI IB nf fi RS RE EX EE".split())
    assert set(re.findall(r"^[.'](\S+)", source, re.MULTILINE)) <= known
    leaked = [line for line in plain(source).splitlines() if re.match(r" *\.[A-Za-z]", line) or re.search(r"\\.", line)]
    assert leaked == []


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_of_a_page_breaks_off_or_begins_in_its_middle(name: str) -> None:
    prose = re.sub(r"^\.nf$.*?^\.fi$", ".PP", PAGES[name].read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines, broken = prose.splitlines(), []
    for tag, before, line in zip(lines, lines[1:], lines[2:], strict=False):
        if tag == ".TP" or line.startswith(".") or re.match(r"\.(?![BIR]+ )", before):
            continue
        last = plain(before).rstrip()[-1:]
        in_bold = before.startswith(".") and last not in ".,:;!?)"
        if (last == "." and re.match(r"[a-z]+\b", line)) or (in_bold and line[:1].isupper()):
            broken.append((before, line))
    assert broken == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_version_and_only_pages_that_are_there(name: str) -> None:
    source = PAGES[name].read_text("utf-8")
    assert f'"robust-qa {__version__}"' in source.splitlines()[0]
    assert set(re.findall(r"\brqa(?:-[a-z]+)?\(\d\)", plain(source))) - set(PAGES) == set()


def test_every_page_travels_in_the_wheel() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {
        "man": "robust_qa/man",
        "config.example.toml": "robust_qa/config.example.toml",
    }
    assert wheel["shared-data"] == {
        f"man/{page.name}": f"share/man/man{page.suffix[1:]}/{page.name}" for page in PAGES.values()
    }

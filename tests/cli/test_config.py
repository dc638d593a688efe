"""`rqa config`: show, check and trust configuration files."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Key
from robust_qa.config import keys as secrets
from robust_qa.config import trusted_files

PLUGIN = Path(__file__).parents[1] / "standins" / "plugin.py"

Rqa = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "none")


@pytest.fixture
def own() -> Path:
    """Write the user's configuration, which loads the stand-in plugin."""
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    path.parent.mkdir()
    path.write_text(f"plugins = ['{PLUGIN}']\n", "utf-8")
    return path


def found(text: str) -> Path:
    path = Path.cwd() / "rqa.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("command", [["show"], []])
def test_show_gives_each_value_its_origin(
    rqa: Rqa, own: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    here = found("[defaults]\nreader = 'parrot'\n[reader.parrot]\nwindow = 100\n")
    monkeypatch.setenv("RQA_K", "5")
    ended = rqa("config", *command)
    assert ended.code == 0 and ended.err == ""
    assert ended.out.splitlines() == [
        "cache.enabled = true  # built in",
        "cache.size = 1024  # built in",
        'defaults.k = "5"  # RQA_K',
        f'defaults.reader = "parrot"  # {here}',
        f'plugins = ["{PLUGIN}"]  # {own}',
        f"reader.parrot.window = 100  # {here}",
    ]


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_show_hides_secrets_and_shows_names_of_keys(rqa: Rqa, flags: list[str]) -> None:
    secrets.store(Key("openai", "sk-hunter2"))
    found(
        "[reader.x]\nkey = 'openai'\nbase_url = 'https://me:hunter2@x.example'\n"
        "headers = {Authorization = 'Bearer hunter2', X-Title = 'rqa'}\nbody = {token = 'hunter2', n = 1}\n"
        "[reader.y]\nkey = 'sk-hunter2'\n"
    )
    ended = rqa("config", "show", *flags)
    assert "hunter2" not in ended.out + ended.err
    assert '"openai"' in ended.out and '"rqa"' in ended.out and "https://********@x.example" in ended.out


@pytest.mark.parametrize("command", ["show", "show --json", "check", "path"])
def test_an_untrusted_file_cannot_send_control_characters_to_the_terminal(rqa: Rqa, command: str) -> None:
    # An escape sequence, an eight-bit one, and a right-to-left override.
    found(
        'plugins = ["\\u001b[31mx"]\n[defaults]\nreader = "\\u001b]0;x\\u0007\\u009b31m\\u202e"\nodd = "\\u001b[2J"\n'
    )
    ended = rqa("config", *command.split())
    assert not set(ended.out + ended.err) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize(
    "table",
    [
        '["x\\nrqa: forged"]',
        '[reader."x\\nrqa: forged"]',
        '[reader.parrot]\n"x\\nrqa: forged" = 1',
        '[reader.parrot]\nheaders = [{"x\\nrqa: forged" = 1}]',
        '[defaults]\nretriever = "x & y\\nrqa: forged"',
    ],
)
@pytest.mark.parametrize("command", ["config show", "config check", "ask Who?"])
def test_an_untrusted_file_cannot_fake_output_lines(rqa: Rqa, command: str, table: str) -> None:
    found(table)
    ended = rqa(*command.split())
    assert not [line for line in (ended.out + ended.err).splitlines() if line.startswith("rqa: forged")]


def test_check_shows_errors_of_every_kind_at_once(rqa: Rqa, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found(
        "plugins = 'x.py'\ncolour = 1\n[readers.local]\nx = 1\n[retriever]\nk = 5\n"
        "[defaults]\nk = 0\nreader = 'parot'\nretriever = 'named & bing & bong'\nexpressions = {named = 'web@'}\n"
        "[defaults.prompts]\nread = 'x'\ncompres = 'y'\n"
        "[reader.parrot]\nconcurrency = 0\nwindow = 'wide'\nrepli = 'x'\n"
        "[reader.first]\none = 1\ntwo = 2\n[strategy.nowhere]\nx = 1\n"
    )
    own.write_text(own.read_text() + "[cache]\nsize = 'big'\n")
    monkeypatch.setenv("RQA_STRATEGI", "rag")
    monkeypatch.setenv("RQA_READER__PAROT__REPLY", "x")
    ended = rqa("config", "check")
    assert (ended.code, ended.out) == (2, "")
    for message in (
        "`plugins` must be a list",
        "there is no table [colour]",
        "there is no table [readers]",
        "must be inside a named table such as [retriever.NAME]",
        "`defaults.k` must be",
        "There is no reader named 'parot'",
        "`defaults.expressions`",
        "There is no retriever named 'bing'",
        "There is no retriever named 'bong'",
        "There is no prompt named 'read'",
        "There is no prompt named 'compres'",
        "`reader.parrot.concurrency` must be",
        "`reader.parrot.window` must be",
        "[reader.parrot] has no option `repli`",
        "[reader.first] sets `one`",
        "[reader.first] sets `two`",
        "There is no strategy named 'nowhere'",
        "`cache.size` must be",
        "Unknown environment variable RQA_STRATEGI",
        "RQA_READER__PAROT__REPLY: [reader.parot] does not say which plugin it configures",
    ):
        assert message in ended.err, (message, ended.err)
    own.write_text("[defaults\n")  # no TOML, and still the other file is checked
    ended = rqa("config", "check")
    assert f"{own} is not valid TOML" in ended.err and "there is no table [colour]" in ended.err


@pytest.mark.parametrize(
    "table, message",
    [
        ("[strategy.crag]\nthen = 'rga'", "[strategy.crag]: There is no strategy named 'rga'"),
        ("[strategy.crag]\nevaluator = 'nope'", "[strategy.crag]: There is no evaluator named 'nope'"),
        ("[strategy.eor]\nsimilarities = ['em', 'emm']", "[strategy.eor]: There is no evaluator named 'emm'"),
        ("[strategy.rag]\nprompts = {raed = 'none.txt'}", "[strategy.rag]: There is no prompt named 'raed'"),
        ("[evaluator.judge]\nprompts = {plain = 'none.txt'}", "[evaluator.judge]: Cannot read the prompt 'plain'"),
        (
            "[reader.openai]\nmodel = 'm'\nkey = 'nokey'",
            "[reader.openai]: The key 'nokey' for https",
        ),
    ],
)
def test_check_looks_at_what_only_the_component_knows(
    rqa: Rqa, table: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "crag,eor,rag,norag,judge,openai,batch,local,index,history,text,data")
    found(table)
    rqa("config", "trust")
    ended = rqa("config", "check")
    assert (ended.code, ended.out) == (2, "") and f"rqa: error: {message}" in ended.err


@pytest.mark.parametrize(
    "table, message",
    [
        ("[strategy.crag]\nsearch = 'web@5'", "[retriever.web] needs the option `provider`, which has no default."),
        ("[strategy.eor]\npool = ['web@5']", "[retriever.web] needs the option `provider`, which has no default."),
        ("[strategy.crag]\nthen = 'crag'", "The strategies crag -> crag hand their passages on in a circle."),
    ],
)
def test_check_refuses_what_the_next_question_is_refused_for(
    rqa: Rqa, table: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "crag,eor,rag,norag,web,embedded,batch,local,index,history,text,data")
    found(table)
    ended = rqa("config", "check")
    assert (ended.code, ended.out) == (2, "") and f"rqa: error: {message}" in ended.err
    assert message in rqa("ask", "-s", table[10:].partition("]")[0], "--passages", "-", "Q?", stdin="A passage.").err


@pytest.mark.parametrize("code, reason", [(None, "there is no file"), ("x = (", "SyntaxError")])
def test_check_refuses_a_plugin_that_the_configuration_names_and_that_is_broken(
    rqa: Rqa, own: Path, code: str | None, reason: str
) -> None:
    own.write_text("plugins = ['my.py']\n")
    if code:
        own.with_name("my.py").write_text(code)
    ended = rqa("config", "check")
    assert (ended.code, ended.out) == (2, "") and ended.err.count(reason) == 1
    assert f"rqa: error: The plugin {own.with_name('my.py')} in `plugins` is broken.\n" in ended.err


@pytest.mark.parametrize("text, line", [("[reader\n", 1), ("[defaults]\nk =\n", 2)])
def test_invalid_toml_is_an_error_with_its_line(rqa: Rqa, text: str, line: int) -> None:
    here = found(text)
    ended = rqa("config", "check")
    assert (
        ended.code == 2
        and f"The configuration {here} is not valid TOML: " in ended.err
        and f"(at line {line}," in ended.err
    )


def test_path_lists_the_files_in_force(rqa: Rqa, own: Path) -> None:
    here = found("[defaults]\nk = 1\n")
    assert rqa("config", "path").out == f"{here}  (untrusted: see rqa config trust)\n{own}\n"


def test_only_a_trusted_file_loads_code(rqa: Rqa) -> None:
    (Path.cwd() / "plugin.py").write_text("raise SystemExit('the code has run')")
    here = found("plugins = ['plugin.py']\n")
    ended = rqa("config", "check")
    assert "did not load the plugin plugin.py" in ended.err and "has run" not in ended.err
    assert f"`rqa config trust {here}`" in ended.err

    ended = rqa("config", "trust")
    assert (ended.code, ended.out) == (0, "")
    assert f"Trusted {here} with its current content" in ended.err and "plugin.py" in ended.err
    assert "the code has run" in rqa("config", "check").err

    found("plugins = ['plugin.py']\n\n")  # an edit asks again
    assert "has run" not in rqa("config", "check").err


def test_files_that_are_trusted_at_the_same_time_are_all_trusted(installed: str, tmp_path: Path) -> None:
    files = [tmp_path / str(number) / "rqa.toml" for number in range(16)]
    for file in files:
        file.parent.mkdir()
        file.touch()
    together = [subprocess.Popen([installed, "config", "trust", file], stderr=subprocess.DEVNULL) for file in files]
    assert [child.wait(60) for child in together] == [0] * 16
    assert [file for file in files if not trusted_files.is_trusted(file, b"")] == []


def test_trust_can_be_undone(rqa: Rqa) -> None:
    here = found("[defaults]\nk = 1\n")
    rqa("config", "trust", here)
    assert "untrusted" not in rqa("config", "path").out
    assert rqa("config", "trust", here, "--undo").code == 0
    assert "untrusted" in rqa("config", "path").out
    assert rqa("config", "trust", here, "--undo").code == 2


def test_a_missing_or_invalid_file_is_not_trusted(rqa: Rqa) -> None:
    ended = rqa("config", "trust")
    assert ended.code == 4 and "There is no rqa.toml in this folder or above" in ended.err
    found("[reader\n")
    assert rqa("config", "trust").code == 2
    assert not Path(os.environ["RQA_CONFIG_DIR"], "trusted.json").exists()


@pytest.mark.parametrize("pair", ["reader.parrot.key=sk-hunter2hunter2", "reader.parrot.headers=Bearer hunter2"])
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(rqa: Rqa, own: Path, pair: str) -> None:
    ended = rqa("ask", "-O", pair, "Q?")
    assert ended.code == 2 and "hunter2" not in ended.out + ended.err


def test_the_answer_is_written_to_the_output_file_once_there_is_one(rqa: Rqa, own: Path) -> None:
    texts = ("-O", 'retriever.shelf.texts=["é"]')
    command = ("ask", "-s", "reads", "-r", "shelf", "--reader", "first", "Q?")
    printed = rqa(*command, *texts).out
    assert "é" in printed and rqa(*command, *texts, "-o", "-").out == printed
    ended = rqa(*command, *texts, "-o", "answer.txt")
    assert (ended.code, ended.out) == (0, "")
    assert Path("answer.txt").read_text("utf-8") == printed
    assert rqa(*command, *texts, "-o", "answer.json").code == 0
    assert json.loads(Path("answer.json").read_bytes())["answer"] == "é"
    assert rqa(*command, "-O", "retriever.shelf.texts=1", "-o", "answer.txt").code == 2
    assert Path("answer.txt").read_text("utf-8") == printed
    ended = rqa(*command, *texts, "-o", "nowhere/answer.txt")
    assert ended.code == 2 and "Cannot write nowhere/answer.txt: No such file or directory." in ended.err
    ended = rqa(*command, *texts, "-o", "answer.csv")
    assert ended.code == 2 and "cannot write .csv files. End the name in .txt, .md, .json." in ended.err
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["answer.json", "answer.txt"]


TABLE_OF_COMMAND = """
import click
from robust_qa import hookimpl

@click.command("greet")
@click.option("--name", default="nobody")
@click.option("--times", type=int, default=1)
def greet(name, times):
    click.echo(f"{name} {times}")

@hookimpl
def rqa_register(registry):
    registry.command("greet", greet)
"""


def greeted(rqa: Rqa, text: str, *arguments: str) -> Any:
    Path("greet.py").write_text(TABLE_OF_COMMAND)
    return rqa("--config", found(text), "--plugin", "greet.py", "greet", *arguments)


def test_a_table_sets_the_options_of_its_command(rqa: Rqa) -> None:
    table = "[greet]\nname = 'Ada'\ntimes = 2\n"
    assert greeted(rqa, table).out == "Ada 2\n"
    assert greeted(rqa, table, "--name", "Bo").out == "Bo 2\n"


def test_an_option_that_the_command_of_a_table_does_not_have_is_an_error(rqa: Rqa) -> None:
    ended = greeted(rqa, "[greet]\nnam = 'Ada'\n")
    assert ended.code == 2 and "[greet] has no option `nam`" in ended.err and "Did you mean 'name'?" in ended.err


def test_the_options_of_a_command_can_be_copied_from_its_table(rqa: Rqa) -> None:
    Path("greet.py").write_text(TABLE_OF_COMMAND)
    ended = rqa("--plugin", "greet.py", "config", "options", "greet")
    assert '# [greet]\n# name = "nobody"' in ended.out and ended.code == 0


def test_a_file_that_is_not_trusted_sets_no_option_of_a_command(rqa: Rqa) -> None:
    Path("greet.py").write_text(TABLE_OF_COMMAND)
    found("[greet]\nname = 'Ada'\n")
    ended = rqa("--plugin", "greet.py", "greet")
    assert ended.code == 2 and "an untrusted file cannot set [greet]" in ended.err


def test_a_variable_sets_an_option_of_a_command(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_GREET__TIMES", "3")
    assert greeted(rqa, "[greet]\nname = 'Ada'\n").out == "Ada 3\n"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[greet]\nnam = 'Ada'\n", "[greet] has no option `nam`"),
        ("[greet]\ntimes = 'often'\n", "[greet] sets `times` to a wrong value"),
        ("[recorder.greet]\nx = 1\n", "there is no table [recorder]"),
        ("[recorder.history]\ndays = 9\n", "Write [history]."),
        ("[checker.mine]\nx = 1\n", "Write [mine]. No checker 'mine' is installed"),
    ],
)
def test_check_looks_at_the_tables_of_commands(rqa: Rqa, table: str, message: str) -> None:
    Path("greet.py").write_text(TABLE_OF_COMMAND)
    ended = rqa("--config", found(table), "--plugin", "greet.py", "config", "check")
    assert ended.code == 2 and message in ended.err

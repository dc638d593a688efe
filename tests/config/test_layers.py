"""Origin and precedence of configuration values, and errors in configurations."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.distributions import plugin_source

from robust_qa import ConfigError
from robust_qa.config import layers as config
from robust_qa.config import trusted_files
from robust_qa.config.layers import Config
from robust_qa.host.loading import Host

Write = Callable[..., Path]


@pytest.fixture
def user() -> Callable[[str], Path]:
    """Write the user's own configuration."""

    def write(text: str) -> Path:
        path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


def found(text: str, folder: Path | None = None) -> Path:
    """Write an rqa.toml, by default in the working directory."""
    path = (folder or Path.cwd()) / "rqa.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def value(key: str, loaded: Config) -> tuple[Any, str]:
    leaf = dict(loaded.leaves())[key]
    return leaf.value, leaf.layer.origin


def refusal(text: str | bytes, tmp_path: Path) -> ConfigError:
    path = tmp_path / "refused.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        config.load(file=path).check_tables(["history"])
    assert str(path) in caught.value.message
    return caught.value


def test_each_layer_wins_over_the_weaker_ones_and_each_value_knows_where_it_is_from(
    user: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = user("[reader.local]\na = 1\nb = 1\nc = 1\nd = 1\n")
    here = found("[reader.local]\na = 2\nb = 2\nc = 2\n")
    monkeypatch.setenv("RQA_READER__LOCAL__A", "3")
    monkeypatch.setenv("RQA_READER__LOCAL__B", "3")
    loaded = config.load(overrides=[("reader.local.a", "4")])
    assert value("reader.local.a", loaded) == ("4", "the command line")
    assert value("reader.local.b", loaded) == ("3", "RQA_READER__LOCAL__B")
    assert value("reader.local.c", loaded) == (2, str(here))
    assert value("reader.local.d", loaded) == (1, str(own))
    assert {key: v.value for key, v in loaded.table("reader", "local").values.items()} == {
        "a": "4", "b": "3", "c": 2, "d": 1,
    }  # fmt: skip


@pytest.mark.parametrize("variable", ["STRATEGY", "RETRIEVER", "READER", "EVALUATOR", "K"])
def test_shortcuts_of_the_environment_set_the_defaults(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"RQA_{variable}", "7")
    assert value(f"defaults.{variable.lower()}", config.load()) == ("7", f"RQA_{variable}")


def test_a_misspelt_environment_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_STRATEGI", "rag")
    with pytest.raises(ConfigError, match="Unknown environment variable RQA_STRATEGI") as caught:
        config.load()
    assert caught.value.hint == "Did you mean 'RQA_STRATEGY'?"


def test_the_nearest_file_is_found_by_walking_up(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found("", tmp_path)
    assert config.find(below) == tmp_path / "rqa.toml"
    found("", tmp_path / "a")
    assert config.find(below) == tmp_path / "a" / "rqa.toml"


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_file_that_is_named_takes_the_place_of_the_found_one(
    by_variable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found("[defaults]\nk = 1\n")
    named = tmp_path / "named.toml"
    named.write_text("[defaults]\nreader = 'x'\n")
    if by_variable:
        monkeypatch.setenv("RQA_CONFIG", str(named))
    loaded = config.load(file=None if by_variable else named)
    assert [key for key, _ in loaded.leaves()] == ["defaults.reader"]
    assert not loaded.layers[0].confined


def test_a_found_file_is_confined_until_it_is_trusted_and_again_after_a_change() -> None:
    path = found("[defaults]\nk = 1\n")
    assert config.load().layers[0].confined
    trusted_files.trust(path, path.read_bytes())
    assert not config.load().layers[0].confined
    found("[defaults]\nk = 2\n")
    assert config.load().layers[0].confined


def test_tables_under_an_option_merge_key_by_key_at_any_depth(user: Write) -> None:
    user("[reader.x.body]\na = 1\nkeep = 1\n[reader.x.body.deep]\nb = 1\nkeep = 1\n")
    found("[reader.x.body]\na = 2\n[reader.x.body.deep]\nb = 2\n")
    body = config.load().table("reader", "x").values["body"]
    assert [layer.origin.rpartition("/")[2] for layer in body.layers] == ["rqa.toml", "config.toml"]
    assert body.confined


def test_an_empty_file_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_bytes(b"")
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf[defaults]\nk = 1\n")
    assert list(config.load(file=tmp_path / "empty.toml").leaves()) == []
    assert value("defaults.k", config.load(file=tmp_path / "marked.toml"))[0] == 1


@pytest.mark.parametrize(
    "text, message",
    [
        (b"# caf\xc3\xa9\n# caf\xe9\n", "is not UTF-8 text (line 2)"),
        ("[defaults]\nk = \n", "is not valid TOML: Invalid value (at line 2"),
        ("a = 1\na = 2\n", "is not valid TOML: Cannot overwrite a value (at line 2"),
        (b"\x00\x01\x02", "is not valid TOML: "),
        ("x = " + "9" * 5000, "is not valid TOML: "),
        ("#" * 1_000_001, "is larger than 1,000,000 bytes"),
        ("[readers]\n", "there is no table [readers]. The tables are "),
        ("k = 1\n", "there is no table [k]"),
        ("defaults = 1\n", "`defaults` must be a table, not 1"),
        ("[[reader]]\n", "`reader` must be a table, not [{}]"),
        ("[reader]\nmodel = 'x'\n", "`model` must be inside a named table such as [reader.NAME]"),
        ("plugins = 'notes.py'\n", "`plugins` must be a list of file names"),
        ("plugins = [1]\n", "`plugins` must be a list of file names"),
    ],
)
def test_an_invalid_file_is_an_error_with_path_and_reason(text: str | bytes, message: str, tmp_path: Path) -> None:
    assert message in refusal(text, tmp_path).message


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    assert "hunter2" not in refusal("reader = 'sk-hunter2hunter2'\n", tmp_path).message


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read the configuration .*missing\.toml: No such file") as caught:
        config.load(file=tmp_path / "missing.toml")
    assert "rqa init" in caught.value.hint
    with pytest.raises(ConfigError, match="Is a directory"):
        config.load(file=tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "closed.toml"
    path.touch(mode=0)
    with pytest.raises(ConfigError, match="Permission denied"):
        config.load(file=path)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "one.py").write_text(plugin_source("reader", "lexical"))
    return Host(only=[], files=[tmp_path / "one.py"])


@pytest.mark.parametrize("by_variable", [True, False])
def test_options_of_an_unknown_component_are_an_error_with_a_suggestion(
    by_variable: bool, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    found("[reader.local]\nplugin = 'lexical'\n")
    if by_variable:
        monkeypatch.setenv("RQA_READER__LCAL__TEMPERATURE", "1")
    pairs = [] if by_variable else [("reader.lcal.temperature", "1")]
    with pytest.raises(ConfigError, match="there is no configured or installed reader 'lcal'") as caught:
        config.load(overrides=pairs).check_names(host.names)
    assert caught.value.hint == "Did you mean 'local'?"


def test_the_users_and_a_named_file_load_plugins_relative_to_themselves(user: Write, tmp_path: Path) -> None:
    own = user("plugins = ['mine.py', '/abs.py', '~/home.py']\n")
    named = tmp_path / "named.toml"
    named.write_text("plugins = ['./theirs.py']\n")
    files, refused = config.load(file=named).plugin_files()
    assert files == [tmp_path / "theirs.py", own.parent / "mine.py", Path("/abs.py"), Path.home() / "home.py"]
    assert refused == []


def test_an_untrusted_file_loads_no_code_and_the_warning_names_the_command() -> None:
    path = found("plugins = ['evil.py']\n")
    files, [line] = config.load().plugin_files()
    assert files == [] and f"did not load the plugin evil.py, because {path} is untrusted" in line
    assert f"rqa config trust {path}" in line and "--plugin evil.py" in line

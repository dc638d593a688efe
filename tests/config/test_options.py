"""Convert tables to options dataclasses, with errors that name file, table, key and expected type."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from robust_qa import ConfigError, Key, Url
from robust_qa.config.layers import Config
from robust_qa.config.options import build
from robust_qa.config.values import Layer


@dataclass
class Options:
    text: str = ""
    number: int = 0
    real: float = 0.0
    switch: bool = False
    k: Annotated[int, Meta(ge=1)] = 10
    choice: Literal["a", "b"] = "a"
    file: Path = Path()
    maybe: str | None = "set"
    url: Url | None = None
    key: Key | None = None
    names: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    mirrors: list[Url] = field(default_factory=list)


def options(*trees: dict[str, Any], folder: Path = Path("/conf"), kind: type[Any] = Options, **layer: Any) -> Any:
    """Build options from [reader.x] tables of a.toml, b.toml, ..., highest precedence first"""
    layers = [
        Layer(f"{name}.toml", {"reader": {"x": tree}}, folder, **layer)
        for name, tree in zip("abc", trees, strict=False)
    ]
    return build(kind, Config(layers).table("reader", "x"))


def refusal(tree: dict[str, Any], **arguments: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        options(tree, **arguments)
    return caught.value


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    built = options({"file": "models/x", "files": {"a": "../y", "b": "~/z"}}, folder=tmp_path)
    assert built.file == tmp_path / "models" / "x"
    assert built.files == {"a": tmp_path / ".." / "y", "b": Path.home() / "z"}


def test_tables_merge_and_each_path_stays_relative_to_its_own_file() -> None:
    layers = [
        Layer("a.toml", {"reader": {"x": {"files": {"one": "1"}, "body": {"deep": {"a": 1}}}}}, Path("/a")),
        Layer("b.toml", {"reader": {"x": {"files": {"one": "0", "two": "2"}, "body": {"deep": {"b": 2}}}}}, Path("/b")),
    ]
    built = build(Options, Config(layers).table("reader", "x"))
    assert built.files == {"one": Path("/a/1"), "two": Path("/b/2")}
    assert built.body == {"deep": {"a": 1, "b": 2}}


@pytest.mark.parametrize(
    "key, given, expected",
    [
        ("text", 3, "text"),
        ("number", "3", "a whole number"),
        ("number", 3.5, "a whole number"),
        ("real", "x", "a number"),
        ("switch", 1, "true or false"),
        ("k", 0, "a whole number"),
        ("choice", "c", "one of 'a', 'b'"),
        ("file", 3, "a path"),
        ("maybe", 3, "text"),
        ("key", 3, "a key's name"),
        ("names", "n", "a list"),
        ("headers", "x", "a table"),
        ("text", {"x": 1}, "text"),
    ],
)
def test_a_wrong_type_is_an_error_with_file_key_and_expected_type(key: str, given: Any, expected: str) -> None:
    assert refusal({key: given}).message.startswith(f"a.toml: `reader.x.{key}` must be {expected}")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:80",
        "ftp://x",
        "http://",
        "http://[::1",
        "http://a b",
        "http://x:0",
        "http://x:99999",
        "http://x/\x1b[31m",
    ],
)
def test_a_url_must_be_one_of_the_web(url: str) -> None:
    assert "`reader.x.url`: this must be an http or https URL" in refusal({"url": url}).message
    assert "`reader.x.mirrors`: this must be an http or https URL" in refusal({"mirrors": [url]}).message


def test_a_password_in_a_url_is_an_error_that_does_not_repeat_it() -> None:
    error = refusal({"url": "https://me:hunter2@api.example"})
    assert "a user name or password" in error.message and "hunter2" not in error.message
    assert "rqa keys set" in error.hint


def test_a_misspelt_option_is_an_error_with_a_suggestion() -> None:
    error = refusal({"choise": "a"})
    assert error.message.startswith("a.toml: [reader.x] has no option `choise`. Its options are body, choice, file")
    assert error.hint == "Did you mean 'choice'?"


def test_all_problems_of_a_table_are_reported_at_once() -> None:
    error = refusal({"choise": "a", "number": "x", "url": "y"}).message.splitlines()
    assert len(error) == 3 and error[0].endswith("Did you mean 'choice'?")


def test_the_value_that_is_wrong_is_shown_unless_it_may_be_a_secret() -> None:
    assert refusal({"number": "three"}).message.endswith('not "three".')
    for tree in (
        {"headers": "Authorization: Bearer hunter2"},
        {"headers": {"Authorization": ["hunter2"]}},
        {"body": {"api_key": float("nan"), "token": "hunter2"}},
        {"key": {"secret": "hunter2"}},
        {"key": "sk-hunter2"},
    ):
        assert "hunter2" not in str(vars(refusal(tree)))


def test_a_key_instead_of_its_name_is_an_error_that_does_not_repeat_it() -> None:
    error = refusal({"key": "sk-hunter2"})
    assert error.message == (
        "a.toml: `reader.x.key`: Invalid key name. Write the name of a stored key, never the key itself."
    )
    assert "rqa keys set NAME" in error.hint


@dataclass
class Strict:
    needed: int
    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, above high, which is {self.high}")


def test_a_missing_required_option_is_an_error_with_the_line_to_add() -> None:
    error = refusal({"low": 0}, kind=Strict)
    assert error.message == "[reader.x] needs the option `needed`, which has no default."
    add = "Add `needed = ...` (a whole number) under [reader.x] in a.toml"
    assert error.hint == f"{add}, or give `-O reader.x.needed=...`."


def test_an_invalid_combination_of_options_is_an_error_with_the_files() -> None:
    with pytest.raises(ConfigError, match=r"b\.toml, a\.toml: \[reader\.x\] low is 2, above high, which is 1\."):
        options({"low": 2, "needed": 1}, {"high": 1}, kind=Strict)


@pytest.mark.parametrize(
    "key, text, expected",
    [
        ("text", "a=b", "a=b"),
        ("text", "3", "3"),
        ("maybe", "3", "3"),
        ("maybe", "", None),
        ("choice", "b", "b"),
        ("number", "3", 3),
        ("number", "-3", -3),
        ("real", "3", 3.0),
        ("switch", "true", True),
        ("names", '["a", "b=c"]', ["a", "b=c"]),
        ("headers", '{X = "1"}', {"X": "1"}),
        ("body", '{stop = ["x"], n = 1}', {"stop": ["x"], "n": 1}),
        ("url", "https://x.example/v1?a=b", "https://x.example/v1?a=b"),
    ],
)
def test_text_of_the_command_line_is_read_as_its_option_is(key: str, text: str, expected: Any) -> None:
    assert getattr(options({key: text}, textual=True), key) == expected


def test_a_path_of_the_command_line_is_relative_to_the_working_directory() -> None:
    layer = Layer("the command line", {"reader": {"x": {"file": "2024"}}}, textual=True)
    assert build(Options, Config([layer]).table("reader", "x")).file == Path.cwd() / "2024"


@pytest.mark.parametrize(
    "key, text", [("number", "three"), ("number", "9" * 5000), ("switch", "maybe"), ("names", "a"), ("k", "0")]
)
def test_a_wrong_text_is_shown_unchanged(key: str, text: str) -> None:
    error = refusal({key: text}, textual=True).message
    assert error.startswith(f"a.toml: `reader.x.{key}` must be ") and text[:100] in error and len(error) < 500

"""Find and load plugins. A broken plugin does not affect the others."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.distributions import plugin_source

from robust_qa import ConfigError, PluginError
from robust_qa.host.loading import Host

Install = Callable[..., Path]

GOOD = plugin_source("reader", "good")


def host(*names: str, **options: Any) -> Host:
    return Host(only=names, **options)


def state(loaded: Host, name: str) -> tuple[str, str]:
    [plugin] = [p for p in loaded.plugins if p.name == name]
    return plugin.state, plugin.reason


def test_an_entry_point_of_the_group_is_loaded_with_its_distribution_and_version(install: Install) -> None:
    install("third-party", {"good": GOOD}, version="3.2")
    loaded = host("good")
    [plugin] = [p for p in loaded.plugins if p.state == "loaded"]
    assert (plugin.name, plugin.distribution, plugin.version) == ("good", "third-party", "3.2")
    assert [(r.kind, r.name, r.summary) for r in loaded.components()] == [("reader", "good", "Does nothing.")]


@pytest.mark.parametrize(
    "source, reason",
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import a_package_that_is_not_there", "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"),
        ("def broken(:", "SyntaxError: "),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("", "it implements no hook"),
        (
            plugin_source("reader", "half").replace("rqa_register", "rqa_registr"),
            "it implements no hook; put @hookimpl above rqa_register(registry)",
        ),
        (plugin_source("reader", "half").replace("(registry)", "(registrar)"), "write it as in rqa_register(registry)"),
        (plugin_source("retriever", "half", "given"), "invalid retriever name 'given'"),
        (plugin_source("reader", "half", after="raise RuntimeError('late')"), "RuntimeError: late"),
        (plugin_source("reader", "half", "No Name"), "invalid reader name 'No Name'"),
        (plugin_source("reader", "half", after="registry.reader('x', 5)"), "(name, factory"),
        (plugin_source("reader", after="registry.strategy('x', object, rank=1)"), "strategy 'x' has a rank, so"),
        (plugin_source("reader", "half").replace("needs =", "Options ="), "the Options of reader 'half'"),
        (plugin_source("reader", "half").replace("registry)", "registry, surprise)"), "PluginValidationError: "),
    ],
)
def test_a_failing_plugin_is_broken_with_the_reason_and_registers_nothing(
    install: Install, source: str, reason: str
) -> None:
    install("a-bad-one", {"bad": source})
    install("third-party", {"good": GOOD})
    loaded = host("bad", "good")
    assert [r.name for r in loaded.components()] == ["good"]
    assert state(loaded, "good") == ("loaded", "")
    assert state(loaded, "bad")[0] == "broken"
    assert reason in state(loaded, "bad")[1]
    [line] = loaded.troubles()
    assert line.startswith("cannot load plugin bad (a-bad-one): ") and reason in line and "\n" not in line


def test_a_broken_plugin_ends_a_strict_host(install: Install) -> None:
    install("a-bad-one", {"bad": "raise ValueError('no luck')"})
    with pytest.raises(PluginError, match=r"Cannot load plugin bad \(a-bad-one\): ValueError: no luck"):
        host("bad", strict=True)


def test_ctrl_c_while_plugins_load_is_not_a_broken_plugin(install: Install) -> None:
    install("slow", {"slow": "raise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        host("slow")


def test_a_taken_name_is_refused_and_both_owners_are_named(install: Install) -> None:
    install("first-one", {"one": plugin_source("reader", "same", "own_one")})
    install("second-one", {"two": plugin_source("reader", "same", "own_two")})
    loaded = host("one", "two")
    assert {r.name: r.plugin.distribution for r in loaded.components()} == {
        "same": "first-one",
        "own_one": "first-one",
        "own_two": "second-one",
    }
    assert loaded.troubles() == [
        "cannot register reader 'same' of plugin two (second-one): plugin one of first-one already has this name"
    ]
    with pytest.raises(PluginError, match=r"cannot register reader 'same': plugin one of first-one already has"):
        host("one", "two", strict=True)


def test_built_in_names_cannot_be_taken(install: Install) -> None:
    install("aaa-first-by-name", {"thief": plugin_source("reader", "lexical")})
    install("robust-qa", {"own": plugin_source("reader", "lexical")}, version="9")
    assert [r.plugin.name for r in host("thief", "own").components()] == ["own"]


@pytest.mark.parametrize(("left_out", "owner"), [("-one", "two"), ("-two", "one"), ("-first-one", "two")])
def test_a_name_of_two_plugins_is_an_error_until_one_is_left_out(
    left_out: str, owner: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("first-one", {"one": plugin_source("reader", "same")})
    install("second-one", {"two": plugin_source("reader", "same")})
    both = "Plugin one of first-one and Plugin two of second-one both have reader 'same'"
    with pytest.raises(PluginError, match=both) as caught:
        host("one", "two").find("reader", "same")
    assert caught.value.hint == "Leave one of the two out: RQA_PLUGINS=-one or RQA_PLUGINS=-two"
    monkeypatch.setenv("RQA_PLUGINS", left_out)
    chosen = Host.from_environment()
    assert chosen.find("reader", "same").plugin.name == owner and "same" not in "".join(chosen.troubles())
    assert len(chosen.components()) > 1  # all others are loaded


def test_the_environment_chooses_the_plugins(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("third-party", {"good": GOOD, "other": plugin_source("reader", "other")})
    monkeypatch.setenv("RQA_PLUGINS", " good ,")
    chosen = Host.from_environment()
    assert [r.name for r in chosen.components()] == ["good"] and chosen.troubles() == []
    assert state(chosen, "other") == ("off", "not in RQA_PLUGINS")
    monkeypatch.setenv("RQA_PLUGINS", "none")
    assert Host.from_environment().components() == []


def test_a_file_and_a_packages_folder_load_by_path(tmp_path: Path) -> None:
    file = tmp_path / "my-notes.py"
    file.write_text(GOOD)
    package = tmp_path / "shelf"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import rqa_register")
    (package / "inner.py").write_text(plugin_source("retriever", "shelf"))
    loaded = host(files=[file, package])
    assert [r.name for r in loaded.components()] == ["shelf", "good"]
    assert loaded.find("reader", "good").plugin.distribution == str(file)


@pytest.mark.parametrize("name", ["missing.py", "notes.txt", "empty"])
def test_a_path_without_a_plugin_is_a_broken_plugin(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text(GOOD)
    (tmp_path / "empty").mkdir()
    loaded = host(files=[tmp_path / name])
    assert state(loaded, Path(name).stem)[0] == "broken" and name in state(loaded, Path(name).stem)[1]


def test_components_come_by_kind_then_rank_then_name(tmp_path: Path) -> None:
    hook = "registry.reader('b', Nothing); registry.reader('a', Nothing); registry.reader('z', Nothing, rank=1)"
    (tmp_path / "p.py").write_text(plugin_source("strategy", "s", after=hook))
    assert [r.name for r in host(files=[tmp_path / "p.py"]).components()] == ["z", "a", "b", "s"]


@pytest.mark.parametrize("unknown", ["lexicla", "LEXICAL"])
def test_an_unknown_component_is_a_configuration_error_with_a_suggestion(unknown: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(plugin_source("reader", "lexical"))
    with pytest.raises(ConfigError, match=f"no reader named '{unknown}'.$") as caught:
        host(files=[tmp_path / "p.py"]).find("reader", unknown)
    assert caught.value.hint == "Did you mean 'lexical'?"


COMMANDS = """
import click
from robust_qa import hookimpl
class Nothing: "Does nothing."
@hookimpl
def rqa_register(registry):
    registry.reader({name!r}, Nothing)
    for name in {commands!r}:
        registry.command(name, click.Command(name, help="of {name}"))
"""


def commands(tmp_path: Path, **names: list[str]) -> Host:
    for plugin, theirs in names.items():
        (tmp_path / f"{plugin}.py").write_text(COMMANDS.format(name=plugin, commands=theirs))
    return host(files=[tmp_path / f"{plugin}.py" for plugin in names])


def test_a_plugin_adds_commands_and_groups(tmp_path: Path) -> None:
    loaded = commands(tmp_path, one=["serve", "train voter"], two=["train judge"])
    assert {name: one.summary for name, one in loaded.commands.items()} == {
        "serve": "of one",
        "train voter": "of one",
        "train judge": "of two",
    }
    assert list(loaded.groups) == ["train"] and loaded.troubles() == []


def test_the_first_owner_of_a_command_keeps_it_and_components_stay(tmp_path: Path) -> None:
    loaded = commands(tmp_path, one=["serve"], two=["serve", "own"])
    assert loaded.commands["serve"].plugin.name == "one" and sorted(loaded.commands) == ["own", "serve"]
    (warning,) = loaded.troubles()
    assert "cannot register command 'serve' of plugin two" in warning
    assert len(loaded.components()) == 2


def test_a_class_given_by_name_is_imported_when_it_is_used(tmp_path: Path, install: Install) -> None:
    install("shelves", {"shelves_data": "class Shelf: pass\nclass Plain:\n    needs = {'retrieve'}\n"})
    sys.modules.pop("shelves_data", None)
    (tmp_path / "p.py").write_text(
        "from robust_qa import hookimpl\n@hookimpl\ndef rqa_register(registry):\n"
        "    registry.retriever('shelf', 'shelves_data:Shelf', summary='books')\n"
        "    registry.strategy('right', 'shelves_data:Plain', rank=1, needs={'retrieve'})\n"
        "    registry.strategy('wrong', 'shelves_data:Plain', needs={'read'})\n"
        "    registry.reader('gone', 'shelves_gone:Reader')\n"
    )
    loaded = host(files=[tmp_path / "p.py"])
    assert loaded.find("retriever", "shelf").summary == "books"
    assert loaded.find("strategy", "right").needs == {"retrieve"}
    assert "shelves_data" not in sys.modules
    assert loaded.find("retriever", "shelf").factory.__name__ == "Shelf"
    with pytest.raises(PluginError, match=r"strategy 'wrong' is registered with needs=\{'read'\}, its class has"):
        loaded.find("strategy", "wrong").factory  # noqa: B018
    with pytest.raises(PluginError, match="Plugin p cannot import shelves_gone:Reader: ModuleNotFoundError"):
        loaded.find("reader", "gone").factory  # noqa: B018


METRICS = """\
from robust_qa import Metric, hookimpl
@hookimpl
def rqa_register(registry):
    registry.metrics({metrics})
"""


def metrics(tmp_path: Path, **bodies: str) -> tuple[list[str], list[str]]:
    for name, body in bodies.items():
        (tmp_path / f"{name}.py").write_text(METRICS.format(metrics=body))
    found, troubles = host(files=[tmp_path / f"{name}.py" for name in bodies]).metrics()
    return [metric.name for metric in found], troubles


def test_plugins_add_metrics(tmp_path: Path) -> None:
    assert metrics(tmp_path, one="[Metric('words', len), Metric('lines', len)]") == (["words", "lines"], [])

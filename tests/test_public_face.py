"""The walls of the house: what is public, and who imports whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from inspect import isclass, isfunction
from pathlib import Path

import pytest

import robust_qa

ROOT = Path(__file__).parents[1]
HOST = ROOT / "robust_qa"
PLUGINS = sorted(path for path in (ROOT / "plugins").glob("rqa_*") if path.is_dir())


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """What a module imports from outside its own package: (module, name), name "" for a whole module."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module or "", alias.name) for alias in node.names)


def strings(path: Path) -> Iterator[str]:
    """The string constants of a module that are no docstrings."""
    module = tree(path)
    alone = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_every_public_name_resolves() -> None:
    for name in robust_qa.__all__:
        assert getattr(robust_qa, name) is not None
    assert len(set(robust_qa.__all__)) == len(robust_qa.__all__)


def test_what_type_checkers_see_is_what_there_is() -> None:
    declared = {
        alias.asname: node.module
        for block in ast.walk(tree(HOST / "__init__.py"))
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == robust_qa._MODULE
    assert {"__version__", *declared} == set(robust_qa.__all__)
    seen = {node.name for node in tree(HOST / "__init__.py").body if isinstance(node, ast.FunctionDef)}
    assert "__getattr__" not in seen  # it would vouch for any other name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        robust_qa.nonsense  # noqa: B018
    assert set(robust_qa.__all__) <= set(dir(robust_qa))


def test_every_public_class_and_function_says_what_it_is() -> None:
    things = [getattr(robust_qa, name) for name in robust_qa.__all__]
    assert [thing for thing in things if (isclass(thing) or isfunction(thing)) and not thing.__doc__] == []


def test_the_host_imports_no_plugin() -> None:
    found = [(path.name, module) for path in sources(HOST) for module, _ in imports(path) if module.startswith("rqa_")]
    assert found == []


def test_the_host_knows_no_plugin_by_name() -> None:
    names = {name for plugin in PLUGINS for name in (plugin.name, plugin.name.removeprefix("rqa_"))}
    found = [(path.name, text) for path in sources(HOST) for text in strings(path) if text in names]
    assert found == []


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_imports_the_public_face_of_the_host_and_no_other_plugin(plugin: Path) -> None:
    for path in sources(plugin):
        for module, name in imports(path):
            top = module.partition(".")[0]
            assert top == plugin.name or not top.startswith("rqa_"), f"{path} imports {module}"
            if top == "robust_qa":
                assert (module, name in robust_qa.__all__) == ("robust_qa", True), f"{path} imports {module}: {name}"


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_is_imported_without_its_engine(plugin: Path) -> None:
    # It happens at every start.
    heavy = {"httpx", "tantivy", "numpy", "llama_cpp", "huggingface_hub", "pypdf", "rich", "sqlite3", "trafilatura"}
    heavy |= {"ctranslate2", "tokenizers", "torch", "transformers"}
    program = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'plugins')]!r}; import {plugin.name}; "
    program += f"print(*({heavy!r} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []

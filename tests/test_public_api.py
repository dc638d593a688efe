"""The walls of the house: what is public, and what a plugin costs to import. `lint-imports` holds the layers."""

import importlib
import subprocess
import sys
from inspect import isclass, isfunction
from pathlib import Path

import pytest
import tomli

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(path.name for path in (ROOT / "plugins").glob("rqa_*") if path.is_dir())
PUBLIC = ["", ".answering", ".batch", ".cli", ".documents", ".kit", ".testing"]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(f"robust_qa{name}")
    things = [getattr(module, each) for each in module.__all__]
    assert len(set(module.__all__)) == len(module.__all__)
    assert [thing for thing in things if (isclass(thing) or isfunction(thing)) and not thing.__doc__] == []


def test_the_package_exports_about_50_names() -> None:
    import robust_qa

    assert len(robust_qa.__all__) <= 52


def test_a_name_that_has_moved_is_an_import_error_with_the_new_import() -> None:
    with pytest.raises(ImportError, match=r"Write: from robust_qa\.kit import words"):
        from robust_qa import words  # noqa: F401
    with pytest.raises(ImportError, match=r"Write: from robust_qa\.kit import cite_reading"):
        from robust_qa import citations  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        from robust_qa import nonsense  # noqa: F401


def test_every_name_that_has_moved_is_where_the_error_says() -> None:
    from robust_qa.moved import _NAMES

    for module, names in _NAMES.items():
        assert set(names.split()) <= set(dir(importlib.import_module(module)))


def test_the_import_contracts_name_every_plugin() -> None:
    contracts = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    assert sorted(contracts["root_packages"]) == ["robust_qa", *PLUGINS]
    forbidden, independent, public = contracts["contracts"][1:]
    assert forbidden["forbidden_modules"] == independent["modules"] == public["source_modules"] == PLUGINS


def test_the_import_contracts_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    if not command.is_file():
        pytest.skip("import-linter is not installed: pip install -e '.[dev]'")
    ran = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_is_imported_without_its_engine(plugin: str) -> None:
    # It happens at every start.
    heavy = {
        "aiohttp",
        "httpx",
        "tantivy",
        "numpy",
        "llama_cpp",
        "huggingface_hub",
        "pypdf",
        "rich",
        "sqlite3",
        "trafilatura",
    }
    heavy |= {"ctranslate2", "tokenizers", "torch", "transformers"}
    program = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'plugins')]!r}; import {plugin}; "
    program += f"print(*({heavy!r} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []

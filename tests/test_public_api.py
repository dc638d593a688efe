"""The walls of the house: what is public, and what a plugin costs to import. `lint-imports` holds the layers."""

import importlib
import json
import os
import subprocess
import sys
from inspect import isclass, isfunction
from pathlib import Path

import pytest
import tomli

ROOT = Path(__file__).parents[1]
ROOMS = sorted(path for path in (ROOT / "plugins").iterdir() if path.is_dir() and path.name[0].isalpha())
PLUGINS = sorted(path for room in ROOMS for path in room.glob("rqa_*"))
SHARED = [path.name for path in PLUGINS if path.parent.name == "shared"]
PRIVATE = [
    "robust_qa.answering.*",
    "robust_qa.calls",
    "robust_qa.config",
    "robust_qa.errors",
    "robust_qa.expressions",
    "robust_qa.host",
    "robust_qa.kit.*",
    "robust_qa.main",
    "robust_qa.prompt",
    "robust_qa.protocols",
    "robust_qa.sanitize",
    "robust_qa.stdout",
    "robust_qa.types",
]
PUBLIC = [*(f"robust_qa{name}" for name in ("", ".answering", ".cli", ".kit", ".testing")), *SHARED]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(name)
    things = [getattr(module, each) for each in module.__all__]
    assert len(set(module.__all__)) == len(module.__all__)
    assert [thing for thing in things if (isclass(thing) or isfunction(thing)) and not thing.__doc__] == []


def test_the_import_contracts_hold(tmp_path: Path) -> None:
    """The layers in pyproject.toml, and the walls around every plugin."""
    command = Path(sys.executable).with_name("lint-imports")
    if not command.is_file():
        pytest.skip("import-linter is not installed: pip install -e '.[dev]'")
    names = [path.name for path in PLUGINS]
    (layers,) = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    contracts = [
        layers,
        {
            "name": "The host imports no plugin",
            "type": "forbidden",
            "source_modules": ["robust_qa"],
            "forbidden_modules": names,
            "ignore_imports": ["robust_qa.testing -> rqa_testing"],  # an import name for authors
        },
        {
            "name": "No plugin imports another",
            "type": "independence",
            "modules": [name for name in names if name not in SHARED],
        },
        {
            "name": "What plugins share imports no plugin",
            "type": "forbidden",
            "source_modules": SHARED,
            "forbidden_modules": [name for name in names if name not in SHARED],
        },
        {
            "name": "A plugin imports the public modules of the host",
            "type": "forbidden",
            "source_modules": names,
            "forbidden_modules": PRIVATE,
            "allow_indirect_imports": True,
        },
        {"name": "The host's packages have no circle", "type": "acyclic_siblings", "ancestors": ["robust_qa"]},
    ]
    config = tmp_path / "contracts.toml"
    lines = ["[tool.importlinter]", f"root_packages = {json.dumps(['robust_qa', *names])}"]
    for contract in contracts:
        lines += [
            "[[tool.importlinter.contracts]]",
            *(f"{key} = {json.dumps(value)}" for key, value in contract.items()),
        ]
    config.write_text("\n".join(lines), "utf-8")
    path = os.pathsep.join(map(str, [ROOT, *ROOMS]))
    ran = subprocess.run(
        [command, "--no-cache", config],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_files_import_each_other_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports for typing and those within functions count too."""
    grimp = pytest.importorskip("grimp")
    for folder in (ROOT, *ROOMS):
        monkeypatch.syspath_prepend(folder)
    graph = grimp.build_graph("robust_qa", *(path.name for path in PLUGINS), cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while ends := {module for module, others in imported.items() if not others & imported.keys()}:
        imported = {module: others for module, others in imported.items() if module not in ends}
    while starts := imported.keys() - set[str]().union(*imported.values()):
        imported = {module: others for module, others in imported.items() if module not in starts}
    assert sorted(imported) == []


@pytest.mark.parametrize("plugin", [path.name for path in PLUGINS if path.name not in SHARED])
def test_a_plugin_is_imported_without_its_engine(plugin: str) -> None:
    heavy = {
        "aiohttp",
        "httpx",
        "tantivy",
        "numpy",
        "llama_cpp",
        "huggingface_hub",
        "pypdfium2",
        "xberg",
        "openpyxl",
        "chardet",
        "rich",
        "sqlite3",
        "trafilatura",
    }
    heavy |= {"ctranslate2", "tokenizers", "torch", "transformers"}
    program = f"import sys; sys.path[:0] = {[str(ROOT), *map(str, ROOMS)]!r}; import {plugin}; "
    program += f"print(*({heavy!r} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["--version"], 0),
        (["--help"], 1),  # the catalogue
        (
            [
                "ask",
                "-O",
                "history.enabled=false",
                "-d",
                str(ROOT / "examples" / "harbour"),
                "Who was the last keeper?",
            ],
            11,
        ),  # one of them, rqa_e5, is tried first
    ],
)
def test_a_command_imports_only_the_plugins_that_it_uses(arguments: list[str], most: int) -> None:
    program = (
        "import atexit, sys\n"
        "from robust_qa.main import main\n"
        f"sys.argv = ['rqa', *{arguments!r}]\n"
        "own = ('rqa_lab', 'rqa_train')\n"
        "names = lambda: {n.partition('.')[0] for n in sys.modules if n.startswith('rqa_') and not n.startswith(own)}\n"
        "atexit.register(lambda: print(*names(), file=sys.stderr))\n"
        "main()\n"
    )
    path = os.pathsep.join(map(str, [ROOT, ROOT / "plugins", *ROOMS]))
    env = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert len(ran.stderr.splitlines()[-1].split()) <= most


def test_the_name_of_the_distribution_is_a_command_so_that_uvx_finds_it() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"]["rqa"] == project["scripts"][project["name"]]


def test_the_catalogue_has_what_the_packages_register() -> None:
    from rqa_catalogue.__main__ import written

    path = ROOT / "plugins" / "rqa_catalogue" / "entries.py"
    assert path.read_text("utf-8") == written(), "run python -m rqa_catalogue"

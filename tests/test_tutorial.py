"""The pages in docs/ are true: their commands are run, and print what the page shows.

A page is run from its first block to its last, in one shell and one folder that has examples/:

- A block after a line that ends with the name of a file, as in "`NAME`:", is written to that file.
- In a `console` block, `$ ` begins a command, and what follows is what it prints. `...` stands for any lines. Times,
  dates and confidences may differ.
- Other blocks are not run, for example `sh` blocks, which need the network. test_documentation.py checks their options.

http://localhost:8080 is a stand-in for a server with a language model.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documentation import DOCS, ROOT, run
from standins.openai import completion, serve

FILE = r"`(?P<file>[\w/-]+\.\w+)`[.:]\n\n```\w*"
BLOCK = re.compile(rf"(?:{FILE}|^```(?P<console>console))\n(?P<text>.*?)^```$", re.M | re.S)
LOOSE = {
    r"rqa: answers are kept in .*\n": "",  # only once
    r"\n {4}(?=\w)": " ",  # pages wrap quotes, pipes do not
    r"\d+\.\d+ s\b": "0.0 s",
    r"confidence \d\.\d+": "confidence 0.9",
    r"\b\d+%": "50%",
    r"\d+\.\d+ rows/s": "1.0 rows/s",
    r"\d+ kB": "1 kB",
    r"in \d+\.\d+s": "in 0.10s",  # pytest
    r"\d{4}-\d\d-\d\d \d\d:\d\d": "2026-01-01 12:00",
}
SERVER = "localhost:8080"
MARK = "=== end of command"


def test_a_page_shows_what_its_commands_print(page: str, folder: Path) -> None:
    for command, shown, printed in outputs(DOCS[page], folder):
        pattern = r"(?:.*\n)*?".join(map(re.escape, loose(shown).split("...\n")))
        assert re.fullmatch(pattern, loose(printed)), f"$ {command}\n{printed}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", [page for page, text in DOCS.items() if "```console" in text])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def outputs(page: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each command of a page, what the page says that it prints, and what it prints."""
    commands = [command for block in BLOCK.finditer(page) if block["console"] for command in console(block["text"])]
    with serve(reply) as server:
        address = server.url.removeprefix("http://").removesuffix("/v1")
        (folder / ".page.sh").write_text(script(page.replace(SERVER, address), folder), "utf-8")
        printed = run("sh", ".page.sh", folder=folder).replace(address, SERVER).replace(str(folder), "/home/ada")
    for (command, shown), output in zip(commands, printed.split(f"{MARK}\n")[:-1], strict=True):
        yield command, shown, output


def console(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the lines below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, shown = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield f"{command}\n", shown


def script(page: str, folder: Path) -> str:
    """The page as a script for sh, whose commands end with a line MARK."""
    lines = [
        "exec 2>&1 </dev/null",
        f'export HOME="{folder}" RQA_CONFIG_DIR="{folder}/.config/rqa" RQA_DATA_DIR="{folder}/.local/share/rqa"',
        "export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
        f'rqa() {{ "{sys.executable}" -m robust_qa "$@"; }}',
        f'python() {{ "{sys.executable}" "$@"; }}',
        f'end() {{ was=$?; echo "{MARK}"; return $was; }}',
    ]
    for number, block in enumerate(BLOCK.finditer(page)):
        if block["file"]:
            kept = folder / f".block{number}"
            kept.write_text(block["text"], "utf-8")
            lines += [f'mkdir -p "$(dirname "{block["file"]}")"', f'cp "{kept}" "{block["file"]}"']
        else:
            lines += [f"{command}end" for command, _ in console(block["text"])]
    return "\n".join([*lines, "exit 0"])


def loose(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, instead in LOOSE.items():
        text = re.sub(pattern, instead, text)
    return re.sub(r"[ \t]+", " ", re.sub(r"[ \t]+$", "", text.strip("\n"), flags=re.M)) + "\n"


def reply(request: dict[str, Any], number: int) -> dict[str, Any]:
    """What a language model says to the questions of the pages about examples/harbour."""
    prompt = request["messages"][-1]["content"]
    numbers = {title: int(found) for found, title in re.findall(r'<document number="(\d+)".*?title="(.*?)"', prompt)}
    fields = request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "passages" in fields:  # from memory
        said: Any = {"passages": []}
    elif "groups" in fields:
        one = {"documents": [numbers["Skerry Point Lighthouse"], numbers["Harbour log, 1871"]], "answer": "1871"}
        other = {"documents": [numbers["brochure"]], "answer": "1817"}
        groups = [{**one, "summary": "", "confidence": 0.9}, {**other, "summary": "", "confidence": 0.1}]
        said = {"reasoning": "", "groups": groups, "reason": "", "answer": "1871"}
    elif "tall" in prompt.rpartition("Question: ")[2]:
        said = {"documents": [numbers["Skerry Point Lighthouse"]], "answer": "32 metres"}
    else:
        said = {"documents": [numbers["brochure"]], "answer": "1817"}
    text = json.dumps(said)
    return {**completion(text), "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}}

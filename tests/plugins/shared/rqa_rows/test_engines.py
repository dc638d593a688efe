"""Engines of plugins: `rqa batch --engine` hands them a job."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

# Answers the rows one after the other with the workers of a pickled recipe, in turn.
TURNS = """
import pickle
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from robust_qa import hookimpl

class Turns:
    "Gives each row to the next worker."

    @dataclass
    class Options:
        workers: int = 2
        edit: bool = False  # this file, before the workers open
        lose: int = 0  # the number of a row

    def __init__(self, options):
        self.options = options

    async def run(self, rows, job):
        pickled = pickle.dumps(job.recipe)
        if self.options.edit:
            with Path("turns.py").open("a") as file:
                file.write("# edited")
        recipe = pickle.loads(pickled)
        count = min(self.options.workers, recipe.max_workers)
        job.say(f"{count} workers")
        async with AsyncExitStack() as stack:
            workers = [await stack.enter_async_context(recipe.open(n, count)) for n in range(count)]
            async for number, row in rows:
                if number != self.options.lose:
                    job.take(await workers[number % count].answer(number, row))

@hookimpl
def rqa_register(registry):
    registry.engine(NAME, Turns)
"""


@pytest.fixture
def batch(tmp_path: Path, installed: str) -> Any:
    """Runs `rqa batch` from `in.jsonl` to `out.jsonl` and returns the exit code and stderr."""
    (tmp_path / "turns.py").write_text(TURNS.replace("NAME", '"turns"'))
    rows = [{"question": f"Who built tower {n}?", "passages": [f"Tower {n} was built by Ada {n}."]} for n in range(6)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: object, plugin: str = "turns.py") -> tuple[int, str]:
        command = [installed, "--plugin", plugin, "batch", "in.jsonl", "-o", "out.jsonl", "--reader", "lexical"]
        ran = subprocess.run([*command, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True)
        return ran.returncode, ran.stderr

    return run


def answers(folder: Path) -> list[tuple[int, str]]:
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]
    return [(row["row"], row["answer"]) for row in rows]


def test_engines_give_equal_answers_and_resume_each_other(batch: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert batch("--engine", "local")[0] == 0
    local, lines = answers(tmp_path), out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:4]))
    code, err = batch("--engine", "turns", "--resume")
    assert code == 0, err
    assert answers(tmp_path) == local and "2 rows in" in err
    code, err = batch("--resume")
    assert code == 0 and "nothing to do" in err


def test_the_configuration_chooses_an_engine_and_sets_its_options(batch: Any) -> None:
    code, err = batch("-O", "defaults.engine=turns", "-O", "engine.turns.workers=3", "-j", "7")
    assert code == 0 and "3 workers" in err
    assert "2 workers" in batch("--engine", "turns", "-O", "engine.turns.workers=3", "-j", "2", "--force")[1]


def test_an_engine_that_leaves_a_row_is_told_so(batch: Any) -> None:
    code, err = batch("--engine", "turns", "-O", "engine.turns.lose=2")
    assert code == 1 and "The engine returned no result for 1 of the rows." in err


def test_a_worker_with_another_version_of_a_plugin_is_refused(batch: Any) -> None:
    code, err = batch("--engine", "turns", "-O", "engine.turns.edit=true")
    assert code == 2 and "other versions of these plugins than the command: turns" in err


def test_workers_use_the_keys_of_the_command(batch: Any, installed: str) -> None:
    with serve(lambda *_: "Answer: Ada") as server:
        host = server.url.removesuffix("/v1")
        command = [installed, "keys", "set", "work", "--host", host]
        subprocess.run(command, input="sk-stored", text=True, check=True, capture_output=True)
        options = ["plugin=openai", f"base_url={server.url}", "model=m", "key=work"]
        chosen = [part for option in options for part in ("-O", f"reader.far.{option}")]
        code, err = batch("--engine", "turns", *chosen, "--reader", "far", "-s", "rag")
        assert code == 0, err
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-stored"}


def test_an_unknown_engine_is_named_with_the_known_ones(batch: Any) -> None:
    code, err = batch("--engine", "turn")
    assert code == 2 and "no engine named 'turn'" in err and "Did you mean 'turns'?" in err

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from standins.evaluated import RUN
from standins.mind import ROWS, WORLD
from standins.openai import Script, Server, serve

CONFIG = """\
[defaults]
reader = "mind"

[reader.mind]
plugin = "openai"
base_url = "{url}"
model = "mind"
retries = 0
prompt_price = 2.0
completion_price = 4.0
"""


@pytest.fixture
def reader() -> Callable[[Script], AbstractContextManager[Server]]:
    """Serves a language model, configured as the reader in the working directory."""

    @contextmanager
    def serving(script: Script) -> Iterator[Server]:
        with serve(script) as server:
            Path("rqa.toml").write_text(CONFIG.format(url=server.url), "utf-8")
            yield server

    return serving


@pytest.fixture
def question_set(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows to a file of that name."""

    def write(rows: Iterable[Any], name: str = "world.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
        return path

    return write


@pytest.fixture
def evaluate(rqa: Any, reader: Any, question_set: Any) -> Callable[..., Any]:
    """Runs `rqa eval` into RUN over these rows, with this model."""

    def run(*options: str, rows: Any = ROWS, model: Any = WORLD) -> Any:
        with reader(model):
            return rqa("eval", question_set(rows), "-o", RUN, *options)

    return run

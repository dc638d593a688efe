"""Every strategy against the real servers that can be installed here, each with a model that says one text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from standins.servers import environment, free_port, running

HARBOUR = Path(__file__).parents[2] / "examples" / "harbour"
QUESTION = "When was the lighthouse at Skerry Point built?"
# What every strategy finds its answer in, whatever form it asks for.
REPLY = json.dumps(
    {
        "passages": ["The lighthouse at Skerry Point was built in 1871."],
        "groups": [{"documents": [1], "summary": "The records.", "answer": "1871", "confidence": 0.9}],
        "corrections": [],
        "thought": "So 1871.",
        "documents": [1],
        "answer": "1871",
        "sufficient": True,
        "note": "<<<ANSWER>>> 1871 <<</ANSWER>>>",
    }
)
Serving = Callable[[Path], AbstractContextManager[tuple[str, str]]]


@contextmanager
def llama_cpp_python(folder: Path) -> Iterator[tuple[str, str]]:
    pytest.importorskip("gguf", reason="builds its model with gguf, of the extra [dev]")
    needed = ("llama_cpp", "uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings")
    prefix = _found("llama-cpp-python[server]", *needed)
    from standins.tiny_gguf import write_tiny_gguf

    model, port = write_tiny_gguf(folder / "tiny.gguf", window=8192, says=REPLY), free_port()
    command = [prefix / "bin" / "python", "-m", "llama_cpp.server", "--model", model, "--n_ctx", 8192]
    with running([*command, "--host", "127.0.0.1", "--port", port], port, folder / "log") as url:
        yield url, "tiny"


@contextmanager
def transformers_serve(folder: Path) -> Iterator[tuple[str, str]]:
    pytest.importorskip("gguf", reason="builds its model with gguf, of the extra [dev]")
    prefix = _found("transformers[serving] and torch", "transformers", "torch", "uvicorn", "fastapi", "openai")
    from standins.tiny_llama import write_tiny_llama

    model, port = write_tiny_llama(folder / "tiny", REPLY), free_port()
    command = [prefix / "bin" / "transformers", "serve", model, "--device", "cpu"]
    with running([*command, "--host", "127.0.0.1", "--port", port], port, folder / "log", ready="/health") as url:
        yield url, str(model)


@contextmanager
def litellm_proxy(folder: Path) -> Iterator[tuple[str, str]]:
    prefix = _found("litellm[proxy]", "litellm", "uvicorn", "fastapi", "backoff")
    parameters = {"model": "openai/mock", "api_key": "none", "mock_response": REPLY}
    config, port = folder / "litellm.yaml", free_port()
    config.write_text(json.dumps({"model_list": [{"model_name": "mock", "litellm_params": parameters}]}), "utf-8")
    command = [prefix / "bin" / "litellm", "--config", config, "--telemetry", "False"]
    with running(
        [*command, "--host", "127.0.0.1", "--port", port],
        port,
        folder / "log",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY="true",
    ) as url:
        yield url, "mock"


def _found(what: str, *modules: str) -> Path:
    prefix = environment(*modules)
    if prefix is None:
        pytest.skip(f"needs {what}, here or in an environment that SERVER_ENVIRONMENTS names")
    return prefix


@pytest.mark.parametrize(
    ("serving", "without_log_probabilities"),
    [
        (llama_cpp_python, []),
        (transformers_serve, ["cad", "flare", "self_rag"]),
        (litellm_proxy, ["cad", "flare", "self_rag"]),
    ],
    ids=["llama-cpp-python", "transformers", "litellm"],
)
def test_every_strategy_ends_with_an_answer_at_the_first_try(
    rqa: Callable[..., Any], tmp_path: Path, serving: Serving, without_log_probabilities: list[str]
) -> None:
    listed = json.loads(rqa("plugins", "--json").out)
    strategies = [each["name"] for each in listed if each["kind"] == "strategy"]
    assert {"astute", "activerag", "rag", "norag", "crag", "eor", "self_rag"} <= set(strategies)
    with serving(tmp_path) as (url, model):
        settings = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
        settings.parent.mkdir()
        settings.write_text(
            f'[reader.server]\nplugin = "openai"\nbase_url = "{url}"\nmodel = "{model}"\nwindow = 8192\n'
            '[strategy.cascade]\nsteps = ["norag", "rag"]\n',
            "utf-8",
        )
        ended = {name: rqa("ask", "--json", "--no-cache", "-s", name, "-d", HARBOUR, QUESTION) for name in strategies}
    assert "needs a reader that points at text" in ended.pop("corroborate").err
    for name in without_log_probabilities:
        assert "returned no log-probabilities" in ended.pop(name).err
    assert {name: run.err for name, run in ended.items() if run.code} == {}
    answers = {name: json.loads(run.out) for name, run in ended.items()}
    # Context-aware decoding leaves out what this small model would say without documents, too.
    assert {name for name, answer in answers.items() if "1871" not in answer["answer"]} <= {"cad"}
    assert sum(step.get("retries", 0) for answer in answers.values() for step in answer["trace"]) == 0

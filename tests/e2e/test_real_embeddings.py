"""The embedder `openai` against a real server, with a tiny model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from standins.servers import environment, free_port, running

from robust_qa import Url
from robust_qa.testing import check


def test_the_server_of_llama_cpp_python_gives_vectors(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="builds its model with gguf, of the extra [dev]")
    needed = ("llama_cpp", "uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings")
    if environment(*needed) != Path(sys.prefix):
        pytest.skip("needs llama-cpp-python[server]")
    from standins.tiny_gguf import write_tiny_gguf

    from rqa_openai.embeddings import Embeddings

    model, port = write_tiny_gguf(tmp_path / "tiny.gguf", pooling=gguf.PoolingType.MEAN), free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", model, "--embedding", "true", "--n_ctx", 2048]
    with running([*command, "--host", "127.0.0.1", "--port", port], port, tmp_path / "log") as url:
        findings = check("embedder", Embeddings(Embeddings.Options(model="tiny", base_url=Url(url))), close=True)
    assert [str(finding) for finding in findings if finding.state != "passed"] == []

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A model with random weights that the real engine runs."""
    pytest.importorskip("llama_cpp", reason="needs the extra [llama]")
    pytest.importorskip("gguf", reason="builds its model with gguf, of the extra [dev]")
    from standins.tiny_gguf import write_tiny_gguf

    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "tiny.gguf")

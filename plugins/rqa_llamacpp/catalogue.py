"""Instruct models on the hub, by short name: current families under free licences. Figures are rounded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One model: where the hub has it, its download, and the memory it needs at a window of 8,192 tokens."""

    name: str
    repo: str
    file: str
    size: float  # GB
    memory: float  # GB
    licence: str


# Every file is a 4-bit Q4_K_M. Repositories, files, sizes and licences were confirmed in public
# catalogues that pin a revision and a checksum of each file, not by a download.
# name, repository, file, GB to download, GB of memory, licence
_TABLE = """
qwen3.5-0.8b, unsloth/Qwen3.5-0.8B-GGUF, Qwen3.5-0.8B-Q4_K_M.gguf, 0.5, 1.0, Apache-2.0
qwen3.5-2b, unsloth/Qwen3.5-2B-GGUF, Qwen3.5-2B-Q4_K_M.gguf, 1.3, 1.8, Apache-2.0
smollm3-3b, ggml-org/SmolLM3-3B-GGUF, SmolLM3-Q4_K_M.gguf, 1.9, 2.8, Apache-2.0
qwen3-4b-2507, unsloth/Qwen3-4B-Instruct-2507-GGUF, Qwen3-4B-Instruct-2507-Q4_K_M.gguf, 2.5, 4.1, Apache-2.0
phi4-mini, unsloth/Phi-4-mini-instruct-GGUF, Phi-4-mini-instruct-Q4_K_M.gguf, 2.5, 3.9, MIT
qwen3.5-4b, unsloth/Qwen3.5-4B-GGUF, Qwen3.5-4B-Q4_K_M.gguf, 2.7, 3.5, Apache-2.0
gemma4-e2b, unsloth/gemma-4-E2B-it-GGUF, gemma-4-E2B-it-Q4_K_M.gguf, 3.1, 3.8, Apache-2.0
gemma4-e4b, unsloth/gemma-4-E4B-it-GGUF, gemma-4-E4B-it-Q4_K_M.gguf, 5.0, 5.9, Apache-2.0
qwen3.5-9b, unsloth/Qwen3.5-9B-GGUF, Qwen3.5-9B-Q4_K_M.gguf, 5.7, 6.5, Apache-2.0
"""


def _read(row: str) -> Entry:
    name, repo, file, size, memory, licence = row.split(", ")
    return Entry(name, repo, file, float(size), float(memory), licence)


CATALOGUE = {entry.name: entry for entry in map(_read, _TABLE.split("\n")[1:-1])}

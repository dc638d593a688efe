"""Instruct models on the hub, by short name: one of each common size. Figures are rounded."""

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


# name, repository, file, GB to download, GB of memory, licence
_TABLE = """
qwen2.5-0.5b, Qwen/Qwen2.5-0.5B-Instruct-GGUF, qwen2.5-0.5b-instruct-q4_k_m.gguf, 0.5, 0.9, Apache-2.0
llama3.2-1b, bartowski/Llama-3.2-1B-Instruct-GGUF, Llama-3.2-1B-Instruct-Q4_K_M.gguf, 0.8, 1.4, Llama 3.2
qwen2.5-1.5b, Qwen/Qwen2.5-1.5B-Instruct-GGUF, qwen2.5-1.5b-instruct-q4_k_m.gguf, 1.1, 1.7, Apache-2.0
llama3.2-3b, bartowski/Llama-3.2-3B-Instruct-GGUF, Llama-3.2-3B-Instruct-Q4_K_M.gguf, 2.0, 3.3, Llama 3.2
qwen2.5-3b, Qwen/Qwen2.5-3B-Instruct-GGUF, qwen2.5-3b-instruct-q4_k_m.gguf, 2.1, 2.8, Qwen Research (non-commercial)
qwen3-4b, Qwen/Qwen3-4B-GGUF, Qwen3-4B-Q4_K_M.gguf, 2.5, 4.1, Apache-2.0
qwen2.5-7b, bartowski/Qwen2.5-7B-Instruct-GGUF, Qwen2.5-7B-Instruct-Q4_K_M.gguf, 4.7, 5.7, Apache-2.0
llama3.1-8b, bartowski/Meta-Llama-3.1-8B-Instruct-GGUF, Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf, 4.9, 6.4, Llama 3.1
"""


def _read(row: str) -> Entry:
    name, repo, file, size, memory, licence = row.split(", ")
    return Entry(name, repo, file, float(size), float(memory), licence)


CATALOGUE = {entry.name: entry for entry in map(_read, _TABLE.split("\n")[1:-1])}

"""Model names: the catalogue, the folder of pulled models, and the file for a name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from robust_qa import ConfigError, MissingError
from robust_qa.kit import data_dir, printable

from .gguf_files import is_whole_or_first, parts

_SPEC = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?::([^:]+))?\Z")
_NOT_MODELS = ("mmproj", "imatrix")  # vision projectors and calibration data also come as .gguf


@dataclass(frozen=True, slots=True)
class Entry:
    """A known instruct model on the hub. `memory` is for a window of 8,192 tokens. Figures are rounded."""

    name: str
    repo: str
    file: str
    size: float  # GB
    memory: float  # GB
    licence: str


# All files are 4-bit Q4_K_M. Repositories, files, sizes and licences come from public catalogues with pinned revisions
# and checksums, not from a download. Columns: name, repository, file, GB to download, GB of memory, licence.
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


def folder() -> Path:
    """Return the folder of pulled models, which are stored as OWNER/REPO/FILE."""
    return data_dir() / "models"


@dataclass(frozen=True, slots=True)
class Spec:
    """A repository on the hub, and a file or quantisation in it, "" for the default."""

    repo: str
    wanted: str = ""

    @property
    def folder(self) -> Path:
        return folder() / self.repo


def parse(name: str) -> Spec:
    """Parse REPO, REPO:FILE, REPO:QUANTISATION or a name from the catalogue. Raises ConfigError for other names."""
    if entry := CATALOGUE.get(name):
        return Spec(entry.repo, entry.file)
    if match := _SPEC.match(name):
        return Spec(match[1], match[2] or "")
    close = difflib.get_close_matches(name, CATALOGUE, 1)
    raise ConfigError(
        f"{name!r} is neither OWNER/REPO[:FILE] nor the name of a known model.",
        hint=f"Did you mean {close[0]!r}?" if close else "List the known models with `rqa models list`.",
    )


def choose(files: Iterable[str], spec: Spec) -> str:
    """Return the file for `spec`, or the first part of a split model."""
    models = sorted(name for name in files if _is_model(name))
    if not models:
        raise MissingError(
            f"{spec.repo} has no GGUF model.",
            hint="Choose a repository with GGUF files. Their names often end in -GGUF.",
        )
    if parts(spec.wanted)[0] in models:
        return parts(spec.wanted)[0]
    quant = (spec.wanted or "q4_k_m").lower()
    matching = [name for name in models if quant in name.lower()]
    if not matching and not spec.wanted:
        matching = models
    if len(matching) == 1:
        return matching[0]
    listed = "".join(f"\n  {printable(name)}" for name in matching or models)
    which = f"no model {spec.wanted!r}" if not matching else "several models"
    raise ConfigError(f"{spec.repo} has {which}:{listed}", hint=f"Choose one: {spec.repo}:FILE")


def _is_model(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".gguf") and is_whole_or_first(name) and not any(word in lower for word in _NOT_MODELS)


def pulled(root: Path) -> list[str]:
    """Return the models under `root` as relative paths, or the first parts of split models."""
    return sorted(name for path in root.rglob("*.gguf") if _is_model(name := path.relative_to(root).as_posix()))


def find(model: str) -> Path:
    """Return the file for the option `model`: a path, or the name of a pulled model.

    Raises MissingError if it does not exist, ConfigError if a name matches several files.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return path.absolute()
    is_path = model.startswith((".", "~", os.sep)) or (model.lower().endswith(".gguf") and ":" not in model)
    if is_path:
        raise MissingError(
            f"There is no model file {path.absolute()}.",
            hint="Check the path, or download a model with `rqa models pull NAME`. List names with `rqa models list`.",
        )
    spec = parse(model)
    here = pulled(spec.folder)
    if not here:
        raise MissingError(f"The model {model} has not been pulled.", hint=f"Run `rqa models pull {model}`.")
    return spec.folder / choose(here, spec)

"""The models on this machine: where they are kept, and which file a name stands for."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from robust_qa import ConfigError, MissingError
from robust_qa.kit import data_dir, printable

from .catalogue import CATALOGUE
from .gguf_files import is_whole_or_first, parts

_SPEC = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?::([^:]+))?\Z")
_NOT_MODELS = ("mmproj", "imatrix")  # vision projectors and calibration data also come as .gguf


def folder() -> Path:
    """Where pulled models are kept, as OWNER/REPO/FILE."""
    return data_dir() / "models"


@dataclass(frozen=True, slots=True)
class Spec:
    """What to pull: a repository of the hub, and a file or quantisation in it, "" for the usual one."""

    repo: str
    wanted: str = ""

    @property
    def folder(self) -> Path:
        return folder() / self.repo


def parse(name: str) -> Spec:
    """The Spec of REPO, REPO:FILE, REPO:QUANT or a name of the catalogue. Raises ConfigError for others."""
    if entry := CATALOGUE.get(name):
        return Spec(entry.repo, entry.file)
    if match := _SPEC.match(name):
        return Spec(match[1], match[2] or "")
    close = difflib.get_close_matches(name, CATALOGUE, 1)
    raise ConfigError(
        f"{name!r} is neither OWNER/REPO[:FILE] nor one of the known models.",
        hint=f"Did you mean {close[0]!r}?" if close else "`rqa models list` shows the known models.",
    )


def choose(files: Iterable[str], spec: Spec) -> str:
    """The one of `files` that `spec` means: to load it is enough to load that (a split model's first part).

    Without a wish that is the 4-bit Q4_K_M, or the only model there. Raises MissingError when there is
    none, ConfigError when it is not clear which.
    """
    models = sorted(name for name in files if _is_model(name))
    if not models:
        raise MissingError(f"{spec.repo} has no GGUF model.", hint="GGUF repositories are often named ...-GGUF.")
    if parts(spec.wanted)[0] in models:
        return parts(spec.wanted)[0]
    quant = (spec.wanted or "q4_k_m").lower()
    fitting = [name for name in models if quant in name.lower()]
    if not fitting and not spec.wanted:
        fitting = models
    if len(fitting) == 1:
        return fitting[0]
    listed = "".join(f"\n  {printable(name)}" for name in fitting or models)
    which = f"no model {spec.wanted!r}" if not fitting else "several models"
    raise ConfigError(f"{spec.repo} has {which}:{listed}", hint=f"Name one: {spec.repo}:FILE")


def _is_model(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".gguf") and is_whole_or_first(name) and not any(word in lower for word in _NOT_MODELS)


def pulled(root: Path) -> list[str]:
    """The models under `root`, as paths relative to it; of split models the first part."""
    return sorted(name for path in root.rglob("*.gguf") if _is_model(name := path.relative_to(root).as_posix()))


def find(model: str) -> Path:
    """The file that the option `model` means: a path, or the name of something pulled.

    Raises MissingError when it is not there, ConfigError when a name fits several files.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return path.absolute()
    is_path = model.startswith((".", "~", os.sep)) or (model.lower().endswith(".gguf") and ":" not in model)
    if is_path:
        raise MissingError(
            f"There is no model {path.absolute()}.",
            hint="`rqa models pull NAME` fetches one; `rqa models list` shows names.",
        )
    spec = parse(model)
    here = pulled(spec.folder)
    if not here:
        raise MissingError(f"The model {model} has not been pulled.", hint=f"Run `rqa models pull {model}`.")
    return spec.folder / choose(here, spec)

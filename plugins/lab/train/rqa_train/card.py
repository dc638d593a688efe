"""What all model cards share: how the model was made, in which versions, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from importlib import metadata
from pathlib import Path

CARD = "MODEL_CARD.md"
_MADE, _MEASURED = "Made by\n", "\n## Metrics on held-out rows\n"


def made(command: str, details: str, history: str = "") -> str:
    """Return the section about how the model was made: `command`, `details`, and the `history` of other models."""
    names = ("torch", "transformers", "ctranslate2", "tokenizers")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    return f"{_MADE}\n    {command}\n\n{details}; {versions}.\n{history}"


def measured(metrics: Mapping[str, object]) -> str:
    """Return the section with the metrics, which follows that of `made`."""
    rows = "\n".join(f"| {name} | {_format(value)} |" for name, value in metrics.items())
    return f"{_MEASURED}\n| | |\n|---|---|\n{rows}\n" if rows else _MEASURED.replace("Metrics", "No metrics")


def history(model: Path, introduction: str, end: str | None = None) -> str:
    """Return how the model in a folder was made, up to `end`, after an `introduction`; or nothing if it has no card."""
    path = model / CARD
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    section = text.partition(_MADE)[2].partition("\n## ")[0].partition(end or "\n## ")[0]
    return f"\n{introduction} was made by\n{section}" if section else ""


def named(path: Path) -> str:
    """Return the name of a file with its SHA-256."""
    if not path.is_file():  # a pipe cannot be read again
        return path.name
    with path.open("rb") as file:
        return f"{path.name} (SHA-256 {file_digest(file, 'sha256').hexdigest()})"


def _format(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

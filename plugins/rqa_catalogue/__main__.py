"""Write entries.py: what the packages beside this one register."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_HEAD = '''"""Written by `python -m rqa_catalogue`; do not edit."""

from __future__ import annotations

from typing import Any

# fmt: off
ENTRIES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = '''


class _Registry:
    """Keeps the calls of its methods."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Callable[..., None]:
        return lambda *arguments, **options: self.entries.append((method, arguments, options))


def written() -> str:
    """Return the text of entries.py, with an entry on each line."""
    registry = _Registry()
    for name in _packages():
        importlib.import_module(name).rqa_register(registry)
    lines = "".join(f"    {_literal(entry)},\n" for entry in registry.entries)
    return f"{_HEAD}[\n{lines}]\n"


def _packages() -> Iterator[str]:
    here = Path(__file__).parent
    for folder in sorted(here.parent.glob("*/rqa_*"), key=lambda folder: (folder.parent.name, folder.name)):
        if "def rqa_register" in (folder / "__init__.py").read_text("utf-8"):
            yield folder.name


def _literal(value: Any) -> str:
    """Return the source of a value, with the members of sets in order."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(map(json.dumps, sorted(value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_literal(each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    Path(__file__).with_name("entries.py").write_text(written(), "utf-8")

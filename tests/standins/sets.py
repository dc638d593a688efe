"""Files of question sets, and what is read from them."""

import json
from pathlib import Path
from typing import Any


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def told(items: Any) -> list[tuple[str, str, list[list[str]]]]:
    return [(item.id, item.question, item.gold) for item in items]

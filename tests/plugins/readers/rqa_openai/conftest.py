from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rqa_openai import OpenAI


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Any]]:
    """Return a function that makes readers, or other components, for a base URL. They are closed after the test."""
    made: list[Any] = []

    def make(url: str, kind: Any = OpenAI, **options: Any) -> Any:
        made.append(kind(kind.Options(**{"model": "qwen", "base_url": url, **options})))
        return made[-1]

    yield make
    for component in made:
        await component.close()

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
async def connect() -> AsyncIterator[Callable[..., OpenAI]]:
    """Return a function that makes readers for a base URL. They are closed after the test."""
    readers: list[OpenAI] = []

    def make(url: str, **options: Any) -> OpenAI:
        readers.append(OpenAI(OpenAI.Options(**{"model": "qwen", "base_url": url, **options})))
        return readers[-1]

    yield make
    for reader in readers:
        await reader.close()

"""The cache of searches: what is kept, and for how long."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from standins.openai import Fault
from standins.web import Web, html, redirect, reply

from robust_qa import open_session

PAGE = html("<p>The lighthouse at Skerry Point was built in 1871.</p>")


async def ask(web: Web, folder: Path, **options: Any) -> int:
    """Ask a question, and return the number of searches so far."""
    web.routes["/search"] = reply(
        results=[{"url": f"{web.url}/{n}", "content": "The lighthouse was built in 1871."} for n in (1, 2)]
    )
    table = {
        "plugin": "web",
        "provider": "searxng",
        "base_url": web.url,
        "private": True,
        "robots": False,
        "hosts": ["127.0.0.1"],
        **options,
    }
    cache = {"cache": {"folder": str(folder)}}
    async with open_session(strategy="rag", reader="lexical", retriever=table, settings=cache) as session:
        answer = await session.answer("When was the lighthouse at Skerry Point built?")
    assert "1871" in (answer.text or "")
    return len(web.asked("/search"))


@pytest.mark.parametrize(("days", "searches"), [({}, 2), ({"max_age": 400.0}, 1), ({"max_age": 0.0}, 1)])
async def test_a_search_is_cached_for_some_days(
    days: dict[str, float], searches: int, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.routes.update({"/1": PAGE, "/2": PAGE})
    began = 400 * 86_400.0
    monkeypatch.setattr(time, "time", lambda: began)
    await ask(web, tmp_path, **days)
    assert await ask(web, tmp_path, **days) == 1
    monkeypatch.setattr(time, "time", lambda: began + 8 * 86_400)
    assert await ask(web, tmp_path, **days) == searches


@pytest.mark.parametrize(
    ("page", "searches"),
    [
        (Fault(404, "Gone."), 1),
        (redirect("http://avoided.example/"), 1),
        (Fault(503, "Busy."), 2),
        (Fault(reset=True), 2),
    ],
)
async def test_a_search_is_not_cached_after_a_temporary_failure_of_a_page(
    page: Fault, searches: int, web: Web, tmp_path: Path
) -> None:
    web.routes.update({"/1": PAGE, "/2": page})
    await ask(web, tmp_path)
    assert await ask(web, tmp_path) == searches

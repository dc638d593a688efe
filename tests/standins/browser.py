"""A headless Chromium, by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser. Skips the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[dev]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except playwright.Error:
            pytest.skip("there is no Chromium: run `playwright install chromium`")
        with closing(browser):
            yield browser


def barriers(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds on a page that keeps people out, each with an element. Skips the test without axe-core."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -e '.[dev]'")
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], node["html"]) for each in found for node in each["nodes"]]


@contextmanager
def opened(browser: Any, address: str) -> Iterator[Any]:
    """A page, which must neither fail nor ask another server than its own."""
    with closing(browser.new_context()) as context:
        page, trouble = context.new_page(), list[str]()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda asked: asked.url.startswith((address, "data:")) or trouble.append(asked.url))
        page.goto(address)
        yield page
        assert trouble == []

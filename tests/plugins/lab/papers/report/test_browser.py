"""The pages in a browser, on wide and narrow screens, in light and dark mode."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from standins.browser import barriers, chromium, opened
from standins.eval_run import write_run

LONG = "Llanfair" * 60


def report(runs: Sequence[Path], *command: str) -> str:
    """The address of the page that `rqa report` writes."""
    file = runs[0].parent / "report.html"
    arguments = [sys.executable, "-m", "robust_qa", "report", *command, *map(str, runs), "-o", str(file)]
    world = {f"RQA_{name}_DIR": str(file.parent / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    subprocess.run(arguments, env=os.environ | world, check=True, capture_output=True)
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page over 120 questions; the fourth has a word without end, and an account without sense."""
    folder = write_run(tmp_path_factory.mktemp("report") / "run", rows=60)
    for name, change in {
        "questions.jsonl": {"question": LONG},
        "answers/rag.jsonl": {"answer": LONG, "reason": LONG, "trace": "none", "citations": [{"quote": LONG}, 7]},
    }.items():
        lines = (folder / name).read_text().splitlines()
        lines[3] = json.dumps(json.loads(lines[3]) | change)
        (folder / name).write_text("\n".join(lines) + "\n")
    return report([folder])


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    with opened(browser, address) as page:
        status(page, " of ")
        yield page


def status(page: Any, words: str) -> str:
    """Wait for these words in the line that says how many questions are shown."""
    page.wait_for_selector(f"#status:has-text('{words}')")
    return str(page.inner_text("#status"))


def test_it_shows_the_first_questions(page: Any) -> None:
    assert status(page, "of") == "120 of 120 questions, showing the first 50"
    assert page.locator("#list > li").count() == 50


def test_a_question_opens_by_the_keyboard_with_answers_citations_and_trace(page: Any) -> None:
    page.focus("#q1 summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#q1 article")
    cards = page.locator("#q1 article").evaluate_all("cards => cards.map((card) => card.textContent)")
    assert cards[0].startswith("✓ rag: rightIn France.Text 0 about 1.Page 0")
    assert "Trace, 2 steps" in cards[0] and "reader.local: read" in cards[0] and "reply: In France." in cards[0]
    assert "CallTimeout: reader.local did not answer." in cards[2]
    assert "Text 2 about 1." in page.text_content("#q1")


def test_hostile_text_is_shown_as_text(page: Any) -> None:
    assert "</script><script>alert(1)</script>" in page.text_content("#q1 summary")
    page.fill("#search", "spain alert(1)")
    page.wait_for_selector("#status:not(:has-text('120 of'))")
    page.evaluate("document.querySelectorAll('#list summary').forEach((one) => one.click())")
    page.wait_for_selector("article")
    assert page.locator("article script").count() == 0


def test_slash_goes_to_the_search_which_looks_through_questions_and_answers(page: Any) -> None:
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search" and page.input_value("#search") == ""
    page.keyboard.type("SPAIN rivers-5")
    # Of rivers-5 and rivers-50 to 59, those with a wrong answer.
    assert status(page, "7 of 120") == "7 of 120 questions"


def test_questions_are_chosen_by_who_is_right_and_by_slice(page: Any) -> None:
    page.select_option("#right", label="rag")
    page.select_option("#wrong", label="norag")
    chosen = int(status(page, "of").split()[0])
    page.select_option("#group", label="set: cities")
    assert 0 < int(status(page, "of").split()[0]) < chosen < 120
    page.select_option("#which", label="a strategy failed")
    assert status(page, "of").startswith(f"{chosen // 2} of 120")
    page.select_option("#which", label="all strategies right")
    assert status(page, "of") == "0 of 120 questions"


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_is_no_wider_than_the_window_and_keeps_nobody_out(width: int, scheme: str, page: Any) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('#list summary').forEach((one) => one.click())")
    page.locator("article").nth(149).wait_for(state="attached")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert barriers(page) == []


def test_everything_that_can_be_used_can_be_reached_by_the_tab_key(page: Any) -> None:
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert reached >= {"theme", "search", "which", "group", "right", "wrong", "SUMMARY"}

"""The pages in a browser, on wide and narrow screens, in light and dark mode."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from standins.browser import Browser, chromium
from standins.eval_run import write_run

LONG = "Llanfair" * 60
STATUS = "document.getElementById('status').textContent"


def report(runs: Sequence[Path], *command: str) -> str:
    """The address of the page that `rqa report` writes."""
    file = runs[0].parent / "report.html"
    arguments = [sys.executable, "-m", "robust_qa", "report", *command, *map(str, runs), "-o", str(file)]
    world = {f"RQA_{name}_DIR": str(file.parent / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    subprocess.run(arguments, env=os.environ | world, check=True, capture_output=True)
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
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


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page over four questions: right by two, wrong, without a gold answer, and with a long answer."""
    folder = write_run(tmp_path_factory.mktemp("odd") / "run", rows=2)
    scores = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    scores[0]["scores"]["rag"] |= {"tokens": 12345.0, "cost": 0.000124}
    for strategy in scores[2]["scores"].values():
        strategy["accuracy"] = None
    (folder / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in scores))
    answers = [json.loads(line) for line in (folder / "answers" / "rag.jsonl").read_text().splitlines()]
    answers[3]["answer"] = "word " * 60 + "Zebedee"
    (folder / "answers" / "rag.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answers))
    return report([folder])


def show(browser: Browser, page: str, *, width: int = 1280, dark: bool = False) -> None:
    browser.open(page, width=width, dark=dark)
    browser.wait(f"{STATUS}.includes(' of ')")


def choose(browser: Browser, control: str, label: str) -> None:
    browser.evaluate(
        f"(() => {{ const one = document.getElementById('{control}');"
        f" one.value = [...one.options].find((option) => option.text === {json.dumps(label)}).value;"
        " one.dispatchEvent(new Event('change')); })()"
    )


def search(browser: Browser, text: str) -> None:
    browser.evaluate("document.getElementById('search').focus()")
    browser.write(text)


def test_it_shows_the_first_questions_and_asks_for_nothing_but_itself(browser: Browser, page: str) -> None:
    show(browser, page)
    assert browser.evaluate(STATUS) == "120 of 120 questions, showing the first 50"
    assert browser.evaluate("document.querySelectorAll('#list > li').length") == 50
    assert (browser.requests, browser.troubles) == ([page], [])


def test_a_question_opens_by_the_keyboard_with_answers_citations_and_trace(browser: Browser, page: str) -> None:
    show(browser, page)
    browser.evaluate("document.querySelector('#q1 summary').focus()")
    browser.press("Enter", 13, "\r")
    browser.wait("document.querySelector('#q1 article')")
    cards = browser.evaluate("[...document.querySelectorAll('#q1 article')].map((card) => card.textContent)")
    assert cards[0].startswith("✓ rag: rightIn France.Text 0 about 1.Page 0")
    assert "Trace, 2 steps" in cards[0] and "reader.local: read" in cards[0] and "reply: In France." in cards[0]
    assert "CallTimeout: reader.local did not answer." in cards[2]
    assert "Text 2 about 1." in browser.evaluate("document.getElementById('q1').textContent")


def test_hostile_text_is_shown_as_text(browser: Browser, page: str) -> None:
    show(browser, page)
    assert "</script><script>alert(1)</script>" in browser.evaluate("document.querySelector('#q1 summary').textContent")
    search(browser, "spain alert(1)")
    browser.wait(f"!{STATUS}.startsWith('120 ')")
    browser.evaluate("document.querySelectorAll('#list summary').forEach((one) => one.click())")
    browser.wait("document.querySelector('article')")
    assert browser.troubles == []
    assert browser.evaluate("document.querySelectorAll('article script').length") == 0


def test_slash_goes_to_the_search_which_looks_through_questions_and_answers(browser: Browser, page: str) -> None:
    show(browser, page)
    browser.press("/", 191, "/")
    assert browser.evaluate("document.activeElement.id") == "search"
    assert browser.evaluate("document.activeElement.value") == ""
    browser.write("SPAIN rivers-5")
    browser.wait(f"{STATUS} === '7 of 120 questions'")  # of rivers-5 and rivers-50 to 59, those with a wrong answer


def test_questions_are_found_by_number_and_by_address(browser: Browser, page: str) -> None:
    show(browser, f"{page}#q77")
    assert browser.evaluate(STATUS) == "1 of 120 questions"
    browser.wait("document.querySelector('#q77[open] article')")


def test_questions_are_chosen_by_who_is_right_and_by_slice(browser: Browser, page: str) -> None:
    show(browser, page)
    choose(browser, "right", "rag")
    choose(browser, "wrong", "norag")
    chosen = int(browser.evaluate(STATUS).split()[0])
    choose(browser, "group", "set: cities")
    assert 0 < int(browser.evaluate(STATUS).split()[0]) < chosen < 120
    choose(browser, "which", "a strategy failed")
    assert browser.evaluate(STATUS).startswith(f"{chosen // 2} of 120")
    choose(browser, "which", "all strategies right")
    assert browser.evaluate(STATUS) == "0 of 120 questions"


@pytest.mark.parametrize(
    "which, listed",
    [
        ("all", [1, 2, 3, 4]),
        ("strategies disagree", [1]),  # of three, one fails
        ("all strategies right", []),
        ("all strategies wrong", [4]),  # of the third question nobody knows
        ("a strategy failed", [1, 2, 3, 4]),
    ],
)
def test_questions_are_chosen_by_what_is_known_of_them(
    which: str, listed: list[int], browser: Browser, odd: str
) -> None:
    show(browser, odd)
    choose(browser, "which", which)
    found = browser.evaluate("[...document.querySelectorAll('#list details')].map((one) => one.id)")
    assert found == [f"q{number}" for number in listed]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_no_wider_than_the_window(width: int, browser: Browser, page: str) -> None:
    show(browser, page, width=width)
    browser.evaluate("document.querySelectorAll('#list summary').forEach((one) => one.click())")
    browser.wait("document.querySelectorAll('article').length === 150")
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.troubles == []


def test_everything_that_can_be_used_can_be_reached_by_the_tab_key(browser: Browser, page: str) -> None:
    show(browser, page)
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(browser.evaluate("document.activeElement.id || document.activeElement.tagName"))
    for control in ("theme", "search", "which", "group", "right", "wrong", "SUMMARY"):
        assert control in reached

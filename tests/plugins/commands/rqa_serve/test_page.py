"""The page of `rqa serve` in a headless Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.browser import barriers, chromium, opened
from standins.openai import HANG, Fault, serve, streamed
from standins.serving import Serving, serving

for module in ("starlette", "uvicorn"):
    pytest.importorskip(module, reason="pip install -e '.[serve]'")
expect = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[dev]'").expect

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
WORDS = "The engineer Ingrid Valdane built the lighthouse at Skerry Point"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server over the reader in the package."""
    folder = tmp_path_factory.mktemp("page")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "light.md").write_text("# The light\n\nThe lighthouse was built in 1871 by Ingrid Valdane.\n")
    (docs / "guide.md").write_text("# The guide\n\nThe lighthouse was built in 1874 by Ingrid Valdane.\n")
    (docs / "keeper.txt").write_text(f"The keeper was Bo Renn {EVIL}.\n")
    (docs / "hall.txt").write_text("Skerry Hall was built in 1902 for the Skerry club.\n")
    (docs / "מסמכים").mkdir()
    (docs / "מסמכים" / "דגל.md").write_text(
        "# The flag\n\nThe flag of the Skerry club has these colours:\n\n- red\n- white\n"
    )
    with serving(folder, "--docs", docs, "-s", "rag") as running:
        yield running


@pytest.fixture
def page(browser: Any, server: Serving) -> Iterator[Any]:
    with opened(browser, server.url.removesuffix("v1")) as page:
        yield page


def asked(page: Any, question: str) -> Any:
    """Type a question, ask it with Enter, and return what the page shows of its answer."""
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.wait_for_selector("article[aria-busy]", state="detached", timeout=30_000)
    return page.locator("article").first


def test_an_answer_has_its_quotes_places_and_documents(page: Any, server: Serving) -> None:
    answer = asked(page, "Who was the keeper?")
    assert "default-src 'none'" in page.request.get(page.url).headers["content-security-policy"]
    assert answer.locator(".answer").inner_text().startswith("Bo Renn")
    assert EVIL in answer.locator("blockquote").first.inner_text()  # as text
    assert answer.locator("img, script").count() == 0
    assert answer.locator("mark").first.inner_text() == "Bo Renn"
    link = answer.locator("cite a").first
    assert "keeper.txt, line 1" in link.inner_text()
    with page.context.expect_page() as opening:
        link.click(modifiers=["Control"])
    opening.value.locator("body", has_text=EVIL).wait_for()


@pytest.mark.parametrize("width", [1400, 380])
def test_a_citation_opens_its_document_at_the_sentence(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    answer = asked(page, "When was the lighthouse built?")
    answer.locator("cite a").first.focus()
    page.keyboard.press("Enter")
    mark = page.locator("#text mark")
    mark.wait_for()
    assert mark.inner_text().startswith("The lighthouse was built in 187")
    box = mark.bounding_box()
    assert box and 0 <= box["y"] <= 700 and box["x"] + box["width"] <= width  # in view
    assert barriers(page) == []
    first = page.inner_text("#reader h2")
    page.get_by_role("button", name="Next hit").click()
    page.wait_for_selector(f"#reader h2:not(:has-text('{first}'))")
    page.keyboard.press("Escape")
    assert page.locator("#reader").is_hidden()
    assert page.evaluate("document.activeElement.localName") == "a"  # where one was


def test_the_arrow_key_brings_the_last_question_back_and_another_strategy_is_one_choice(
    browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("The keeper was Bo Renn.")
    with (
        serving(tmp_path, "--docs", tmp_path / "a.txt", "-s", "rag,consensus") as running,
        opened(browser, running.url.removesuffix("v1")) as page,
    ):
        answer = asked(page, "Who was the keeper?")
        page.focus("#question")
        page.keyboard.press("ArrowUp")
        assert page.input_value("#question") == "Who was the keeper?"
        page.fill("#question", "")
        asked(page, "Who kept it?")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")  # one further back
        assert page.input_value("#question") == "Who was the keeper?"
        answer.get_by_label("Ask again with another strategy").select_option("consensus")
        page.locator("article").nth(2).wait_for()
        page.locator("article").first.filter(has_text="consensus").wait_for()
        assert page.input_value("#strategy") == "rag"  # of the next question


def test_the_reader_shows_documents_as_text(page: Any) -> None:
    asked(page, "Who was the keeper?").locator("cite a").first.click()
    page.wait_for_selector("#text mark")
    assert EVIL in page.inner_text("#text") and page.locator("#text img, #text script").count() == 0


def test_a_conflict_shows_the_rival_answers_with_their_sources(page: Any) -> None:
    answer = asked(page, "When was the lighthouse built?")
    assert "The sources disagree" in answer.inner_text()
    rivals = {rival.locator("strong").inner_text()[:4]: rival.inner_text() for rival in answer.locator(".rival").all()}
    assert "light.md, line 3" in rivals["1871"] and "guide.md, line 3" in rivals["1874"]


DROP = """async ([name, text]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: moved, bubbles: true, cancelable: true }));
}"""


def test_files_are_dropped_and_questions_restricted_to_them_or_to_a_folder(browser: Any, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for folder, year in (("north", 1871), ("south", 1902)):
        (docs / folder).mkdir(parents=True)
        (docs / folder / "light.md").write_text(f"# The light\n\nThe lighthouse was built in {year}.\n")
    with (
        serving(tmp_path, "--docs", docs, "-s", "rag", TMPDIR=str(tmp_path)) as running,
        opened(browser, running.url.removesuffix("v1")) as page,
    ):
        page.select_option("#in", label="south")
        answer = asked(page, "When was the lighthouse built?")
        assert answer.locator(".answer").inner_text().startswith("1902") and "1871" not in answer.inner_text()
        page.evaluate(DROP, ["tower.txt", "The lighthouse of Orrin was built in 1790."])
        page.locator("#added", has_text="1 file added").wait_for()
        answer = asked(page, "When was the lighthouse of Orrin built?")
        assert answer.locator(".answer").inner_text().startswith("1790")
        answer.locator("cite a", has_text="tower.txt, line 1").first.click()
        page.locator("#text mark", has_text="built in 1790").wait_for()
        page.keyboard.press("Escape")
        (tmp_path / "a.bin").write_bytes(b"\0" * 9)
        page.set_input_files("#files", [tmp_path / "a.bin", docs / "north" / "light.md"])
        page.locator("#added", has_text="a.bin").filter(has_text="1 file added").wait_for()
        assert barriers(page) == []
        asked(page, "What was built in 1871?").locator("cite a", has_text="light.md").first.wait_for()
        assert [*tmp_path.glob("rqa-dropped-*")] and running.stop() == 0
    assert [*tmp_path.glob("rqa-dropped-*")] == []


def test_the_markdown_of_a_model_is_rendered_and_loads_nothing(browser: Any, tmp_path: Path) -> None:
    reply = "The boats are **red**:\n\n- one `a`\n- two\n\n![x](http://evil.example/a.png) <img src=x onerror=alert(1)>"
    (tmp_path / "a.txt").write_text("The boats are red: one a, two.")
    with (
        serve(lambda request, number: streamed(*(f"{word} " for word in reply.split(" ")), pause=0.01)) as model,
        serving(tmp_path, "--docs", tmp_path / "a.txt", "-s", "norag", reader=model.url) as running,
        opened(browser, running.url.removesuffix("v1")) as page,
    ):
        answer = asked(page, "Which boats?").locator(".answer")
        assert answer.locator("li").all_inner_texts() == ["one a", "two"]
        assert (answer.locator("strong").inner_text(), answer.locator("code").inner_text()) == ("red", "a")
        assert answer.locator("img, a").count() == 0 and "evil.example" in answer.inner_text()


def test_a_cell_of_a_table_is_shown_with_its_header_and_row(browser: Any, tmp_path: Path) -> None:
    rows = "Archive,,none\nLogistics,815 EUR,\nSales,120 EUR,cut\n"
    (tmp_path / "budget.csv").write_text(f"Department,Budget,Note\n{rows}")
    with (
        serving(tmp_path, "--docs", tmp_path / "budget.csv") as running,
        opened(browser, running.url.removesuffix("v1")) as page,
    ):
        answer = asked(page, "What is the budget of Logistics?")
        assert answer.locator(".answer").inner_text().startswith("815 EUR")
        assert answer.locator("th").all_inner_texts() == ["Department", "Budget"]
        assert answer.locator("td").all_inner_texts() == ["Logistics", "815 EUR"]
        assert answer.locator("td mark").inner_text() == "815 EUR"
        assert barriers(page) == []
        answer.locator("cite a").first.click()
        page.wait_for_selector("#text .hit")
        assert page.locator("#text th").count() == 3  # one table, with empty cells
        assert page.locator("#text tr").all_inner_texts()[2].split("\t") == ["Logistics", "815 EUR", ""]


def test_a_follow_up_is_shown_as_it_was_understood_and_can_be_changed(page: Any) -> None:
    asked(page, "When was the lighthouse built?")
    answer = asked(page, "And Skerry Hall?")
    assert "Understood as: When was Skerry Hall built?" in answer.locator(".understood").inner_text()
    assert answer.locator(".answer").inner_text().startswith("1902")
    answer.get_by_role("button", name="Change").click()
    assert page.input_value("#question") == "When was Skerry Hall built?"
    page.reload()
    page.locator("article .understood").wait_for()
    answer = asked(page, "And the other one?")
    assert 'What does "the other one" stand for?' in answer.inner_text()


def test_a_follow_up_may_be_asked_as_typed_and_a_conversation_begin_anew(page: Any) -> None:
    asked(page, "When was the lighthouse built?")
    asked(page, "And Skerry Hall?").get_by_role("button", name="Ask as typed").click()
    page.locator("article:not([aria-busy]) .answer").nth(2).wait_for()
    assert page.locator("article").first.locator(".understood").count() == 0
    page.click("summary")
    page.click("#anew")
    assert page.locator("article").count() == 0
    assert asked(page, "And Skerry Hall?").locator(".understood").count() == 0


def test_what_is_typed_while_an_answer_comes_stays(page: Any) -> None:
    page.fill("#question", "Who was the keeper?")
    page.keyboard.press("Enter")
    page.keyboard.type("When was ")
    page.wait_for_selector("article:not([aria-busy]) .answer")
    page.keyboard.type("the lighthouse built?")
    assert page.input_value("#question") == "When was the lighthouse built?"
    page.keyboard.press("Enter")
    page.locator("article .answer").nth(1).wait_for()


def test_the_address_holds_the_question_and_reload_and_back_keep_the_answers(page: Any) -> None:
    asked(page, "Who was the keeper?")
    asked(page, "When was the lighthouse built?")
    assert page.title() == "When was the lighthouse built? · rqa" and "q=When+was" in page.url
    page.reload()
    page.locator("article .answer").nth(1).wait_for()
    page.go_back()
    expect(page).to_have_title("Who was the keeper? · rqa")
    assert page.locator("article").count() == 2


def test_a_copied_link_opens_with_the_answer(page: Any, browser: Any, server: Serving) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked(page, "Who was the keeper?").get_by_role("button", name="Copy link").click()
    page.wait_for_selector("button:text-is('Copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    with opened(browser, server.url.removesuffix("v1")) as other:  # somebody else's browser
        other.goto(link)
        other.locator("article .answer", has_text="Bo Renn").wait_for()
        other.goto(re.sub("a=.*", "a=unknown", link))
        expect(other.locator("#question")).to_have_value("Who was the keeper?")


@pytest.mark.parametrize("width", [1400, 380])
def test_earlier_questions_are_listed_and_lead_to_their_answers(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    asked(page, "Who was the keeper?")
    asked(page, "When was Skerry Hall built?")
    page.click("details:has(#anew) summary")
    page.click("#anew")
    page.reload()
    page.wait_for_selector("#there:not(:empty)")
    assert page.locator("#earlier li").all_text_contents() == [
        "When was Skerry Hall built?1902",
        "Who was the keeper?Bo Renn",
    ]
    if width == 380:
        page.click("#earlier summary")
    assert barriers(page) == [] and page.evaluate("document.documentElement.scrollWidth") == width
    page.locator("#earlier li button").last.focus()
    page.keyboard.press("Enter")
    page.locator("article .answer", has_text="Bo Renn").wait_for()
    page.click("#forget")
    page.wait_for_selector("#earlier", state="hidden")


def test_a_link_fills_the_box_and_asks_nothing(page: Any) -> None:
    page.goto(page.url + "?q=Who+was+the+keeper%3F")
    page.wait_for_selector("#there:not(:empty)")
    assert page.input_value("#question") == "Who was the keeper?"
    assert page.locator("article").count() == 0


def test_the_page_says_what_is_indexed_and_what_a_strategy_does(page: Any) -> None:
    page.wait_for_selector("#there:not(:empty)")
    assert page.inner_text("#there").startswith("5 documents are indexed in ")
    page.click("summary")
    page.locator("#about", has_text="passages").wait_for()


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_follows_the_colours_of_the_system_and_keeps_nobody_out(
    page: Any, width: int, scheme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector("#examples button")
    assert barriers(page) == []
    for question in ("Who was the keeper?", "When was the lighthouse built?", "What did Mozart compose?"):
        asked(page, question)
    page.click("summary")
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    red = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.slice(4))")
    assert (red < 64) == (scheme == "dark")


def test_an_empty_page_offers_questions_that_documents_answer(page: Any) -> None:
    page.click("#examples button")
    answer = page.locator("article").first
    answer.locator("h2", has_text="When was Skerry Hall built?").wait_for()
    answer.locator(".answer", has_text="1902").wait_for()
    assert not page.is_visible("#examples")


def test_an_answer_is_copied_as_markdown_with_its_sides_and_sources(page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked(page, "When was the lighthouse built?").get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_selector("button:text-is('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("**When was the lighthouse built?**")
    number = re.search(r"^- 1874 (\[\d\])", copied, re.MULTILINE)
    assert number and re.search(rf"^{re.escape(number[1])} .*guide\.md, line 3: “", copied, re.MULTILINE)


def test_folders_of_a_path_keep_their_order_and_a_list_its_lines(page: Any) -> None:
    cited = asked(page, "Which colours has the flag of the Skerry club?").locator("li", has_text="line").first
    assert "מסמכים/דגל.md, line" in cited.locator("cite").inner_text()
    assert cited.locator("blockquote").inner_text().endswith("these colours:\n- red\n- white")
    folder, file = cited.locator("cite bdi bdi").all()
    assert folder.bounding_box()["x"] < file.bounding_box()["x"]


def reply(request: dict[str, Any], number: int) -> str | Fault:
    """A language model that writes slowly, or nothing."""
    if "HANG" in request["messages"][-1]["content"]:
        return HANG
    return streamed(*(f"{word} " for word in WORDS.split()), pause=0.2)


def test_the_answer_grows_and_can_be_stopped_and_the_page_asks_for_the_token(browser: Any, tmp_path: Path) -> None:
    token = {"RQA_KEY_DOOR": "open-sesame"}
    with (
        serve(reply) as model,
        serving(tmp_path, "-s", "norag", "--token", "door", reader=model.url, **token) as server,
        opened(browser, server.url.removesuffix("v1")) as page,
    ):
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#refused:text-is('The server does not accept this token.')")
        page.fill("#token", "open-sesame")
        page.keyboard.press("Enter")
        page.wait_for_selector("#locked", state="hidden")
        page.fill("#question", "When?")
        page.keyboard.press("Enter")
        page.wait_for_selector("article[aria-busy] .answer")
        assert WORDS.startswith(page.locator(".answer").inner_text())
        page.wait_for_selector("article:not([aria-busy]) .answer")
        assert page.locator(".answer").inner_text() == WORDS
        page.fill("#question", "HANG")
        page.keyboard.press("Enter")
        page.wait_for_selector("article[aria-busy]")
        page.keyboard.press("Escape")
        page.wait_for_selector("article .bad:text-is('Stopped.')")


def test_every_source_has_its_number_and_a_number_in_the_answer_leads_to_it(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "light.md").write_text("# The light\n\nThe lighthouse was built in 1871 by Ingrid Valdane.\n")
    with (
        serve(
            lambda *_: streamed(
                "Documents: 1\nAnswer: The lighthouse was built in 1871 [1]. Ingrid Valdane built it [1]."
            )
        ) as model,
        serving(tmp_path, "-s", "rag", "--docs", tmp_path / "docs", reader=model.url) as server,
        opened(browser, server.url.removesuffix("v1")) as page,
    ):
        answer = asked(page, "When was the lighthouse built?")
        assert answer.locator("cite").first.inner_text().startswith("[1] The light · light.md, line 3")
        answer.locator(".answer a", has_text="[1]").click()
        assert "1871 by Ingrid Valdane" in page.locator("li:focus").inner_text()

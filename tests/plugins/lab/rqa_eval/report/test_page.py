"""The pages as text: one file without network requests or foreign scripts."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from standins.eval_run import HOSTILE, write_run

from rqa_eval.figures import Estimate, StrategyResult
from rqa_eval.report.disagreement import Disagreement, disagreement_page
from rqa_eval.report.members import Selection, members
from rqa_eval.report.run_page import run_page
from rqa_eval.report.runs import Answers, Run, load_runs


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.load(write_run(tmp_path / "run"))


def written(*runs: Run) -> str:
    return "".join(run_page(runs))


def disagreement(run: Run) -> str:
    chosen = Selection()
    return "".join(disagreement_page(Disagreement(run.name, "accuracy", chosen, members(run, chosen))))


class Page(HTMLParser):
    """What a page has: tags with attributes, and the contents of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "path", "circle", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append((self.tags[-1][1], data))
        if self._open and self._open[-1] == "style":
            self.styles.append(data)


def unpacked(page: Page, name: str) -> Any:
    packed = next(text for attributes, text in page.scripts if attributes.get("id") == name)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.mark.parametrize("build", [written, disagreement])
def test_every_tag_is_closed(build: Any, run: Run) -> None:
    Page(build(run))


@pytest.mark.parametrize("build", [written, disagreement])
def test_nothing_is_fetched(build: Any, run: Run) -> None:
    text = build(run)
    assert not re.search(r"(?:https?:)?//[a-z]|url\(|@import|fetch\(|XMLHttp", re.sub(r"\s//\s.*", "", text))
    assert not [tag for tag, attributes in Page(text).tags if {"src", "href"} & attributes.keys()]


@pytest.mark.parametrize("build", [written, disagreement])
def test_the_policy_allows_its_own_style_and_scripts_and_no_others(build: Any, run: Run) -> None:
    page = Page(build(run))
    policy = next(str(a["content"]) for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    live = [text for attributes, text in page.scripts if "type" not in attributes] + page.styles
    assert {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in live} == allowed
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not [name for _, attributes in page.tags for name in attributes if name == "style" or name.startswith("on")]


def test_the_index_has_every_question_with_marks_and_answers(run: Run) -> None:
    index = unpacked(Page(written(run)), "index")
    assert index["members"] == ["rag", "norag", "usc"]
    assert index["groups"][:3] == ["set: cities", "condition: as given", "conflict: both right"]
    assert len(index["questions"]) == 12
    identity, text, gold, groups, marks, answers = index["questions"][2]
    assert (identity, text, gold) == ("cities-3", "Where is number 3 of the cities?", ["France / FR"])
    assert [index["groups"][n] for n in groups] == ["set: cities", "condition: as given", "conflict: conflicting"]
    assert marks == [0.0, 1.0, "failed"]
    assert answers[1:] == ["In France.", None]


def test_accuracy_says_what_is_right_whatever_metric_the_run_shows(run: Run) -> None:
    run.figures.metrics.append(structs.replace(run.figures.metrics[0], name="attack-success", better="lower"))
    attacked = replace(run, figures=structs.replace(run.figures, metric="attack-success"))
    index = unpacked(Page(written(attacked)), "index")
    assert index["metric"] == "accuracy"
    assert [question[4] for question in index["questions"]] == [
        question[4] for question in unpacked(Page(written(run)), "index")["questions"]
    ]
    assert "<title>accuracy against tokens per question</title>" in written(attacked)


@pytest.mark.parametrize(
    "spent, drawn",
    [
        ({"tokens": 0.0, "calls": 0.0, "seconds": 0.214}, ["seconds per question</title><desc>rag: 50.0 % at 0.214;"]),
        ({"tokens": 0.0, "calls": 2.0, "seconds": 0.214}, ["calls per question</title><desc>rag: 50.0 % at 2;"]),
        ({"tokens": 0.0, "calls": 0.0, "seconds": 0.0}, []),
    ],
)
def test_the_plot_uses_the_first_cost_with_values(spent: dict[str, float], drawn: list[str], run: Run) -> None:
    for group in run.figures.groups:
        for figures in group.strategies.values():
            figures |= {name: Estimate(value, 12) for name, value in spent.items()}
    text = written(run)
    assert ("Accuracy against cost" in text) == bool(drawn)
    assert all(f"<title>accuracy against {one}" in text for one in drawn)


def test_a_strategy_whose_answers_came_from_the_cache_stays_in_the_plot(run: Run) -> None:
    group = run.figures.groups[0]
    for name, figures in group.strategies.items():
        figures |= {cost: Estimate(0.0, 1) for cost in ("tokens", "calls")}
        figures["seconds"] = Estimate(0.3, 1) if name == "rag" else Estimate(None, 0)
    text = "".join(run_page([run]))
    assert "rag: 50.0 % at 0.3;" in text and "at unknown cost" in text
    assert "Dashed: all answers came from the cache, so their time is unknown." in text


def test_ratios_and_conditions_are_explained(run: Run) -> None:
    text = disagreement(run)
    assert "MRWR, the mean relative win ratio: " in text and "MRLR, the mean relative lose ratio: " in text
    assert "as given (no passage added, changed or removed)" in written(run)


def test_what_is_opened_has_the_trace_and_the_citations(run: Run) -> None:
    opened = unpacked(Page(written(run)), "chunk0")[2]
    rag, _, usc = opened["answers"]
    assert rag["citations"][0]["quote"] == "Text 0 about 3."
    assert rag["trace"][0]["data"] == {"reply": "In France."}
    assert usc["error"]["type"] == "CallTimeout"
    (given,) = opened["given"]
    assert [passage["planted"] for passage in given["passages"]] == [False] * 3


def test_questions_of_several_runs_are_merged(run: Run) -> None:
    page = Page(written(*load_runs([run.folder, run.folder])))
    index = unpacked(page, "index")
    assert index["members"] == ["run: rag", "run: norag", "run: usc", "run (2): rag", "run (2): norag", "run (2): usc"]
    assert len(index["questions"]) == 12
    assert len(index["questions"][0][4]) == 6


def test_different_passages_are_shown_for_each_run(run: Run, tmp_path: Path) -> None:
    other = Run.load(write_run(tmp_path / "other"))
    path = other.folder / "questions.jsonl"
    first, *rest = path.read_text().splitlines()
    attacked = json.loads(first)
    attacked |= {"passages": attacked["passages"][:2], "planted": [1], "fake_answer": "Spain"}
    path.write_text("\n".join([json.dumps(attacked), *rest]) + "\n")
    opened = unpacked(Page(written(run, other)), "chunk0")
    told = [(one["runs"], [p["planted"] for p in one["passages"]], one["fake"]) for one in opened[0]["given"]]
    assert told == [("run", [False] * 3, None), ("other", [False, True], "Spain")]
    assert [one["runs"] for one in opened[1]["given"]] == [""]


def test_a_planted_answer_is_shown_only_if_planted(run: Run) -> None:
    path = run.folder / "questions.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"fake_answer": "Spain"}), *rest]) + "\n")
    [given] = unpacked(Page(written(run)), "chunk0")[0]["given"]
    assert given["fake"] is None


def test_only_strategies_that_have_answers_are_members(run: Run) -> None:
    plan = [*run.plan.strategies, Answers("astute", "answers/astute.jsonl"), Answers("crag", "answers/crag.jsonl")]
    run.figures.strategies.append(StrategyResult("astute", state="left out"))  # crag: one of all, that could not run
    index = unpacked(Page(written(replace(run, plan=structs.replace(run.plan, strategies=plan)))), "index")
    assert index["members"] == ["rag", "norag", "usc"]


def test_repeated_questions_are_kept(run: Run) -> None:
    path = run.folder / "questions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[0], *lines[2:]]))
    assert len(unpacked(Page(written(run)), "index")["questions"]) == 12


def test_hostile_text_reaches_the_page_packed_and_without_control_characters(run: Run) -> None:
    text = written(run)
    assert "alert(1)" not in text and "\x1b" not in text
    page = Page(text)
    assert unpacked(page, "index")["questions"][0][1] == f"Where is number 1 of the cities?{HOSTILE}".replace(
        "\x1b", ""
    )


@pytest.mark.parametrize("build", [written, disagreement])
def test_hostile_names_are_text(build: Any, run: Run) -> None:
    object.__setattr__(run, "name", "</title><script>alert(1)</script>\u202e\"'")
    text = build(run)
    Page(text)
    assert "<script>alert" not in text and "\u202e" not in text


def test_a_long_reply_is_cut_with_a_note(run: Run) -> None:
    path = run.folder / "answers" / "rag.jsonl"
    path.write_text(path.read_text().replace("In France.", "x" * 50_000))
    reply = unpacked(Page(written(run)), "chunk0")[2]["answers"][0]["trace"][0]["data"]["reply"]
    assert reply.endswith("x… (46,000 characters more)")


def test_odd_answer_lines_do_not_break_the_page(run: Run) -> None:
    path = run.folder / "answers" / "norag.jsonl"
    odd = [
        {"row": 1, "answer": ["a"], "trace": "no"},
        {"row": 2, "answer": 7, "citations": {}},
        {"row": 3, "error": "x"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in odd))
    index = unpacked(Page(written(run)), "index")
    assert [question[4][1] for question in index["questions"][:4]] == [1.0, 0.0, "failed", None]

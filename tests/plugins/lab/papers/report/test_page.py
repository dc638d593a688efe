"""The pages as text: one file without network requests or foreign scripts."""

import base64
import gzip
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from standins.eval_run import HOSTILE, write_run

Build = Callable[..., str]


@pytest.fixture
def written(rqa: Any) -> Build:
    """The page of one or more runs."""

    def build(*runs: Path) -> str:
        ended = rqa("report", *runs, "--to", "html")
        assert ended.code == 0, ended.err
        return str(ended.out)

    return build


@pytest.fixture(params=["report", "inconsistency"])
def either(request: pytest.FixtureRequest, rqa: Any) -> Build:
    """The page of either report."""
    return lambda run: str(rqa(request.param, run, "--to", "html").out)


def edit(run: Path, file: str, change: Callable[[Any], Any]) -> None:
    """Change the content of a file, line by line if it has lines."""
    path = run / file
    if path.suffix == ".json":
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


def figures(run: Path, **values: dict[str, float | None]) -> None:
    """Replace figures over all questions: those of each strategy, by metric."""

    def change(metrics: Any) -> Any:
        measured = metrics["groups"][0]["strategies"]
        for metric, by_strategy in values.items():
            for strategy, value in by_strategy.items():
                measured[strategy][metric] = {"value": value, "rows": 12}
        return metrics

    edit(run, "metrics.json", change)


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


def test_the_page_fetches_nothing_and_its_policy_allows_its_own_style_and_scripts_alone(
    either: Build, run: Path
) -> None:
    text = either(run)
    assert not re.search(r"(?:https?:)?//[a-z]|url\(|@import|fetch\(|XMLHttp", re.sub(r"\s//\s.*", "", text))
    page = Page(text)
    assert not [tag for tag, attributes in page.tags if {"src", "href"} & attributes.keys()]
    policy = next(str(a["content"]) for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    live = [text for attributes, text in page.scripts if "type" not in attributes] + page.styles
    assert {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in live} == allowed
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not [name for _, attributes in page.tags for name in attributes if name == "style" or name.startswith("on")]


def test_hostile_names_are_text(either: Build, tmp_path: Path) -> None:
    run = write_run(tmp_path / "<script>alert(1)<\u2215script>\u202e\"'")
    text = either(run)
    Page(text)
    assert "<script>alert" not in text and "\u202e" not in text


def test_the_index_has_every_question_with_marks_and_answers(written: Build, run: Path) -> None:
    index = unpacked(Page(written(run)), "index")
    assert index["members"] == ["rag", "norag", "usc"]
    assert index["groups"][:3] == ["set: cities", "condition: as given", "conflict: both right"]
    assert len(index["questions"]) == 12
    identity, text, gold, groups, marks, answers = index["questions"][2]
    assert (identity, text, gold) == ("cities-3", "Where is number 3 of the cities?", ["France / FR"])
    assert [index["groups"][n] for n in groups] == ["set: cities", "condition: as given", "conflict: conflicting"]
    assert marks == [0.0, 1.0, "failed"]
    assert answers[1:] == ["In France.", None]


def test_a_page_that_would_be_too_large_keeps_failures_first_and_says_what_it_lacks(rqa: Any, tmp_path: Path) -> None:
    run = write_run(tmp_path / "large", rows=400)
    fails = 777
    edit(run, "answers/usc.jsonl", lambda lines: [line for line in lines if line["row"] == fails])
    text = rqa("report", run, "--to", "html", "--max-size", "0.1").out
    index = unpacked(Page(text), "index")
    assert len(text) < 100_000 and fails in index["numbers"] and 1 < len(index["questions"]) < 800
    assert f"{len(index['questions'])} of 800 questions are here" in index["left"]
    identities = [f"rivers-{n - 400}" if n > 400 else f"cities-{n}" for n in index["numbers"]]
    assert [question[0] for question in index["questions"]] == identities

    whole = unpacked(Page(rqa("report", run, "--to", "html", "--max-size", "0").out), "index")
    assert (whole["numbers"], whole["left"]) == (list(range(1, 801)), "")


# -- the plot of accuracy against cost


def picture(page: str) -> ET.Element:
    return ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")].replace(' xmlns="', ' x="'))


def named(picture: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [element for element in picture.iter(tag) if element.attrib.get("class") == kind]


ALL = ("rag", "norag", "usc")


@pytest.mark.parametrize(
    ("spent", "described"),
    [
        ({"tokens": 0.0, "calls": 0.0, "seconds": 0.214}, "seconds per question</title><desc>rag: 50.0 % at 0.214;"),
        ({"tokens": 0.0, "calls": 0.0, "seconds": 0.0}, ""),
    ],
)
def test_the_plot_uses_the_first_cost_with_values(
    spent: dict[str, float], described: str, written: Build, run: Path
) -> None:
    figures(run, **{metric: dict.fromkeys(ALL, value) for metric, value in spent.items()})
    text = written(run)
    assert ("Accuracy against cost" in text) == bool(described) and described in text


def test_a_strategy_whose_answers_came_from_the_cache_stays_in_the_plot(written: Build, run: Path) -> None:
    figures(
        run,
        tokens=dict.fromkeys(ALL, 0.0),
        calls=dict.fromkeys(ALL, 0.0),
        seconds={"rag": 0.3, "norag": None, "usc": None},
    )
    text = written(run)
    assert "rag: 50.0 % at 0.3;" in text and "at unknown cost" in text
    assert "Dashed: all answers came from the cache, so their time is unknown." in text
    assert named(picture(text), "path", "unknown")


def test_plots_of_several_runs_have_the_same_axes(written: Build, run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other")
    figures(other, tokens={"rag": 90_000.0}, accuracy={"rag": 0.05})
    text = written(run, other)
    one, two = (ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text)[:2])
    assert [each.text for each in named(one, "text", "tick")] == [each.text for each in named(two, "text", "tick")]


# -- questions


def test_a_question_of_runs_under_other_conditions_is_one_entry(written: Build, run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other")
    edit(other, "run.json", lambda plan: plan | {"conditions": ["poison 0.4"]})
    edit(other, "questions.jsonl", lambda lines: [line | {"condition": "poison 0.4"} for line in lines])
    index = unpacked(Page(written(run, other)), "index")
    assert len(index["questions"]) == 12
    groups = {index["groups"][n] for n in index["questions"][0][3]}
    assert {"condition: as given", "condition: poison 0.4"} <= groups


def test_different_passages_are_shown_for_each_run(written: Build, run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other")

    def attack(lines: Any) -> Any:
        lines[0] |= {"passages": lines[0]["passages"][:2], "planted": [1], "fake_answer": "Spain"}
        return lines

    edit(other, "questions.jsonl", attack)
    opened = unpacked(Page(written(run, other)), "chunk0")
    told = [(one["runs"], [p["planted"] for p in one["passages"]], one["fake"]) for one in opened[0]["given"]]
    assert told == [("run", [False] * 3, None), ("other", [False, True], "Spain")]
    assert [one["runs"] for one in opened[1]["given"]] == [""]


def test_hostile_text_reaches_the_page_packed_and_without_control_characters(written: Build, run: Path) -> None:
    text = written(run)
    assert "alert(1)" not in text and "\x1b" not in text
    page = Page(text)
    assert unpacked(page, "index")["questions"][0][1] == f"Where is number 1 of the cities?{HOSTILE}".replace(
        "\x1b", ""
    )


# -- the pictures of right and wrong answers over the share planted


def test_each_strategy_has_a_line_over_the_share_planted(written: Build, run: Path) -> None:
    def attack(metrics: Any) -> Any:
        (whole, *_) = (one for one in metrics["groups"] if one["set"] is None and one["view"] is None)
        for rate, right in (("0.2", 0.8), ("0.4", 0.3)):
            strategies = {name: {"accuracy": {"value": right}, "wrong": {"value": 1 - right}} for name in ALL}
            metrics["groups"].append(whole | {"condition": f"poison {rate}", "strategies": strategies})
        return metrics

    assert "share of planted passages" not in written(run)
    edit(run, "metrics.json", attack)
    text = written(run)
    starts = [text.rindex("<svg", 0, text.index(f"<title>{name} over")) for name in ("right", "wrong")]
    right, wrong = (picture(text[start:]) for start in starts)  # from "as given" on
    assert len([line for line in right.iter("g") if len(list(line.iter("circle"))) == 3]) == len(ALL)
    assert "rag: 20.0% at 20%, 70.0% at 40%" in "".join(wrong.itertext())

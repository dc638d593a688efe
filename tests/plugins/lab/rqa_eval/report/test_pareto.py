"""The plot of accuracy against cost."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_eval.report.pareto import Plot, Point, front


def points(*figures: tuple[float, float]) -> list[Point]:
    return [Point(f"s{n}", cost, share) for n, (cost, share) in enumerate(figures)]


def names(chosen: list[Point]) -> list[str]:
    return [point.name for point in chosen]


def drawn(chosen: list[Point], width: int = 860) -> ET.Element:
    return ET.fromstring(Plot("accuracy", "tokens a question", width, 400).draw(chosen))


def test_the_front_is_what_nothing_beats() -> None:
    #            cheap    dearer and better   dearer, not better   as dear, worse   dearest and best
    chosen = points((10, 0.3), (20, 0.5), (30, 0.5), (20, 0.4), (90, 0.9))
    assert names(front(chosen)) == ["s0", "s1", "s4"]


def test_equal_points_are_both_on_the_front() -> None:
    assert names(front(points((10, 0.3), (10, 0.3)))) == ["s0", "s1"]


numbers = st.tuples(st.integers(0, 20).map(float), st.integers(0, 10).map(lambda n: n / 10))


@given(st.lists(numbers, min_size=1, max_size=8))
def test_along_the_front_dearer_is_better_and_the_rest_is_beaten(figures: list[tuple[float, float]]) -> None:
    chosen = points(*figures)
    best = front(chosen)
    for one, other in itertools.pairwise(best):
        assert (one.cost, one.share) == (other.cost, other.share) or (one.cost < other.cost and one.share < other.share)
    for point in chosen:
        assert any(other.cost <= point.cost and other.share >= point.share for other in best)


@given(st.lists(st.tuples(st.just(0.0) | st.floats(0.01, 1e12), st.floats(0, 1)), min_size=1, max_size=12))
def test_every_point_and_every_name_is_inside_the_picture(figures: list[tuple[float, float]]) -> None:
    picture = drawn(points(*figures), 350)
    circles = [e for e in picture.iter() if e.tag == "circle"]
    assert len(circles) == len(figures)
    for circle in circles:
        assert 46 <= float(circle.attrib["cx"]) <= 350 - 18
        assert 16 <= float(circle.attrib["cy"]) <= 400 - 44
    for label in picture.iter("text"):
        assert 0 <= float(label.attrib["x"]) <= 350


def test_filled_circles_are_the_front() -> None:
    picture = drawn(points((10, 0.3), (20, 0.2), (30, 0.6)))
    assert [circle.attrib["class"] for circle in picture.iter("circle")] == ["best", "beaten", "best"]


def test_different_costs_use_a_logarithmic_axis() -> None:
    picture = drawn(points((0, 0.3), (100, 0.4), (10_000, 0.6)))
    ticks = [e.text for e in picture.iter("text") if e.attrib.get("class") == "tick" and "%" not in str(e.text)]
    assert ticks == ["0", "100", "1k", "10k"]
    assert "tokens a question (logarithmic)" in [e.text for e in picture.iter("text")]
    across = [float(circle.attrib["cx"]) for circle in picture.iter("circle")]
    assert across[0] == 46 and across == sorted(across)


def test_similar_costs_use_a_linear_axis() -> None:
    picture = drawn(points((500, 0.3), (1000, 0.4)))
    assert "tokens a question" in [e.text for e in picture.iter("text")]


def test_a_point_of_unknown_cost_is_a_dashed_line_at_its_accuracy() -> None:
    chosen = [Point("timed", 1, 0.5), Point("cached", None, 0.6)]
    picture = drawn(chosen)
    assert names(front(chosen)) == ["timed"]
    (line,) = [e.attrib["d"] for e in picture.iter("path") if e.attrib["class"] == "unknown"]
    assert re.fullmatch(r"M46\.0 [\d.]+H842\.0", line)
    assert {e.text for e in picture.iter("text") if e.attrib["class"] == "name"} == {"timed", "cached"}
    assert picture.findtext("desc") == "timed: 50.0 % at 1; cached: 60.0 % at unknown cost"


def test_the_plot_has_a_text_description() -> None:
    description = drawn(points((500, 0.3), (1000, 0.456))).findtext("desc")
    assert description == "s0: 30.0 % at 500; s1: 45.6 % at 1,000"


@pytest.mark.parametrize("name", ["</svg><script>", "x" * 500, "\u202eabc\x1b[0m"])
def test_a_hostile_name_is_text_of_a_bounded_length(name: str) -> None:
    picture = drawn([Point(name, 1, 0.5), Point("b", 2, 0.6)])
    labels = [str(e.text) for e in picture.iter("text") if e.attrib["class"] == "name"]
    assert len(labels) == 2 and all(len(label) <= 24 for label in labels)
    assert not re.search("[\u202e\x1b]", "".join(labels))


def test_names_of_points_at_one_place_do_not_cover_each_other() -> None:
    picture = drawn(points((100, 0.5), (101, 0.5), (100, 0.501)))
    places = {(e.attrib["x"], e.attrib["y"]) for e in picture.iter("text") if e.attrib["class"] == "name"}
    assert len(places) == 3

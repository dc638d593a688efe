"""Windows cover every token of a passage and repeat question and title."""

from __future__ import annotations

from robust_qa import Passage
from rqa_embedded.windows import cut

LONG = " ".join(f"river {place}" for place in ("london", "paris") * 60)


def test_a_short_passage_is_one_window_of_question_title_and_text(engine):
    (window,) = cut(engine, 7, "who was born", [Passage("in london .", title="ada")])
    words = [engine._tokenizer.id_to_token(n) for n in window.ids]
    assert words == "[CLS] who was born [SEP] ada : in london . [SEP]".split()
    assert window.types == [0] * 5 + [1] * 6
    assert (window.request, window.passage, window.first, window.shift) == (7, 0, 5, len("ada : "))
    text = "ada : in london ."
    assert [text[a:b] for a, b in window.places] == ["ada", ":", "in", "london", "."]
    assert window.parts == [0, -1, 1, 1, 1]


def test_a_passage_without_a_title_begins_with_its_text(engine):
    (window,) = cut(engine, 0, "who", [Passage("london")])
    assert window.places == [(0, 6)]
    assert window.shift == 0


def test_windows_of_a_long_passage_cover_it_and_overlap(engine):
    windows = list(cut(engine, 0, "where", [Passage(LONG, title="ada")]))
    assert all(len(window.ids) <= engine.settings.length for window in windows)
    read = [place for window in windows for place in window.places if place[0] >= window.shift]
    assert {LONG[a - 6 : b - 6] for a, b in read} == {"river", "london", "paris"}
    assert len(set(read)) == 240
    assert len(read) > 240
    assert all(window.places[0] == (0, 3) for window in windows)


def test_last_window_adds_tokens(engine):
    windows = list(cut(engine, 0, "where", [Passage(LONG)]))
    assert set(windows[-1].places) - set(windows[-2].places)


def test_long_question_and_title_leave_room_for_the_text(engine):
    (window,) = cut(engine, 0, "who " * 5000, [Passage("london", title="ada " * 5000)])
    assert len(window.ids) <= engine.settings.length
    assert window.places[-1][1] - window.shift == len("london")


def test_an_empty_passage_is_an_empty_window(engine):
    (window,) = cut(engine, 0, "who", [Passage("")])
    assert window.places == []


def test_copies_are_skipped(engine):
    passages = [Passage("london", id="1"), Passage("london", title="ada"), Passage("london", id="2"), Passage("paris")]
    assert [window.passage for window in cut(engine, 0, "who", passages)] == [0, 1, 3]

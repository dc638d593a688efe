"""From marks to an answer, its confidence and its rivals."""

from __future__ import annotations

import re

import numpy as np
import pytest

from robust_qa import Passage
from rqa_embedded.choice import read
from rqa_embedded.engine import Marks, Settings
from rqa_embedded.evidence import find_evidence, find_parts, judge, quotes

# The logistic function of the margin, and of the odds.
SETTINGS = Settings(
    64, 8, relevance=(0.0, 1.0, 0.0, 0.0, 0.0), answer=(0.0, 1.0), sentence=(0.0, 1.0, 1.0), threshold=0.5
)
NONE = -20.0  # the score of every other token


class Marker:
    """An engine that is sure of the given (passage, words, margin) alone. All cosines are 1."""

    settings = SETTINGS

    def __init__(self, engine, passages, answers):
        self.ends, self.tokens = engine.ends, engine.tokens
        self.passages, self.answers = passages, answers

    def mark(self, windows):
        return [self._marks(ids, sum(types)) for ids, types in windows]

    def _marks(self, ids, length):
        start, end = np.full(len(ids), NONE, np.float32), np.full(len(ids), NONE, np.float32)
        start[0] = end[0] = 0.0
        first = len(ids) - length
        body = ids[first:-1]
        for number, words, margin in self.answers:
            passage = self.passages[number]
            text = f"{passage.title} : {passage.text}" if passage.title else passage.text
            own, places = self.tokens(text)
            at = text.find(words)
            if own != body or at < 0:
                continue
            start[first + [a for a, _ in places].index(at)] = margin / 2
            end[first + [b for _, b in places].index(at + len(words))] = margin / 2
        return Marks(start, end, 0.0, 0.0)

    def embed(self, texts):
        return np.ones((len(texts), 1), np.float32)


def found(engine, passages, *answers, question="who"):
    marker = Marker(engine, passages, answers)
    [evidence] = find_evidence(marker, [(question, passages)])
    [parts] = find_parts(marker, [evidence])
    return marker, evidence, parts


def answered(engine, passages, *answers, threshold=0.5):
    _, evidence, _ = found(engine, passages, *answers)
    return read(evidence, SETTINGS, threshold)


def test_the_answer_is_the_marked_words_with_their_place(engine):
    passages = [Passage("ada was born in london , 1815 .", title="ada lovelace")]
    reading = answered(engine, passages, (0, "london , 1815", 4.0))
    assert reading.text == "london , 1815"
    assert passages[0].text[reading.start : reading.end] == "london , 1815"
    assert reading.passages == (0,)
    assert reading.score == pytest.approx(1 / (1 + np.exp(-4.0 + 2**2 * 0.005)), abs=1e-6)  # two tokens more than one


def test_an_answer_over_two_lines_is_one_line(engine):
    passages = [Passage("the engine of ada\n     lovelace")]
    reading = answered(engine, passages, (0, "ada\n     lovelace", 4.0))
    assert reading.text == "ada lovelace"
    assert passages[0].text[reading.start : reading.end] == "ada\n     lovelace"


def test_the_surest_source_answers_and_those_that_say_the_same_are_cited(engine):
    passages = [Passage("in paris"), Passage("in London"), Passage("in the london")]
    reading = answered(engine, passages, (0, "paris", 0.8), (1, "London", 1.0), (2, "the london", 0.6), threshold=0)
    assert reading.text == "London"
    assert reading.passages == (1, 2)


def test_passages_of_one_source_support_each_other(engine):
    passages = [Passage(text, source="a") for text in ("by paul", "by ada", "by ada lovelace")]
    reading = answered(engine, passages, (0, "paul", 1.0), (1, "ada", 1.2), (2, "ada lovelace", 1.0), threshold=0)
    assert reading.text == "ada"


@pytest.mark.parametrize("copy", ["in\n london  there ", "in lon\u200bdon there"])
def test_a_copy_of_a_passage_adds_no_support_but_is_cited(engine, copy):
    passages = [Passage("in london there"), Passage(copy)]
    reading = answered(engine, passages, (0, "london", 1.0), threshold=0)
    assert reading.passages == (0, 1)
    assert reading.score == answered(engine, passages[:1], (0, "london", 1.0), threshold=0).score


def test_below_the_threshold_there_is_no_answer_and_no_score(engine):
    reading = answered(engine, [Passage("in london")], (0, "london", -4.0))
    assert (reading.text, reading.passages) == (None, ())
    assert reading.score is None
    assert [rival.text for rival in reading.rivals] == ["london"]  # for those who weigh it otherwise
    assert reading.rivals[0].score == pytest.approx(1 / (1 + np.exp(4.0)), abs=1e-6)


@pytest.mark.parametrize("text", ["born in london . ada was", "born at adams st . ada was"])
def test_an_answer_in_the_title_is_placed_in_the_text_if_it_is_there(engine, text):
    reading = answered(engine, [Passage(text, title="ada")], (0, "ada", 4.0))
    assert (reading.text, reading.start, reading.end) == ("ada", text.index("ada was"), text.index(" was"))


@pytest.mark.parametrize(("crossing", "within"), [("lost . Paris", "Paris"), ("london : it was lost", "it was lost")])
def test_an_answer_lies_in_one_sentence_or_in_the_title(engine, crossing, within):
    passages = [Passage("it was lost . Paris was built .", title="london")]
    assert answered(engine, passages, (0, crossing, 4.0), (0, within, 1.0), threshold=0).text == within


@pytest.mark.parametrize(
    ("text", "words", "answer"),
    [
        ("it was -15 there", "15", "-15"),
        ("in C++ there", "C", "C++"),
        ("it was in /srv/backup/nightly there", "srv", "/srv/backup/nightly"),
        ("by --dry-run there", "dry", "--dry-run"),
        ("by server.listen() there", "listen", "server.listen()"),
        ("of london's river", "london", "london"),
    ],
)
def test_an_answer_has_whole_words_without_the_punctuation_around_them(engine, text, words, answer):
    passages = [Passage(text)]
    reading = answered(engine, passages, (0, words, 4.0))
    assert reading.text == text[reading.start : reading.end] == answer


def test_a_source_that_answers_differently_is_a_rival_and_shares_the_confidence(engine):
    passages = [Passage(f"ada was born in {place}", source=place) for place in ("london", "paris")]
    reading = answered(engine, [*passages, Passage("no river")], (0, "london", 3.0), (1, "paris", 1.0))
    [rival] = reading.rivals
    assert (reading.text, rival.text, rival.passages) == ("london", "paris", (1,))
    alone = 1 / (1 + np.exp([-3.0, -1.0]))
    assert [reading.score, rival.score] == pytest.approx(list(alone / (1 - alone.max() + alone.sum())), abs=1e-3)


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("the rent is $[5,850] for a year .", "the rent is $[6,100] for a year .", True),
        ("the rent is $[5,850] for a year .", "the fee for the museum is $[110] .", False),  # of another thing
        ("a notice of [5] weeks is needed .", "a notice of [5] copies is needed .", False),  # of another kind
        ("a notice of [7] days is needed .", "a notice of [1] week is needed .", False),  # the same
        ("ada was born in [london] .", "ada was born in [paris] .", True),
    ],
)
def test_rivals_say_something_else_about_the_same_thing(engine, one, other, contradict):
    given = [(n, text[text.index("[") + 1 : text.index("]")], 3.0 - n) for n, text in enumerate((one, other))]
    passages = [Passage(re.sub(r"[\[\]]", "", text), source=text) for text in (one, other)]
    reading = answered(engine, passages, *given, threshold=0)
    assert reading.text in given[0][1] or given[0][1] in reading.text
    assert len(reading.rivals) == contradict


def test_two_answers_of_one_document_are_no_rivals(engine):
    passages = [Passage("in london", source="a"), Passage("in paris", source="a")]
    assert answered(engine, passages, (0, "london", 3.0), (1, "paris", 2.0), threshold=0).rivals == ()


def test_an_answer_that_is_less_likely_than_none_is_no_rival(engine):
    passages = [Passage("in london", source="a"), Passage("in paris", source="b")]
    assert answered(engine, passages, (0, "london", 3.0), (1, "paris", -1.0)).rivals == ()


def test_passages_are_judged_by_their_best_span(engine):
    passages = [Passage("in paris"), Passage("in london"), Passage("")]
    marker, evidence, _ = found(engine, passages, (0, "paris", 1.0), (1, "london", 2.0))
    [[first, second, empty]] = judge(marker, [evidence])
    assert second > first > empty == 0.0


def test_quotes_are_the_parts_with_the_best_spans_and_highlight_them(engine):
    passages = [Passage("in paris there"), Passage("in london there"), Passage("in paris there")]
    _, evidence, parts = found(engine, passages, (0, "paris", 1.0), (1, "london", 2.0))
    best, other = quotes(parts, evidence.passages, SETTINGS)
    assert [best.passage, other.passage] == [1, 0]  # each text once
    assert best.score > other.score
    assert passages[1].text[slice(*best.highlight)] == "london"

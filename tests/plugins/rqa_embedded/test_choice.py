"""From marks to an answer: the best span, agreement of passages, and none."""

from __future__ import annotations

import numpy as np
import pytest

from robust_qa import Passage
from rqa_embedded.choice import choose, judged, weighed
from rqa_embedded.engine import Marks, Settings
from rqa_embedded.told import LONGEST, spans
from rqa_embedded.windows import cut

ALONE = (0.0, 1.0, 0.0, 0.0)  # the margin's logistic function
SETTINGS = Settings(64, 8, span=ALONE, judge=(0.0, 1.0, 0.0, 0.0), answer=(0.0, 1.0, 0.0), threshold=0.3)

ASKED = "where was ada lovelace born?"


def marked(engine, passages, *answers, null=0.0, question="who"):
    """Windows of `passages`, marked as if the model were sure of the given (passage, words, score) alone."""
    pairs = []
    for window in cut(engine, 0, question, passages):
        passage = passages[window.passage]
        text = (passage.title + " : " if passage.title else "") + passage.text
        start, end = np.full(len(window.ids), -20.0, np.float32), np.full(len(window.ids), -20.0, np.float32)
        start[0] = end[0] = null
        for number, words, score in answers:
            at = text.find(words)
            if number == window.passage and at >= 0:
                starts, ends = [a for a, _ in window.places], [b for _, b in window.places]
                start[window.first + starts.index(at)] = end[window.first + ends.index(at + len(words))] = score / 2
        pairs.append((window, Marks(start, end, 0.0, 0.0)))
    return pairs


def test_the_answer_is_the_marked_words_with_their_place(engine):
    passages = [Passage("ada was born in london , 1815 .", title="ada lovelace")]
    reading = choose(passages, marked(engine, passages, (0, "london , 1815", 4.0)), SETTINGS, 0.3)
    assert reading.text == "london , 1815"
    assert passages[0].text[reading.start : reading.end] == "london , 1815"
    assert reading.passages == (0,)
    assert reading.score == pytest.approx(1 / (1 + np.exp(-4.0 + 2**2 * 0.005)), abs=1e-6)  # two tokens more than one


def test_an_answer_over_two_lines_is_one_line(engine):
    passages = [Passage("the engine of ada\n     lovelace")]
    reading = choose(passages, marked(engine, passages, (0, "ada\n     lovelace", 4.0)), SETTINGS, 0.3)
    assert reading.text == "ada lovelace"
    assert passages[0].text[reading.start : reading.end] == "ada\n     lovelace"


def test_case_and_accents_of_the_passage_are_kept(engine):
    passages = [Passage("ADA was Born in LONDON.")]
    assert choose(passages, marked(engine, passages, (0, "LONDON", 4.0)), SETTINGS, 0.3).text == "LONDON"


def test_two_passages_that_agree_outweigh_one_that_is_surer(engine):
    passages = [Passage("in paris"), Passage("in London"), Passage("in the london")]
    pairs = marked(engine, passages, (0, "paris", 1.0), (1, "London", 0.8), (2, "the london", 0.6))
    reading = choose(passages, pairs, SETTINGS, 0.3)
    assert reading.text == "London"
    assert reading.passages == (1, 2)


def test_many_doubtful_passages_do_not_outweigh_a_certain_one_by_chance(engine):
    passages = [Passage("in paris"), Passage("in london"), Passage("in the london")]
    pairs = marked(engine, passages, (0, "paris", 6.0), (1, "london", -2.0), (2, "london", -2.0))
    assert choose(passages, pairs, SETTINGS, 0.3).text == "paris"


def test_where_nothing_is_sure_agreement_counts_more_than_likelihood(engine):
    passages = [Passage("in paris"), Passage("in london"), Passage("in the london")]
    doubtful = marked(engine, passages, (0, "paris", -0.2), (1, "london", -1.32), (2, "london", -1.32))  # .45 .21 .21
    assert choose(passages, doubtful, SETTINGS, 0.0).text == "london"
    sure = marked(engine, passages, (0, "paris", 4.0), (1, "london", -0.2), (2, "london", -0.2))  # .98 .45 .45
    assert choose(passages, sure, SETTINGS, 0.0).text == "paris"


@pytest.mark.parametrize("question", [ASKED, "who"], ids=["patterns speak, too", "the model alone"])
def test_copies_of_a_passage_are_one_witness_and_all_named(engine, question):
    distinct = [Passage("Ada was born in Paris."), Passage("Ada was born in London.")]
    copied = [*distinct, *distinct[1:] * 8]
    answers = (0, "Paris", 1.0), (1, "London", 0.5)
    two = marked(engine, distinct, *answers, question=question)
    many = marked(engine, copied, *answers, question=question)
    once, again = choose(distinct, two, SETTINGS, 0.0), choose(copied, many, SETTINGS, 0.0)
    assert (once.text, again.text, again.passages) == ("Paris", "Paris", (0,))
    assert again.score == once.score
    assert [(rival.text, rival.score) for rival in again.rivals] == [(rival.text, rival.score) for rival in once.rivals]
    assert again.rivals[0].passages == tuple(range(1, 10))
    assert again.rivals[0].places == (16,) * 9
    first, second = judged(distinct, two, SETTINGS)
    assert judged(copied, many, SETTINGS) == [first] + [second] * 9


@pytest.mark.parametrize(
    "copy", ["Ada was born in London. ", "Ada was\nborn  in London.", "Ada was bo\u200drn in London."]
)
def test_a_copy_that_looks_the_same_is_a_copy(engine, copy):
    passages = [Passage("Ada was born in Paris."), Passage("Ada was born in London."), Passage(copy)]
    pairs = marked(engine, passages, (0, "Paris", 1.0), (1, "London", 0.5), (2, "London", 0.5), question=ASKED)
    reading = choose(passages, pairs, SETTINGS, 0.0)
    (rival,) = reading.rivals
    assert (reading.text, rival.text, rival.passages) == ("Paris", "London", (1, 2))
    assert rival.places == (16, copy.index("London"))


def test_below_the_threshold_there_is_no_answer_and_the_score_says_how_surely(engine):
    passages = [Passage("in london")]
    reading = choose(passages, marked(engine, passages, (0, "london", 0.0), null=2.0), SETTINGS, 0.3)
    assert reading.text is None
    assert reading.score == pytest.approx(1 - 1 / (1 + np.exp(4.0)), abs=1e-6)
    assert reading.passages == ()


@pytest.mark.parametrize("text", ["born in london . ada was", "born at adams st . ada was"])
def test_an_answer_in_the_title_is_placed_in_the_text_where_it_is_there(engine, text):
    passages = [Passage(text, title="ada")]
    reading = choose(passages, marked(engine, passages, (0, "ada", 4.0)), SETTINGS, 0.3)
    assert (reading.text, reading.start, reading.end) == ("ada", text.index("ada was"), text.index(" was"))


def test_an_answer_in_the_title_alone_has_no_place(engine):
    passages = [Passage("born in london", title="ada lovelace")]
    reading = choose(passages, marked(engine, passages, (0, "ada lovelace", 4.0)), SETTINGS, 0.3)
    assert (reading.text, reading.start, reading.end) == ("ada lovelace", None, None)


def test_the_mark_after_the_title_is_no_part_of_an_answer(engine):
    passages = [Passage("", title="ada")]
    pairs = marked(engine, passages, (0, "ada :", 4.0), (0, "ada", 1.0))
    assert choose(passages, pairs, SETTINGS, 0.0).text == "ada"


def test_no_passages_or_empty_ones_hold_no_answer(engine):
    assert choose([], [], SETTINGS, 0.0).text is None
    passages = [Passage(""), Passage("   ")]
    assert choose(passages, marked(engine, passages), SETTINGS, 0.0).text is None


def test_spans_do_not_overlap(engine):
    window = next(iter(cut(engine, 0, "who", [Passage("the river " * 17)])))
    rng = np.random.default_rng(1)
    size = len(window.ids)
    found = spans(window, Marks(rng.normal(size=size), rng.normal(size=size), 0.0, 0.0), SETTINGS)
    assert [span.likely for span in found] == sorted((span.likely for span in found), reverse=True)
    taken = [set(range(span.start, span.end)) for span in found]
    assert all(not a & b for n, a in enumerate(taken) for b in taken[:n])


def test_an_answer_has_so_many_tokens_at_most(engine):
    passages = [Passage("the river " * 17)]
    ((window, marks),) = marked(engine, passages)
    marks.start[window.first] = 4.0
    marks.end[window.first + LONGEST - 1], marks.end[window.first + LONGEST] = 3.0, 4.0
    best = spans(window, marks, SETTINGS)[0]
    assert len(passages[0].text[best.start : best.end].split()) == LONGEST


def test_an_answer_is_of_one_sentence_or_of_the_title(engine):
    passages = [Passage("it was lost . Paris was built .", title="london")]
    lost = "it was lost"
    for crossing, within in (("lost . Paris", "Paris"), (f"london : {lost}", lost), (f": {lost}", lost)):
        pairs = marked(engine, passages, (0, crossing, 4.0), (0, within, 1.0))
        assert choose(passages, pairs, SETTINGS, 0.0).text == within


def test_the_end_of_another_answer_far_off_is_not_taken_for_a_little_more(engine):
    passages = [Passage("in london was born ada in paris")]
    ((window, marks),) = marked(engine, passages, (0, "london", 4.0))
    marks.end[window.first + len(window.places) - 1] = 2.1  # the one of "london" is 2
    best = spans(window, marks, SETTINGS)[0]
    assert passages[0].text[best.start : best.end] == "london"


def test_who_is_asked_after_is_not_named_by_the_question(engine):
    passages = [Passage("ada was born in london by a river")]
    for question, answer in (
        ("who was ada ?", "river"),
        ("who was born , ada or paris ?", "ada"),
        ("when ada ?", "ada"),
    ):
        pairs = marked(engine, passages, (0, "ada", 4.0), (0, "river", 1.0), question=question)
        assert choose(passages, pairs, SETTINGS, 0.0).text == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [("which river was it ?", "london"), ("which River was it ?", "river"), ("what was it ?", "river")],
)
def test_the_word_for_what_is_asked_for_is_no_answer_where_there_is_another(engine, question, answer):
    passages = [Passage("the river was in london")]
    pairs = marked(engine, passages, (0, "river", 4.0), (0, "london", 1.0), question=question)
    assert choose(passages, pairs, SETTINGS, 0.0).text == answer
    alone = marked(engine, passages, (0, "river", 4.0), question=question)
    assert judged(passages, alone, SETTINGS)[0] > 0


def test_what_the_question_offers_beside_that_word_may_be_the_answer(engine):
    passages = [Passage("the river was in london")]
    pairs = marked(engine, passages, (0, "river", 4.0), (0, "london", 1.0), question="which old river or lake ?")
    assert choose(passages, pairs, SETTINGS, 0.0).text == "river"


def test_numbers_that_differ_in_a_point_alone_do_not_agree(engine):
    passages = [Passage("it cost 15 pounds"), Passage("it cost 1.5 pounds")]
    reading = choose(passages, marked(engine, passages, (0, "15", 2.0), (1, "1.5", 1.5)), SETTINGS, 0.3)
    assert (reading.text, reading.passages, [rival.text for rival in reading.rivals]) == ("15", (0,), ["1.5"])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("it was -15 there", "-15"),
        ("-15 there", "-15"),
        ("( -15 )", "-15"),
        ("in 1914-15 there", "15"),
        ("a boeing-15 there", "15"),
        ("page 3 - 15 there", "15"),
        ("15 there", "15"),
        ("it was -$15 there", "-$15"),
        ("it was < 15 there", "< 15"),
        ("it was .15 there", ".15"),
        ("was it . 15 there", "15"),
    ],
)
def test_a_sign_belongs_to_its_number_and_a_dash_does_not(engine, text, answer):
    for title in ("", "ada"):
        passages = [Passage(text, title=title)]
        reading = choose(passages, marked(engine, passages, (0, "15", 4.0)), SETTINGS, 0.3)
        assert (reading.text, text[reading.start : reading.end]) == (answer, answer)


@pytest.mark.parametrize(
    ("text", "marked_as", "answer"),
    [
        ("by Rene\u0301 in london", "Rene", "Rene\u0301"),
        ("in C++ there", "C", "C++"),
        ("it is O+.", "O", "O+"),
        ("1 + 1 there", "1", "1"),
        ("in 18+ there", "18", "18"),
    ],
)
def test_an_answer_has_the_accents_and_signs_at_its_end(engine, text, marked_as, answer):
    passages = [Passage(text)]
    reading = choose(passages, marked(engine, passages, (0, marked_as, 4.0)), SETTINGS, 0.3)
    assert reading.text == text[reading.start : reading.end] == answer


@pytest.mark.parametrize(
    ("text", "marked_as", "answer"),
    [
        ("it was in /srv/backup/nightly there", "srv", "/srv/backup/nightly"),
        ("it was ( ~/.wgetrc ) .", "wgetrc", "~/.wgetrc"),
        ("by --dry-run there", "dry", "--dry-run"),
        ("in `Cargo.toml`, and", "toml", "Cargo.toml"),
        ("it was prices_2024.xlsx.", "prices", "prices_2024.xlsx"),
        ("at https://wiki.org/a_(b)?c=1, there", "https", "https://wiki.org/a_(b)?c=1"),
        ("by server.listen() there", "listen", "server.listen()"),
        ("at 192.168.1.20/24 there", "192", "192.168.1.20/24"),
        ("by Lennon/McCartney there", "Lennon", "Lennon"),
        ("in 1968-1972 there", "1972", "1972"),
        ("a U.S.-born writer", "born", "born"),
        ("it was river;sea.txt", "river", "river"),
        ("it was /srv." + "a" * 300, "srv", "srv"),
        ("at bbc.co.uk/news there", "bbc", "bbc.co.uk/news"),
        ("it was robust_qa.english.evidence there", "english", "robust_qa.english.evidence"),
        ("by st.paul@bbc.com there", "bbc", "st.paul@bbc.com"),
        ("by st.paul+river@bbc.com there", "bbc", "st.paul+river@bbc.com"),
        ("by paul@bbc.info there", "bbc", "paul@bbc.info"),
        ("by paul@bbc.info.they had", "bbc", "paul@bbc.info"),
        ("at www.bbc.info/news there", "bbc", "www.bbc.info/news"),
        ("it was river.paul.data there", "paul", "river.paul.data"),
        ("in london.it was", "london", "london"),
        ("in 1912.the river", "1912", "1912"),
        ("it was 1.80m.tall", "1.80m", "1.80m"),
        ("by st.paul.then:they there", "paul", "paul"),
        ("in wiki.org.they had", "wiki", "wiki.org"),
        ("at 10.1.2.3.the river", "10", "10.1.2.3"),
    ],
)
def test_a_technical_name_is_not_divided(engine, text, marked_as, answer):
    passages = [Passage(text, title="ada")]
    reading = choose(passages, marked(engine, passages, (0, marked_as, 4.0)), SETTINGS, 0.3)
    assert reading.text == text[reading.start : reading.end] == answer


def test_sentences_without_a_space_between_them_are_no_other_answers(engine):
    passages = [Passage("in london.she was there"), Passage("in london. She was"), Passage("in london.her river")]
    pairs = marked(engine, passages, *((n, "london", 3.0) for n in range(3)))
    reading = choose(passages, pairs, SETTINGS, 0.3)
    assert (reading.text, len(reading.passages), reading.rivals) == ("london", 3, ())


def test_a_number_and_its_negative_do_not_agree(engine):
    passages = [Passage("it was 15 there"), Passage("it was -15 there")]
    pairs = marked(engine, passages, (0, "15", 2.0), (1, "15", 1.5))
    reading = choose(passages, pairs, SETTINGS, 0.3)
    assert (reading.text, reading.passages, [rival.text for rival in reading.rivals]) == ("15", (0,), ["-15"])
    first, second = judged(passages, pairs, SETTINGS)
    assert first > second


def test_a_unit_that_both_have_does_not_outweigh_numbers_that_differ(engine):
    passages = [Passage("it was 12 degrees"), Passage("it was 15 degrees")]
    answers = (0, "12", 2.0), (0, "degrees", 1.0), (1, "15", 1.5), (1, "degrees", 1.0)
    reading = choose(passages, marked(engine, passages, *answers), SETTINGS, 0.3)
    assert (reading.text, [rival.text for rival in reading.rivals]) == ("12", ["15"])


def test_what_answers_that_differ_have_in_common_is_no_answer(engine):
    passages = [Passage(f"she is {age} years old") for age in ("12", "15", "80")]
    answers = (0, "12 years old", 3.0), (1, "15 years old", 2.5), (2, "80", 2.0), (2, "old", 1.5)
    pairs = marked(engine, passages, *answers)
    reading = choose(passages, pairs, SETTINGS, 0.3)
    assert reading.text == "12 years old"
    assert [rival.text for rival in reading.rivals] == ["15 years old", "80"]


def test_of_what_a_passage_tells_one_thing_can_be_right(engine):
    passages = [Passage("it is at 12"), Passage("it is at 15")]
    answers = (0, "12", 3.0), (0, "at", 2.5), (1, "15", 2.9), (1, "at", 2.5)
    reading = choose(passages, marked(engine, passages, *answers), SETTINGS, 0.3)
    assert (reading.text, [rival.text for rival in reading.rivals]) == ("12", ["15"])


@pytest.mark.parametrize(
    ("word", "answer"), [("The", "london"), ("a", "london"), ("at", "london"), ("A", "A"), ("It", "It")]
)
def test_an_article_or_a_preposition_is_no_answer_and_a_letter_is_one(engine, word, answer):
    passages = [Passage(f"{word} , in london")]
    pairs = marked(engine, passages, (0, word, 4.0), (0, "london", 1.0))
    assert choose(passages, pairs, SETTINGS, 0.0).text == answer


def test_what_others_tell_more_likely_than_not_is_a_rival(engine):
    passages = [Passage("in london"), Passage("in the london"), Passage("in paris"), Passage("in paris or london")]
    pairs = marked(engine, passages, (0, "london", 2.0), (1, "london", 2.0), (2, "paris", 1.5), (3, "paris", 1.0))
    reading = choose(passages, pairs, SETTINGS, 0.3)
    ((rival,), told) = reading.rivals, [reading.text, *(rival.text for rival in reading.rivals)]
    assert told == ["london", "paris"]
    assert (rival.passages, rival.rivals) == ((2,), ())  # the last names both, and takes no side
    assert rival.score == 1 - reading.score < 0.5  # one of the two is right at most
    assert passages[2].text[rival.start : rival.end] == "paris"


def test_a_passage_is_taken_for_what_it_tells_best(engine):
    """Of "90 metres long" the word "long" alone is no answer of the other passage, which tells 80."""
    passages = [Passage("in 1500 years there"), Passage("in 1912 years there")]
    pairs = marked(engine, passages, (0, "1500 years", 2.0), (1, "1912", 1.5), (1, "years", 0.5))
    reading = choose(passages, pairs, SETTINGS, 0.3)
    assert (reading.text, [rival.text for rival in reading.rivals]) == ("1500 years", ["1912"])


@pytest.mark.parametrize(
    ("words", "score"),
    [("paris", -1.0), ("london", 3.0)],
    ids=["less likely than not", "the same"],
)
def test_what_is_less_sure_or_the_same_is_no_rival(engine, words, score):
    passages = [Passage("in london"), Passage("in the london"), Passage(f"in the old {words}")]
    pairs = marked(engine, passages, (0, "london", 9.0), (1, "london", 9.0), (2, words, score))
    assert choose(passages, pairs, SETTINGS, 0.3).rivals == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("23 june 1912", "june 23 1912"),
        ("ada king", "ada of king"),
        ("100 m", "100m"),
        ("1,500", "1 500"),
    ],
)
def test_the_same_told_in_another_way_is_no_rival(engine, one, other):
    passages = [Passage(f"in {one} there"), Passage(f"in {other} there")]
    pairs = marked(engine, passages, (0, one, 3.0), (1, other, 2.0))
    assert choose(passages, pairs, SETTINGS, 0.3).rivals == ()


def test_who_tells_the_same_in_another_way_is_no_witness_of_a_rival(engine):
    passages = [Passage("in 23 june 1912 there"), Passage("in june 23 1912 by paris")]
    pairs = marked(engine, passages, (0, "23 june 1912", 3.0), (1, "june 23 1912", 2.0), (1, "paris", 1.0))
    assert choose(passages, pairs, SETTINGS, 0.3).rivals == ()


def test_what_the_question_says_is_given_where_there_is_nothing_else(engine):
    passages = [Passage("ada , of ada")]
    reading = choose(passages, marked(engine, passages, (0, "ada", 4.0), question="whose is ada ?"), SETTINGS, 0.3)
    assert reading.text == "ada"


def test_a_passage_is_credited_with_the_best_supported_candidate_that_stands_in_it(engine):
    passages = [
        Passage("was born in london"),
        Passage("the london river was by it"),
        Passage("born in paris"),
        Passage("of it"),
    ]
    elsewhere = [(1, words, -3.0) for words in ("river", "was", "by", "it")]  # all that is kept of a window
    pairs = marked(engine, passages, (0, "london", 2.0), *elsewhere, (2, "paris", 1.0))
    first, named, other, none = judged(passages, pairs, SETTINGS)
    assert first == named > other > none  # the second points elsewhere, and still tells what the first does


def test_a_candidate_told_by_two_counts_more_than_one_told_once(engine):
    passages = [Passage("in london"), Passage("in the london"), Passage("in paris")]
    pairs = marked(engine, passages, (0, "london", 0.5), (1, "london", 0.5), (2, "paris", 0.8))
    together = judged(passages, pairs, SETTINGS)
    assert together[0] == together[1] > together[2]
    (alone,) = judged(passages[:1], pairs[:1], SETTINGS)
    assert alone < together[0]


def test_a_passage_without_a_word_holds_nothing(engine):
    assert judged([Passage("")], marked(engine, [Passage("")]), SETTINGS) == [0.0]


def test_patterns_speak_where_the_model_is_unsure(engine):
    passages = [Passage("Ada Lovelace was born in London and died in Ely.")]
    pairs = marked(engine, passages, (0, "Ely", -1.0), question=ASKED)
    assert choose(passages, pairs, SETTINGS, 0.0).text == "London"
    sure = marked(engine, passages, (0, "Ely", 4.0), question=ASKED)
    assert choose(passages, sure, SETTINGS, 0.0).text == "Ely"


def test_what_model_and_patterns_both_say_is_likelier_than_either_and_a_repetition_adds_nothing(engine):
    once = [Passage("Ada Lovelace was born in London.")]
    model = choose(once, marked(engine, once, (0, "London", 0.5)), SETTINGS, 0.0)  # "who": no place fits
    both = choose(once, marked(engine, once, (0, "London", 0.5), question=ASKED), SETTINGS, 0.0)
    patterns = choose(once, marked(engine, once, question=ASKED), SETTINGS, 0.0)
    assert model.text == both.text == patterns.text == "London"
    assert both.score > max(model.score, patterns.score)
    assert 0.5 > patterns.score > 0
    twice = [Passage(once[0].text + " Yes, Ada Lovelace was born in London.")]
    again = choose(twice, marked(engine, twice, question=ASKED), SETTINGS, 0.0)
    assert again.score <= patterns.score + 1e-9


@pytest.mark.parametrize(
    ("question", "text", "marked_as", "answer"),
    [
        ("who led it?", "it was led by adm. Ada Lovelace", "Ada", "Ada Lovelace"),
        ("where was ada lovelace born?", "Ada was born in London, England", "London", "London"),
        ("how many years in london?", "it was 12 years in London", "12", "12"),
        ("how long in london?", "it was 12 years in London", "12", "12 years"),
    ],
)
def test_a_part_of_what_patterns_find_is_the_whole_of_it(engine, question, text, marked_as, answer):
    for title in ("", "river"):
        passages = [Passage(text, title=title)]
        pairs = marked(engine, passages, (0, marked_as, 3.0), question=question)
        reading = choose(passages, pairs, SETTINGS, 0.0)
        assert reading.text == text[reading.start : reading.end] == answer


def test_the_place_of_an_answer_of_patterns_is_in_the_text_beneath_a_title(engine):
    passages = [Passage("She was born in London.", title="Ada Lovelace")]
    reading = choose(passages, marked(engine, passages, question=ASKED), SETTINGS, 0.0)
    assert passages[0].text[reading.start : reading.end] == reading.text == "London"


def test_patterns_judge_no_passage(engine):
    passages = [Passage("Ada Lovelace was born in London.")]
    assert judged(passages, marked(engine, passages, question=ASKED), SETTINGS)[0] < 1e-3


def test_what_the_passages_answer_together_tells_which_of_them_hold_it(engine):
    passages = [Passage("in london"), Passage("to london"), Passage("in paris"), Passage("of it")]
    pairs = marked(engine, passages, (0, "london", 1.0), (1, "london", 1.0), (2, "paris", 1.5))
    told = [each[1:] for each in weighed(passages, pairs, SETTINGS) if each]
    assert [telling for _, telling in told[:3]] == [1.0, 1.0, 0.0]
    share = told[0][0]
    assert share == told[1][0] > told[2][0] > 0
    (alone,) = weighed(passages[2:3], marked(engine, passages[2:3], (0, "paris", 1.5)), SETTINGS)
    assert alone[2] == 1.0
    assert alone[1] > share

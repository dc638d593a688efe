"""Questions which of several came first: what they are taken for, and what is answered."""

from __future__ import annotations

import pytest

from robust_qa import Passage, Reading
from rqa_embedded import EmbeddedEvaluator, EmbeddedReader
from rqa_embedded.comparison import Comparison, compare, comparison, settle, years
from rqa_embedded.engine import PACKAGED

shipped = pytest.mark.skipif(not (PACKAGED / "model.bin").exists(), reason="the model file is not in this checkout")

BORN, DIED, RELEASED = "When was {} born?", "When did {} die?", "When was {} released?"
PASSAGES = [
    Passage("Clara Schumann (13 September 1819 – 20 May 1896) was a German pianist.", title="Clara Schumann"),
    Passage("The Rhine is a river in Europe.", title="Rhine"),
    Passage("Fanny Hensel was born in Hamburg on 14 November 1805 and died on 14 May 1847.", title="Fanny Hensel"),
    Passage("Fog Harbour is a 1931 film directed by Edna Marsh.", title="Fog Harbour"),
    Passage("Paper Kites is a drama film of 1958. Its director was Owen Tully.", title="Paper Kites (film)"),
    Passage("Edna Marsh (born 4 March 1899) was an American director.", title="Edna Marsh"),
    Passage("Owen Tully, born on 9 June 1921, was a British director.", title="Owen Tully"),
]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who was born first, A Bee or C Dee?", (("A Bee", "C Dee"), "", (BORN,), False)),
        ('Who was born first, "A Bee" or “C Dee”?', (("A Bee", "C Dee"), "", (BORN,), False)),
        ("Who is younger: A Bee, C Dee or E Eff?", (("A Bee", "C Dee", "E Eff"), "", (BORN,), True)),
        ("who is older a bee or c dee", (("a bee", "c dee"), "", (BORN,), False)),
        ("Was A Bee or C Dee born later?", (("A Bee", "C Dee"), "", (BORN,), True)),
        ("Did A Bee or C Dee die first?", (("A Bee", "C Dee"), "", (DIED,), False)),
        ("Who lived longer, A Bee or C Dee?", (("A Bee", "C Dee"), "", (BORN, DIED), True)),
        ("Which film came out more recently, A or B?", (("A", "B"), "", (RELEASED,), True)),
        ("Which director died first, A or B?", (("A", "B"), "", (DIED,), False)),
        ("Which author is younger, A or B?", (("A", "B"), "", (BORN,), True)),
        ("Which film with the actor B. C. was released first, A or B?", (("A", "B"), "", (RELEASED,), False)),
        ("Which album is older, A or B?", (("A", "B"), "", (RELEASED,), False)),
        ("Which town was founded earlier, A or B?", (("A", "B"), "", ("When was {} founded?",), False)),
        ("Which film has the director who died later, A or B?", (("A", "B"), "director", (DIED,), True)),
        ("Which song has the younger singer, A or B?", (("A", "B"), "singer", (BORN,), True)),
        ("Which film whose director is younger, A or B?", (("A", "B"), "director", (BORN,), True)),
        ("Which of her later songs was released first, A or B?", (("A", "B"), "", (RELEASED,), False)),
        ("Which of the last two queens was born first, A or B?", (("A", "B"), "", (BORN,), False)),
        ("Which of the longest-serving players was born first, A or B?", (("A", "B"), "", (BORN,), False)),
        ("Which paper was first published later, A or B?", (("A", "B"), "", ("When was {} published?",), True)),
        ("Who was the first to be born, A or B?", (("A", "B"), "", (BORN,), False)),
        ("Who lived the longest, A or B?", (("A", "B"), "", (BORN, DIED), True)),
        ("Which film has the director who is older than the other, A or B?", (("A", "B"), "director", (BORN,), False)),
        ("Who is the older of the two, A or B?", (("A", "B"), "", (BORN,), False)),
        ("Who was born on an earlier date, A or B?", (("A", "B"), "", (BORN,), False)),
        ("Whose death came first, A or B?", (("A", "B"), "", (DIED,), False)),
        ("Who was the first one to die, A or B?", (("A", "B"), "", (DIED,), False)),
        ("Which film was released first in cinemas, A or B?", (("A", "B"), "", (RELEASED,), False)),
        ("Which film came out in an earlier year, A or B?", (("A", "B"), "", (RELEASED,), False)),
        ("Who is the older poet, A or B?", (("A", "B"), "", (BORN,), False)),
    ],
)
def test_what_is_compared_is_taken_from_the_question(question, found):
    passages = [Passage(text) for text in ("A Bee", "C Dee", "E Eff")]
    assert comparison(question, passages) == Comparison(*found)


@pytest.mark.parametrize(
    "question",
    [
        "Who was the first to fly?",
        "Who won the cup first, A or B?",
        "Which country first had women vote, A or B?",
        "Which is taller, A or B?",
        "What came first: the chicken or the egg?",
        "When was A or B born?",
        "Is A older than B?",
        "Who was older when he died, A or B?",
        "Who did not die first, A or B?",
        "Who wasn't born first, A or B?",
        "Which company built the longest bridge, A or B?",
        "Which tunnel, built by hand, is longer, A or B?",
        "Which author died younger, A or B?",
        "Who was born in the older town, A or B?",
        "Who lives in the older house, A or B?",
        "Which club built its first stadium in Hull, A or B?",
        "Who released the most recent album, A or B?",
        "Which band released the longer album, A or B?",
        "Who recorded the longest jump, A or B?",
        "Which shop opened last week, A or B?",
        "or",
        "Who was born first, A or " + "B or " * 10_000 + "?",
        "",
    ],
)
def test_what_no_date_decides_is_no_comparison(question):
    assert comparison(question, [Passage("A or B")]) is None


def test_passages_tell_which_or_parts_the_names():
    question = "Which film was released first, Life or Death, Again or Fog Harbour?"
    passages = [Passage("a drama", title="Life or Death, Again"), Passage("a film", title="Fog Harbour")]
    assert comparison(question, passages).names == ("Life or Death, Again", "Fog Harbour")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1940", 1940, 1941),
        ("in May 1940", 1940 + 4 / 12, 1940 + 5 / 12),
        ("2 January 1940", 1940 + 1 / 372, 1940 + 2 / 372),
        ("January 2, 1940", 1940 + 1 / 372, 1940 + 2 / 372),
        ("44 BC", -44, -43),
        ("23.06.1912", 1912, 1913),
        ("15 March 44 BC", -44 + 2 / 12 + 14 / 372, -44 + 2 / 12 + 15 / 372),
        ("47 AD", 47, 48),
        ("500 CE", 500, 501),
        ("August 19, AD 14", 14 + 7 / 12 + 18 / 372, 14 + 7 / 12 + 19 / 372),
        ("between 1840 and 1850", 1840, 1851),
        ("1914\N{EN DASH}1918", 1914, 1919),
        ("1914\N{EN DASH}18", 1914, 1919),
        ("from 3 May 1914 to 9 June 1918", 1914, 1919),
        ("27 BC to 14 AD", -27, 15),
        ("1912-06-23", 1912 + 5 / 12 + 22 / 372, 1912 + 5 / 12 + 23 / 372),
        ("1912/06/23", 1912 + 5 / 12 + 22 / 372, 1912 + 5 / 12 + 23 / 372),
        ("1912-23-06", 1912, 1913),
        ("2 Jan. 1940", 1940 + 1 / 372, 1940 + 2 / 372),
        ("Sept 1940", 1940 + 8 / 12, 1940 + 9 / 12),
        ("the 1880s", 1880, 1890),
        ("May of the 1880s", 1880, 1890),
        ("the 1900s", 1900, 2000),
        ("the 12th century", 1100, 1200),
        ("between the 1st century and 1850", 0, 1851),
    ],
)
def test_a_date_is_all_the_time_that_it_may_mean(text, first, last):
    assert years(text) == pytest.approx((first, last))


@pytest.mark.parametrize("text", ["", "the 5th century BC", "May", "12 June", "100,000 people", "19400"])
def test_what_has_no_year_is_no_date(text):
    assert years(text) is None


def answered(compared, told):
    """What comes of a comparison whose questions are answered by `told`."""

    def read(asked):
        return [Reading(told.get(one.question), 0.5, passages=(0,), places=(4,)) for _, one in asked]

    return settle({3: compare(compared, PASSAGES)}, read)[3]


CLARA_OR_FANNY = Comparison(("Clara Schumann", "Fanny Hensel"), "", (BORN,), False)
DATES = {"When was Clara Schumann born?": "13 September 1819", "When was Fanny Hensel born?": "14 November 1805"}


def test_the_first_or_the_latest_is_answered_with_the_passages_that_tell():
    first = answered(CLARA_OR_FANNY, DATES)
    assert (first.text, first.passages) == ("Fanny Hensel", (2, 0))
    assert first.score == pytest.approx(0.25 + 0.75 / 2)  # both dates right, or else one of two by chance
    latest = answered(CLARA_OR_FANNY._replace(latest=True), DATES)
    assert (latest.text, latest.passages) == ("Clara Schumann", (0, 2))


def test_who_lived_longer_is_told_by_births_and_deaths():
    told = DATES | {"When did Clara Schumann die?": "1896", "When did Fanny Hensel die?": "14 May 1847"}
    longer = CLARA_OR_FANNY._replace(dates=(BORN, DIED), latest=True)
    assert answered(longer, told).text == "Clara Schumann"
    assert answered(longer, told).passages == (0, 2)
    assert answered(longer._replace(latest=False), told).text == "Fanny Hensel"


@pytest.mark.parametrize(
    "told",
    [
        {"When was Clara Schumann born?": "1819"},
        {"When was Clara Schumann born?": "1819", "When was Fanny Hensel born?": "in Hamburg"},
        {"When was Clara Schumann born?": "1805", "When was Fanny Hensel born?": "14 November 1805"},
        {"When was Clara Schumann born?": "between 1800 and 1810", "When was Fanny Hensel born?": "1805"},
    ],
    ids=["one is not told", "one is no date", "they may be the same", "either may be first"],
)
def test_dates_that_do_not_decide_give_no_answer(told):
    assert answered(CLARA_OR_FANNY, told) is None


def test_comparisons_ask_in_rounds_together():
    rounds = []

    def read(asked):
        rounds.append([(number, one.question, one.passages) for number, one in asked])
        return [Reading(None, 1.0) for _ in asked]

    films = Comparison(("Fog Harbour", "Paper Kites"), "director", (BORN,), False)
    done = settle({0: compare(CLARA_OR_FANNY, PASSAGES), 5: compare(films, PASSAGES)}, read)
    assert done == {0: None, 5: None}
    assert rounds[0] == [
        (0, "When was Clara Schumann born?", [0]),
        (0, "When was Fanny Hensel born?", [2]),
        (5, "Who was the director of Fog Harbour?", [3]),
        (5, "Who was the director of Paper Kites?", [4]),
    ]


@pytest.fixture(scope="module")
def reader():
    return EmbeddedReader(EmbeddedReader.Options(threshold=0.06))


@shipped
@pytest.mark.parametrize(
    ("question", "answer", "tells"),
    [
        ("Who was born first, Clara Schumann or Fanny Hensel?", "Fanny Hensel", {0, 2}),
        ("who is younger clara schumann or fanny hensel", "clara schumann", {0, 2}),
        ("Who lived longer, Clara Schumann or Fanny Hensel?", "Clara Schumann", {0, 2}),
        ("Which film was released later, Fog Harbour or Paper Kites?", "Paper Kites", {3, 4}),
        ("Which film has the director who was born first, Fog Harbour or Paper Kites?", "Fog Harbour", {5, 6}),
    ],
)
def test_the_packaged_model_compares_what_it_reads(reader, question, answer, tells):
    reading = reader.read(question, PASSAGES)
    assert reading.text == answer
    assert set(reading.passages) == tells
    assert 0.5 < reading.score <= 1
    for passage, place in zip(reading.passages, reading.places, strict=True):
        assert years(PASSAGES[passage].text[place : place + 20])  # what is cited is the date
    assert reader.read_many([("where was Fanny Hensel born", PASSAGES), (question, PASSAGES)])[1].text == answer


@shipped
def test_what_the_passages_do_not_decide_is_not_guessed(reader):
    question = "Who was born first, Clara Schumann or Louise Farrenc?"
    assert reader.read(question, PASSAGES).text is None
    unsure = EmbeddedReader(EmbeddedReader.Options(threshold=0.99))
    assert unsure.read("Who was born first, Clara Schumann or Fanny Hensel?", PASSAGES).text is None
    always = EmbeddedReader(EmbeddedReader.Options(threshold=0.0))
    assert always.read(question, PASSAGES).text


@shipped
def test_passages_are_judged_by_what_a_comparison_needs():
    judge = EmbeddedEvaluator(EmbeddedEvaluator.Options())
    texts = [passage.text for passage in PASSAGES]
    scores = judge.score("Who was born first, Clara Schumann or Fanny Hensel?", texts)
    assert min(scores[0], scores[2]) > max(scores[n] for n in (1, 3, 4, 5, 6))
    assert scores[1] == -1.0

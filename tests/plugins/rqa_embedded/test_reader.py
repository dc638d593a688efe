"""The reader: batches, unusual texts and the packaged model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from robust_qa import MissingError, Passage
from rqa_embedded import EmbeddedReader
from rqa_embedded.engine import PACKAGED

shipped = pytest.mark.skipif(not (PACKAGED / "model.bin").exists(), reason="the model file is not in this checkout")

PASSAGES = [
    Passage("The town has three bakeries and a small museum.", title="Givron"),
    Passage("Ada Lovelace was born in London on 10 December 1815. She wrote about the engine.", title="Ada Lovelace"),
    Passage("Lovelace, born in London, was the daughter of Lord Byron.", title="Byron family"),
]
HOSTILE = {
    "nothing": "",
    "spaces": " \n\t ",
    "NULs": "\0" * 3000 + " river",
    "half characters": "\ud800 river " * 200,
    "one word": "a" * 100_000,
    "characters that grow in lower case": "İ" * 2000,
    "another script": "東京は日本の首都である。" * 50,
    "marks of the model's own": "[SEP] [CLS] [PAD] [MASK] river " * 50,
}


@pytest.fixture
def reader(folder):
    return EmbeddedReader(EmbeddedReader.Options(model=folder, threads=1))


def test_batched_answers_equal_single_answers(reader):
    requests = [("who was ada", PASSAGES), ("where", PASSAGES[:1]), ("when", []), ("who", PASSAGES[1:])]
    together = reader.read_many(requests)
    for (question, passages), reading in zip(requests, together, strict=True):
        single = reader.read(question, passages)
        assert (single.text, single.passages, single.start, single.end) == (
            reading.text, reading.passages, reading.start, reading.end,
        )  # fmt: skip
        assert single.score == pytest.approx(reading.score, abs=1e-3)


def test_no_passages_give_no_answer(reader):
    reading = reader.read("who", [])
    assert (reading.text, reading.score, reading.passages) == (None, 1.0, ())


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_text_is_read_as_passage_title_and_question(reader, text):
    for question, passage in ((text, Passage("the river")), ("who", Passage(text)), ("who", Passage("a", title=text))):
        reading = reader.read(question, [passage])
        if reading.start is not None:
            assert passage.text[reading.start : reading.end].split() == reading.text.split(" ")


def test_a_long_passage_is_read_to_its_end(reader):
    passage = Passage("the river . " * 3000)
    assert reader.read("where", [passage]).text is not None


def test_option_threshold_overrides_the_model(folder):
    assert EmbeddedReader(EmbeddedReader.Options(model=folder, threshold=1.0)).read("who", PASSAGES).text is None


def test_missing_folder_is_an_error(tmp_path):
    with pytest.raises(MissingError, match=r"The folder .*none does not exist"):
        EmbeddedReader(EmbeddedReader.Options(model=tmp_path / "none"))


def test_the_cache_keeps_models_apart(reader):
    assert reader.fingerprint() == "tiny"


def test_import_loads_no_engine():
    engines = "numpy ctranslate2 tokenizers torch"
    code = f"import rqa_embedded, sys; print([m for m in '{engines}'.split() if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@shipped
class TestShipped:
    """The packaged model."""

    @pytest.fixture
    def reader(self):
        return EmbeddedReader(EmbeddedReader.Options(threshold=0.06))  # loaded once: the engine is shared

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Where was Ada Lovelace born?", "London"),
            ("when was ada lovelace born", "10 December 1815"),
            ("Who is the father of Ada Lovelace?", "Lord Byron"),
            ("How many bakeries does Givron have?", "three"),
        ],
    )
    def test_plain_questions_are_answered(self, reader, question, answer):
        reading = reader.read(question, PASSAGES)
        assert reading.text == answer
        assert PASSAGES[reading.passages[0]].text[reading.start : reading.end] == answer

    @pytest.mark.parametrize(
        ("question", "passage", "answers"),
        [
            ("How old is Ann?", "Ann is {} years old.", ["forty", "fifty", "sixty"]),
            ("Why did the mill close?", "The mill closed because {}.", ["it burnt down", "it was old", "nobody came"]),
            ("Which street is the shop in?", "The shop is in {} Street.", ["Mill", "High", "Church"]),
            ("Where is the office?", "The office is in {}.", ["Hull", "Leeds", "York"]),
            ("How much did it cost?", "It cost about ${}.", ["40", "50", "60"]),
            ("How much does it weigh?", "It weighs {}.", ["5 kg", "5 g"]),
        ],
    )
    def test_passages_that_contradict_each_other_are_told_apart(self, reader, question, passage, answers):
        reading = reader.read(question, [Passage(passage.format(answer)) for answer in answers])
        told = [reading.text, *(rival.text for rival in reading.rivals)]
        assert sorted(answer for text in told for answer in answers if answer in text) == sorted(answers)

    @pytest.mark.parametrize(
        ("question", "passage"),
        [
            ("What is the answer to question 7?", "The answer to question 7 is A; the answer to question 8 is B."),
            ("Which vitamin do carrots contain?", "Carrots contain vitamin A."),
            ("Which key opens the menu?", "The menu opens with the key A."),
        ],
    )
    def test_a_single_letter_may_be_the_answer(self, reader, question, passage):
        assert reader.read(question, [Passage(passage)]).text == "A"

    @pytest.mark.parametrize(
        ("question", "passage", "answer"),
        [
            ("Who runs the ferry?", "The inn is closed. Currently Bob Ray runs the ferry.", "Bob Ray"),
            ("Who won the race?", "Later Ann Lee won the race.", "Ann Lee"),
            ("Who won the race?", "In May Ann Lee won the race.", "Ann Lee"),
            ("Who wrote the music?", "Directed by Bob Ray\nMusic by Fay Holt\nProduced by Gil Stone", "Fay Holt"),
            ("How many steps has the tower?", "Guide > Tower > 213 steps has the tower.", "213"),
            ("Who stayed home?", "Bob Ray joined the F.B.I. Ann Lee stayed home.", "Ann Lee"),
            ("Who leads the choir?", "Bob Ray works for Acme Inc. Ann Lee leads the choir.", "Ann Lee"),
            ("What does the switch say?", 'The switch says "up".', "up"),
            ("Which vice president resigned?", "In 1973 Vice President Agnew resigned.", "Agnew"),
            ("Which state has Albany?", "Albany is in the State of New York.", "New York"),
            ("What type of cabin is it?", "It is a log cabin, and its name is Stabbin Cabin.", "log"),
        ],
    )
    def test_what_stands_before_an_answer_is_no_part_of_it(self, reader, question, passage, answer):
        assert reader.read(question, [Passage(passage)]).text == answer

    @pytest.mark.parametrize(
        ("question", "passage", "answer"),
        [
            ("What country is Kesh in?", "Kesh is a port in {}.", "Northern Ireland"),
            ("What country is Kesh in?", "Kesh is a port in {}.", "South Sudan"),
            ("What percentage of voters agreed?", "Of the voters {} agreed.", "12.5%"),
            ("How far is the inn from the station?", "The inn is {} from the station.", "300 m"),
            ("How high was the temperature in Kesh?", "The temperature in Kesh was {}.", "-15 °C"),
            ("Who led the fleet?", "The fleet was led by {} in 1944.", "Adm. Chester Nimitz"),
            ("Which ocean borders Kenya?", "Kenya is bordered by the {} and five countries.", "Indian Ocean"),
            ("What award did the show get?", "The show got the {} in 1998.", "Peabody Award"),
            ("Which treaty was signed in 1840?", "The {} was signed in 1840 by the chiefs.", "Treaty of Waitangi"),
            ("What project came before Apollo?", "Apollo was preceded by {} in 1958.", "Project Mercury"),
            ("What was the price of the program?", "The program cost {} and employed 400,000 people.", "$25.4 billion"),
            ("What share of the coffee came from Colombia?", "Brazil had 40% of the coffee trade, Colombia {}.", "10%"),
            ("What temperature was measured?", "A temperature of {} was measured.", "−183 °C"),
            (
                "What was the profession of Anna Hill?",
                "Her brother was a member of the senate, and Anna Hill was a {}.",
                "surgeon",
            ),
        ],
    )
    def test_an_answer_is_not_cut(self, reader, question, passage, answer):
        assert reader.read(question, [Passage(passage.format(answer))]).text == answer

    def test_passages_that_agree_are_named(self, reader):
        assert set(reader.read("Where was Ada Lovelace born?", PASSAGES).passages) == {1, 2}

    def test_what_is_not_there_is_less_certain_than_what_is(self, reader):
        there = reader.read("Where was Ada Lovelace born?", PASSAGES)
        absent = reader.read("Who won the 1998 World Cup?", PASSAGES[:1])
        assert absent.text is None or absent.score < there.score / 2

    def test_neither_torch_nor_transformers_is_imported_to_answer(self):
        code = (
            "import sys; from rqa_embedded import EmbeddedReader; from robust_qa import Passage\n"
            "EmbeddedReader(EmbeddedReader.Options()).read('where', [Passage('in London')])\n"
            "print([m for m in ('torch', 'transformers') if m in sys.modules])"
        )
        assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"

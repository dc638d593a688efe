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
    "NULs": "\0" * 3000 + " river",
    "half characters": "\ud800 river " * 200,
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


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_text_is_read_as_passage_title_and_question(reader, text):
    for question, passage in ((text, Passage("the river")), ("who", Passage(text)), ("who", Passage("a", title=text))):
        reading = reader.read(question, [passage])
        if reading.start is not None:
            assert passage.text[reading.start : reading.end].split() == reading.text.split(" ")


def test_a_long_passage_is_read_to_its_end(reader):
    passage = Passage("the river . " * 3000)
    assert reader.read("where", [passage]).text is not None


def test_missing_folder_is_an_error(tmp_path):
    with pytest.raises(MissingError, match=r"The folder .*none does not exist"):
        EmbeddedReader(EmbeddedReader.Options(model=tmp_path / "none"))


@shipped
class TestShipped:
    """The packaged model."""

    @pytest.fixture
    def reader(self):
        return EmbeddedReader(EmbeddedReader.Options(threshold=0))  # loaded once: the engine is shared

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Where was Ada Lovelace born?", "London"),
            ("when was ada lovelace born", "10 December 1815"),
            ("How many bakeries does Givron have?", "three"),
        ],
    )
    def test_plain_questions_are_answered(self, reader, question, answer):
        reading = reader.read(question, PASSAGES)
        assert reading.text == answer
        assert PASSAGES[reading.passages[0]].text[reading.start : reading.end] == answer

    def test_documents_that_contradict_each_other_are_both_shown(self, reader):
        text = "The bridge over the river Kesh was opened in {}."
        documents = [Passage(text.format(year), source=f"{year}.txt") for year in (1913, 1931)]
        reading = reader.read("When was the bridge over the Kesh opened?", documents)
        shown = {reading.text, *(rival.text for rival in reading.rivals)}
        assert shown - {None} == {"1913", "1931"}

    def test_the_part_that_answers_is_quoted_first(self, reader):
        best, *_ = reader.quote("Where was Ada Lovelace born?", PASSAGES)
        quote = PASSAGES[best.passage].text[best.start : best.end]
        assert quote in (PASSAGES[1].text, PASSAGES[2].text)
        assert PASSAGES[best.passage].text[slice(*best.highlight)] == "London"

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


@shipped
@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (
            "How much does the hall cost?",
            ["The rent of the hall is 5,850 crowns.", "The fee for its key is 110 crowns."],
        ),
        (
            "After what time can I leave?",
            ["After 4 years you can take a sabbatical leave.", "You can leave after a notice of 5 weeks."],
        ),
    ],
)
def test_quantities_of_different_matters_do_not_contradict(question, passages):
    found = [Passage(text, title=f"Page {number}", source=f"{number}.md") for number, text in enumerate(passages)]
    reading = EmbeddedReader(EmbeddedReader.Options()).read(question, found)
    assert len(reading.rivals) + (reading.text is not None) == 1


@shipped
def test_different_values_of_one_quantity_contradict():
    texts = ["The lighthouse at Skerry Point was built in 1817.", "Skerry Point Lighthouse was built in 1871, in June."]
    found = [Passage(text, title=f"Page {number}", source=f"{number}.md") for number, text in enumerate(texts)]
    reading = EmbeddedReader(EmbeddedReader.Options()).read("When was the lighthouse at Skerry Point built?", found)
    sides = [reading.text, *(rival.text for rival in reading.rivals)]
    assert {"1817", "1871"} <= set(sides)


@shipped
@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("Wer baute den Leuchtturm?", "Der Leuchtturm wurde von Ada Quill gebaut.", "de"),
        ("من بنى المنارة", "The lighthouse was built by Ada Quill, and it is still there.", "ar"),
        ("Who built it?", "Маяк построила Ада Куилл в 1871 году, и он стоит до сих пор.", "ru"),
    ],
)
def test_nothing_is_asserted_in_a_language_that_the_model_was_not_calibrated_for(question, text, language):
    reader = EmbeddedReader(EmbeddedReader.Options(threshold=0))
    reading = reader.read(question, [Passage(text, title="Notes")])
    assert reading.text is None and reading.rivals == () and f"(but {language})" in reading.reason
    assert reader.quote(question, [Passage(text)])


@shipped
@pytest.mark.parametrize("question", ["traefik log level default?", "Skerry Point 1871?"])
def test_a_short_english_question_is_not_silenced(question):
    reading = EmbeddedReader(EmbeddedReader.Options(threshold=0)).read(question, PASSAGES)
    assert "language" not in reading.reason


@shipped
def test_the_words_of_the_question_are_no_answer():
    packaged = EmbeddedReader(EmbeddedReader.Options())
    passage = Passage("How much does a wash cost\n\nA wash costs money.", title="Laundry")
    question = "How much does a wash cost?"
    reading = packaged.read(question, [passage])
    assert not any("How" in (each.text or "") for each in (reading, *reading.rivals))
    assert all(each.highlight and each.highlight[0] > 25 for each in packaged.quote(question, [passage]))

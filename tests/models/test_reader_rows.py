"""Generated training rows: answers are in their passages, and unanswerable questions have none."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path

import pytest

from robust_qa import InputError

pytest.importorskip("rqa_train", reason="needs robust-qa-train: pip install -e plugins/lab/train")
from reader_rows import invented
from reader_rows.cloze import cloze_rows
from reader_rows.invented import invented_rows
from reader_rows.mixture import cropped
from reader_rows.people import people_rows
from reader_rows.published import clean, held_out, qamr_rows, sentence_rows
from rqa_train.reader.neighbours import Neighbours, near_rows
from rqa_train.reader.rows import Row, load_rows

ADA = {
    "title": "Ada Brown (singer)",
    "text": "Ada Brown (May 1, 1890 – March 31, 1950) was an American blues singer. "
    "She was born in Kansas City, Kansas. "
    'Brown died in Chicago, Illinois. She recorded the song "Evil Mama Blues" in 1923. '
    "She studied at Lincoln University.",
}
MAE = {
    "title": "Mae Brown",
    "text": "Mae Brown (1935-1973) was the first deaf-blind Canadian to earn a degree. She graduated in 1972.",
}


def asked(rows, words):
    return [row for row in rows if words in row.question.lower()]


@pytest.fixture(scope="module")
def people():
    return [row for seed in range(20) for row in people_rows([ADA, MAE], random.Random(seed), absent=0.5)]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("profession", "blues singer"),
        ("where was ada brown born", "Kansas City, Kansas"),
        ("where did ada brown die", "Chicago, Illinois"),
        ("when did ada brown die", "March 31, 1950"),
        ("nationality", "American"),
        ("alma mater", "Lincoln University"),
        ("who sang", "Ada Brown"),
    ],
)
def test_rules_find_their_answers(people, words, answer):
    found = [row for row in asked(people, words) if row.answers]
    assert found
    assert {row.answers[0] for row in found} == {answer}


def test_answers_are_at_their_offsets(people):
    for row in people:
        if row.start is not None:
            assert row.context[row.start :].startswith(row.answers[0])
        elif row.answers:
            assert row.answers[0] in f"{row.title} {row.context}"


def test_unanswerable_questions_use_namesakes(people):
    assert any(not row.answerable and row.title == "Mae Brown" and "ada" in row.question.lower() for row in people)


def test_unanswerable_rows_lack_the_answer(people):
    answers = {row.question.lower(): row.answers[0] for row in people if row.answers}
    for row in people:
        if not row.answerable and row.question.lower() in answers:
            assert answers[row.question.lower()].lower() not in row.context.lower()


def test_the_same_seed_makes_the_same_rows():
    def rows(seed):
        rng = random.Random(seed)
        return [*people_rows([ADA, MAE], rng), *cloze_rows([ADA, MAE], rng), *invented_rows(50, rng)]

    assert rows(3) == rows(3)
    assert rows(3) != rows(4)


def test_a_cloze_question_lacks_its_answer():
    for seed in range(30):
        for row in cloze_rows([ADA, MAE], random.Random(seed)):
            if row.answers:
                assert row.answers[0].lower() not in row.question.lower()
                assert row.context[row.start :].startswith(row.answers[0])


def test_invented_answers_are_in_their_passages():
    rows = list(invented_rows(400, random.Random(5)))
    assert 0.3 < sum(not row.answerable for row in rows) / len(rows) < 0.6
    for row in rows:
        if row.answerable:
            assert row.context[row.start :].startswith(row.answers[0])


def test_every_invented_fact_is_usable():
    source = tomllib.loads(Path(invented.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for kind in source["kind"]:
        known = {"x", *kind["slots"]}
        for fact in kind["facts"]:
            for slot, questions in fact["ask"].items():
                assert any(f"{{{slot}}}" in told for told in fact["tell"]), slot
                assert all(f"{{{slot}}}" not in question for question in questions), slot
            texts = [*fact["tell"], *(question for each in fact["ask"].values() for question in each)]
            assert {name for text in texts for name in re.findall(r"\{(\w+)\}", text)} <= known


def test_cropping_keeps_the_answer():
    text = ADA["text"]
    row = Row("where was she born", text, "Ada", ["Kansas City, Kansas"], text.index("Kansas City"))
    for seed in range(30):
        short = cropped(row, random.Random(seed), share=1.0)
        assert len(short.context) < len(text)
        assert short.context[short.start :].startswith("Kansas City, Kansas")


QAMR = (
    '{"id": "W:w:1:2:%d/1.0", "question": "What did the tall painter eat near %s?", '
    '"context": "%s", "answer": "%s", "answer_start": 0}'
)


@pytest.fixture
def qamr(tmp_path):
    lines = [
        QAMR % (n, f"lake {n}", f"Bread{n} was eaten near lake {n} by the painter.", f"Bread{n}") for n in range(200)
    ]
    path = tmp_path / "qamr.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_held_out_sentences_are_not_in_the_training_rows(qamr):
    kept = list(qamr_rows(qamr, random.Random(1), held=True))
    trained = list(qamr_rows(qamr, random.Random(1), held=False))
    sentences = {sentence + "." for row in kept for sentence in row.context.split(". ") if row.answers}
    assert len(kept) < len(trained) / 4
    assert sentences
    assert all(held_out(sentence.replace("..", ".")) for sentence in sentences)
    assert not any(sentence in row.context for row in trained for sentence in sentences)


def test_qamr_answers_are_found_in_paragraphs_of_several_sentences(qamr):
    rows = [row for row in qamr_rows(qamr, random.Random(1), held=False) if row.answers]
    assert any(row.context.count(".") > 1 for row in rows)
    assert all(row.context[row.start :].startswith(row.answers[0] + " ") for row in rows)


def test_paired_sentences_give_a_range_or_a_number(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        '{"question": "in what year did he leave ?", "sentence": "he left in 1817 , they say ."}\n'
        '{"question": "what did he love ?", "sentence": "he loved the city \'s bread ."}\n'
    )
    held = held_out("he left in 1817, they say.")
    rows = list(sentence_rows(path, random.Random(2), held=held, absent=0.0))
    assert not list(sentence_rows(path, random.Random(2), held=not held, absent=0.0))
    assert rows[0].answers == ["1817"]
    begin, end = rows[1].within
    assert rows[1].context[begin:end] == "he loved the city's bread."


def test_tokenised_text_is_joined_again():
    assert clean("the club -lrb- afc -rrb- won , 24 -- 10 , at levi 's .") == "the club (afc) won, 24 – 10, at levi's."


def test_the_nearest_texts_share_rare_words():
    index = Neighbours(["the cat sat here", "the zebra ran here", "the cat ran here", "nothing"])
    assert index.nearest("where was the zebra", 2)[0] == 1
    assert index.nearest("quite different", 2) == []


def test_near_rows_use_similar_passages_of_other_rows():
    told = [Row(f"who built the {name} bridge", f"The {name} bridge stands.", "Bridges", [name]) for name in "abcdef"]
    rows = [*told, Row("how high is mount fuji", "Mount Fuji is in Japan.", "", ["Japan"])]
    found = list(near_rows(rows, random.Random(1), share=1.0))
    assert [row.question for row in found] == [row.question for row in told]  # nothing is near the mountain
    own = {row.question: row.context for row in rows}
    assert all(row.unlabelled and not row.answers and own[row.question] != row.context for row in found)
    assert {row.context for row in found} <= {row.context for row in told}
    assert 0 < len(list(near_rows(told * 20, random.Random(1), share=0.5))) < 120


def test_topic_replaces_a_missing_title():
    texts = ["The heavy metals sink.", "They eat heavy metals.", "Some metals float.", "It rains here."]
    assert Neighbours([*texts, "Other words."]).topic(texts[:3]) in ("Heavy Metals", "Metals", "Heavy")
    assert Neighbours(texts).topic(["once alone"]) == ""


def test_rows_accept_every_spelling_of_answers(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"question": "q", "context": "Ada was born in London.", "answer": "london"}\n\n'
        '{"question": "q", "context": "Ada was born in London.", "answers": ["London", "UK"], "answer_start": 16}\n'
        '{"question": "q", "context": "Nothing here.", "answer": null, "title": "T"}\n'
        '{"question": "q", "context": "born in London", "title": "Ada", "answer": "Ada"}\n'
    )
    first, second, third, fourth = load_rows(path)
    assert (first.answers, first.start, first.answerable) == (["london"], None, True)
    assert (second.answers, second.start) == (["London", "UK"], 16)
    assert not third.answerable
    assert fourth.answerable


def test_answers_are_stripped(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "context": "in  Paris .", "answers": ["  Paris ", " Paris"], "answer_start": 2}')
    assert [(row.answers, row.start) for row in load_rows(path)] == [(["Paris", "Paris"], 4)]


def test_byte_order_mark_is_ignored(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "context": "c", "answers": []}\n', encoding="utf-8-sig")
    assert [row.question for row in load_rows(path)] == ["q"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "q"}', "context"),
        ('{"question": "q", "context": "abc", "anwser": "abc"}', 'no "answer"'),
        ("not json", "not a training row"),
        ('{"question": "q", "context": "abc", "answer": "xyz"}', "'xyz' is not in the context"),
        ('{"question": "q", "context": "abc abc", "answer": "abc", "answer_start": 3}', "is not in the context"),
        ('{"question": "q", "context": "\\ud800", "answer": 3}', "training row"),
    ],
)
def test_invalid_row_is_an_error_with_its_line(tmp_path, line, message):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "context": "c", "answer": null}\n' + line + "\n")
    with pytest.raises(InputError, match=r"rows\.jsonl:2") as caught:
        list(load_rows(path))
    assert message in caught.value.message
    assert '"answer"' in caught.value.hint

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_activerag.parsing import Correction, Revision, parse_revision, parse_thought, references

_LINES = """CORRECTION|before: x|after: y|documents: 1, 99|DOCUMENTS: none|THOUGHT: z|Final answer:|answer: w|---|
    ```json|<<<ANSWER>>>|<<</ANSWER>>>|{"answer": 1e999|{"corrections": [|{"before": "x", "after": "y"}|]}|},|[1, 2]|
    The answer is|I don't know|<think>"""
replies = st.lists(st.one_of(st.sampled_from([line.strip() for line in _LINES.split("|")]), st.text(max_size=9)))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


def check(reply: str) -> None:
    for structured in (False, True):
        revision = parse_revision(reply, 5, structured=structured)
        assert len(revision.answer) <= 4000
        for numbers in (revision.documents, *(correction.documents for correction in revision.corrections)):
            assert set(numbers) <= set(range(1, 6))
    assert len(parse_thought(reply).answer) <= 4000
    assert set(references(reply, 5)) <= set(range(1, 6))


def test_a_long_thought_keeps_its_end_where_the_answer_stands() -> None:
    thought = parse_thought("So it goes on. " * 1000 + "<<<ANSWER>>> Jane Austen <<</ANSWER>>>")
    assert thought.text.endswith("Answer: Jane Austen") and thought.answer == "Jane Austen"


@given(replies.map("\n".join))
def test_no_reply_makes_a_parser_raise_or_point_outside_the_pool(reply: str) -> None:
    check(reply)


@given(values, values, values)
def test_no_json_value_in_the_place_of_another_does_either(one: object, two: object, three: object) -> None:
    correction = {"before": one, "after": two, "documents": three}
    check(json.dumps({"corrections": [correction, one], "thought": two, "documents": one, "answer": three}))
    check(json.dumps({"corrections": one, "answer": two}))


@pytest.mark.parametrize("reply", ["<<<ANSWER>>> Jane Austen <<</ANSWER>>>", "<<ANSWER>> Jane Austen <</ANSWER>>"])
def test_a_thought_is_the_whole_reply_and_its_answer(reply: str) -> None:
    thought = parse_thought(f"Austen wrote novels.\n{reply}")
    assert (thought.text, thought.answer) == ("Austen wrote novels.\nAnswer: Jane Austen", "Jane Austen")


def test_labels_may_end_in_a_full_width_colon() -> None:
    reply = "Corrections：\nBefore：Mary\nAfter：Jane\nDocuments：1\nThought：So.\nDocuments：2\nAnswer：Jane"
    expected = Revision("Jane", "So.", (Correction("Mary", "Jane", (1,)),), (2,))
    assert parse_revision(reply, 5, structured=False) == expected


def test_a_field_ends_at_a_mark_of_two_brackets_too() -> None:
    reply = "Thought: So.\n<<ANSWER>> Jane <</ANSWER>>"
    assert parse_revision(reply, 5, structured=False) == Revision("Jane", "So.")


def test_a_thought_keeps_what_stands_in_marks_of_its_own() -> None:
    thought = parse_thought("Kay <<<Austen>>> it was.\n<<<Jane Austen>>>")
    assert (thought.text, thought.answer) == ("Kay <<<Austen>>> it was.\n<<<Jane Austen>>>", "Jane Austen")


def test_a_thought_that_declines_has_no_answer() -> None:
    assert parse_thought("Hm.\n<<<ANSWER>>> I don't know <<</ANSWER>>>").answer == ""


@pytest.mark.parametrize(
    ("named", "documents", "removed"),
    [
        ("1, 3", (1, 3), 0),
        ("Documents 2-4", (2, 3, 4), 0),
        ("none", (), 0),
        ("3, 1, 3", (3, 1), 0),
        ("0, 7, -2", (), 2),  # -2 is no number of a document at all
        ("4-9", (4,), 1),
        ("[1.0, 2]", (1, 2), 0),
    ],
)
def test_documents_are_named_in_many_ways(named: str, documents: tuple[int, ...], removed: int) -> None:
    revision = parse_revision(f"DOCUMENTS: {named}\nANSWER: x", 5, structured=False)
    assert (revision.documents, revision.removed) == (documents, removed)


@pytest.mark.parametrize("written", ["**Jane** Austen", "<<<Jane>>> Austen"])
def test_stars_and_made_up_marks_are_no_part_of_an_answer(written: str) -> None:
    assert parse_revision(f"<<<ANSWER>>> {written} <<</ANSWER>>>", 5, structured=False).answer == "Jane Austen"


def test_knowledge_refers_to_documents_in_square_brackets_alone() -> None:
    assert references("In 1871 [2] the tower [1, 3] stood; 4 men died [9] [sic].", 4) == (2, 1, 3)


def test_each_before_begins_a_correction_and_fields_run_on() -> None:
    reply = (
        "CORRECTION 1\n- **Before:** It was\nMary.\n- **After:** It was Jane.\n- **Documents:** 1\n\n"
        "CORRECTION 2\nbefore: 1818\nafter: 1815\ndocuments: 2, 8\n\n"
        "THOUGHT: Jane wrote it\nin 1815.\nDOCUMENTS: 1, 2\nANSWER: Jane"
    )
    assert parse_revision(reply, 3, structured=False) == Revision(
        answer="Jane",
        thought="Jane wrote it in 1815.",
        corrections=(Correction("It was Mary.", "It was Jane.", (1,)), Correction("1818", "1815", (2,))),
        documents=(1, 2),
        removed=1,
    )


@pytest.mark.parametrize("after", ["", "none", "the same"])
def test_a_correction_that_changes_nothing_is_none(after: str) -> None:
    reply = f"before: the same\nafter: {after}\nANSWER: Jane"
    assert parse_revision(reply, 3, structured=False).corrections == ()


def test_what_was_missing_is_a_correction_of_nothing() -> None:
    reply = json.dumps({"corrections": [{"after": "It came out in 1815.", "documents": [1]}], "answer": "1815"})
    assert parse_revision(reply, 3, structured=True).corrections == (Correction("", "It came out in 1815.", (1,)),)


def test_a_long_answer_is_cut() -> None:
    answer = parse_revision("word " * 1000, 3, structured=False).answer
    assert len(answer) == 4000 and answer.endswith("…")

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_astute.parsing import (
    Consolidated,
    Group,
    Verdict,
    confidences,
    parse_consolidation,
    parse_memory,
    parse_verdict,
)

_LINES = """documents: 1, 3|documents: none|GROUP|summary: x|answer: y|confidence: high|REASON: z|text: w|---|```json|
    <<<ANSWER>>>|<<</ANSWER>>>|<<<PASSAGE>>>|{"groups": [|{"documents": [1, 99]|"answer": 1e999|}]}|},|<think>|</think>|
    I don't know|Final answer:|confidence: 0|confidence: 850|confidence: 0/0"""
replies = st.lists(st.one_of(st.sampled_from([line.strip() for line in _LINES.split("|")]), st.text(max_size=9)))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


def check_all(reply: str) -> None:
    for structured in (False, True):
        verdict = parse_verdict(reply, 5, structured=structured)
        for group in verdict.groups if verdict else ():
            assert set(group.documents) <= set(range(1, 6))
            assert group.confidence is None or 0 <= group.confidence <= 1
    for document in parse_consolidation(reply, 5) or ():
        assert document.text
        assert set(document.documents) <= set(range(1, 6))
    assert len(parse_memory(reply, 2)) <= 2


@given(replies.map("\n".join))
def test_no_reply_makes_a_parser_raise_or_point_outside_the_pool(reply: str) -> None:
    check_all(reply)


@given(values, values, values)
def test_no_json_value_in_the_place_of_another_does_either(documents: object, text: object, other: object) -> None:
    part = {"documents": documents, "answer": text, "text": text, "summary": other, "confidence": other}
    check_all(json.dumps({"groups": [part, other], "consolidated": [part, other], "passages": [text], "answer": other}))
    check_all(json.dumps({"groups": other, "consolidated": other, "passages": other, "answer": text}))


def documents(named: object) -> tuple[tuple[int, ...], int]:
    reply = json.dumps({"groups": [{"documents": named, "answer": "x"}], "answer": "x"})
    verdict = parse_verdict(reply, 5, structured=True)
    assert verdict is not None
    return verdict.groups[0].documents, verdict.groups[0].removed


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ([1, 3], (1, 3)),
        ("1, 3", (1, 3)),
        (["1", "Doc 3"], (1, 3)),
        ("[1] and [3]", (1, 3)),
        ("2-4", (2, 3, 4)),
        ([3, 1, 3], (3, 1)),
        (2, (2,)),
        (2.0, (2,)),
        ("none", ()),
        (None, ()),
    ],
)
def test_documents_are_named_in_many_ways(named: object, found: tuple[int, ...]) -> None:
    assert documents(named) == (found, 0)


@pytest.mark.parametrize(
    ("named", "removed"),
    [([0, 6], 2), ("Doc 7", 1), (["Wikipedia"], 1), ("4-9", 2), ([-1], 1), ([1.5], 1), ("9" * 6000, 1)],
)
def test_names_of_no_document_are_counted(named: object, removed: int) -> None:
    assert documents(named) == ((), removed) if named != "4-9" else ((4,), 1)


@pytest.mark.parametrize("answer", ["unknown", "I don't know.", "Not mentioned", None])
def test_a_group_that_says_it_is_not_known_has_no_answer(answer: str | None) -> None:
    reply = json.dumps({"groups": [{"documents": [1], "answer": answer}, {"documents": [2], "answer": "Paris"}]})
    verdict = parse_verdict(reply, 5, structured=True)
    assert verdict is not None
    assert [group.answer for group in verdict.groups] == ["", "Paris"]


def test_labels_may_end_in_a_full_width_colon() -> None:
    reply = "Group 1：\nDocuments：1，2\nSummary：s\nAnswer：Paris\nConfidence：0.9\n<<ANSWER>> Paris <</ANSWER>>"
    verdict = parse_verdict(reply, 5, structured=False)
    assert verdict == Verdict((Group((1, 2), "Paris", 0.9, "s"),), "Paris")


def test_a_field_ends_at_a_mark_of_two_brackets_too() -> None:
    reply = "Documents: 1\nAnswer: Paris\nReason: So.\n<<ANSWER>> Paris <</ANSWER>>"
    verdict = parse_verdict(reply, 5, structured=False)
    assert verdict == Verdict((Group((1,), "Paris"),), "Paris", "So.")


@pytest.mark.parametrize(
    ("value", "share"),
    [
        (0.9, 0.9),
        ("0.9", 0.9),
        ("90%", 0.9),
        ("about 90 %.", 0.9),
        (90, 0.9),
        (9, 0.9),
        ("9/10", 0.9),
        ("0,9", 0.9),
        ("High", 0.9),
        ("very low", 0.1),
        ("high (3 documents agree)", 0.9),
        ("Very high, confirmed by 2 independent documents", 0.95),
        ("high: 85%", 0.85),
        ("High, 2 documents, 0.85", 0.85),
        ("9 (very high, 3 documents)", 0.9),
        (1, 1.0),
        (0, 0.0),
    ],
)
def test_a_confidence_is_written_in_many_ways(value: object, share: float) -> None:
    assert confidences([value]) == [pytest.approx(share)]


def test_confidences_of_one_verdict_are_on_one_scale() -> None:
    assert confidences([9, 1]) == [0.9, 0.1]
    assert confidences([95, 9, "50%"]) == [0.95, 0.09, 0.5]
    assert confidences([0.9, 0.5, 5]) == [0.9, 0.5, 0.5]
    assert confidences(["high (3 documents agree)", "medium"]) == [0.9, 0.6]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "unsure",
        -1,
        101,
        float("nan"),
        float("inf"),
        "11/10",
        "150%",
        [1],
        10**400,
        "uncertain",
        "highly unlikely",
        "not certain",
        "0/0",
        "0 out of 0",
    ],
)
def test_what_is_no_confidence_is_none(value: object) -> None:
    assert confidences([value]) == [None]


def test_beside_a_number_on_no_scale_a_whole_one_is_no_confidence() -> None:
    assert confidences([0, "850", "50%"]) == [None, None, 0.5]


JANE, MARY = Group((1, 4), "Jane Austen", 0.9, "By Austen."), Group((2,), "Mary Shelley", 0.2)
WILD = {
    "another order": "answer: Jane Austen\ndocuments: 1, 4\nsummary: By Austen.\nconfidence: 0.9\n\n"
    "answer: Mary Shelley\ndocuments: 2\nconfidence: 0.2",
    "answer last": "summary: By Austen.\nconfidence: 0.9\ndocuments: 1, 4\nanswer: Jane Austen\n"
    "confidence: 0.2\ndocuments: 2\nanswer: Mary Shelley",
    "documents in the heading": "GROUP 1: Documents 1, 4\nsummary: By Austen.\nanswer: Jane Austen\nconfidence: 0.9\n"
    "GROUP 2: Document 2\nanswer: Mary Shelley\nconfidence: low (0.2)",
    "all in the heading": "**Group 1 (Documents 1 and 4):** By Austen.\n- Proposed answer: Jane Austen (confidence 0.9)"
    "\n**Group 2 (Document 2)**\n- Proposed answer: Mary Shelley, Confidence Score: 20%",
    "a table": "| Group | Documents | Summary | Proposed answer | Confidence |\n|---|:---:|---|---|---|\n"
    "| 1 | 1, 4 | By Austen. | **Jane Austen** | 0.9 |\n| 2 | 2 | | Mary Shelley | 0.2 |",
    "the paper's steps": "### Step 1: Consolidate information\n**Group 1 (Documents 1, 4):** By Austen.\n\n"
    "**Group 2: Document 2**\n\n### Step 2: Propose Answers and Assign Confidence\n* **Group 1:**\n"
    "  * Candidate answer: Jane Austen\n  * Confidence score: 90%\n* **Group 2:**\n  * Candidate answer: Mary Shelley\n"
    "  * Confidence score: 20%\n\n### Step 3: Select the Final Answer",
    "reasoned first": "Documents 1 and 4 agree on Austen. Group 2 is one document alone.\nSo I group them.\n\nGROUP\n"
    "documents: 1, 4\nsummary: By Austen.\nanswer: Jane Austen\nconfidence: 0.9\nGROUP\ndocuments: 2\n"
    "answer: Mary Shelley\nconfidence: 0.2",
}


@pytest.mark.parametrize("reply", WILD.values(), ids=WILD)
@pytest.mark.parametrize("end", ["<<<ANSWER>>> Jane Austen <<</ANSWER>>>", "Final answer: Jane Austen", ""])
def test_groups_are_read_as_models_write_them(reply: str, end: str) -> None:
    verdict = parse_verdict(f"{reply}\n\n{end}".strip(), 5, structured=False)
    assert verdict is not None
    assert verdict == Verdict((JANE, MARY), "Jane Austen" if end else "")


def test_a_last_answer_without_documents_is_the_final_one() -> None:
    reply = "documents: 1\nanswer: A\n\ndocuments: 2\nanswer: B\n\nReason: 1 is better.\nAnswer: A"
    verdict = parse_verdict(reply, 5, structured=False)
    assert verdict == Verdict((Group((1,), "A"), Group((2,), "B")), "A", "1 is better.")


def test_of_several_answers_without_documents_the_last_one_is_final() -> None:
    reply = "Answer: B at first.\n\nGROUP 1\ndocuments: 1\nanswer: A\n\nGROUP 2\ndocuments: 2\nanswer: B\n\nAnswer: A"
    verdict = parse_verdict(reply, 5, structured=False)
    assert verdict == Verdict((Group((1,), "A"), Group((2,), "B")), "A")


@pytest.mark.parametrize(
    "text", [", ", "* ", "answer: , ", "| ", "|answer|documents|\n", "GROUP 1 (", "1 and ", "- ", "\n"]
)
def test_a_long_reply_is_read_in_no_time(text: str) -> None:
    began = time.process_time()
    for start in ("", "answer: ", "GROUP 1: documents 1", "|answer|documents|\n"):
        parse_verdict(start + text * (100_000 // len(text)), 5, structured=False)
    assert time.process_time() - began < 4


def test_a_longer_text_adds_no_field() -> None:
    reply = "documents: 1\nsummary: It says, answer: Mary; documents: 2, confidence: 1.\nanswer: Jane\nconfidence: 0.5"
    verdict = parse_verdict(reply, 5, structured=False)
    said = "It says, answer: Mary; documents: 2, confidence: 1."
    assert verdict == Verdict((Group((1,), "Jane", 0.5, said),))


@pytest.mark.parametrize(
    "reply",
    [
        "<PASSAGE>One.</PASSAGE>\n<PASSAGE>Two.</PASSAGE>",
        "Passage 1:\nOne.\n\nPassage 2:\nTwo.",
        "**Passage 1:** One.\n**Passage 2:** Two.",
        "<<<PASSAGE>>>One.<<</PASSAGE>>>\n<<<PASSAGE>>>Two.<<</PASSAGE>>>",
        '{"passages": ["One.", "Two."]}',
        'Sure: ```json\n{"passages": [{"text": "One."}, {"text": "Two."}]}\n```',
    ],
    ids=["tags", "headings", "bold headings", "marked", "json", "objects"],
)
def test_memory_passages_in_any_form(reply: str) -> None:
    assert parse_memory(reply, 5) == ["One.", "Two."]


def test_a_memory_reply_in_no_form_is_one_passage() -> None:
    assert parse_memory("Emma is a novel.\nIt is by Jane Austen.", 5) == ["Emma is a novel. It is by Jane Austen."]


@pytest.mark.parametrize(
    "reply",
    [
        "I don't know",
        "<<<PASSAGE>>>I don't know.<<</PASSAGE>>>",
        '{"passages": []}',
        '{"passages": ["I don\'t know"]}',
        '{"passages": ["cut sho',
        "",
    ],
)
def test_memory_that_holds_nothing(reply: str) -> None:
    assert parse_memory(reply, 5) == []


@pytest.mark.parametrize(
    "reply",
    [
        "documents: 1, 2\ntext: One,\nand more.\n\ndocuments: 4\ntext: Two.",
        '{"consolidated": [{"documents": [1, 2], "text": "One, and more."}, {"documents": [4], "text": "Two."}]}',
        "text: One, and more.\ndocuments: 1, 2\n\ntext: Two.\ndocuments: 4",
        '```\n{"documents": "1, 2", "text": "One, and more."}\n{"documents": "4", "text": "Two."}\n```',
    ],
    ids=["text", "json", "another order", "an object a line"],
)
def test_consolidated_documents_in_any_form(reply: str) -> None:
    assert parse_consolidation(reply, 5) == [Consolidated("One, and more.", (1, 2)), Consolidated("Two.", (4,))]

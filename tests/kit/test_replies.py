import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa.kit import (
    between,
    declines,
    named_documents,
    one_line,
    parse_object,
    parse_objects,
    says_unknown,
    without_thoughts,
)

# Text made of what the parsers look for comes closer to their edges than any text does.
_PIECES = r"""{ } [ ] " \ , : ``` <<< A <<<A>>> <<</A>>> <think> </think> "a" 1e999 NaN I don't know""".split(" ")
hostile = st.lists(st.sampled_from([*_PIECES, "\n", "\x00", "\ud800", "9" * 5000])).map("".join)


@given(st.one_of(st.text(), hostile))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    assert isinstance(parse_objects(text), list)
    assert parse_object(text, "a") is None or "a" in parse_object(text, "a")
    assert all(block in text for block in between(text, "A"))
    assert without_thoughts(text) in text
    assert declines(text) in (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "\u00a0",
        "I don't know",
        "None.",
        "Unknown. The documents do not say.",
        "UNKNOWN because no document says it",
        "not in the passages",
        "It is not mentioned in the provided context.",
        "The documents do not say who it was.",
        "The provided documents do not contain this information.",
        "Based on the context, I don't know.",
        "None of the documents mention it.",
        "It cannot be determined from the documents.",
        "Not enough information.",
    ],
)
def test_an_answer_field_may_say_that_there_is_none(answer: str) -> None:
    assert says_unknown(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "0",
        "Nonesuch Palace",
        "None of the Above",
        "No Country for Old Men",
        "not found in Antarctica",
        "Unknown Pleasures",
        "Unknown: Killer Robots",
        "The Documents in the Case",
    ],
)
def test_an_answer_that_begins_like_none_is_one(answer: str) -> None:
    assert not says_unknown(answer)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ([1, 3], ((1, 3), 0)),
        ("Doc-3", ((3,), 0)),
        (["Document 1", "2.0"], ((1, 2), 0)),
        ("-1", ((), 1)),
        ("1-3, 9", ((1, 2, 3), 1)),
        (["Wikipedia"], ((), 1)),
        ("none of the 3 documents", ((), 0)),
        ("none (1-3 are about another city)", ((), 0)),
        ("No. 3", ((3,), 0)),
        (None, ((), 0)),
    ],
)
def test_documents_are_named_in_many_ways(named: object, found: tuple[tuple[int, ...], int]) -> None:
    assert named_documents(named, 5) == found


def test_runs_of_spaces_are_parsed_quickly() -> None:
    began = time.process_time()
    for text in (" " * 200_000 + "x", "<<<" + " " * 200_000, "<" * 200_000, "<<<a" * 50_000, "x" + "*" * 200_000 + "x"):
        named_documents(text, 5)
        one_line(text)
        for opening in ("", "Sorry", "Unknown", "It is not stated", "None of the", "no"):
            says_unknown(opening + text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("**a** <<<ANSWER>>>\n b", "a b"),
        ("a <<< / answer >>>", "a"),
        ("<<<ANSWER>>>", ""),
        ("<<<Paris>>>", "Paris"),
        ("Paris**.", "Paris."),
        ("2**3 is 8", "2**3 is 8"),
    ],
)
def test_a_field_is_one_line_without_marks(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_field_has_no_characters_that_steer_a_terminal() -> None:
    assert one_line("a\x1b[2Jb\u202ec") == "a[2Jbc"


def test_deep_nesting_is_no_object_and_no_crash() -> None:
    assert parse_object('{"a":' * 5000) is None


def test_invalid_objects_are_rejected_quickly() -> None:
    numbers = '{"a":' * 900 + "[" + "1," * 50_000
    began = time.process_time()
    for text in ('{"a":' * 40_000, '{"a":[' * 40_000, "{" * 200_000, '{"' * 100_000, "{\n" * 100_000, numbers):
        assert parse_objects(text) == []
    for text in (" " * 200_000 + "x", "<think" * 50_000, "<|channel|>" * 20_000):
        without_thoughts(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2]}',
        'Here you are: {"a": [1, 2]} I hope it helps.',
        '{"a": [1, 2,],}',
        '[{"a": [1, 2]}]',
        '{"a": 0}\nOn second thoughts:\n{"a": [1, 2]}',
        r'"{\"a\": [1, 2]}"',
        '```json\n"{\\"a\\": [1, 2]}"\n```',
    ],
    ids=[
        "bare",
        "in prose",
        "trailing commas",
        "in a list",
        "the last counts",
        "in a string",
        "in a fenced string",
    ],
)
def test_an_object_is_found(text: str) -> None:
    assert parse_object(text, "a") == {"a": [1, 2]}


def test_a_string_keeps_what_looks_like_json_in_it() -> None:
    assert parse_object('{"a": "x,] {\\"a\\": 1}",}', "a") == {"a": 'x,] {"a": 1}'}


def test_of_a_reply_cut_short_the_whole_inner_objects_remain() -> None:
    assert parse_objects('{"groups": [{"a": 1}, {"a": 2}, {"a":') == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<<<A>>> x <<</A>>>", ["x"]),
        ("<<<A>>>x<<</A>>> <<<A>>>y\nz<<</A>>>", ["x", "y\nz"]),
        ("<<< a >>>x<</a>>", ["x"]),
        ("<<<A>>>x <<<A>>>y<<</A>>>", ["y"]),
        ("<<<A>>>x<<</A>>> <<<A>>>y", ["x"]),
        ("<<<A>>> x", ["x"]),
        ("<<<A>>> <<</A>>>", []),
        ("<A>x</A>", []),
    ],
    ids=[
        "one",
        "several",
        "sloppy",
        "anew",
        "a closed one counts",
        "open",
        "blank",
        "a tag that is no mark",
    ],
)
def test_text_between_marks_is_found(text: str, blocks: list[str]) -> None:
    assert between(text, "A") == blocks


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I do not know who wrote it.",
        "I'm sorry, but I can't assist with that request.",
        "I cannot determine the answer from the documents.",
        "I don't have enough information to answer this question.",
        "I am not able to answer this question from the documents.",
        "There isn’t enough information in the documents to answer.",
        "I apologize, but I don't have access to that.",
        "Unfortunately, the documents do not mention her.",
        "As an AI, I do not have personal knowledge of it. But I can look at other documents.",
        "Not available",
        "The available evidence doesn't say who it was.",
        "I don't know the answer, but I can help you with another question.",
        "UNKNOWN. No document says it.",
        "The answer is not known.",
        "UNKNOWN",
        " \n",
    ],
)
def test_a_reply_that_declines(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize(
    "text",
    [
        "I Don't Know How to Love Him",
        "I can't help falling in love with you",
        "I'm Not There",
        "I'm not sure, but I think it is Paris.",
        "Sorry",
        "I apologize to no one",
        "There is no place like home",
        "As an AI researcher, she joined in 1998.",
        "not available in stores before 1998",
        "The documents were signed in 1871.",
        "UNKNOWN: Killer Robots",
        "I don't know the day, but it was in 1871.",
        "The documents do not agree, but the tower was built in 1871.",
        "It is not known who wrote Beowulf, an epic of 3,182 lines.",
        "Unknown Pleasures",
        "None",
    ],
)
def test_a_reply_that_answers(text: str) -> None:
    assert not declines(text)


@pytest.mark.parametrize(
    ("reply", "rest"),
    [
        ("<think>hm</think>\nParis", "Paris"),
        ("hm\n</think>\nParis", "Paris"),
        ("<think>hm", ""),
        ("<reasoning>hm</reasoning>Paris", "Paris"),
        ("<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Paris<|end_of_solution|>", "Paris"),
        ("<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Paris<|END_RESPONSE|>", "Paris"),
        ("<|begin_of_thought|>hm", ""),
        ("<|channel>thought\nhm<channel|>Paris", "Paris"),
        ("[Think] twice", "[Think] twice"),
        ("<thought of the day> Paris", "<thought of the day> Paris"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris", "Paris"),
        ("<|channel|>analysis<|message|>hm", ""),
        ("Paris <think>hm</think>", "Paris <think>hm</think>"),
        ("Paris\n</s> <|im_end|>\n", "Paris"),
        ("Paris<｜end▁of▁sentence｜>", "Paris"),
        ("<think>hm</think>Paris<|eot_id|>", "Paris"),
        ("Paris<|im_end|>\n<|im_start|>user\nAnd Lyon?<|im_end|>", "Paris"),
        ("Paris<|im_end|>The user then asks", "Paris"),
        ("The file ends in <|endoftext|> by design", "The file ends in <|endoftext|> by design"),
        ('The tag "<|im_end|>" ends a turn', 'The tag "<|im_end|>" ends a turn'),
    ],
)
def test_thoughts_before_a_reply_and_end_marks_after_it_are_left_out(reply: str, rest: str) -> None:
    assert without_thoughts(reply) == rest

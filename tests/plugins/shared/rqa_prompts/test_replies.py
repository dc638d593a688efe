import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_prompts import (
    between,
    declines,
    final_answer,
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


def test_runs_of_spaces_are_parsed_quickly() -> None:
    began = time.process_time()
    for text in (" " * 200_000 + "x", "<<<" + " " * 200_000, "<" * 200_000, "<<<a" * 50_000, "x" + "*" * 200_000 + "x"):
        named_documents(text, 5)
        one_line(text)
        for opening in ("", "Sorry", "Unknown", "It is not stated", "None of the", "no"):
            says_unknown(opening + text)
    assert time.process_time() - began < 2


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


def test_of_a_reply_cut_short_the_whole_inner_objects_remain() -> None:
    assert parse_objects('{"groups": [{"a": 1}, {"a": 2}, {"a":') == [{"a": 1}, {"a": 2}]


_LINES = "answer: w|Final answer:|```json|<<<ANSWER>>>|<<</ANSWER>>>|{'answer': 1e999|}|The answer is|<<<x>>>"
texts = st.lists(st.one_of(st.sampled_from(_LINES.split("|")), st.text(max_size=9))).map("\n".join)


@given(texts)
def test_no_reply_makes_it_raise_or_give_more_than_a_line(reply: str) -> None:
    answer = final_answer(reply)
    assert len(answer) <= 4000 and "\n" not in answer


@pytest.mark.parametrize("text", ["so ", "<<<", "<<<x", ", ", "\n.", " answer", '"answer":"', "**", "answer: ", "\n"])
def test_a_long_reply_is_read_quickly(text: str) -> None:
    before = time.process_time()
    final_answer("x" + text * (100_000 // len(text)))
    assert time.process_time() - before < 2

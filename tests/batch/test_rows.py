import json
from typing import Any

import pytest

from robust_qa import Answer, InputError, MissingError, Passage, Question, Step, Usage
from robust_qa.batch.layout import check_rows
from robust_qa.batch.rows import parse_row, read_passages, unread_passages


def ask(row: Any) -> Question:
    return parse_row(json.dumps(row).encode(), 7).question()


def answered(line: bytes, **options: Any) -> str:
    return parse_row(line, 7).answered(Answer("Paris", strategy="rag"), **options).decode()


def test_a_plain_line_is_a_question() -> None:
    assert parse_row(b"  Who is \xc3\xa9? \r", 1).question() == Question("Who is é?")


def test_an_id_is_text_or_a_number_with_all_its_digits() -> None:
    assert ask({"question": "Q", "id": "a"}).id == "a"
    assert ask({"question": "Q", "id": 10**30}).id == "1" + "0" * 30
    assert ask({"question": "Q", "id": None}).id == ""


def test_passages_are_texts_or_objects() -> None:
    whole = {"text": "T", "title": "A", "id": 3, "source": "s", "score": 0.5, "isgold": True}
    row = {"question": "Q", "passages": ["plain", whole, {"text": "U", "title": None, "url": "u", "score": "81.2"}]}
    assert ask(row).passages == (
        Passage("plain"),
        Passage("T", "3", "A", "s", 0.5),
        Passage("U", "", "", "u", 81.2),
    )


def test_a_row_cannot_mark_a_passage_as_memory() -> None:
    assert read_passages(b'{"text": "T", "origin": "memory"}', "f")[0].origin == "external"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"q": "Who?"}', "no `question`; its fields are q"),
        (b'{"query": "Who?", "prompt": "Who?"}', "Several columns may hold the question: query, prompt"),
        (b'{"column":"Q"}\n{"question": "Who?"}', "no `Q`; its fields are question"),
        (b"{}\nWho?", "The row is not JSON"),
        (b'{}\n"Who?"', "The row is JSON, but not an object"),
        (b'{"question": 3}', "must be text, but it is a number"),
        (b'{"question": " "}', "must be text, but it is empty"),
        (b'{"question": "Q", "passages": {"text": "T"}}', "Expected `array | null`, got `object`"),
        (b'{"question": "Q", "passages": [{"title": "T"}]}', "missing required field `text` - at `passages[0]`"),
        (b'{"question": "Q", "passages": [["T"]]}', "got `array` - at `passages[0]`"),
        (b'{"question": "Q"', "not JSON"),
        (b'[{"question": "Q"}]', "The row is JSON, but not an object"),
        (b'[{"question": NaN}]', "The row is JSON, but not an object"),
        (b"[citation needed] Who said that?", "The row is not JSON"),
        (b"{sic} Who said that?", "The row is not JSON"),
        (b'{"question": "\xe9"}', "not UTF-8 text: invalid continuation byte at byte 15"),
        ('{"question": "Q"}'.encode("utf-16-le"), "NUL"),
        (b'{"question":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
    ],
)
def test_an_invalid_row_is_an_error_with_a_reason(line: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_row(line, 7).question()
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (b'[{"question": "Q"}, {', "in.x is a JSON array", "jq -c '.[]' FILE"),
        (b"{\n", "in.x is JSON over several lines", "jq -c . FILE"),
        (b"\xff\xfeq\0", "in.x is UTF-16 text", "iconv"),
    ],
)
def test_an_input_that_can_be_converted_is_an_error_with_a_command(line: bytes, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        check_rows(line, "in.x")
    assert message in caught.value.message and hint in caught.value.hint


@pytest.mark.parametrize(
    ("fields", "told"), [({"ctxs": 1}, "`ctxs`"), ({"passages": 1, "ctxs": 1}, ""), ({"question": 1}, "")]
)
def test_passages_under_another_name_cause_a_warning(fields: dict[str, int], told: str) -> None:
    assert unread_passages(fields).partition(" ")[0] == told


def test_the_fields_of_a_row_come_out_as_they_were_written() -> None:
    fields = '"z":1.10,"question":"\\u00e9","big":123456789012345678901234567890,"e":1e400,"a":[1, {"b" : null}]'
    line = answered(b"{" + fields.encode() + b"}")
    assert line.startswith("{" + fields + ',"row":7,"answer":"Paris"')


def test_fields_with_the_names_of_ours_move_into_input() -> None:
    out = json.loads(answered(b'{"row": 3, "question": "Q", "answer": "old", "input": 1}'))
    assert (out["row"], out["answer"], out["input"]) == (7, "Paris", {"row": 3, "answer": "old", "input": 1})


@pytest.mark.parametrize("name", ["user_input", "query", "prompt", "input", "problem", "Question"])
def test_the_question_has_the_name_of_a_published_format(name: str) -> None:
    assert ask({name: "Who?", "n": 1}) == Question("Who?")


def test_the_output_has_the_question_and_every_field() -> None:
    out = json.loads(answered(b'{"column":"Q"}\n{"question": "Why?", "Q": "Who?", "n": 1}'))
    assert {name: out[name] for name in ("Q", "n", "question", "input")} == {
        "Q": "Who?", "n": 1, "question": "Who?", "input": {"question": "Why?"},
    }  # fmt: skip


def test_nan_and_lone_surrogates_become_valid_json() -> None:
    line = b'{"question": "NaN \\ud800 \\\\ud800 \\ud83d\\ude00", "a": [NaN, -Infinity, "Infinity"], "b": 1.10}'
    assert parse_row(line, 1).question().text == "NaN \ufffd \\ud800 😀"
    out = answered(line)
    assert '"a":[null, null, "Infinity"],"b":1.10' in out and "NaN \\ufffd \\\\ud800 \\ud83d\\ude00" in out


def test_a_huge_incomplete_row_is_refused_quickly() -> None:
    with pytest.raises(InputError, match="not JSON"):
        parse_row(b'{"question": "' + b'\\"' * 1_000_000 + b"\\", 1)


def test_an_abstention_is_null_with_its_reason() -> None:
    out = json.loads(parse_row(b"Where?", 1).answered(Answer(None, reason="No idea.")))
    assert (out["answer"], out["abstained"], out["reason"]) == (None, True, "No idea.")


def test_an_error_names_type_message_row_and_what_to_do() -> None:
    error = MissingError("No index \ud800.", hint="Make one.")
    error.usage = Usage(1, 10, 2)
    out = json.loads(parse_row(b'{"question": "Q", "id": 5}', 7).failed(error))
    expected = {"type": "MissingError", "message": "No index ?.", "row": 7, "hint": "Make one."}
    usage = {"calls": 1, "prompt_tokens": 10, "completion_tokens": 2, "cached": 0, "batched": 0}
    assert out == {"question": "Q", "id": 5, "row": 7, "error": expected, "usage": usage}


def test_passages_are_read_from_json_lines() -> None:
    raw = b'\xef\xbb\xbf{"text": "T", "title": "A"}\n\n{"text": "U\\u2028V", "score": NaN}\n"plain"\n'
    assert read_passages(raw, "p.jsonl") == [Passage("T", title="A"), Passage("U\u2028V"), Passage("plain")]


def test_passages_are_read_from_plain_text_a_paragraph_each() -> None:
    assert read_passages(b"One.\nStill one.\n \nTwo.\n", "p.txt") == [
        Passage("One.\nStill one.", id="1", source="p.txt"),
        Passage("Two.", id="2", source="p.txt"),
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b" \n", "no passages in p"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"text": "T"}\n{"title": "U"}\n', "p, line 2 is not a passage: Object missing required field `text`"),
        (b'["T", 3]', "p, item 2 is not a passage"),
        (b'["T"', "not a JSON array"),
    ],
)
def test_a_file_that_holds_no_passages_says_where(raw: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_passages(raw, "p")
    assert message in caught.value.message
    assert "each line" not in caught.value.hint  # an array has none


def test_a_trace_is_written_without_prompts_and_texts() -> None:
    found = {"id": "7", "title": "T", "text": "long", "score": 0.5, "source": "s"}
    steps = (
        Step("retrieve", "Q", data={"passages": [found], "k": 3}),
        Step("generate", "read", data={"prompt": ["long"], "reply": "Paris"}),
        Step("read", "Q", data={"passages": [1, 2]}),
    )
    line = parse_row(b"Q", 1).answered(Answer("Paris", trace=steps), trace=True)
    assert [step["data"] for step in json.loads(line)["trace"]] == [
        {"passages": [{"id": "7", "title": "T", "score": 0.5}], "k": 3},
        {"reply": "Paris"},
        {"passages": [1, 2]},
    ]

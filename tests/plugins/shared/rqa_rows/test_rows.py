"""The rows of a batch: what is read from them, and what is written."""

import json
from pathlib import Path

import pytest

from robust_qa import InputError, Passage
from robust_qa.answering import read_passages

from .conftest import Batch

NESTED = b'{"question":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def test_an_id_is_a_text_or_a_number_with_all_its_digits(batch: Batch) -> None:
    ids = ['"a"', "1" + "0" * 30, "null"]
    batch("".join(f'{{"question": "Q", "id": {id}}}\n' for id in ids), name="in.jsonl")
    written = Path("out.jsonl").read_text().splitlines()
    assert [line.partition('"id":')[2].partition(",")[0] for line in written] == ids


def test_passages_are_texts_or_objects(batch: Batch) -> None:
    whole = {"text": "T", "title": "A", "id": 3, "source": "s", "score": 0.5, "isgold": True}
    given = ["plain", whole, {"text": "U", "title": None, "url": "u", "score": "81.2"}]
    row = json.dumps({"question": "passages", "passages": given})
    ended = batch(row, "--details", name="in.jsonl")
    assert ended.answers == ["plain + T + U"] and ended.rows[0]["passages"] == given
    [step] = [step for step in ended.rows[0]["trace"] if step["kind"] == "retrieve"]
    assert [passage.get("score") for passage in step["data"]["passages"]] == [0.0, 0.5, 81.2]
    assert [passage.get("id") for passage in step["data"]["passages"]] == ["", "3", ""]
    assert not any("text" in passage for passage in step["data"]["passages"])


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (
            "",
            {
                b'{"q": "Who?"}': "no `question`; its fields are q",
                b'{"query": "Who?", "prompt": "Who?"}': "Several columns may hold the question: query, prompt",
                b'{"question": 3}': "must be text, but it is a number",
                b'{"question": " "}': "must be text, but it is empty",
                b'{"question": "Q", "passages": {"text": "T"}}': "Expected `array | null`, got `object`",
                b'{"question": "Q", "passages": [{"title": "T"}]}': "required field `text` - at `passages[0]`",
                b'{"question": "Q", "passages": [["T"]]}': "got `array` - at `passages[0]`",
                b'{"question": "Q"': "not JSON",
                b'[{"question": "Q"}]': "The row is JSON, but not an object",
                b'[{"question": NaN}]': "The row is JSON, but not an object",
                b"[citation needed] Who said that?": "The row is not JSON",
                b"{sic} Who said that?": "The row is not JSON",
                b'"Who?"': "The row is JSON, but not an object",
                b'{"question": "\xe9"}': "not UTF-8 text: invalid continuation byte at byte 15",
                '{"question": "Q"}'.encode("utf-16-le"): "NUL",
                NESTED: "recursion",
                b'{"question": "' + b'\\"' * 1_000_000 + b"\\": "not JSON",  # refused quickly
            },
        ),
        ("Q", {b'{"question": "Who?"}': "no `Q`; its fields are question"}),
    ],
)
def test_an_invalid_row_is_an_error_with_a_reason(batch: Batch, column: str, rows: dict[bytes, str]) -> None:
    ended = batch(b'{"Q": "a", "question": "a"}\n' + b"\n".join(rows), "--column", column, name="in.jsonl")
    assert ended.code == 3 and ended.answers[0] == "a"
    for error, message in zip(ended.errors[1:], rows.values(), strict=True):
        assert message in error
    assert f"invalid rows: {len(rows)}." in ended.err


@pytest.mark.parametrize(("fields", "told"), [('"ctxs": 1', True), ('"passages": [], "ctxs": 1', False)])
def test_passages_under_another_name_cause_a_warning(batch: Batch, fields: str, told: bool) -> None:
    ended = batch(f'{{"question": "Q", {fields}}}', name="in.jsonl")
    assert ("`ctxs` is not read: passages are in `passages`" in ended.err) == told


def test_the_fields_of_a_row_come_out_as_they_were_written(batch: Batch) -> None:
    fields = '"z":1.10,"question":"\\u00e9","big":123456789012345678901234567890,"e":1e400,"a":[1, {"b" : null}]'
    batch("{" + fields + "}", name="in.jsonl")
    assert Path("out.jsonl").read_text().startswith("{" + fields + ',"row":1,"answer":"é"')


def test_fields_with_the_names_of_ours_move_into_input(batch: Batch) -> None:
    [out] = batch('{"row": 3, "question": "Q", "answer": "old", "input": 1}', name="in.jsonl").rows
    assert (out["row"], out["answer"], out["input"]) == (1, "Q", {"row": 3, "answer": "old", "input": 1})


def test_the_question_has_the_name_of_a_published_format(batch: Batch) -> None:
    names = ["user_input", "query", "prompt", "input", "problem", "Question"]
    ended = batch("".join(f'{{"{name}": "Who?", "n": 1}}\n' for name in names), name="in.jsonl")
    assert ended.answers == ["Who?"] * len(names)


def test_the_output_has_the_question_and_every_field(batch: Batch) -> None:
    [out] = batch('{"question": "Why?", "Q": "Who?", "n": 1}', "--column", "Q", name="in.jsonl").rows
    assert {name: out[name] for name in ("Q", "n", "question", "input", "answer")} == {
        "Q": "Who?", "n": 1, "question": "Who?", "input": {"question": "Why?"}, "answer": "Who?",
    }  # fmt: skip


def test_nan_and_lone_surrogates_become_valid_json(batch: Batch) -> None:
    line = '{"question": "NaN \\ud800 \\\\ud800 \\ud83d\\ude00", "a": [NaN, -Infinity, "Infinity"], "b": 1.10}'
    [out] = batch(line, name="in.jsonl").rows
    assert out["answer"] == "NaN \ufffd \\ud800 😀"
    assert (out["a"], out["b"]) == ([None, None, "Infinity"], 1.1)


def test_an_abstention_is_null_with_its_reason_and_an_error_has_a_hint(batch: Batch) -> None:
    abstained, failed = batch('{"question": "abstain"}\n{"question": "refuse", "id": 5}\n', name="in.jsonl").rows
    assert (abstained["answer"], abstained["abstained"], abstained["reason"]) == (None, True, "No idea.")
    expected = {"type": "RefusedError", "message": "The key is wrong.", "row": 2, "hint": "Store another."}
    usage = {"calls": 1, "prompt_tokens": 10, "completion_tokens": 2, "cached": 0, "batched": 0}
    assert (failed["question"], failed["id"], failed["row"], failed["abstained"]) == ("refuse", 5, 2, None)
    assert (failed["error"], failed["usage"]) == (expected, usage)


def test_every_row_has_the_same_fields_of_rqa(batch: Batch) -> None:
    rows = batch("a\nabstain\nrefuse\n", name="in.txt").rows
    assert len({tuple(row) for row in rows}) == 1 and len(rows) == 3
    assert [(row["conflicts"], row["best_guess"], row["closest"]) for row in rows] == [([], None, [])] * 3


def test_a_row_cannot_mark_a_passage_as_memory() -> None:
    assert read_passages(b'{"text": "T", "origin": "memory"}', "f")[0].origin == "external"


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

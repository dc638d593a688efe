import io
import json

import pytest

from robust_qa import Answer, Citation, Position, Step, Usage
from robust_qa.cli import as_json, explain, output
from robust_qa.kit import printable

ADA = Citation("Ada was born in 1815.", title="Ada", source="ada.md", id="1")
BOOK = Citation("Ada was born in 1816.", title="A book", source="https://example.org/book")
MEMORY = Citation("She was born in 1815.", origin="memory", id="memory-1")


def printed(answer: Answer, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    output.print_answer(answer)
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_answer_then_numbered_sources_on_stdout_and_the_cost_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    answer = Answer("1815", 0.9, (ADA,), strategy="rag", seconds=0.5, usage=Usage(2, 100, 20, cached=1))
    out, err = printed(answer, capsys)
    assert out.splitlines() == ["1815", "", "[1] Ada · ada.md", "    “Ada was born in 1815.”"]
    assert err.strip() == "rag · 2 calls (1 cached) · 100 + 20 tokens · 0.50 s · confidence 0.90"


def test_a_conflict_says_which_sources_say_what(capsys: pytest.CaptureFixture[str]) -> None:
    positions = (Position("1815", 0.8, (ADA, MEMORY), chosen=True), Position("1816", 0.2, (BOOK,)))
    out, _ = printed(Answer("1815", 0.8, (ADA, MEMORY), positions), capsys)
    assert out.splitlines() == [
        "1815",
        "",
        "[1] Ada · ada.md",
        "    “Ada was born in 1815.”",
        "[2] the model's memory",
        "    “She was born in 1815.”",
        "",
        "The sources disagree:",
        "○ 1816 (20%): [3]",
        "  [3] A book · https://example.org/book",
        "      “Ada was born in 1816.”",
    ]


def test_a_probable_answer_comes_with_its_quote_and_further_passages_are_only_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Answer(None, best_guess=Position("1815", 0.6, (ADA,)), closest=(ADA, BOOK), question="When was Ada born?")
    out, _ = printed(answer, capsys)
    assert out.splitlines() == [
        "Probably: 1815 (60%)",
        "",
        "[1] Ada · ada.md",
        "    “Ada was born in 1815.”",
        "",
        "Also found: 1 passage (-v shows it)",
    ]
    output.print_answer(answer, whole=True)
    assert "[2] A book · https://example.org/book\n" in capsys.readouterr().out


def test_a_quote_is_one_line_in_a_pipe_and_wrapped_between_words_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quote = (
        "The lighthouse was built in 1871. " * 3
        + "Is it?\n- It\n- is in /a/path/that/is/longer/than/the/terminal/is/wide"
    )
    answer = Answer("1871", citations=(Citation(quote, source="a.md"),))
    output.print_answer(answer, cost=False)
    assert capsys.readouterr().out.splitlines()[3:] == [f"    “{' '.join(quote.split())}”"]
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "40")
    output.print_answer(answer, cost=False)
    lines = screen.getvalue().splitlines()[3:]
    assert {line[:4] for line in lines} == {"    "} and "    - It" in lines
    assert any("/a/path/that/is/longer/than/the/terminal/is/wide" in line for line in lines)


def test_abstaining_prints_a_plain_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(Answer(None, reason="No passage was found for the question."), capsys)
    assert out.strip() == "No passage was found for the question."


def test_on_a_terminal_an_abstention_says_what_to_do_next_and_a_confidence_stands_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", screen := Screen())
    output.print_answer(Answer(None, closest=(Citation("The keeper sleeps.", source="a.md"),), reason="Not sure."))
    assert "rqa ask --in PATH" in screen.getvalue()
    output.print_answer(Answer("1815", 0.9, (Citation("In 1815.", source="a.md"),), strategy="rag"))
    assert "(90%)" in screen.getvalue() and "confidence" not in screen.getvalue() + capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e[bold]x[/bold]"
    citation = Citation(evil, title=evil, source=evil)
    answer = Answer(evil, 0.5, (citation,), (Position(evil, 0.1, (citation,)),), reason=evil)
    out, err = printed(answer, capsys)
    assert not set("\x1b\x07\u202e") & set(out + err)
    assert "[bold]x[/bold]" in out  # and it is no markup of ours either


def test_ids_and_names_add_no_control_characters_or_lines(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]8;;http://evil\x07x\u202e\nrqa: forged"
    answer = Answer("1815", citations=(Citation("", id=evil),), strategy=evil, trace=(Step("score", "y", evil),))
    output.print_answer(answer)
    explain(answer, verbose=True)
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "[1] ]8;;http://evilx rqa: forged"
    assert not set("\x1b\x07\u202e") & set(err) and not any(line.startswith("rqa:") for line in err.splitlines())


def test_json_is_the_whole_answer(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    answer = Answer("1815", 0.9, (ADA,), details={"groups": [1]}, question="When?", strategy="rag")
    output.print_data(as_json(answer))
    built = json.loads(capsysbinary.readouterr().out)
    assert built["question"] == "When?" and built["answer"] == "1815" and built["abstained"] is False
    assert built["citations"][0]["quote"] == "Ada was born in 1815." and built["details"] == {"groups": [1]}
    assert built["usage"] == {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached": 0, "batched": 0}


def test_json_escapes_control_characters(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    evil = "".join(map(chr, range(0xA1))) + "\u2029\u202a\u202e\u202f\u2065\u2066\u2069\u206a\U000e007f\U000e0080"
    output.print_data(as_json(Answer(evil)))
    written = capsysbinary.readouterr().out
    assert printable(written.decode()) == written.decode()
    assert json.loads(written)["answer"] == evil


def test_explain_shows_calls_passages_replies_and_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    passage = {"text": "Ada\x1b[31m was born in 1815.", "title": "Ada", "score": 1.5}
    steps = (
        Step("retrieve", "When?", "retriever.bm25", 0.0, 0.1, data={"k": 1, "passages": [passage]}),
        Step("generate", "finalise", "reader.local", 0.1, 2.0, Usage(1, 9, 3), True, 2, data={"reply": "1815"}),
        Step("note", "one group", data={"groups": [{"answer": "1815", "documents": [1, 2]}], "dropped": []}),
        Step("score", "2 texts", "evaluator.t5", error="out of memory"),
    )
    explain(Answer("1815", question="When?", strategy="astute", trace=steps), verbose=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    for expected in (
        "retrieve retriever.bm25  0.10 s",
        "1. 1.50  Ada: Ada[31m was born in 1815.",
        "generate reader.local: finalise  9 + 3 tokens · 2.00 s · cached · 2 retries",
        "reply: 1815",
        "→ one group",
        "answer: 1815 · documents: 1, 2",
        "out of memory",
    ):
        assert expected in captured.err
    assert "\x1b" not in captured.err
    assert captured.err.count("When?") == 1
    assert "dropped" not in captured.err  # nothing was


def test_a_files_name_of_several_lines_stays_in_the_line_of_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(Answer("x", citations=(Citation("", title="a\n[2] b", source="a\n[2] b.txt"),)), capsys)
    assert "[1] a [2] b · a [2] b.txt\n" in out


def test_a_terminal_gets_links_to_the_files_of_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    output.print_answer(Answer("4.20", citations=(Citation("", source="/a/b c.html", file="/a/b c.html"),)), cost=False)
    assert "file:///a/b%20c.html\x1b\\" in screen.getvalue()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True

"""Whole questions through the installed command and real engines: tantivy, llama.cpp, HTTP on loopback."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standins.openai import Server, rate_limited, serve

ROOT = Path(__file__).parents[2]
HARBOUR = ROOT / "examples" / "harbour"
QUESTION = "When was the lighthouse at Skerry Point built?"
BASELINES = """answer_refinement chain_of_note compact context_filtering cot cove genread instructrag ircot madra
    robustrag self_consistency self_rag self_route usc""".split()
GROUPS = {
    "groups": [
        {"documents": [1], "summary": "A brochure.", "answer": "1817", "confidence": 0.2},
        {"documents": [2, 3, 77], "summary": "The records.", "answer": "1871", "confidence": 0.9},
    ],
    "reason": "The records agree.",
    "answer": "1871",
}


def ask(installed: str, *arguments: object) -> dict[str, Any]:
    command = [installed, "ask", "--json", *map(str, arguments), QUESTION]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def endpoint(server: Server) -> list[object]:
    return ["--reader", "openai", "-O", "reader.openai.model=m", "-O", f"reader.openai.base_url={server.url}"]


def test_an_empty_setup_prints_the_commands_that_help(installed: str) -> None:
    ended = subprocess.run([installed, "ask", QUESTION], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 4 and ended.stdout == ""
    assert "rqa index" in ended.stderr and "rqa models pull" in ended.stderr


def consolidating(request: dict[str, Any], number: int) -> str:
    if "from your own memory" in str(request["messages"]):
        return json.dumps({"passages": ["The lighthouse at Skerry Point was built in 1871."]})
    if "Rewrite the evidence" in str(request["messages"]):
        return json.dumps({"consolidated": [{"documents": [1], "text": f"Built in 1871, in request {number}."}]})
    return json.dumps(GROUPS)


def test_astute_reports_which_source_says_what(installed: str) -> None:
    with serve(consolidating) as server:
        answer = ask(installed, "-s", "astute", "-d", HARBOUR, *endpoint(server))
    assert (answer["answer"], answer["confidence"], answer["usage"]["calls"]) == ("1871", None, 2)
    assert {position["text"]: position["chosen"] for position in answer["conflicts"]} == {"1871": True, "1817": False}
    assert answer["details"]["citations_removed"] == 1
    assert len(server.requests) == 2


def learning(request: dict[str, Any], _: int) -> str:
    prompt = str(request["messages"])
    if "You have no documents" in prompt:
        return "I believe that it was built in 1817.\n<<<ANSWER>>> 1817 <<</ANSWER>>>"
    if "You study documents" in prompt:
        return "- The records say 1871 [2]."
    correction = {"before": "built in 1817", "after": "built in 1871", "documents": [2]}
    return json.dumps({"corrections": [correction], "thought": "So 1871.", "documents": [2, 77], "answer": "1871"})


def test_activerag_reports_its_corrections(installed: str) -> None:
    with serve(learning) as server:
        answer = ask(installed, "-s", "activerag", "-d", HARBOUR, *endpoint(server))
        again = ask(installed, "-s", "activerag", "-d", HARBOUR, *endpoint(server))
    assert (answer["answer"], answer["usage"]["calls"]) == ("1871", 3)
    assert {position["text"]: position["chosen"] for position in answer["conflicts"]} == {"1871": True, "1817": False}
    (correction,) = answer["details"]["lessons"][0]["corrections"]
    assert (correction["before"], [cited["number"] for cited in correction["citations"]]) == ("built in 1817", [2])
    assert len(server.requests) == 3 and again["usage"]["cached"] == 3  # sampled, with a seed


def test_a_busy_endpoint_is_asked_again(installed: str) -> None:
    with serve(lambda request, n: rate_limited("0") if n < 2 else "Documents: 1\nAnswer: 1871") as server:
        answer = ask(installed, "-s", "rag", "-d", HARBOUR, *endpoint(server))
    assert answer["answer"] == "1871"
    assert [step["retries"] for step in answer["trace"] if step["kind"] == "generate"] == [2]


def test_a_second_run_is_answered_from_the_cache(installed: str) -> None:
    with serve(consolidating) as server:
        ask(installed, "-s", "astute", "-d", HARBOUR, *endpoint(server))
        again = ask(installed, "-s", "astute", "-d", HARBOUR, *endpoint(server))
        assert len(server.requests) == 2 and again["usage"]["cached"] == 2
        ask(installed, "-s", "astute", "-d", HARBOUR, *endpoint(server), "--no-cache")
        assert len(server.requests) == 4


@pytest.mark.parametrize("strategy", ["norag", "rag", "astute", "activerag", "eor", *BASELINES])
def test_every_strategy_survives_the_noise_of_a_random_model(installed: str, strategy: str, tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="needs the extra [llama]")
    from standins.tiny_gguf import write_tiny_gguf

    model = write_tiny_gguf(tmp_path / "tiny.gguf", window=8192)
    options = {"model": model, "max_tokens": 48, "n_threads": 1}
    pairs = [part for key, value in options.items() for part in ("-O", f"reader.llamacpp.{key}={value}")]
    command = [installed, "ask", "--json", "-s", strategy, "-d", HARBOUR, "--reader", "llamacpp", *pairs, QUESTION]
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=120)
    if ended.returncode == 5:  # noise has no end, and is no answer where one is to be marked
        assert "was cut at `max_tokens`" in ended.stderr and "Traceback" not in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    calls = [step for step in answer["trace"] if step["kind"] in ("generate", "continue_text")]
    assert calls and all(call["usage"]["prompt_tokens"] > 0 for call in calls)
    assert answer["usage"]["calls"] == len(calls)

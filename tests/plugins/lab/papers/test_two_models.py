"""One run for a paper: two models, killed twice, continued, scored anew and exported, with a complete record."""

import csv
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from standins.openai import Server, serve
from standins.process import RQA, lines_of, until

QUESTIONS = [f"Who built bridge {n}?" for n in range(40)]
STRATEGIES = ("rag", "rag:small", "astute", "norag:small")
READER = """
[reader.{name}]
plugin = "openai"
base_url = "{url}"
model = "{name}-instruct"
temperature = 0.0
prompt_price = 1.0
completion_price = 2.0
"""


def configured(large: Server, small: Server) -> str:
    readers = READER.format(name="large", url=large.url) + READER.format(name="small", url=small.url)
    paper = "[strategy.astute]\nprompts = 'paper'\nabstain = false\n"
    return f"[defaults]\nreader = 'large'\n[cache]\nenabled = false\n{readers}{paper}"


def asked(servers: Sequence[Server]) -> Counter[str]:
    """How often each question was asked, with its prompts as they are."""
    return Counter(json.dumps(request.body["messages"]) for server in servers for request in server.requests)


def test_a_run_of_two_models_survives_two_kills_and_is_scored_anew_without_a_call(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "bridges.md").write_text("\n\n".join(f"Ada built bridge {n}." for n in range(40)))
    rows = [
        {"question": question, "answers": ["Ada"], "passages": ["Ada built it.", "Bo did."]} for question in QUESTIONS
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def model(answer: str) -> Any:
        return lambda body, n: f"Group 1 (Document 1): {answer}. Confidence: 90%\n<<<ANSWER>>> {answer} <<</ANSWER>>>"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [*RQA, "eval", "rows.jsonl", "-o", "run", "-s", ",".join(STRATEGIES), "-j", "2", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)

    def answers(name: str) -> Path:
        return tmp_path / "run" / "answers" / f"{name.replace(':', '%3A')}.jsonl"

    with serve(model("Ada"), latency=0.02) as large, serve(model("Bo"), latency=0.02) as small:
        (tmp_path / "rqa.toml").write_text(configured(large, small))
        for name, arguments in (("rag:small", ()), ("astute", ("--resume",))):
            process = start(*arguments)
            until(lambda name=name: lines_of(answers(name)) >= 10, process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        _, err = start("--resume").communicate()
        assert (tmp_path / "run" / "metrics.json").exists(), err
        calls = sum(asked((large, small)).values())
        least = len(QUESTIONS) * (1 + 1 + 2 + 1)
        assert least <= calls <= least + 2 * 2 * 2 + 2 * 64  # again at most what was in flight or not yet written
        start("--resume", "--metrics", "contains,em,calls", "--over", "reply").communicate()
        assert sum(asked((large, small)).values()) == calls, "scoring makes no call"

    def report(*arguments: str) -> None:
        subprocess.run([*RQA, "report", "run", *arguments], cwd=tmp_path, check=True, capture_output=True)

    for file in ("table.tex", "table.csv", "page.html"):
        report("-o", file)
    tex = (tmp_path / "table.tex").read_text()
    assert re.search(r"rag & .*100\.0", tex) and re.search(r"rag:small & 0\.0", tex)
    assert "accuracy" not in tex.partition(r"\midrule")[0]  # it was not asked for
    values = {
        row["strategy"]: float(row["value"])
        for row in csv.DictReader((tmp_path / "table.csv").read_text().splitlines())
        if row["metric"] == "contains"
    }
    assert values == {"rag": 1, "rag:small": 0, "astute": 1, "norag:small": 0}

    record = json.loads((tmp_path / "run" / "run.json").read_text())["record"]
    assert {name: one["options"]["model"] for name, one in record["readers"].items()} == {
        "reader.large": "large-instruct",
        "reader.small": "small-instruct",
    }
    assert record["served"] == {"reader.large": ["stand-in"], "reader.small": ["stand-in"]}
    assert ["--resume" in one["command"] for one in record["sessions"]] == [False, True, True, True]
    for session in record["sessions"]:
        assert {"machine", "libraries", "git", "began"} <= session.keys() and session["libraries"]["numpy"]
    assert set(record["strategies"]) == set(STRATEGIES)
    assert record["strategies"]["astute"]["prompts"]["set"] == "paper"
    named = {digest for one in record["strategies"].values() for key, digest in one["prompts"].items() if key != "set"}
    assert named == record["prompts"].keys()


def test_changed_documents_do_not_forbid_to_score_anew(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Ada built the bridge.")
    (tmp_path / "rows.jsonl").write_text('{"question": "Who built the bridge?", "answers": ["Ada"]}')
    command = ("eval", tmp_path / "rows.jsonl", "-d", tmp_path / "docs", "-o", tmp_path / "run", "-s", "rag")
    assert rqa(*command).code == 0
    (tmp_path / "docs" / "a.md").write_text("Bo built the bridge.")
    again = rqa(*command, "--resume", "--metrics", "em")
    assert again.code == 0, again.err
    other = rqa(*command, "--resume", "-s", "corroborate")
    assert other.code == 2 and "documents" in other.err  # a new strategy would be asked about other documents


@pytest.mark.parametrize(("temperature", "told"), [("0", True), ("0.7", False)])
def test_equal_repetitions_are_told_unless_the_model_samples(
    rqa: Any, reader: Any, question_set: Any, temperature: str, told: bool
) -> None:
    with reader(lambda body, n: "<<<ANSWER>>> Ada <<</ANSWER>>>"):
        rows = question_set([{"question": "Who?", "answers": ["Ada"]}])
        options = ("-s", "norag", "--repeat", "3", "-O", f"reader.mind.temperature={temperature}")
        ended = rqa("eval", rows, "-o", "run", *options)
    assert ended.code == 0 and ("All repetitions are equal" in ended.err) == told

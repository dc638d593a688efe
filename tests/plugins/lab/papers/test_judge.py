"""`rqa judge`: the metrics of RAGChecker over a run, and a language model's verdict on each answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from rqa_lab.judging.measures import MEASURES, Judged, Said, Wanted  # private: the formulas by hand

RUN = Path("run")


def test_the_formulas_are_those_of_ragchecker() -> None:
    """Three passages, of which the first two say something right. Five claims of the answer, four of the gold one."""
    judged = Judged(
        [
            Said("right, from the first passage", True, frozenset({0})),
            Said("right, from memory", True, frozenset()),
            Said("wrong, from a passage that also helps", False, frozenset({1, 2})),
            Said("wrong, from one that does not", False, frozenset({2})),
            Said("made up", False, frozenset()),
        ],
        [
            Wanted("a", True, frozenset({0})),
            Wanted("b", False, frozenset({0, 1})),
            Wanted("c", True, frozenset()),
            Wanted("d", False, frozenset()),
        ],
        passages=3,
    )
    expected = {
        "claim-precision": 2 / 5,
        "claim-recall": 2 / 4,
        "claim-f1": 2 * 0.4 * 0.5 / 0.9,
        "context-recall": 2 / 4,
        "context-precision": 2 / 3,
        "context-utilisation": 1 / 2,
        "noise-in-relevant": 1 / 5,
        "noise-in-irrelevant": 1 / 5,
        "hallucination": 1 / 5,
        "self-knowledge": 1 / 5,
        "faithfulness": 3 / 5,
    }
    assert {name: measure(judged) for name, measure in MEASURES.items()} == pytest.approx(expected)
    silent = Judged([], [Wanted("a", False, frozenset({0}))], passages=1)
    found = {name: measure(silent) for name, measure in MEASURES.items()}
    assert (found["claim-recall"], found["claim-f1"]) == (0, 0)
    assert found["claim-precision"] is None and found["faithfulness"] is None


ROWS = [
    {
        "question": "When was the lighthouse built?",
        "answers": ["1871"],
        "passages": ["It was built in 1871.", "It is tall."],
    },
    {"question": "Who was the keeper?", "answers": ["Ann"], "passages": ["The keeper was Bo.", "Sheep graze."]},
]


@pytest.fixture
def evaluated(rqa: Any, reader: Any, question_set: Any) -> None:
    """A run that is right about the first question, and copies a wrong passage for the second."""
    with reader(lambda body, n: f"<<<ANSWER>>> {'1871' if 'built' in str(body) else 'Bo'} <<</ANSWER>>>"):
        assert rqa("eval", question_set(ROWS), "-o", RUN, "-s", "rag").code == 0


def scores() -> list[dict[str, Any]]:
    return [json.loads(line)["scores"] for line in (RUN / "claims.jsonl").read_text().splitlines()]


def test_the_packaged_judge_needs_no_model(rqa: Any, evaluated: None) -> None:
    ended = rqa("judge", RUN)
    assert ended.code == 0, ended.err
    right, wrong = scores()
    assert (right["claim-precision"], right["claim-recall"], right["faithfulness"]) == (1, 1, 1)
    assert (right["context-precision"], right["context-utilisation"]) == (0.5, 1)
    assert (wrong["claim-precision"], wrong["claim-recall"], wrong["noise-in-irrelevant"]) == (0, 0, 1)
    assert "judged-right" not in right  # only a language model marks an answer
    assert "rag" in ended.out and "utilisation" in ended.out
    assert json.loads((RUN / "claims.json").read_text())["judge"] == "packaged"


def test_a_language_model_judges_with_prompts_that_are_recorded(rqa: Any, evaluated: None) -> None:
    def says(body: Any, n: int) -> str:
        prompt = body["messages"][-1]["content"]
        if "Write each claim" in prompt:
            return "- The lighthouse was built in 1871.\n- It is old." if "1871" in prompt else "none"
        if "Claim:" in prompt:
            return "Documents: 1" if "1871" in prompt.partition("Claim:")[2] else "Documents: none"
        return "Right." if "1871" in prompt else "wrong"

    with serve(says) as server:
        table = f'\n[reader.strict]\nplugin = "openai"\nmodel = "judge-1"\nbase_url = "{server.url}"\n'
        with Path("rqa.toml").open("a") as file:
            file.write(table)
        ended = rqa("judge", RUN, "--reader", "strict", "-o", "claims.tex")
    assert ended.code == 0, ended.err
    right, wrong = scores()
    assert (right["claim-precision"], right["hallucination"], right["judged-right"]) == (0.5, 0.5, 1)
    assert (wrong["claim-recall"], wrong["judged-right"]) == (0, 0)
    record = json.loads((RUN / "claims.json").read_text())
    assert record["judge"] == "reader.strict" and record["options"]["model"] == "judge-1"
    assert set(record["prompts"]) == {"claims", "entails", "correct"}
    assert "Which of these documents say" in record["prompts"]["entails"]
    assert r"\begin{tabular}" in Path("claims.tex").read_text()

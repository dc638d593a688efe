"""The figures in the README, the manual and the guides are those of the scoreboard."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = json.loads((ROOT / "benchmarks/scoreboard.json").read_text("utf-8"))["figures"]
EXPLANATIONS = sorted((ROOT / "docs/explanation").glob("*.md"))

# A place is a share in per cent; #0 is how many, and #1 of how many.
SENTENCES = {
    "README.md": [
        "Over {unseen_documents/rqa/answered#1} questions about documents that it had never seen, it answered "
        "{unseen_documents/rqa/answered} %, {unseen_documents/rqa/right} % of its answers were right, and for "
        "{unseen_documents/rqa/first} % the first quote held the evidence.",
    ],
    "docs/explanation/confidence.md": [
        "A further {unseen_documents/rqa/answered#1} questions are about documents that no training and no choice of a "
        "threshold has seen, and {unseen_documents/rqa/refused#1} have no answer there.",
        "rqa answered {unseen_documents/rqa/answered#0} of the first, and {unseen_documents/rqa/refused#0} of the "
        "others got none.",
        "Of its {unseen_documents/rqa/right#1} answers {unseen_documents/rqa/right#0} were right",
        "over the {unseen_documents/rqa/answered#1} unseen ones {unseen_documents/rqa/first} % and "
        "{unseen_documents/rqa/three} %",
        "over {pubmedqa/rqa/answered#1} questions about medical abstracts {pubmedqa/rqa/answered#0} were answered, "
        "{pubmedqa/rqa/right#0} of them rightly",
    ],
    "docs/explanation/conflicts.md": [
        "Of {ramdocs/rqa/told#1} questions of RAMDocs whose passages say different things, rqa told all right answers "
        "of {ramdocs/rqa/told} %, and it showed sides in {unseen_documents/rqa/conflict} % of the questions about "
        "unseen documents that do not differ.",
    ],
    "man/rqa-check.1.md": [
        "Of {contractnli/rows} claims about contracts it called {contractnli/rqa/supported precision#1} supported, "
        "{contractnli/rqa/supported precision#0} of them rightly, and "
        "{contractnli/rqa/contradicted precision#1} contradicted, "
        "{contractnli/rqa/contradicted precision#0} rightly.",
        "Of {wice/rows} sentences of Wikipedia it called {wice/rqa/supported precision#1} supported by the page that "
        "they cite, {wice/rqa/supported precision#0} rightly.",
        "Of 60 plain opposites it called {pairs/kinds/opposite, contradicted} contradicted and "
        "{pairs/kinds/opposite, supported} supported; of 60 true claims in clearly other words it confirmed "
        "{pairs/kinds/other words, supported}.",
    ],
}


def figure(place: str) -> str:
    path, _, part = place.partition("#")
    value: Any = FIGURES
    for name in path.split("/"):
        value = value[name]
    return str(value if isinstance(value, int) else value[int(part)] if part else round(100 * value[0] / value[1]))


def rendered(sentence: str) -> str:
    return re.sub(r"\{(.*?)\}", lambda found: figure(found[1]), sentence)


@pytest.mark.parametrize(("page", "sentence"), [(page, each) for page, own in SENTENCES.items() for each in own])
def test_a_sentence_has_the_figures_of_the_scoreboard(page: str, sentence: str) -> None:
    assert rendered(sentence) in " ".join((ROOT / page).read_text("utf-8").split())


@pytest.mark.parametrize("page", ["README.md", *(f"docs/explanation/{each.name}" for each in EXPLANATIONS)])
def test_a_share_is_from_the_scoreboard_or_its_section_names_the_command(page: str) -> None:
    known = " ".join(rendered(each) for each in SENTENCES.get(page, []))
    for section in re.split(r"^#+ ", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE):
        if not re.search(r"python (?:benchmarks/|-m left_out)|rqa\s+eval", section):
            assert [share for share in re.findall(r"\b[\d.]+ %", section) if share not in known] == []

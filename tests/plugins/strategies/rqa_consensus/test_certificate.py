"""The certificate of a vote, against every attack that it speaks of."""

import sys
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rqa_consensus.certificate import withstands  # private: thousands of votes would take minutes by the strategy
from rqa_consensus.vote import SILENT, Ballot, elect  # private: as above

ROOT = Path(__file__).parents[4]
DATA = next((each for above in ROOT.parents if (each := above / "shared/data/eval").is_dir()), ROOT / "absent")
NEW = "something else"

ANSWERS = st.sampled_from(["tampa", "tampa florida", "florida", "miami florida", "1871", "1817", SILENT])
WEIGHTS = st.sampled_from([0.2, 0.5, 0.9, 1.0, 3.0])
VOTES = st.lists(st.builds(Ballot, ANSWERS, WEIGHTS), min_size=1, max_size=7)
LEADS = st.sampled_from([0.0, 0.2, 0.5])


def outcome(ballots: list[Ballot], lead: float) -> str:
    """The answer of the vote, SILENT if it is not clear."""
    result = elect(ballots, lead)
    return result.answer if result.is_clear else SILENT


def attacked(ballots: list[Ballot], count: int) -> list[list[Ballot]]:
    """Every way to replace `count` ballots: each by any answer that was given, a new one, a merger of all, or none."""
    known = list(dict.fromkeys(ballot.answer for ballot in ballots))
    others = [answer for answer in known if answer != elect(ballots, 0.0).answer]
    lies = [*known, NEW, SILENT, " ".join([*others, "zzz"])]
    found = []
    for taken in combinations(range(len(ballots)), count):
        for said in product(lies, repeat=count) if count < 3 else zip(*[lies] * count, strict=True):
            planted = dict(zip(taken, said, strict=True))
            found.append([Ballot(planted.get(n, one.answer), one.weight) for n, one in enumerate(ballots)])
    return found


@settings(deadline=None, max_examples=100)
@given(VOTES, LEADS)
def test_no_attack_with_as_many_ballots_changes_the_answer(ballots: list[Ballot], lead: float) -> None:
    answer = outcome(ballots, lead)
    for count in range(1, withstands(ballots, lead) + 1):
        assert {outcome(after, lead) for after in attacked(ballots, count)} == {answer}


@settings(deadline=None, max_examples=100)
@given(st.lists(st.builds(Ballot, st.sampled_from(["1871", "1817", "1900", SILENT]), WEIGHTS), max_size=8), LEADS)
def test_one_ballot_more_changes_it_where_answers_are_equal_or_contradict(ballots: list[Ballot], lead: float) -> None:
    answer = outcome(ballots, lead)
    count = withstands(ballots, lead)
    if answer != SILENT and count < min(len(ballots), 2):
        assert {outcome(after, lead) for after in attacked(ballots, count + 1)} != {answer}


@pytest.mark.parametrize(
    ("answers", "count"),
    [
        (["1871"], 0),
        (["1871"] * 3, 1),
        (["1871"] * 10, 4),
        (["1871"] * 6 + ["1817"] * 4, 0),
        (["1871"] * 8 + ["1817"] * 2, 2),
        (["1871"] * 5 + ["1817"] * 5, 0),
        ([SILENT] * 5, 0),
        ([], 0),
    ],
)
def test_equal_voices_withstand_less_than_half_of_their_lead(answers: list[str], count: int) -> None:
    assert withstands([Ballot(answer, 1.0) for answer in answers], 0.0) == count


def test_a_longer_form_of_the_answer_cannot_replace_it() -> None:
    ballots = [Ballot("florida", 1.0)] * 3 + [Ballot("tampa florida", 1.0)] * 2
    assert outcome(ballots, 0.0) == "florida"
    assert withstands(ballots, 0.0) == 0  # one more "tampa florida" would be the most frequent wording


@pytest.mark.parametrize("name", ["realtimeqa", "rgb_counterfactual"])
async def test_no_replacement_in_real_passages_breaks_it(name: str) -> None:
    if not (DATA / f"{name}.jsonl").is_file():
        pytest.skip("the shared question sets are not beside the checkout")
    sys.path.append(str(ROOT / "benchmarks"))
    from consensus import measure

    figures = await measure((DATA / f"{name}.jsonl").read_text("utf-8").splitlines())
    assert figures.rows == 50 and figures.tried > 0
    assert figures.broken == 0

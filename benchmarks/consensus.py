"""Test the certificate of `consensus` against every attack that it covers, with one line for each question set.

    python benchmarks/consensus.py realtimeqa.jsonl rgb_counterfactual.jsonl

A set is JSONL. Each row has `question` and `passages`, of which the first ten count. The reader `embedded` reads each
one alone. If an answer withstands k planted passages, every choice of 1 to k answers is replaced by each of the other
answers, by a new one, and by none. A replacement that changes the answer is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from robust_qa import Passage, Reading
from rqa_claims import source_of
from rqa_consensus import Consensus
from rqa_consensus.certificate import withstands
from rqa_consensus.voices import Statement, read_each, voices
from rqa_consensus.vote import SILENT, Ballot, elect, weights_of
from rqa_embedded import EmbeddedReader
from rqa_testing import toolbox

OPTIONS = Consensus.Options()
PASSAGES = 10
NEW = "an answer that nobody gave"


@dataclass
class Figures:
    """The results of a set."""

    rows: int = 0
    answered: int = 0
    withstood: Counter[int] = field(default_factory=Counter)  # answers by planted passages
    tried: int = 0
    broken: int = 0


def ballots_of(statements: Sequence[Statement]) -> list[Ballot]:
    """Return the ballots as the strategy makes them."""
    heard = voices(statements, lambda passage, _: source_of(passage), lambda passage, rank: OPTIONS.decay**rank)
    return [voice.ballot for voice in heard]


def replaced(statements: Sequence[Statement], count: int, answer: str) -> Iterator[list[Statement]]:
    """Yield the statements with every choice of `count` answers replaced."""
    reading = Reading(answer or None)
    for taken in combinations(range(len(statements)), count):
        yield [replace(each, reading=reading) if n in taken else each for n, each in enumerate(statements)]


def check(statements: Sequence[Statement], figures: Figures) -> None:
    """Add a row to the figures."""
    ballots = ballots_of(statements)
    election = elect(ballots, OPTIONS.lead)
    figures.rows += 1
    if not election.is_clear:
        return
    figures.answered += 1
    promised = withstands(ballots, OPTIONS.lead)
    figures.withstood[promised] += 1
    others = [answer for answer in weights_of(ballots) if answer != election.answer]
    for count in range(1, promised + 1):
        for answer in dict.fromkeys((*others, NEW, SILENT)):
            for attacked in replaced(statements, count, answer):
                after = elect(ballots_of(attacked), OPTIONS.lead)
                figures.tried += 1
                figures.broken += not after.is_clear or after.answer != election.answer


async def measure(rows: Iterable[str]) -> Figures:
    """Return the figures of a set, given its lines."""
    reader = EmbeddedReader(EmbeddedReader.Options(threshold=0.0))
    figures = Figures()
    for line in rows:
        row = json.loads(line)
        passages = [Passage(each["text"], title=each.get("title") or "") for each in row["passages"][:PASSAGES]]
        tools = toolbox(row["question"], reader=reader)
        check(await read_each(row["question"], passages, tools, None, OPTIONS.threshold), figures)
    return figures


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    print(f"{'set':24}{'rows':>6}{'answered':>10}{'replacements':>14}{'broken':>8}  answers by withstood passages")
    for path in parser.parse_args().sets:
        found = asyncio.run(measure(path.read_text("utf-8").splitlines()))
        spread = ", ".join(f"{count}: {number}" for count, number in sorted(found.withstood.items()))
        print(f"{path.stem:24}{found.rows:>6}{found.answered:>10}{found.tried:>14}{found.broken:>8}  {spread}")


if __name__ == "__main__":
    main()

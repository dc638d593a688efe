"""Ask questions over documents of an author whom the reader does not know, one folder after another.

    PYTHONPATH=models python -m left_out BASE OUT ROWS... -- FOLDERS...

For each folder with questions.jsonl and corpus/, BASE learns from the questions of all others, as in `rqa train
documents`, with some rows of each file ROWS repeated. Then rqa answers the folder's questions with that reader, and all
else as installed. A reader that is in OUT already is not trained again.

Printed for each folder and for all: for how many answerable questions the evidence is in the first quote and in the
first three; how many questions were asserted, and how many of these were right; the same of what is called probable;
how many of the questions without an answer got none. Below, by tenths of confidence, what was said and what was right.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import robust_qa
from robust_qa import Answer
from rqa_embedded import engine, reader
from rqa_train.reader.calibrate import settings_before
from rqa_train.reader.documents import DocumentQuestion, Group, load_groups
from rqa_train.reader.model import convert
from rqa_train.reader.ranking import Plan, train
from rqa_train.reader.rows import load_rows
from rqa_train.reader.unpack import base_folder

REPEATED, SEED = 3000, 3  # rows of each file


def learn(groups: Sequence[Group], rows: Sequence[str], base: Path, out: Path) -> None:
    """Write the reader in `out/model` that learnt from `groups`. Its probabilities are the packaged reader's."""
    draw = random.Random(SEED)
    repeated = [row for file in rows for row in draw.sample([*load_rows(Path(file))], REPEATED)]
    draw.shuffle(repeated)
    initial = base_folder(base, out / "base", print)
    model = train(groups, repeated, initial, out, Plan(seed=SEED), embedder=engine.Engine(base))
    convert(model.to("cpu").eval(), initial / "tokenizer.json", out / "model", settings_before(None))


async def ask(corpus: Path, questions: Sequence[DocumentQuestion]) -> list[Answer]:
    """Return the answers of the packaged reader."""
    async with robust_qa.open_session(docs=corpus) as session:
        return [answer async for answer in session.answer_many(each.question for each in questions)]


def tally(asked: DocumentQuestion, given: Answer) -> Counter[str]:
    """Count what became of a question."""
    if not asked.answers:
        return Counter(unanswerable=1, refused=given.text is None, asserted=given.text is not None)
    told = [*given.numbered, *given.closest][:3]
    shown = [asked.held_by(each.quote) or (asked.polar is None and asked.right(each.quote)) for each in told]
    sides = " / ".join(["", *(side.text for side in given.conflicts)])
    likely = given.probable if given.text is None else None
    return Counter(
        answerable=1,
        first=any(shown[:1]),
        three=any(shown),
        asserted=given.text is not None,
        right=given.text is not None and asked.right(given.text + sides),
        probable=likely is not None,
        likely_right=likely is not None and asked.right(likely.text + sides),
    )


def row_of(name: str, found: Counter[str]) -> str:
    """Return the counts as a line."""
    return (
        f"{name:6} first {found['first']}, three {found['three']} of {found['answerable']}"
        f"  asserted {found['asserted']} of {found['answerable'] + found['unanswerable']}, right {found['right']}"
        f"  probable {found['probable']}, right {found['likely_right']}"
        f"  refused {found['refused']} of {found['unanswerable']}"
    )


def main(base: str, out: str, *others: str) -> None:
    """Train where a reader is missing, ask, and print."""
    rows, folders = others[: others.index("--")], [Path(each) for each in others[others.index("--") + 1 :]]
    groups = {folder: load_groups(folder) for folder in folders}
    every, tenths = Counter[str](), defaultdict[int, list[tuple[float, bool]]](list)
    for folder in folders:
        own = Path(out, folder.name)
        if not (own / "model" / engine.CHECKSUMS).exists():
            learn([group for each in folders if each != folder for group in groups[each]], rows, Path(base), own)
        engine.PACKAGED = own / "model"
        reader._engine.cache_clear()
        questions = [group.question for group in groups[folder]]
        answers = asyncio.run(ask(folder / "corpus", questions))
        found = sum(map(tally, questions, answers), Counter[str]())
        print(row_of(folder.name, found), flush=True)
        every += found
        for asked, given in zip(questions, answers, strict=True):
            told = given if given.text else given.best_guess
            if told and told.text and told.confidence is not None:
                tenths[int(told.confidence * 10)].append((told.confidence, asked.right(told.text)))
    print(row_of("all", every))
    for tenth, pairs in sorted(tenths.items()):
        said, right = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
        print(f"{tenth / 10:.1f}  {len(pairs):4}  said {said:.2f}  right {right:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

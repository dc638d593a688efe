"""Measure the disagreements that `rqa lint` finds between two versions of a document.

    PYTHONPATH=models python benchmarks/lint.py CORPUS ... [--pairs 100]

Each pair is a document of a corpus, cut to forty sentences, as rules-2019.md, and its copy rules-2023.md, in which one
sentence says something else: another number, name, permission or opposite (the rules of models/judge/contrast.py).
As many other pairs differ only in words that mean the same, or in a shorter sentence. Printed: the share of changed
pairs in which a finding names the changed line, and the share of findings that do so.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from judge.contrast import CONTRADICTED, SUPPORTED, able, contrasts
from robust_qa import Question
from robust_qa.answering import Session
from robust_qa.cli import Answering, Run
from robust_qa.cli.answering import in_session
from robust_qa.documents import find, read
from robust_qa.kit import sentences
from rqa_lint.linting import lint, read_corpus

KINDS = {"number", "series", "name", "modal", "opposite", "contrary", "negation"}
LEAST = 0.3  # the default of --similarity


def documents(corpora: list[Path], draw: random.Random) -> Iterator[list[str]]:
    files = [path for corpus in corpora for path in find([corpus]).files if path.suffix in (".md", ".txt", ".html")]
    draw.shuffle(files)
    for path in files:
        found = [block for document in read(path, lambda *_: None) for block in document.blocks]
        blocks = [block.text for block in found if block.kind not in ("heading", "code")]
        texts = [" ".join(text[a:b].split()) for text in blocks for a, b in sentences(text)]
        texts = list(dict.fromkeys(text for text in texts if able(text)))[:40]
        if len(texts) >= 10:
            yield texts


def changed(texts: list[str], draw: random.Random, label: str) -> tuple[int, str, str] | None:
    """Return a place, another sentence for it and the kind of the change."""
    for place in draw.sample(range(len(texts)), len(texts)):
        made = [
            each
            for each in contrasts(texts[place], ["Petra Lind", "Northfield", "Anna Holm", "Halden"], [], draw)
            if each.label == label and each.premise == texts[place] != each.claim
            and each.kind in (KINDS if label == CONTRADICTED else {"same", "shortened"})
        ]  # fmt: skip
        if made:
            one = draw.choice(made)
            return place, one.claim, one.kind
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--show", type=int, default=0, help="misses and false findings to print")
    options = parser.parse_args()
    draw = random.Random(7)
    count: Counter[str] = Counter()
    shown: list[str] = []

    async def work(session: Session) -> None:
        judge = session.toolbox_for(Question("")).judge
        done: Counter[str] = Counter()
        for texts in documents(options.corpora, draw):
            for label in (CONTRADICTED, SUPPORTED):
                if done[label] == options.pairs or not (change := changed(texts, draw, label)):
                    continue
                done[label] += 1
                place, text, kind = change
                with tempfile.TemporaryDirectory() as folder:
                    Path(folder, "rules-2019.md").write_text("\n\n".join(texts))
                    Path(folder, "rules-2023.md").write_text("\n\n".join([*texts[:place], text, *texts[place + 1 :]]))
                    found = [
                        each
                        for each in await lint(read_corpus([Path(folder)]), LEAST, judge)
                        if each.kind == "disagreement"
                    ]
                right = [each for each in found if any(place_.text == text for place_ in each.places)]
                count[f"{label} pairs"] += 1
                count[f"{label} pairs, found"] += bool(right)
                count[f"{kind} {'found' if right else 'missed'}"] += 1
                count["findings"] += len(found)
                count["findings, right"] += len(right) if label == CONTRADICTED else 0
                if label == CONTRADICTED and not right:
                    shown.append(f"missed {kind}: {texts[place]} | {text}")
                shown.extend(
                    f"false: {each.places[0].text} | {each.places[1].text}"
                    for each in found if label == SUPPORTED or each not in right
                )  # fmt: skip

    in_session(Run(verbosity=-1), Answering(), work)
    recall = count["contradicted pairs, found"] / max(1, count["contradicted pairs"])
    precision = count["findings, right"] / max(1, count["findings"])
    print(f"recall {recall:.2f}, precision {precision:.2f}")
    for name, number in sorted(count.items()):
        print(f"  {name}: {number}")
    print("\n".join(draw.sample(shown, min(options.show, len(shown)))))


if __name__ == "__main__":
    main()

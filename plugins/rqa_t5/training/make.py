"""One run from rows to a model folder: train, save, convert, calibrate, measure, and write the model card."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec
import torch

from robust_qa import InputError

from ..engine import Engine
from ..folder import read_settings, settle
from ..rows import Asked, judgeable, read_rows
from ..thresholds import Judged, action_accuracy, auc, choose
from . import fresh
from .card import CARD, card
from .checkpoints import Checkpoint, load
from .conversion import check_convertible, check_free, convert
from .examples import Example, examples, labelled, split
from .loop import Plan, encode, train

Teacher = Callable[[list[Example]], list[Example]]


@dataclass(frozen=True)
class Making:
    """What to make: from the checkpoint `base` (a folder or a hub's name), or from nothing, then as large as said."""

    base: str | None = None
    width: int = 256
    layers: int = 3
    words: int = 16_000
    length: int = 256
    negatives: int = 2
    hard: int = 1
    quantization: str = "int8"


def make(
    data: Sequence[Path],
    out: Path,
    making: Making,
    plan: Plan,
    *,
    teacher: Teacher | None,
    vectors: fresh.Vectors | None,
    command: str,
    say: Callable[[str], None],
) -> dict[str, object]:
    """Train on `data` and leave `out/model`, and `out/torch` for going on from; returns the figures of the card.

    `vectors` tell a new T5 which words are alike.
    """
    check_free(out / "model", force=True)  # before hours of work
    asked, held = split(read_rows(data))
    pairs = examples(asked, negatives=making.negatives, hard=making.hard, seed=plan.seed)
    if not pairs:
        raise InputError("No question of the data is left to train on.", hint="Give more questions.")
    if teacher is not None:
        pairs = teacher(pairs)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = _begin(making, asked, plan.seed, vectors)
    if (outputs := checkpoint.outputs()) is not None:
        yes, no = outputs
        say(f"of the outputs of {checkpoint.name} {yes!r} counts as relevant, {no!r} as not")
    watched = labelled(held)
    if len({example.label for example in watched}) < 2:
        say("the held-out questions have no texts of both kinds: neither early stopping nor thresholds")
    samples, watch = (encode(checkpoint, part, plan.trust) for part in (pairs, watched))
    made = asdict(replace(making, base=None, quantization=""))  # what trains is the same by any name, in any packing
    train(checkpoint, samples, watch, out, plan=plan, made=made, say=say)
    checkpoint.save(out / "torch")
    proof = convert(checkpoint, out / "model", quantization=making.quantization, force=True)
    figures: dict[str, object] = {"pairs trained on": len(pairs), **measure(out / "model", held)}
    text = card(
        read_settings(out / "model"), proof,
        command=command, origin=checkpoint.name, quantization=making.quantization, data=data, figures=figures,
    )  # fmt: skip
    for folder in (out / "model", out / "torch"):
        (folder / CARD).write_text(text, encoding="utf-8")
    return figures


def measure(folder: Path, held: Sequence[Asked]) -> dict[str, object]:
    """Figures of the model in `folder` on `held`; thresholds chosen there are written into the folder.

    Where every question has a relevant text, or none has, thresholds are chosen for each text by itself.
    """
    known = judgeable(held)
    with contextlib.closing(Engine(folder)) as engine:
        scores = iter(engine.score([(one.question, c.text) for one in known for c in one.candidates]))
    judged = [
        Judged(tuple(next(scores) for _ in one.candidates), tuple(bool(c.relevant) for c in one.candidates))
        for one in known
    ]
    flat = [(s, r) for one in judged for s, r in zip(one.scores, one.relevant, strict=True)]
    figures: dict[str, object] = {
        "questions held out": len(judged),
        "texts of them": len(flat),
        "AUC of the texts": auc([score for score, _ in flat], [relevant for _, relevant in flat]),
    }
    if len({one.answerable for one in judged}) < 2:
        judged = [Judged((score,), (relevant,)) for score, relevant in flat]
    if len({one.answerable for one in judged}) == 2:
        upper, lower = choose(judged)
        settle(folder, msgspec.structs.replace(read_settings(folder), upper=upper, lower=lower))
        accuracy, ambiguous = action_accuracy(judged, upper, lower)
        figures |= {
            "upper": upper,
            "lower": lower,
            "accuracy of Correct and Incorrect (thresholds chosen on the same questions)": accuracy,
            "share of Ambiguous": ambiguous,
            "accuracy of always Correct": sum(one.answerable for one in judged) / len(judged),
        }
    return figures


def _begin(making: Making, asked: Sequence[Asked], seed: int, vectors: fresh.Vectors | None) -> Checkpoint:
    torch.manual_seed(seed)
    if making.base is not None:
        base = load(making.base, trainable=True).used(length=making.length)
        check_convertible(base)  # before hours of work
        return base
    texts = list(dict.fromkeys(candidate.text for one in asked for candidate in one.candidates))
    tokenizer = fresh.vocabulary([*(one.question for one in asked), *texts], making.words)
    return fresh.checkpoint(tokenizer, texts, vectors, width=making.width, layers=making.layers, length=making.length)

"""Make a model folder from rows: train, save, convert, calibrate, measure, and write the model card."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import torch

from robust_qa import InputError
from rqa_t5.engine import Engine
from rqa_t5.folder import Input, read_settings, settle

from ..card import CARD
from ..metrics import auc
from .checkpoints import Checkpoint, load
from .conversion import card, check_convertible, check_free, convert, default_quantization
from .examples import examples, labelled, split
from .rows import Asked, judgeable, read_rows, without_titles
from .thresholds import Judged, action_accuracy, choose
from .train import Plan, encode, train


@dataclass(frozen=True)
class ModelOptions:
    """The model to train: the checkpoint `base`, a folder or a name on the hub.

    None as `shape` and `input` means those of the base, as in checkpoints.load.
    None as `quantization` means `default_quantization`.
    """

    base: str
    shape: Literal["label", "classifier"] | None = None
    input: Input | None = None
    length: int = 256
    negatives: int = 2
    hard: int = 1
    quantization: str | None = None


def make(
    data: Sequence[Path],
    out: Path,
    model_options: ModelOptions,
    plan: Plan,
    *,
    command: str,
    say: Callable[[str], None],
) -> dict[str, object]:
    """Train on `data` and write `out/model`, and `out/torch` for further training. Returns the metrics of the card."""
    check_free(out / "model", force=True)  # fail before training
    checkpoint = _base(model_options, plan.seed)
    form = model_options.input or checkpoint.settings.input
    rows = read_rows(data)
    questions, held_out = split(rows if form == "title-text" else without_titles(rows))
    pairs = examples(questions, negatives=model_options.negatives, hard=model_options.hard, seed=plan.seed)
    if not pairs:
        raise InputError("The data has too few questions to train on.", hint="Add more questions.")
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = checkpoint.with_input(form=form)
    say(
        f"training {checkpoint.name} in the shape {checkpoint.settings.shape}, which reads {form.replace('-', ' and ')}"
    )
    if (outputs := checkpoint.outputs()) is not None:
        yes, no = outputs
        say(f"{checkpoint.name}: output {yes!r} means relevant, {no!r} not relevant")
    validation = labelled(held_out)
    if len({example.label for example in validation}) < 2:
        say("no early stopping and no thresholds: the held-out texts are all relevant or all irrelevant")
    samples, held_out_samples = (encode(checkpoint, part) for part in (pairs, validation))
    # A run may continue with another name of the base or another quantization.
    same_model = asdict(replace(model_options, base="", quantization=None))
    train(checkpoint, samples, held_out_samples, out, plan=plan, model_options=same_model, say=say)
    checkpoint.save(out / "torch")
    quantization = model_options.quantization or default_quantization(checkpoint)
    proof = convert(checkpoint, out / "model", quantization=quantization, force=True)
    metrics: dict[str, object] = {"pairs trained on": len(pairs), **measure(out / "model", held_out)}
    text = card(
        read_settings(out / "model"), proof,
        command=command, origin=checkpoint.name, quantization=quantization, data=data, metrics=metrics,
    )  # fmt: skip
    for folder in (out / "model", out / "torch"):
        (folder / CARD).write_text(text, encoding="utf-8")
    return metrics


def measure(folder: Path, held_out: Sequence[Asked]) -> dict[str, object]:
    """Measure the model on `held_out`, and choose thresholds and write them to `folder`.

    If every question has a relevant text, or none has, thresholds are chosen for single texts.
    """
    known = judgeable(held_out)
    with contextlib.closing(Engine(folder)) as engine:
        scores = iter(engine.score([(one.question, c.text) for one in known for c in one.candidates]))
    judged = [
        Judged(tuple(next(scores) for _ in one.candidates), tuple(bool(c.relevant) for c in one.candidates))
        for one in known
    ]
    texts = [(s, r) for one in judged for s, r in zip(one.scores, one.relevant, strict=True)]
    metrics: dict[str, object] = {
        "held-out questions": len(judged),
        "held-out texts": len(texts),
        "AUC of the texts": auc([score for score, _ in texts], [relevant for _, relevant in texts]),
    }
    if len({one.answerable for one in judged}) < 2:
        judged = [Judged((score,), (relevant,)) for score, relevant in texts]
    if len({one.answerable for one in judged}) == 2:
        upper, lower = choose(judged)
        settle(folder, msgspec.structs.replace(read_settings(folder), upper=upper, lower=lower))
        accuracy, ambiguous = action_accuracy(judged, upper, lower)
        metrics |= {
            "upper": upper,
            "lower": lower,
            "accuracy of Correct and Incorrect (thresholds chosen on the same questions)": accuracy,
            "share of Ambiguous": ambiguous,
            "accuracy of always Correct": sum(one.answerable for one in judged) / len(judged),
        }
    return metrics


def _base(model_options: ModelOptions, seed: int) -> Checkpoint:
    """Return the checkpoint to start from. Raises RqaError if it could not be converted after training."""
    torch.manual_seed(seed)  # of a new classification head
    base = load(model_options.base, trainable=True, shape=model_options.shape)
    base = base.with_input(length=model_options.length)
    check_convertible(base)
    return base

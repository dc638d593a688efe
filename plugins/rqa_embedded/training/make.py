"""One run from rows to a model folder: train, convert, check, calibrate, measure, and write the model card."""

from __future__ import annotations

import filecmp
import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from robust_qa import InputError

from ..choice import judged, spans, text_of
from ..engine import Engine, Marking, Settings
from .calibrate import Retrieved, calibrated, holds, read, retrieved, uncalibrated
from .card import beside, card, history, notice
from .convert import check, convert, settle
from .data import HELD_OUT
from .encoding import encode, load_tokenizer
from .marking import InTorch
from .metrics import auc, exact, f1
from .mixture import mixture
from .model import HEADS, SpanReader, blend
from .rows import Row, load_rows
from .train import Plan, train
from .unpack import base_folder

_BEGAN = [HEADS, "model.safetensors"]  # what a run began with, in its base
_STRIDE = 64
_GLANCE = 256  # rows measured on while training
_MEASURED = 2000  # rows held out at most: more would change no figure shown


def make(
    files: Sequence[Path],
    output: Path,
    *,
    corpora: Path | None = None,
    base: Path | None = None,
    epochs: float = 1.0,
    rate: float = 2.5e-4,
    batch: int = 32,
    length: int = 192,
    seed: int = 13,
    share: float = 0.0,
    others: Sequence[Path] = (),
    command: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, float]:
    """Train on `files` and `corpora` and leave `output/model`; returns the figures of the model card.

    Of the weights that training starts from, `share` is kept; `others` are outputs whose weights are averaged in.
    """
    rows, held = split([row for path in files for row in load_rows(path)])
    if corpora is not None:
        rows += mixture(corpora, seed)
        held += mixture(corpora, seed, held=True)
    if not rows or not held:
        raise InputError("There are no rows to train on.", hint="Name a JSONL file of rows; `rqa train reader --help`.")
    held = random.Random(seed).sample(held, min(_MEASURED, len(held)))
    output.mkdir(parents=True, exist_ok=True)
    rests_on, earlier = notice(base, corpora=corpora is not None), history(base)
    base = base_folder(base, output / "base", say)
    if (share or others) and not (base / HEADS).exists():
        raise InputError(
            f"The encoder in {base} has not learnt to read: there is nothing to keep, and no mean to take.",
            hint="Leave --keep and --with out, or start from a model that `rqa train reader` made.",
        )
    tokenizer = base / "tokenizer.json"
    runs = [_trained(other, base) for other in others]
    earlier = "".join(map(beside, others)) + earlier
    plan = Plan(epochs=epochs, rate=rate, batch=batch, length=length, seed=seed)
    settings = uncalibrated(min(512, length + 32), _STRIDE)
    some = held[:_GLANCE]

    def glance(model: SpanReader) -> dict[str, float]:
        return measure(InTorch(model.eval(), tokenizer, settings), some, settings)

    convert(SpanReader(base), tokenizer, output / "teacher", settings)
    teacher = Engine(output / "teacher")
    model = train(rows, base, tokenizer, output, plan, teacher=teacher, measure=glance, say=say)
    model = model.to("cpu").eval()
    if share or runs:
        blend(model, SpanReader(base), share, runs)
    return finish(
        model, tokenizer, output, settings, held,
        plan=plan, rows=len(rows), command=command, rests_on=rests_on, earlier=earlier, say=say,
    )  # fmt: skip


def _trained(other: Path, base: Path) -> dict[str, torch.Tensor]:
    """The weights that a run in `other` ended with, from the same `base`."""
    model = other / "model.pt"
    if not model.exists():
        raise InputError(f"There is no trained model.pt in {other}.", hint="Name a folder that this command wrote.")
    if filecmp.cmpfiles(base, other / "base", _BEGAN, shallow=False)[0] != _BEGAN:
        raise InputError(
            f"The run in {other} began with other weights than this one.",
            hint="The mean of weights is a model only where all began with the same ones.",
        )
    weights: dict[str, torch.Tensor] = torch.load(model, weights_only=True)
    return weights


def finish(
    model: SpanReader,
    tokenizer: Path,
    output: Path,
    settings: Settings,
    held: list[Row],
    *,
    plan: Plan,
    rows: int,
    command: str,
    rests_on: str,
    earlier: str,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Convert a trained model, check it, calibrate and measure it on `held`, and write its card."""
    full, small = output / "float32", output / "model"
    convert(model, tokenizer, full, settings, quantization="float32")
    examples = encode(held[:32], load_tokenizer(str(tokenizer), plan.length))
    off = check(InTorch(model, tokenizer, settings), Engine(full), examples)
    say(f"CTranslate2 in fp32 agrees with torch to {off:.1e}")
    convert(model, tokenizer, small, settings)
    settings = calibrated(Engine(small), held)
    settle(small, settings)
    found = _looked_at(Engine(small), held, settings)
    figures = {"rows": float(rows), "held out": float(len(held)), "difference": off}
    figures |= {f"fp32 {key}": value for key, value in measure(Engine(full), held, settings).items()}
    figures |= {f"int8 {key}": value for key, value in _figures(found).items()}
    for source in sorted({row.source for row in held} - {""}):
        part = _figures([one for one in found if one.asked.row.source == source])
        figures |= {f"int8 {key} ({source})": value for key, value in part.items()}
    say("  ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    (small / "MODEL_CARD.md").write_text(
        card(figures, plan, command=command, torch=torch.__version__, rests_on=rests_on, earlier=earlier),
        encoding="utf-8",
    )
    (small / "NOTICE").write_text(rests_on, encoding="utf-8")
    return figures


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Rows to train on, and rows held out by their context."""
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        place = int(hashlib.sha256(row.context.encode()).hexdigest()[:8], 16) / 2**32
        parts[place < HELD_OUT].append(row)
    return parts


def measure(engine: Marking, rows: list[Row], settings: Settings) -> dict[str, float]:
    """EM and F1 (per cent) of the best span in a row's own passage, and AUC of the judge over retrieved passages."""
    return _figures(_looked_at(engine, rows, settings))


class _Looked(NamedTuple):
    """What was made of a question: the best span in its own passage, and the judge's scores of all."""

    asked: Retrieved
    answer: str
    scores: list[float]


def _looked_at(engine: Marking, rows: list[Row], settings: Settings) -> list[_Looked]:
    asked = retrieved(rows)
    found = []
    for one, marked in zip(asked, read(engine, asked), strict=True):
        own = [span for pair in marked if pair[0].passage == 0 for span in spans(*pair, settings)]
        best = max(own, key=lambda span: span.likely, default=None)
        answer = "" if best is None else text_of(one.passages[0], best)
        found.append(_Looked(one, answer, judged(one.passages, marked, settings)))
    return found


def _figures(found: Sequence[_Looked]) -> dict[str, float]:
    told = [(one.answer, one.asked.row.answers) for one in found if one.asked.row.answers]
    labels = [holds(one.asked.row, passage) for one in found for passage in one.asked.passages]
    return {
        "EM": 100 * sum(exact(*pair) for pair in told) / max(1, len(told)),
        "F1": 100 * sum(f1(*pair) for pair in told) / max(1, len(told)),
        "AUC": auc([score for one in found for score in one.scores], labels),
    }

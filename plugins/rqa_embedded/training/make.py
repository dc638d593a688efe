"""One run from rows to a model folder: train, convert, check, calibrate, measure, and write the model card."""

from __future__ import annotations

import filecmp
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import torch
import transformers

from robust_qa import InputError, RqaError

from ..choice import judged
from ..engine import PACKAGED, Engine, Marking, Settings
from ..told import spans, text_of
from .calibrate import Retrieved, calibrated, holds, read, retrieved, settings_before, uncalibrated
from .card import beside, card, history, notice, taught
from .convert import check, convert, settle
from .data import HELD_OUT, place
from .encoding import encode, load_tokenizer
from .marking import InTorch
from .metrics import auc, exact, f1
from .mixture import mixture
from .model import HEADS, SpanReader, blend
from .near import near_rows
from .rows import Row, load_rows
from .train import Embedder, Plan, train
from .unpack import base_folder, room, runs_here

_BEGAN = [HEADS, "model.safetensors"]  # what a run began with, in its base
_STRIDE = 64
_GLANCE = 256  # rows measured on while training
_TAUGHT = 0.75  # share of a teacher's scores in what is learnt of a row
_NEAR = 1.0  # rows over another passage, of which only a teacher's scores are learnt, for each row
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
    draws: int = 1,
    share: float = 0.0,
    others: Sequence[Path] = (),
    teachers: Sequence[Path] = (),
    command: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, float]:
    """Train on `files` and `corpora` and leave `output/model`; returns the figures of the model card.

    Rows made by rules are drawn `draws` times, from `seed` on. Of the weights that training starts from, `share` is
    kept; `others` are outputs whose weights are averaged in. `teachers` are models of this command's whose scores are
    learnt, too, in the mean. A base that is no BERT, which the engine cannot run, becomes one: it is left in
    `output/torch`.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    own = [(path, list(load_rows(path))) for path in files]
    given_rows = [row for _, part in own for row in part]
    rows, held = _rows(given_rows, corpora, range(seed, seed + draws), near=_NEAR if teachers else 0.0)
    output.mkdir(parents=True, exist_ok=True)
    counts = [(path, len(part)) for path, part in own]
    rests_on, earlier = notice(base, teachers, corpora=corpora is not None, own=counts), history(base)
    given, base = base, base_folder(base, output / "base", say)
    if (share or others) and not (base / HEADS).exists():
        raise InputError(
            f"The encoder in {base} has not learnt to read: there is nothing to keep, and no mean to take.",
            hint="Leave --keep and --with out, or start from a model that `rqa train reader` made.",
        )
    runs = [_trained(other, base) for other in others]
    earlier = "".join([*map(beside, others), *map(taught, teachers)]) + earlier
    plan = Plan(epochs=epochs, rate=rate, batch=batch, length=length, seed=seed, taught=_TAUGHT if teachers else 0.0)
    settings = uncalibrated(min(512, length + 32, room(base, length)), _STRIDE)
    some = held[:_GLANCE]
    bert = runs_here(base)
    tokenizer = (base if bert else PACKAGED) / "tokenizer.json"
    if not bert:
        plan = replace(plan, relevance=0.0, vectors=0.0)
        say(f"CTranslate2 has no encoder like that of {base}: the model is left in torch, as a teacher.")
    taught_by = [
        _teacher(base_folder(folder, output / f"teacher-{n}", say), tokenizer, length)
        for n, folder in enumerate(teachers, 1)
    ]

    def glance(model: SpanReader) -> dict[str, float]:
        return measure(InTorch(model.eval(), tokenizer, settings), some, settings)

    embedder = _embedder(base, output / "embedder", settings) if bert else None
    model, used = train(
        rows, base, tokenizer, output, plan, embedder=embedder, teachers=taught_by, measure=glance, say=say
    )
    if not all(weight.isfinite().all() for weight in model.parameters()):
        raise RqaError("The training diverged: weights are no numbers.", hint="Train anew at a lower --rate.")
    model = model.to("cpu").eval()
    if share or runs:
        blend(model, SpanReader(base, tokenizer), share, runs)
    made = Made(command, plan, used, rests_on, earlier)
    if not bert:
        return leave(model, base, output / "torch", {"held out": float(len(some)), **glance(model)}, made)
    return finish(model, tokenizer, output, settings, held, before=settings_before(given), made=made, say=say)


def _rows(own: list[Row], corpora: Path | None, seeds: range, *, near: float) -> tuple[list[Row], list[Row]]:
    """Rows to train on, as `_drawn` has them, and rows to measure on. InputError where there are none of either."""
    own, held = split(own, alone=corpora is None)
    rows = list(_drawn(own, corpora, seeds, near=near))
    if corpora is not None:
        held += mixture(corpora, seeds.start, held=True)
    if not rows:
        raise InputError("There are no rows to train on.", hint="Name a JSONL file of rows; `rqa train reader --help`.")
    if not held:
        raise InputError(
            "All rows are over one context: none is left to measure on.",
            hint="Give rows over two contexts at least, better a hundred, or add --corpora.",
        )
    return rows, random.Random(seeds.start).sample(held, min(_MEASURED, len(held)))


def _drawn(own: list[Row], corpora: Path | None, seeds: Iterable[int], *, near: float) -> Iterator[Row]:
    """For each of `seeds` the rows `own`, those made of `corpora`, and a share `near` of all over other passages."""
    for seed in seeds:
        rows = own if corpora is None else [*own, *mixture(corpora, seed)]
        yield from rows
        if near:
            yield from near_rows(rows, random.Random(seed), near)


def _embedder(base: Path, folder: Path, settings: Settings) -> Embedder:
    """The encoder at `base` as it is before training: in int8, or on the GPU, which takes fewer of a step's seconds."""
    model, tokenizer = SpanReader(base), base / "tokenizer.json"
    if torch.cuda.is_available():
        return InTorch(model.to("cuda").eval(), tokenizer, settings)
    convert(model, tokenizer, folder, settings)
    return Engine(folder)


def _teacher(folder: Path, tokenizer: Path, length: int) -> SpanReader:
    if not (folder / HEADS).exists():
        raise InputError(
            f"The encoder in {folder} has not learnt to read, and cannot teach it.",
            hint="Train it first: `rqa train reader --base FOLDER -o TEACHER`, then --teacher TEACHER/model or /torch.",
        )
    room(folder, length)
    return SpanReader(folder, tokenizer)


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


class Made(NamedTuple):
    """How a model was made, for its card: the command, how it trained, on how many rows, on whose work, what before."""

    command: str
    plan: Plan
    rows: int
    rests_on: str
    earlier: str

    def describe(self, folder: Path, figures: dict[str, float]) -> dict[str, float]:
        """Write card and notice into `folder`; returns all figures of the card."""
        figures = {"rows": float(self.rows), **figures}
        told = card(
            figures, self.plan, command=self.command, torch=torch.__version__,
            rests_on=self.rests_on, earlier=self.earlier,
        )  # fmt: skip
        (folder / "MODEL_CARD.md").write_text(told, encoding="utf-8")
        (folder / "NOTICE").write_text(self.rests_on, encoding="utf-8")
        return figures


def leave(model: SpanReader, base: Path, folder: Path, figures: dict[str, float], made: Made) -> dict[str, float]:
    """Leave a trained model that the engine cannot run in `folder`, to teach with, its tokenizer that of `base`."""
    model.save(folder, base / "tokenizer.json")
    return made.describe(folder, figures)


def finish(
    model: SpanReader,
    tokenizer: Path,
    output: Path,
    settings: Settings,
    held: list[Row],
    *,
    before: Settings,
    made: Made,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Convert a trained model, check it, calibrate and measure it on `held`, and write its card."""
    full, small = output / "float32", output / "model"
    convert(model, tokenizer, full, settings, quantization="float32")
    unasked = [msgspec.structs.replace(row, answers=[], start=None, within=None) for row in held[:32]]  # none left out
    examples = encode(unasked, load_tokenizer(str(tokenizer), made.plan.length))
    off = check(InTorch(model, tokenizer, settings), Engine(full), examples)
    say(f"CTranslate2 in fp32 agrees with torch to {off:.1e}")
    convert(model, tokenizer, small, settings)
    settings = calibrated(Engine(small), held, before, say)
    settle(small, settings)
    found = _looked_at(Engine(small), held, settings)
    figures = {"held out": float(len(held)), "difference": off}
    figures |= {f"fp32 {key}": value for key, value in measure(Engine(full), held, settings).items()}
    figures |= {f"int8 {key}": value for key, value in _figures(found).items()}
    for source in sorted({row.source for row in held} - {""}):
        part = _figures([one for one in found if one.asked.row.source == source])
        figures |= {f"int8 {key} ({source})": value for key, value in part.items()}
    figures = made.describe(small, figures)
    say("  ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return figures


def split(rows: list[Row], *, alone: bool = True) -> tuple[list[Row], list[Row]]:
    """Rows to train on, and rows held out by their context.

    Rows `alone`, with no corpora, have a context in each part where they have two.
    """
    bound = HELD_OUT
    if alone:
        places = sorted({place(row.context) for row in rows})
        bound = min(max(bound, places[1]), places[-1]) if len(places) > 1 else 0.0
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[place(row.context) < bound].append(row)
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

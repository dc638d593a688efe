"""Make a model folder from rows: train, convert, check, calibrate, measure, and write the model card."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import torch
import transformers

from robust_qa import InputError
from rqa_embedded.engine import PACKAGED, Engine, Marking, Settings, save_settings
from rqa_embedded.evidence import find_evidence, judge
from rqa_embedded.spans import text_of

from .. import loop
from ..card import CARD
from ..metrics import auc, exact, f1
from .calibrate import (
    Refitted,
    Retrieved,
    asked_of,
    asked_over_documents,
    calibrate,
    fit,
    holds,
    retrieved,
    settings_before,
    uncalibrated,
)
from .card import card, history, notice, taught
from .documents import Group
from .encoding import encode, load_tokenizer
from .marking import InTorch
from .model import HEADS, SpanReader, check, convert
from .neighbours import near_rows
from .rows import HELD_OUT, Row, load_rows, place
from .train import Embedder, Plan, train
from .unpack import base_folder, room, runs_here

_STRIDE = 64
_VALIDATION_ROWS = 256  # rows measured during training
_TEACHER_WEIGHT = 0.75  # of a teacher's scores in the loss of a row
_NEAR = 1.0  # rows with a similar passage for each row, if there is a teacher
_MAX_HELD_OUT = 2000  # rows; more would change no metric


def make(
    files: Sequence[Path],
    output: Path,
    *,
    held_out: Path | None = None,
    base: Path | None = None,
    epochs: float = 1.0,
    rate: float = 2.5e-4,
    batch: int = 32,
    length: int = 192,
    seed: int = 13,
    teachers: Sequence[Path] = (),
    command: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, float]:
    """Train on `files` and write `output/model`. Returns the metrics of the model card.

    `held_out` has the rows for calibration and metrics; without it, some contexts of `files` are held out. The mean
    scores of `teachers` are training targets. If `base` is not a BERT, the engine cannot run it: the result is a
    teacher in `output/torch`.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    own = [(path, list(load_rows(path))) for path in files]
    given = [row for _, part in own for row in part]
    rows, held = split_rows(given, held_out, seed)
    if teachers:
        rows += list(near_rows(rows, random.Random(seed), _NEAR))
    output.mkdir(parents=True, exist_ok=True)
    counts = [(path, len(part)) for path, part in own]
    notice_text, earlier = notice(base, teachers, own=counts), history(base)
    initial, base = base, base_folder(base, output / "base", say)
    earlier = "".join(map(taught, teachers)) + earlier
    plan = Plan(
        epochs=epochs, rate=rate, batch=batch, length=length, seed=seed, taught=_TEACHER_WEIGHT if teachers else 0.0
    )
    settings = uncalibrated(min(512, length + 32, room(base, length)), _STRIDE)
    validation = held[:_VALIDATION_ROWS]
    bert = runs_here(base)
    tokenizer = (base if bert else PACKAGED) / "tokenizer.json"
    if not bert:
        plan = replace(plan, relevance=0.0, vectors=0.0)
        say(f"CTranslate2 cannot run the encoder of {base}: the result is a teacher in torch.")
    loaded_teachers = [
        _teacher(base_folder(folder, output / f"teacher-{n}", say), tokenizer, length)
        for n, folder in enumerate(teachers, 1)
    ]

    def validate(model: SpanReader) -> dict[str, float]:
        return measure(InTorch(model.eval(), tokenizer, settings), validation, settings)

    embedder = _embedder(base, output / "embedder", settings) if bert else None
    model, used = train(
        rows, base, tokenizer, output, plan, embedder=embedder, teachers=loaded_teachers, measure=validate, say=say
    )
    model = model.to("cpu").eval()
    run = RunInfo(command, plan, used, notice_text, earlier)
    if not bert:
        return save_teacher(model, base, output / "torch", {"held out": float(len(validation)), **validate(model)}, run)
    return finish(model, tokenizer, output, settings, held, before=settings_before(initial), run=run, say=say)


def split_rows(rows: list[Row], held_out: Path | None, seed: int) -> tuple[list[Row], list[Row]]:
    """Return training rows and a sample of held-out rows: those of the file, or some contexts of `rows`.

    Raises InputError if either is empty.
    """
    rows, held = split(rows) if held_out is None else (rows, list(load_rows(held_out)))
    if not rows:
        raise InputError(
            "There are no rows to train on.", hint="Give a JSONL file of rows, see `rqa train reader --help`."
        )
    if not held:
        raise InputError(
            "All rows have the same context, so none can be held out.",
            hint="Give rows with at least two contexts, better a hundred.",
        )
    return rows, random.Random(seed).sample(held, min(_MAX_HELD_OUT, len(held)))


def _embedder(base: Path, folder: Path, settings: Settings) -> Embedder:
    """Return the initial encoder, in int8 or on the GPU if there is one."""
    model, tokenizer = SpanReader(base), base / "tokenizer.json"
    if torch.cuda.is_available():
        return InTorch(model.to("cuda").eval(), tokenizer, settings)
    convert(model, tokenizer, folder, settings)
    return Engine(folder)


def _teacher(folder: Path, tokenizer: Path, length: int) -> SpanReader:
    if not (folder / HEADS).exists():
        raise InputError(
            f"The encoder in {folder} is untrained and cannot be a teacher.",
            hint="Train it with `rqa train reader --base FOLDER -o OUTPUT`, then use --teacher OUTPUT/model or /torch.",
        )
    room(folder, length)
    return SpanReader(folder, tokenizer)


class RunInfo(NamedTuple):
    """How a model was made, for its card."""

    command: str
    plan: loop.Plan
    rows: int
    notice_text: str
    earlier: str

    def describe(self, folder: Path, metrics: dict[str, float]) -> dict[str, float]:
        """Write card and notice to `folder`. Returns all metrics of the card."""
        metrics = {"rows": float(self.rows), **metrics}
        text = card(
            metrics, self.plan, command=self.command,
            notice_text=self.notice_text, earlier=self.earlier,
        )  # fmt: skip
        (folder / CARD).write_text(text, encoding="utf-8")
        (folder / "NOTICE").write_text(self.notice_text, encoding="utf-8")
        return metrics


def save_teacher(
    model: SpanReader, base: Path, folder: Path, metrics: dict[str, float], run: RunInfo
) -> dict[str, float]:
    """Save a model that the engine cannot run as a teacher, with the tokenizer of `base`."""
    model.save(folder, base / "tokenizer.json")
    return run.describe(folder, metrics)


def finish(
    model: SpanReader,
    tokenizer: Path,
    output: Path,
    settings: Settings,
    held_out: list[Row],
    *,
    parts: Sequence[tuple[Path | None, Sequence[Group]]] = (),
    before: Settings,
    run: RunInfo,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Convert and check the model, calibrate it on `held_out` and `parts`, measure it, and write its card.

    A part has questions over documents, and the converted model to read them if it is not this one.
    """
    full, small = output / "float32", output / "model"
    convert(model, tokenizer, full, settings, quantization="float32")
    unlabelled = [msgspec.structs.replace(row, answers=[], start=None, within=None) for row in held_out[:32]]
    examples = encode(unlabelled, load_tokenizer(str(tokenizer), settings.length))
    difference = check(InTorch(model, tokenizer, settings), Engine(full), examples)
    say(f"CTranslate2 in fp32 agrees with torch to {difference:.1e}")
    convert(model, tokenizer, small, settings)
    engine = Engine(small)
    if parts:
        readers = [(Engine(folder) if folder else engine, groups) for folder, groups in parts]
        asked = [(reader, asked_over_documents(reader, groups)) for reader, groups in readers]
        settings = fit(engine, asked, before, say, also=asked_of(engine, retrieved(held_out)))
    else:
        settings = calibrate(engine, held_out, before, say)
    save_settings(small, settings)
    found = _predict(Engine(small), held_out, settings)
    metrics = {"held out": float(len(held_out)), "difference": difference}
    metrics |= {f"fp32 {key}": value for key, value in measure(Engine(full), held_out, settings).items()}
    metrics |= {f"int8 {key}": value for key, value in _metrics(found).items()}
    for source in sorted({row.source for row in held_out} - {""}):
        part = _metrics([one for one in found if one.asked.row.source == source])
        metrics |= {f"int8 {key} ({source})": value for key, value in part.items()}
    metrics = run.describe(small, metrics)
    say("  ".join(f"{name} {value:.4g}" for name, value in metrics.items()))
    return metrics


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return training rows and held-out rows, split by context. Each part has a context if there are two."""
    places = sorted({place(row.context) for row in rows})
    limit = min(max(HELD_OUT, places[1]), places[-1]) if len(places) > 1 else 0.0
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[place(row.context) < limit].append(row)
    return parts


def measure(engine: Marking, rows: list[Row], settings: Settings) -> dict[str, float]:
    """Return EM and F1 (per cent) of the best span of a row's passage, and AUC of the judge over retrieved passages."""
    return _metrics(_predict(engine, rows, settings))


class _Prediction(NamedTuple):
    """The best span in a question's own passage, and the judge's scores of all passages."""

    asked: Retrieved
    answer: str
    scores: list[float]


def _predict(engine: Marking, rows: list[Row], settings: Settings) -> list[_Prediction]:
    asked = retrieved(rows)
    found = []
    evidence = find_evidence(engine, [(one.row.question, one.passages) for one in asked])
    for one, own, scores in zip(asked, evidence, judge(Refitted(engine, settings), evidence), strict=True):
        best = max((span for span in own.spans if span.passage == one.own), key=lambda span: span.margin, default=None)
        answer = "" if best is None else text_of(one.passages[one.own])[best.start : best.end]
        found.append(_Prediction(one, answer, scores))
    return found


def _metrics(found: Sequence[_Prediction]) -> dict[str, float]:
    pairs = [(one.answer, one.asked.row.answers) for one in found if one.asked.row.answers]
    labels = [holds(one.asked.row, passage) for one in found for passage in one.asked.passages]
    return {
        "EM": 100 * sum(exact(*pair) for pair in pairs) / max(1, len(pairs)),
        "F1": 100 * sum(f1(*pair) for pair in pairs) / max(1, len(pairs)),
        "AUC": auc([score for one in found for score in one.scores], labels),
    }

"""`rqa evaluator convert` and `rqa train thresholds`."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from robust_qa import ConfigError
from robust_qa.cli import Answering
from robust_qa.cli.answering import in_session

from ..commands import command_line, require

if TYPE_CHECKING:
    from robust_qa import Toolbox
    from robust_qa.cli import Run

    from .rows import Asked
    from .thresholds import Judged

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_QUANTIZATIONS = (
    "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
)  # fmt: skip
quantization_option = click.option(
    "--quantization",
    metavar="KIND",
    type=click.Choice(_QUANTIZATIONS),
    help=f"Type of the weights: {', '.join(_QUANTIZATIONS)}. Default: float32 for a T5 with a classification head, "
    "else int8.",
)

input_option = click.option(
    "--input",
    type=click.Choice(["text", "title-text"]),
    help="What the model reads of a passage: its text, or title and text. Default: as trained, or title-text.",
)

_CHUNK = 512  # questions scored at once


def scores(
    run: Run,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    progress: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """Return the scores of the configured evaluator for each (question, texts)."""

    async def ask(toolbox: Toolbox) -> list[list[float]]:
        found: list[list[float]] = []
        for at in range(0, len(requests), _CHUNK):
            found += await asyncio.gather(*(toolbox.score(*request) for request in requests[at : at + _CHUNK]))
            progress(len(found))
        return found

    return _with_evaluator(run, name, ask)


def reads_titles(run: Run, name: str | None) -> bool:
    """Return whether the configured evaluator reads the titles of passages."""

    async def ask(toolbox: Toolbox) -> bool:
        return toolbox.titles()

    return _with_evaluator(run, name, ask)


def _with_evaluator(run: Run, name: str | None, ask: Callable[[Toolbox], Awaitable[T]]) -> T:
    answering = Answering(option=(("defaults.evaluator", name),) if name else ())
    return in_session(run, answering, lambda session: ask(session.toolbox("reader", "evaluator")), detailed=False)


_PRESETS = ("popqa", "pubqa", "arc", "bio")


@click.group()
def evaluator() -> None:
    """Convert evaluator checkpoints."""


@evaluator.command("convert", epilog="Example: rqa evaluator convert castorini/monot5-base-msmarco my-judge")
@click.argument("checkpoint")
@click.argument("out", type=FOLDER)
@quantization_option
@click.option(
    "--labels",
    metavar="YES,NO",
    help="The relevant label, then the other: words of a T5 without a classification head, or names of two outputs. "
    "Default: from the checkpoint, or true,false.",
)
@click.option("--length", type=click.IntRange(16, 8192), help="Maximum input in tokens. Default: as trained, or 512.")
@input_option
@click.option("--force", is_flag=True, help="Replace the evaluator in OUT.")
def convert(
    *,
    checkpoint: str,
    out: Path,
    quantization: str | None,
    labels: str | None,
    length: int | None,
    input: Any,
    force: bool,
) -> None:
    """Convert CHECKPOINT to the model folder OUT for the evaluator t5.

    CHECKPOINT is a folder or a name on the Hugging Face hub. It holds a T5 that generates a label, a
    T5ForSequenceClassification (as published with CRAG) or a BertForSequenceClassification, with one or two outputs.
    The conversion fails if its scores differ from torch's.
    """
    require("torch", "transformers")
    from ..card import CARD
    from . import checkpoints, conversion
    from .conversion import card

    words = None if labels is None else tuple(word.strip() for word in labels.split(",", 1))
    if words is not None and not (len(words) == 2 and all(words)):
        raise click.BadParameter(f"{labels!r} is not two words separated by a comma.", param_hint="--labels")
    conversion.check_free(out, force=force)
    loaded = checkpoints.load(checkpoint, labels=words)
    shape = loaded.settings.shape
    outputs = loaded.outputs()
    if words is not None and shape != "label" and outputs is None:
        raise click.BadParameter(f"{checkpoint} is a {shape}, which has no labels.", param_hint="--labels")
    loaded = loaded.with_input(length=length, form=input)
    quantization = quantization or conversion.default_quantization(loaded)
    proof = conversion.convert(loaded, out, quantization=quantization, force=force)
    text = card(loaded.settings, proof, command=command_line("evaluator"), origin=checkpoint, quantization=quantization)
    (out / CARD).write_text(text, encoding="utf-8")
    click.echo(
        f"{shape}, {loaded.settings.length} tokens, {quantization}; max. difference from torch: "
        f"{proof.exact:.1e} in fp32 logits, {proof.quantised:.1e} in quantised scores.",
        err=True,
    )
    if outputs is not None:
        yes, no = outputs
        click.echo(f"Output {yes!r} means relevant, {no!r} not relevant. Use --labels to swap them.", err=True)
    if shape == "classifier":
        click.echo(conversion.speed_note(out), err=True)
    if loaded.settings.upper is None:
        click.echo(
            "The model has no thresholds, so crag uses those of the paper's model. "
            "Choose your own with `rqa train thresholds questions.jsonl --evaluator t5`.",
            err=True,
        )
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str(out.resolve()), ensure_ascii=False)}")


@click.command("thresholds", epilog="Example: rqa train thresholds popqa.jsonl nq.jsonl")
@click.argument("data", nargs=-1, type=FILE)
@click.option("--evaluator", "name", metavar="NAME", help="Evaluator. Default: the strategy's, or the configured one.")
@click.option("--preset", type=click.Choice(_PRESETS), help="Thresholds of the CRAG paper for a data set.")
@click.option("--strategy", metavar="NAME", default="crag", show_default=True, help="Strategy to configure.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object that includes the curve.")
@click.pass_obj
def calibrate_thresholds(
    run: Run,
    /,
    *,
    data: tuple[Path, ...],
    name: str | None,
    preset: str | None,
    strategy: str,
    as_json: bool,
) -> None:
    """Choose thresholds for CRAG's actions on the questions in the JSONL files DATA, for each file its own.

    A line is {"question", "answers", "passages"}, where passages that contain an answer are relevant. Or it is a pair
    {"question", "passage", "label"} with label 1 or -1. The best score of a question decides its action. The curve
    and the share of each action go to stderr, the configuration to stdout. Use --preset without DATA to print a preset.
    """
    from . import thresholds
    from .rows import judgeable, read_rows

    if not data and preset is None:
        raise click.UsageError("Give DATA or a --preset.")
    table = run.load_config().table("strategy", strategy).values
    plugin = str(table["plugin"].value) if "plugin" in table else strategy
    _check_options(run, strategy, plugin)
    name = name or (str(table["evaluator"].value) if "evaluator" in table else None)
    sets = {path.stem: judgeable(read_rows([path])) for path in data} or {"": []}
    for questions in sets.values():  # before any call
        if data and not preset:
            thresholds.require_both([any(c.relevant for c in one.candidates) for one in questions])
    for of, questions in sets.items():
        result: dict[str, Any] = {"set": of} if len(sets) > 1 else {}
        judged = _judge(run, questions, name) if questions else []
        if preset:
            upper, lower = thresholds.PRESETS[preset]
        else:
            upper, lower = thresholds.choose(judged)
        result |= {"upper": upper, "lower": lower}
        result |= {"evaluator": name, **_measure(judged, upper, lower)} if judged else {}
        if as_json:
            click.echo(json.dumps(result))
        else:
            values = {"plugin": plugin} if len(sets) > 1 else {}
            values |= {"evaluator": name} if name else {}
            comment = f"{preset}, as in the CRAG paper" if preset else f"chosen on {len(judged)} questions"
            _print(result, f"{strategy}-{of}" if len(sets) > 1 else strategy, comment, values)
    if not as_json:
        _note_existing_table(run, strategy, table)


def _print(result: dict[str, Any], strategy: str, comment: str, values: dict[str, Any]) -> None:
    """Print the curve to stderr, and the table of the strategy to stdout."""
    if "curve" in result:
        _print_curve(result)
    click.echo(f"[strategy.{_key(strategy)}]\n# {comment}")
    for key, value in {**values, "upper": result["upper"], "lower": result["lower"]}.items():
        click.echo(f"{key} = {json.dumps(value, ensure_ascii=False)}")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def _measure(judged: Sequence[Judged], upper: float, lower: float) -> dict[str, Any]:
    """Return the effect of the thresholds on the questions, with the curve of other thresholds."""
    from . import thresholds

    accuracy, share = thresholds.action_accuracy(judged, upper, lower)
    correct = sum(one.best >= upper for one in judged) / len(judged)
    both = len({one.answerable for one in judged}) == 2
    single = thresholds.single(judged) if both else None
    points = thresholds.curve(judged, sorted({*thresholds.steps(judged), upper, lower, *(single or ())[:1]}))
    return {
        "questions": len(judged),
        "accuracy": accuracy if share < 1 else None,
        "ambiguous": share,
        "correct": correct,
        "incorrect": 1 - share - correct,
        "always_correct": sum(one.answerable for one in judged) / len(judged),
        "single": {"threshold": single[0], "accuracy": single[1]} if single else None,
        "curve": [dataclasses.asdict(point) for point in points],
    }


def _check_options(run: Run, strategy: str, plugin: str) -> None:
    """Raise ConfigError unless the strategy exists and has thresholds."""
    options = run.host.find("strategy", plugin).options
    missing = {"upper", "lower"} - ({field.name for field in dataclasses.fields(options)} if options else set())
    if missing:
        raise ConfigError(
            f"The strategy {strategy} has no option `{min(missing)}`.",
            hint="Choose a strategy with thresholds: `--strategy crag`.",
        )


def _note_existing_table(run: Run, strategy: str, table: Mapping[str, Any]) -> None:
    """Name the files that already have the table, because TOML does not allow it twice."""
    for origin in dict.fromkeys(value.layer.origin for value in table.values() if not value.layer.textual):
        run.say(f"{origin} already has a table [strategy.{strategy}]: add these lines to it")


def _print_curve(result: dict[str, Any]) -> None:
    def share(value: float | None) -> str:
        return "     -" if value is None else f"{100 * value:6.1f}"

    click.echo("threshold  at or above  of them with an answer  below without one  accuracy alone", err=True)
    for point in result["curve"]:
        mark = "".join(f"  {name}" for name in ("upper", "lower") if result[name] == point["threshold"])
        click.echo(
            f"{point['threshold']:9.4g}  {share(point['above']):>11}  {share(point['answerable_above']):>22}"
            f"  {share(point['unanswerable_below']):>16}  {share(point['accuracy']):>14}{mark}",
            err=True,
        )
    accuracy, single = result["accuracy"], result["single"]
    right = "" if accuracy is None else f"{100 * accuracy:.1f} % right actions if not Ambiguous; "
    one = "" if single is None else f"one threshold at {single['threshold']:g}: {100 * single['accuracy']:.1f} %; "
    click.echo(
        f"{result['questions']} questions: {100 * result['correct']:.1f} % Correct, {100 * result['ambiguous']:.1f} % "
        f"Ambiguous, {100 * result['incorrect']:.1f} % Incorrect; {right}{one}"
        f"always Correct: {100 * result['always_correct']:.1f} %",
        err=True,
    )


def _judge(run: Run, questions: Sequence[Asked], name: str | None) -> list[Judged]:
    from .rows import without_titles
    from .thresholds import Judged

    if not reads_titles(run, name):
        questions = without_titles(questions)
    found = scores(run, name, [(one.question, [c.text for c in one.candidates]) for one in questions])
    return [
        Judged(tuple(of), tuple(bool(c.relevant) for c in one.candidates))
        for of, one in zip(found, questions, strict=True)
    ]


T = TypeVar("T")

"""`rqa evaluator` and `rqa train evaluator`."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import MissingError, RqaError

if TYPE_CHECKING:
    from .rows import Asked
    from .thresholds import Judged
    from .training.examples import Example

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_PRESETS = ("popqa", "pubqa", "arc", "bio")
_QUANTIZATIONS = (
    "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
)  # fmt: skip
_AT_ONCE = 512  # questions scored at once
_quantization = click.option(
    "--quantization",
    metavar="KIND",
    type=click.Choice(_QUANTIZATIONS),
    default="int8",
    show_default=True,
    help=f"Of the weights: {', '.join(_QUANTIZATIONS)}.",
)


@click.group()
def evaluator() -> None:
    """Judges of relevance: convert checkpoints, and calibrate thresholds."""


@evaluator.command("convert", epilog="Example: rqa evaluator convert castorini/monot5-base-msmarco my-judge")
@click.argument("checkpoint")
@click.argument("out", type=_FOLDER)
@_quantization
@click.option(
    "--labels",
    metavar="YES,NO",
    default="true,false",
    show_default=True,
    help="The words that a T5 without a classification head says.",
)
@click.option("--template", metavar="TEXT", help="A T5's input, with {question} and {passage}. Default: as trained.")
@click.option("--length", type=click.IntRange(16, 8192), help="Tokens that it reads. Default: as trained, or 512.")
@click.option("--force", is_flag=True, help="Replace the evaluator in OUT.")
def convert(checkpoint: str, out: Path, labels: str, template: str | None, length: int | None, **how: Any) -> None:
    """Convert CHECKPOINT, a folder or a hub's name, to the model folder OUT for the evaluator t5.

    It is a T5 that says a label, a T5ForSequenceClassification (the evaluator that CRAG published), or a
    BertForSequenceClassification, with one output or two. The result is proved to say what torch says, or refused.
    """
    _need_training()
    from .training import checkpoints, conversion
    from .training.card import card

    yes, comma, no = labels.partition(",")
    if not comma or not yes.strip() or not no.strip():
        raise click.BadParameter(f"{labels!r} is not two words with a comma between.", param_hint="--labels")
    if template is not None and not ("{question}" in template and "{passage}" in template):
        raise click.BadParameter("it lacks {question} or {passage}.", param_hint="--template")
    conversion.check_free(out, force=how["force"])
    loaded = checkpoints.load(checkpoint, labels=(yes.strip(), no.strip()))
    loaded = loaded.used(template=template, length=length)
    proof = conversion.convert(loaded, out, **how)
    text = card(
        loaded.settings, proof, command=_command("evaluator"), origin=checkpoint, quantization=how["quantization"]
    )
    (out / "MODEL_CARD.md").write_text(text, encoding="utf-8")
    click.echo(
        f"{loaded.settings.shape}, {how['quantization']}; logits differ from torch's by {proof.exact:.1e} in fp32, "
        f"scores by {proof.quantised:.1e} after quantisation.",
        err=True,
    )
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str(out.resolve()), ensure_ascii=False)}")


@evaluator.command("calibrate", epilog="Example: rqa evaluator calibrate questions.jsonl >> rqa.toml")
@click.argument("data", nargs=-1, type=_FILE)
@click.option("--evaluator", "name", metavar="NAME", help="The evaluator. Default: as configured.")
@click.option("--preset", type=click.Choice(_PRESETS), help="The thresholds that the CRAG paper has for a data set.")
@click.option(
    "--ambiguous",
    type=click.FloatRange(0.5, 1),
    default=0.65,
    show_default=True,
    help="What an Ambiguous action is worth beside a right one: how sure the two others must be.",
)
@click.option("--strategy", metavar="NAME", default="crag", show_default=True, help="The strategy to write for.")
@click.option(
    "--by",
    type=click.Choice(("action", "answers")),
    default="action",
    show_default=True,
    help="What to have right most often: the action, or the strategy's answers, for which it answers every question "
    "under every action.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, the curve in it.")
@click.pass_obj
def calibrate(
    run: Any,
    /,
    *,
    data: tuple[Path, ...],
    name: str | None,
    preset: str | None,
    ambiguous: float,
    strategy: str,
    by: str,
    as_json: bool,
) -> None:
    """Choose the thresholds of CRAG's actions on the questions of the JSONL files DATA.

    A line is {"question", "answers", "passages"}, where a passage that contains an answer is relevant, or a pair
    {"question", "passage", "label"} with label 1 or -1. The best score of a question decides its action. The curve
    is told on stderr, and on stdout the lines to put into a configuration. Without DATA a preset is printed.
    """
    from . import thresholds

    if not data and preset is None:
        raise click.UsageError("Name the questions to calibrate on, or a --preset.")
    asked = _asked(data) if data else []
    judged = _judged(run, asked, name) if data else []
    told: dict[str, Any] = {}
    if preset:
        upper, lower = thresholds.PRESETS[preset]
    elif by == "answers":
        from . import answering

        found = answering.outcomes(run, strategy, name, asked, [one.best for one in judged])
        upper, lower, right = answering.choose(found)
        told = {"answers": {"right": right, "right_if_always": answering.accuracies(found)}}
    else:
        upper, lower = thresholds.choose(judged, ambiguous=ambiguous)
    told |= {"upper": upper, "lower": lower}
    if judged:
        accuracy, share = thresholds.action_accuracy(judged, upper, lower)
        one, best = thresholds.single(judged)
        points = thresholds.curve(judged, sorted({*thresholds.steps(judged), upper, lower, one}))
        told |= {
            "questions": len(judged),
            "accuracy": accuracy,
            "ambiguous": share,
            "always_correct": sum(q.answerable for q in judged) / len(judged),
            "single": {"threshold": one, "accuracy": best},
            "curve": [dataclasses.asdict(point) for point in points],
        }
    if as_json:
        click.echo(json.dumps(told))
        return
    if judged:
        _print_curve(told)
    if "answers" in told:
        _print_answers(told["answers"])
    comment = f"# {preset}, as in the CRAG paper\n" if preset else f"# chosen on {len(judged)} questions\n"
    click.echo(f"[strategy.{strategy}]\n{comment}upper = {upper}\nlower = {lower}")


def _print_answers(told: dict[str, Any]) -> None:
    always = ", ".join(f"{100 * share:.1f} % if always {name}" for name, share in told["right_if_always"].items())
    click.echo(f"answers right, of the same questions: {100 * told['right']:.1f} %; {always}", err=True)


def _print_curve(told: dict[str, Any]) -> None:
    def share(value: float | None) -> str:
        return "     -" if value is None else f"{100 * value:6.1f}"

    click.echo("threshold  at or above  of them with an answer  under it without  accuracy alone", err=True)
    for point in told["curve"]:
        mark = "".join(f"  {name}" for name in ("upper", "lower") if told[name] == point["threshold"])
        click.echo(
            f"{point['threshold']:9.4g}  {share(point['above']):>11}  {share(point['answerable_above']):>22}"
            f"  {share(point['unanswerable_below']):>16}  {share(point['accuracy']):>14}{mark}",
            err=True,
        )
    click.echo(
        f"{told['questions']} questions: of those not Ambiguous {100 * told['accuracy']:.1f} % right, "
        f"{100 * told['ambiguous']:.1f} % Ambiguous; one threshold at {told['single']['threshold']:g}: "
        f"{100 * told['single']['accuracy']:.1f} %; always Correct: {100 * told['always_correct']:.1f} %",
        err=True,
    )


def _asked(data: Sequence[Path]) -> list[Asked]:
    """The questions, with those of their texts of which it is known whether they are relevant."""
    from .rows import read_rows

    known = [
        dataclasses.replace(one, candidates=[c for c in one.candidates if c.relevant is not None])
        for one in read_rows(data)
    ]
    return [one for one in known if one.candidates]


def _judged(run: Any, asked: Sequence[Asked], name: str | None) -> list[Judged]:
    from .thresholds import Judged

    scores = _scores(run, name, [(one.question, [c.text for c in one.candidates]) for one in asked])
    return [
        Judged(tuple(of), tuple(bool(c.relevant) for c in one.candidates))
        for of, one in zip(scores, asked, strict=True)
    ]


def _scores(
    run: Any,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    told: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """The configured evaluator's scores; all requests meet in its queue, as those of a batch do."""

    async def ask() -> list[list[float]]:
        found: list[list[float]] = []
        async with run.toolbox(
            "reader", "evaluator", overrides=[("defaults.evaluator", name)] if name else []
        ) as toolbox:
            for at in range(0, len(requests), _AT_ONCE):
                calls = [toolbox.score(question, texts) for question, texts in requests[at : at + _AT_ONCE]]
                found += await asyncio.gather(*calls)
                told(len(found))
        return found

    return asyncio.run(ask())


@click.command("evaluator", epilog="Example: rqa train evaluator questions.jsonl -o my-judge")
@click.argument("data", nargs=-1, required=True, type=_FILE)
@click.option(
    "-o", "--output", required=True, type=_FOLDER, help="The folder to write; a run that was stopped there goes on."
)
@click.option("--base", metavar="CHECKPOINT", help="A T5 or BERT, a folder or a hub's name. Default: a new small T5.")
@click.option("--width", type=click.IntRange(32, 1024), default=256, show_default=True, help="Of the new T5.")
@click.option("--layers", type=click.IntRange(1, 24), default=4, show_default=True, help="Of the new T5's encoder.")
@click.option("--words", type=click.IntRange(100, 64_000), default=16_000, show_default=True, help="Its vocabulary.")
@click.option(
    "--length", type=click.IntRange(16, 8192), default=256, show_default=True, help="Tokens of question and text."
)
@click.option("--negatives", type=click.IntRange(0), default=2, show_default=True, help="For each relevant text.")
@click.option("--hard", type=click.IntRange(0), default=1, show_default=True, help="Negatives by BM25, a question.")
@click.option("--teacher", metavar="NAME", help="A configured evaluator whose scores to learn from, too.")
@click.option(
    "--trust",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of a teacher's score in a target.",
)
@click.option("--epochs", type=click.FloatRange(0, min_open=True), default=3.0, show_default=True, help="At most.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Pairs a step.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=1e-4, show_default=True, help="Learning rate.")
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Measurements without a better one before it ends; 0: never.",
)
@click.option("--measure-every", type=click.IntRange(0), default=0, help="Steps. Default: a twentieth of the run.")
@click.option("--seed", type=int, default=13, show_default=True, help="Of weights, drawing and order.")
@_quantization
@click.pass_obj
def train_evaluator(run: Any, /, data: tuple[Path, ...], output: Path, teacher: str | None, **how: Any) -> None:
    """Train an evaluator on the JSONL files DATA, convert it, and calibrate it.

    A line is {"question", "answers", "passages"}, where a passage that contains an answer is relevant, or is of the
    gold "page", or a pair {"question", "passage", "label"} with label 1 or -1, or with a teacher's "score". One
    question in ten is held out, to stop early by and to choose thresholds on. OUTPUT/model is then a model folder.
    """
    _need_training()
    from .training.loop import Plan
    from .training.make import Making, make

    names = {field.name for field in dataclasses.fields(Making)}
    figures = make(
        data,
        output,
        Making(**{key: value for key, value in how.items() if key in names}),
        Plan(**{key: value for key, value in how.items() if key not in names}),
        teacher=None if teacher is None else lambda examples: _taught(run, teacher, examples),
        command=_command("train"),
        say=lambda line: click.echo(line, err=True),
    )
    for what, value in figures.items():
        click.echo(f"{what}: {value:.4g}" if isinstance(value, float) else f"{what}: {value:,}", err=True)
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str((output / 'model').resolve()), ensure_ascii=False)}")


def _taught(run: Any, teacher: str, examples: list[Example]) -> list[Example]:
    """The examples with the teacher's scores."""
    by_question: dict[str, list[int]] = {}
    for n, example in enumerate(examples):
        by_question.setdefault(example.question, []).append(n)
    requests = [(question, [examples[n].text for n in of]) for question, of in by_question.items()]

    def told(done: int) -> None:
        click.echo(f"{teacher} has scored {done:,} of {len(requests):,} questions", err=True)

    scores = _scores(run, teacher, requests, told)
    taught = list(examples)
    for of, values in zip(by_question.values(), scores, strict=True):
        for n, value in zip(of, values, strict=True):
            taught[n] = dataclasses.replace(examples[n], score=value)
    return taught


def _need_training() -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingError(
            f"This needs {error.name}, which is not installed.", hint="Install it: `pip install 'robust-qa[train]'`."
        ) from error
    except OSError as error:  # a library that torch links to
        raise RqaError(f"torch cannot be imported: {error}.") from error


def _command(first: str) -> str:
    """The command line, for the model card."""
    words = sys.argv[sys.argv.index(first) :] if first in sys.argv else [first]
    return shlex.join(["rqa", *words])

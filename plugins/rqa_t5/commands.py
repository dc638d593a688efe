"""`rqa evaluator`: checkpoints converted, thresholds chosen."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import ConfigError

from .command_parts import FILE, FOLDER, command_line, need, quantization_option

if TYPE_CHECKING:
    from robust_qa.cli import Run

    from .rows import Asked
    from .thresholds import Judged

_PRESETS = ("popqa", "pubqa", "arc", "bio")


@click.group()
def evaluator() -> None:
    """Judges of relevance: convert checkpoints, and calibrate thresholds."""


@evaluator.command("convert", epilog="Example: rqa evaluator convert castorini/monot5-base-msmarco my-judge")
@click.argument("checkpoint")
@click.argument("out", type=FOLDER)
@quantization_option
@click.option(
    "--labels",
    metavar="YES,NO",
    help="The words that a T5 without a classification head says, by default as trained here, or true,false; or the "
    "names of two outputs, by default in the order that they tell.",
)
@click.option("--template", metavar="TEXT", help="A T5's input, with {question} and {passage}. Default: as trained.")
@click.option("--length", type=click.IntRange(16, 8192), help="Tokens that it reads. Default: as trained, or 512.")
@click.option("--force", is_flag=True, help="Replace the evaluator in OUT.")
def convert(
    checkpoint: str, out: Path, labels: str | None, template: str | None, length: int | None, **how: Any
) -> None:
    """Convert CHECKPOINT, a folder or a hub's name, to the model folder OUT for the evaluator t5.

    It is a T5 that says a label, a T5ForSequenceClassification (the evaluator that CRAG published), or a
    BertForSequenceClassification, with one output or two. The result is proved to say what torch says, or refused.
    """
    need("torch", "transformers")
    from .training import checkpoints, conversion
    from .training.card import CARD, card

    words = None if labels is None else tuple(word.strip() for word in labels.split(",", 1))
    if words is not None and not (len(words) == 2 and all(words)):
        raise click.BadParameter(f"{labels!r} is not two words with a comma between.", param_hint="--labels")
    if template is not None and not ("{question}" in template and "{passage}" in template):
        raise click.BadParameter("it lacks {question} or {passage}.", param_hint="--template")
    conversion.check_free(out, force=how["force"])
    loaded = checkpoints.load(checkpoint, labels=words)
    shape = loaded.settings.shape
    outputs = loaded.outputs()
    if words is not None and shape != "label" and outputs is None:
        raise click.BadParameter(f"{checkpoint} is a {shape}, which says no words.", param_hint="--labels")
    if template is not None and shape == "cross-encoder":
        raise click.BadParameter(f"{checkpoint} is a {shape}, which reads no template.", param_hint="--template")
    loaded = loaded.used(template=template, length=length)
    proof = conversion.convert(loaded, out, **how)
    text = card(
        loaded.settings, proof, command=command_line("evaluator"), origin=checkpoint, quantization=how["quantization"]
    )
    (out / CARD).write_text(text, encoding="utf-8")
    click.echo(
        f"{shape}, {loaded.settings.length} tokens, {how['quantization']}; logits differ from torch's by "
        f"{proof.exact:.1e} in fp32, scores by {proof.quantised:.1e} after quantisation.",
        err=True,
    )
    if outputs is not None:
        yes, no = outputs
        click.echo(f"Of its outputs {yes!r} counts as relevant, {no!r} as not; --labels says it otherwise.", err=True)
    if loaded.settings.upper is None:
        click.echo(
            "It has no thresholds: `rqa evaluator calibrate questions.jsonl --evaluator t5` chooses them. "
            "Until then crag takes the paper's, which are of another model.",
            err=True,
        )
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str(out.resolve()), ensure_ascii=False)}")


@evaluator.command("calibrate", epilog="Example: rqa evaluator calibrate questions.jsonl")
@click.argument("data", nargs=-1, type=FILE)
@click.option("--evaluator", "name", metavar="NAME", help="The evaluator. Default: the strategy's, or as configured.")
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
    run: Run,
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
    from . import answering, thresholds
    from .rows import judgeable, read_rows

    if not data and preset is None:
        raise click.UsageError("Name the questions to calibrate on, or a --preset.")
    if preset and by != "action":
        raise click.UsageError("A --preset is what the paper chose; it is not chosen --by anything here.")
    table = run.load_config().table("strategy", strategy).values
    _check_options(run, strategy, table, {"upper", "lower"} if by == "action" else {"upper", "lower", "ablation"})
    name = name or (str(table["evaluator"].value) if "evaluator" in table else None)
    asked = judgeable(read_rows(data)) if data else []
    if by == "answers":  # before any call
        answering.need_answers(asked)
    elif data and not preset:
        thresholds.need_both([any(c.relevant for c in one.candidates) for one in asked])
    judged = _judged(run, asked, name) if data else []
    told: dict[str, Any] = {}
    if preset:
        upper, lower = thresholds.PRESETS[preset]
    elif by == "answers":
        found = answering.outcomes(run, strategy, name, asked, [one.best for one in judged])
        upper, lower, right = answering.choose(found)
        told = {"answers": {"right": right, "right_if_always": answering.accuracies(found)}}
    else:
        upper, lower = thresholds.choose(judged, ambiguous=ambiguous)
    told |= {"upper": upper, "lower": lower}
    if judged:
        told |= {"evaluator": name, **_measured(judged, upper, lower)}
    if as_json:
        click.echo(json.dumps(told))
        return
    if judged:
        _print_curve(told)
    if "answers" in told:
        _print_answers(told["answers"])
    comment = f"# {preset}, as in the CRAG paper\n" if preset else f"# chosen on {len(judged)} questions\n"
    judge = f"evaluator = {json.dumps(name, ensure_ascii=False)}\n" if name else ""
    key = strategy if re.fullmatch(r"[\w-]+", strategy, re.ASCII) else json.dumps(strategy, ensure_ascii=False)
    click.echo(f"[strategy.{key}]\n{comment}{judge}upper = {upper}\nlower = {lower}")
    _tell_where(run, strategy, table)


def _measured(judged: Sequence[Judged], upper: float, lower: float) -> dict[str, Any]:
    """What the thresholds do to the questions, and what others would."""
    from . import thresholds

    accuracy, share = thresholds.action_accuracy(judged, upper, lower)
    both = len({one.answerable for one in judged}) == 2
    single = thresholds.single(judged) if both else None
    points = thresholds.curve(judged, sorted({*thresholds.steps(judged), upper, lower, *(single or ())[:1]}))
    return {
        "questions": len(judged),
        "accuracy": accuracy if share < 1 else None,
        "ambiguous": share,
        "always_correct": sum(one.answerable for one in judged) / len(judged),
        "single": {"threshold": single[0], "accuracy": single[1]} if single else None,
        "curve": [dataclasses.asdict(point) for point in points],
    }


def _check_options(run: Run, strategy: str, table: Mapping[str, Any], needed: set[str]) -> None:
    """Raise ConfigError unless there is that strategy, and it has the options `needed`."""
    plugin = table["plugin"].value if "plugin" in table else strategy
    options = run.host.find("strategy", str(plugin)).options
    lacking = needed - {field.name for field in dataclasses.fields(options)} if options else needed
    if lacking:
        raise ConfigError(
            f"The strategy {strategy} has no option `{min(lacking)}` to choose for.",
            hint="Name one that decides by scores with --strategy, as crag does.",
        )


def _tell_where(run: Run, strategy: str, table: Mapping[str, Any]) -> None:
    """Which files have the table already: TOML takes none twice."""
    for origin in dict.fromkeys(value.layer.origin for value in table.values() if not value.layer.textual):
        run.say(f"{origin} has a table [strategy.{strategy}] already: put these lines into it")


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
    accuracy, one = told["accuracy"], told["single"]
    right = "" if accuracy is None else f"of those not Ambiguous {100 * accuracy:.1f} % right, "
    alone = "" if one is None else f"one threshold at {one['threshold']:g}: {100 * one['accuracy']:.1f} %; "
    click.echo(
        f"{told['questions']} questions: {right}{100 * told['ambiguous']:.1f} % Ambiguous; {alone}"
        f"always Correct: {100 * told['always_correct']:.1f} %",
        err=True,
    )


def _judged(run: Run, asked: Sequence[Asked], name: str | None) -> list[Judged]:
    from .scoring import scores
    from .thresholds import Judged

    found = scores(run, name, [(one.question, [c.text for c in one.candidates]) for one in asked])
    return [
        Judged(tuple(of), tuple(bool(c.relevant) for c in one.candidates)) for of, one in zip(found, asked, strict=True)
    ]

"""The command `rqa eval`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import click

from robust_qa import Exit, Order
from robust_qa.cli import (
    ROW_FORMATS,
    TEXT_FORMATS,
    Answering,
    answering_options,
    engine_option,
    jobs_option,
    output_option,
    suffix_of,
)

from .attacks import POISON
from .extras import ADAPTIVE, ATTACKS, LAYOUTS, METRICS, VIEWS, find, in_lab

if TYPE_CHECKING:
    from robust_qa import Metric
    from robust_qa.cli import Run

    from .conditions import Condition
    from .gate import StoredScores
    from .running import Plan

T = TypeVar("T")

_LAYOUTS = ("jsonl", "csv", "xlsx", *LAYOUTS)
_RECIPE = f"{__name__}.recipe"
ALL = "all"  # every attack, one after the other
_RATES_OF_ALL = (0.2, 0.4, 0.6)
_OF_ATTACKS = ("accuracy", "wrong", "unanswered", "attack-success")
_ORDERS = get_args(Order)


class Several(click.ParamType[tuple[Any, ...]]):
    """A list of values, separated by commas."""

    def __init__(self, name: str, convert: Callable[[str], Any]) -> None:
        self.name = name
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Return the converted values without duplicates. A value that does not convert is a usage error."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        try:
            return tuple(dict.fromkeys(self._convert(part) for part in parts if part))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError("a share is a number from 0 to 1")
    return value


def _order(text: str) -> str:
    if text not in _ORDERS:
        raise ValueError(f"an order is one of {', '.join(_ORDERS)}")
    return text


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("a number of passages is 1 or more")
    return int(text)


NUMBERS = Several("NUMBERS", _number)
SHARES, ORDERS, NAMES = Several("SHARES", _share), Several("ORDERS", _order), Several("NAMES", str)


def _use(ctx: click.Context, param: click.Parameter, name: str | None) -> None:
    """Make the options of the recipe the defaults of the command."""
    if name is not None:
        ctx.meta[_RECIPE] = find("recipes", "papers", said=name).use(ctx, param, name)


@click.command(
    "eval",
    epilog="Examples: rqa eval questions.jsonl -s rag,astute,norag --baseline rag\n\n"
    "rqa eval popqa.jsonl nq.jsonl -s all --sample 100 -o tonight\n\n"
    "rqa eval popqa.jsonl -s rag,astute --attack poison --rate 0,0.2,0.5",
)
@click.argument("data", metavar="DATA...", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("RUN", "Write the run to this folder.", stdout=False)
@click.option(
    "--recipe",
    metavar="NAME",
    callback=_use,
    is_eager=True,
    expose_value=False,
    help="Repeat a table of a paper, such as astute-table1, with your reader. `rqa help papers` lists them.",
)
@click.option("--resume", is_flag=True, help="Continue the run in RUN. You may add strategies and views.")
@click.option("--retry-failed", is_flag=True, help="Continue the run and retry the questions that failed.")
@click.option("--force", is_flag=True, help="Replace RUN.")
@click.option("--format", "layout", type=click.Choice(_LAYOUTS), help="Layout of DATA. Default: detected.")
@click.option("--sample", metavar="N", type=click.IntRange(1), help="Ask N random questions of each set.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, help="Random seed.")
@click.option(
    "--metrics", metavar="NAMES", type=NAMES, default="", help="Compute only these metrics. Views show the first."
)
@click.option(
    "--over",
    type=click.Choice(["answer", "reply"]),
    help="What the metrics read: the answer, or the whole last reply of the model, as some papers do.",
)
@click.option("--baseline", metavar="NAME", help="Compare with this strategy and mark significant differences.")
@click.option(
    "--gate",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Exit with 6 if a metric is significantly worse than in this run.",
)
@click.option(
    "--by",
    "views",
    metavar="SLICES",
    multiple=True,
    shell_complete=lambda ctx, param, text: [name for name in VIEWS if name.startswith(text)],
    help="Also show results by retrieval-precision, conflict, conflict-rate, knowledge or a field of the rows. "
    "May be repeated.",
)
@click.option("--prompts", is_flag=True, help="Keep the prompt of every call in the answers.")
@click.option("--worst-case", is_flag=True, help="Give only passages without the answer.")
@click.option("--attack", type=click.Choice([POISON, *ATTACKS, *ADAPTIVE, ALL]), help="Plant false passages.")
@click.option("--rate", "rates", metavar="SHARES", type=SHARES, help="Share of passages that --attack replaces.")
@click.option("--drop", metavar="SHARES", type=SHARES, help="Remove this share of the passages with the answer.")
@click.option(
    "--repeat", metavar="N", type=click.IntRange(2, 10_000), help="Ask each question N times, with a temperature."
)
@click.option(
    "--top", metavar="NUMBERS", type=NUMBERS, help="Give only the first passages, as many as each number says."
)
@click.option("--order", metavar="ORDERS", type=ORDERS, help="Give the passages in these orders.")
@jobs_option
@engine_option
@answering_options(several=True)
@click.pass_obj
def evaluate_sets(
    run: Run,
    /,
    *,
    data: tuple[Path, ...],
    out: Path | None,
    resume: bool,
    retry_failed: bool,
    force: bool,
    layout: str | None,
    sample: int | None,
    seed: int,
    metrics: tuple[str, ...],
    over: Literal["answer", "reply"] | None,
    baseline: str | None,
    gate: Path | None,
    views: tuple[str, ...],
    prompts: bool,
    worst_case: bool,
    attack: str | None,
    rates: tuple[float, ...] | None,
    drop: tuple[float, ...] | None,
    repeat: int | None,
    top: tuple[int, ...] | None,
    order: tuple[Order, ...] | None,
    jobs: int,
    strategy: tuple[str, ...],
    **answering: Any,
) -> None:
    """Answer the questions in DATA with several strategies and compare their accuracy and cost.

    `-s all` takes every strategy that the configuration can run.

    DATA is JSON lines or CSV with `question`, `answers` and optionally `passages`, or a public set as published.
    """
    resume |= retry_failed
    if resume and force:
        option = "--retry-failed" if retry_failed else "--resume"
        raise click.UsageError(f"{option} keeps RUN and --force replaces it. Use only one of them.")
    if out and not out.is_dir() and suffix_of(out) in {*ROW_FORMATS, *TEXT_FORMATS, "html"}:
        raise click.UsageError(f"-o names the folder of the run. To write {out}: rqa report RUN -o {out}")
    conditions = _conditions(
        worst_case=worst_case, attack=attack, rates=rates, drop=drop, order=order, repeat=repeat, top=top
    )
    from robust_qa.cli.answering import in_session

    from .gate import StoredScores
    from .questions import read_sets, remarks
    from .running import Plan, evaluate
    from .strategies import check
    from .views import view

    options = Answering(**answering)
    recipe = click.get_current_context().meta.get(_RECIPE)
    for line in recipe.apply(run, options) if recipe else ():
        run.say(line)
    check(run, options, [*strategy, *([baseline] if baseline else [])])
    plan = Plan(
        folder=out or Path("+".join(path.resolve().stem for path in data)[:80] + ".eval"),
        sets=read_sets(data, layout, sample=sample, seed=seed, negative=worst_case, fakes=attack is not None),
        strategies=strategy,
        conditions=conditions,
        views=[view(name) for name in dict.fromkeys(views)],
        metrics=_metrics(run, [*metrics, *(_OF_ATTACKS if attack else ())] if metrics else ()),
        metric=metrics[0] if metrics else None,
        chosen=metrics,
        over=over,
        baseline=baseline,
        recipe=recipe.name if recipe else "",
        sample=sample,
        seed=seed,
        jobs=jobs,
        prompts=prompts,
        fakes=attack is not None,
        resume=resume,
        retry=retry_failed,
        force=force,
    )
    _check_fields(views, plan)
    for line in chain.from_iterable(map(remarks, plan.sets)):
        run.say(line)
    stored = StoredScores.load(gate) if gate else None  # now, because it may be in the folder of this run
    if stored:
        stored.check_shares([(one.name, item.question) for one in plan.sets for item in one.items])
    complete = in_session(run, options, lambda session: evaluate(run, session, plan))
    _show(plan.folder, metrics, cards=attack == ALL, every=run.verbosity > 0)
    run.say(f"The run is in {plan.folder}.")
    if stored and not _passes(stored, StoredScores.load(plan.folder), plan.metrics):
        raise click.exceptions.Exit(Exit.NEGATIVE)
    if not complete:
        raise click.exceptions.Exit(Exit.ROWS_FAILED)


def _check_fields(views: Sequence[str], plan: Plan) -> None:
    """Raise a usage error for a view that is no field of any row either."""
    fields = {field for one in plan.sets for item in one.items for field in item.rest}
    for name in views:
        if name not in (*VIEWS, *fields):
            known = ", ".join([*VIEWS, *sorted(fields)])
            raise click.UsageError(f"--by {name}: no row has this field. Choose from: {known}.")


def _conditions(
    *,
    worst_case: bool,
    attack: str | None,
    rates: Sequence[float] | None,
    drop: Sequence[float] | None,
    order: Sequence[Order] | None,
    repeat: int | None,
    top: Sequence[int] | None,
) -> list[Condition]:
    """Return the conditions to ask under. The options exclude each other."""
    from . import conditions

    if rates is not None and attack is None:
        raise click.UsageError("--rate needs --attack.")
    if sum(map(bool, (worst_case, attack, drop, order, repeat, top))) > 1:
        raise click.UsageError("Use only one of --worst-case, --attack, --drop, --order, --repeat and --top.")
    if attack == ALL:
        return conditions.all_attacks(rates or _RATES_OF_ALL)
    if attack:
        return [conditions.attacked(attack, rate) for rate in rates or (0.2,)]
    values: dict[str, Sequence[Any] | None] = {"drop": drop, "order": order, "top": top}
    values |= {"worst-case": [True] * worst_case, "repeat": range(1, (repeat or 0) + 1)}
    for name, given in values.items():
        if given:
            make = find("conditions", name, said=f"--{name}")
            return [make(value) for value in given]
    return [conditions.untouched()]


def _metrics(run: Run, names: Sequence[str]) -> list[Metric]:
    """Return the named metrics, by default all. Accuracy is always included because views need it."""
    available, warnings = run.host.metrics()
    for line in warnings:
        run.say(line)
    known = {metric.name: metric for metric in available}
    for name in names:
        if name in METRICS and name not in known:
            raise in_lab(name)
        if name not in known:
            raise click.UsageError(f"Unknown metric {name!r}. Choose from: {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys([*names, "accuracy"])] if names else available


def _passes(stored: StoredScores, scores: StoredScores, metrics: Sequence[Metric]) -> bool:
    """Print the metrics that are significantly worse than the stored ones. Return whether there are none."""
    from robust_qa.kit import printable

    from .gate import compare, worse

    comparisons = compare(stored, scores, metrics)
    found, name = worse(comparisons), printable(str(stored.folder))
    verdict = "significantly worse" if found else "no metric is significantly worse"
    note = f"p < 0.05, Holm's correction for {len(comparisons):,} changed metrics"
    click.echo(f"\nGate: {verdict} than in {name} ({note}){':' if found else '.'}")
    for one in found:
        change = f"{100 * one.before:.1f} -> {100 * one.now:.1f}"
        of = f"{printable(one.strategy)}, {one.metric}, {printable(one.condition)}"
        click.echo(f"  {of}: {change}, p = {one.p:.2g} by {one.test}")
    return not found


def _show(run: Path, chosen: Sequence[str], *, cards: bool, every: bool) -> None:
    """Print the tables of a run as `rqa report` does, with the `chosen` metrics, or its robustness cards."""
    from .report.overview import tables
    from .report.runs import Run
    from .report.terminal import terminal_text

    loaded = Run.load(run)
    more = "" if chosen else f"`rqa report {run} -v` shows them"
    shown = find("cards", "robustness")([loaded]) if cards else tables([loaded], chosen, every=every, more=more)
    for text in terminal_text(shown):
        click.echo(text, nl=False)

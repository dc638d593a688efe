"""The command `rqa judge`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import RqaError
from robust_qa.cli import Answering, KeyValue, jobs_option
from rqa_eval.report.commands import form_of, output_options, write

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run as CommandLine
    from rqa_eval.report.runs import Run
    from rqa_eval.report.tables import Table

    from ..rows import Asked
    from .judges import Judge

_FILE, _RECORD = "claims.jsonl", "claims.json"


@click.command(
    "judge", epilog="Examples: rqa judge runs/popqa\n\nrqa judge runs/popqa --reader big-model -o claims.tex"
)
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--reader", metavar="NAME", help="Language model that judges. Default: the packaged judge.")
@click.option(
    "-O", "--option", "options", type=KeyValue(), multiple=True, help="Set any configuration value. May be repeated."
)
@jobs_option
@output_options("terminal", "markdown", "latex")
@click.pass_obj
def judge(
    run: CommandLine,
    /,
    *,
    folder: Path,
    reader: str | None,
    options: tuple[tuple[str, str], ...],
    jobs: int,
    form: str | None,
    out: Path | None,
) -> None:
    """Judge the answers of an evaluation run claim by claim, with the metrics of RAGChecker.

    A language model also marks each answer as right or wrong. The judgements are in claims.jsonl of RUN, and who judged
    with which prompts is in claims.json.
    """
    from robust_qa.cli.answering import in_session
    from rqa_eval.report import exports
    from rqa_eval.report.runs import Run
    from rqa_eval.report.terminal import terminal_text

    from ..latex import latex

    form = form or form_of(out)
    shown: dict[str, Callable[[Table], Iterable[str]]] = {
        "terminal": lambda table: terminal_text([table], out),
        "markdown": lambda table: [exports.markdown([table])],
        "latex": lambda table: [latex([table])],
    }
    if form not in shown:
        raise click.UsageError(f"This report cannot be written as {form}. Use --to markdown or --to latex.")
    loaded = Run.load(folder)
    answering = Answering(reader=reader, option=options)
    table = in_session(
        run, answering, lambda session: judged(session, loaded, reader, jobs, command=run), detailed=False
    )
    write(shown[form](table), out)


async def judged(session: Session, run: Run, reader: str | None, jobs: int, *, command: CommandLine) -> Table:
    """Judge all answers of the run, write the judgements to its folder, and return the table of the metrics."""
    from ..record import this_session
    from ..rows import Rows
    from .judges import Model, Packaged

    toolbox = session.toolbox("reader", "evaluator")
    by: Judge = Model(toolbox, reader) if reader else Packaged(toolbox)
    limit = asyncio.Semaphore(jobs)

    async def one(number: int, strategy: str, asked: Asked, answer: str | None) -> dict[str, Any]:
        async with limit:
            try:
                return {"row": number, "strategy": strategy, **await _judge(by, asked, answer)}
            except RqaError as error:
                return {"row": number, "strategy": strategy, "error": error.message, "scores": {}}

    with Rows(run) as rows:
        work = [
            one(number, name, row.asked, line.get("answer"))
            for number, row in enumerate(rows, start=1)
            if row.asked.gold
            for name, line in row.answers.items()
        ]
        lines = await asyncio.gather(*work)
    if failed := [line for line in lines if "error" in line]:
        command.say(f"{len(failed):,} of {len(lines):,} answers could not be judged. First error: {failed[0]['error']}")
    judge_of = f"reader.{reader}" if reader else "packaged"
    record = {"judge": judge_of, "session": this_session(), "answers": len(lines)}
    if isinstance(by, Model):
        record["prompts"] = {name: prompt.template for name, prompt in by.prompts.items()}
        record["options"] = session_options(session, reader or "")
    (run.folder / _FILE).write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    (run.folder / _RECORD).write_text(json.dumps(record, indent=1, default=str) + "\n", "utf-8")
    return _table(run, lines, judge_of)


def session_options(session: Session, reader: str) -> dict[str, Any]:
    """Return the options of a reader, with secrets as asterisks."""
    from rqa_rows import options_of

    return options_of(f"reader.{reader}", session.components.pipeline("reader", reader).options)


async def _judge(by: Judge, asked: Asked, answer: str | None) -> dict[str, Any]:
    """Return the claims about one answer with who says them, and its scores."""
    from .judges import Model
    from .measures import MEASURES, Judged, Said, Wanted

    question, passages = asked.question, [f"{one.title}\n{one.text}".strip() for one in asked.passages or ()]
    gold = [" / ".join(fact) for fact in asked.gold]
    claims = await by.claims(question, answer) if answer else []

    async def said(claim: str) -> Said:
        golds, found = await asyncio.gather(
            by.entailing(question, claim, [f"{question} {text}" for text in gold]),
            by.entailing(question, claim, passages),
        )
        return Said(claim, bool(golds), found)

    async def wanted(fact: Sequence[str]) -> Wanted:
        """Return where the fact stands, in any of its wordings, which a language model reads together."""
        wordings = [" or ".join(fact)] if isinstance(by, Model) else fact
        told = [await by.entailing(question, text, [answer or "", *passages]) for text in wordings]
        places = frozenset().union(*told)
        return Wanted(fact[0], bool(answer) and 0 in places, frozenset(place - 1 for place in places if place))

    judged = Judged(
        await asyncio.gather(*map(said, claims)), await asyncio.gather(*map(wanted, asked.gold)), len(passages)
    )
    scores = {name: measure(judged) for name, measure in MEASURES.items()}
    if isinstance(by, Model):
        right = await by.right(question, answer, asked.gold) if answer else False
        scores["judged-right"] = None if right is None else float(right)
    return {
        "said": [asdict(claim) | {"by": sorted(claim.by)} for claim in judged.said],
        "wanted": [asdict(claim) | {"by": sorted(claim.by)} for claim in judged.wanted],
        "scores": scores,
    }


def _table(run: Run, lines: Iterable[dict[str, Any]], judge_of: str) -> Table:
    from rqa_eval.estimates import estimate
    from rqa_eval.report.tables import Column, Table, estimate_cell

    found: dict[str, list[dict[str, float | None]]] = {}
    for line in lines:
        found.setdefault(line["strategy"], []).append(line["scores"])
    names = list(dict.fromkeys(name for scores in found.values() for one in scores for name in one))

    def rows() -> Iterator[Any]:
        for strategy, scores in found.items():
            columns = estimate({name: [one.get(name) for one in scores] for name in names})
            yield (strategy,), tuple(estimate_cell(columns[name], "share") for name in names)

    return Table(
        title=f"Claims of the answers, {run.name} (%)",
        heads=("strategy",),
        columns=tuple(map(Column, names)),
        rows=tuple(rows()),
        notes=(f"Judged by {judge_of}; {_RECORD} has its prompts, and {_FILE} each judgement.",),
    )

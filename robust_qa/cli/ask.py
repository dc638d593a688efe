"""`rqa ask`: one question, one answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, RqaError
from ..serialization import TEXT_FORMATS, suffix_of
from ..serialization import as_json as data_of
from ..stdout import descriptor, plugins_write_to_stderr
from ..types import Answer, Question
from .options import Answering, answering_options, filter_options, history_option, output_option, passages_in
from .piped import STDIN, piped_document
from .run import Run, pass_run

if TYPE_CHECKING:
    import asyncio

    from ..answering.session import Session
    from ..calls.trace import Trace
    from .live import Live


@click.command(
    "ask",
    epilog='Examples: rqa ask --docs notes/ "Who wrote the first compiler?"\n\n'
    'rqa ask --passages found.jsonl -s astute --explain "When was it finished?"',
)
@click.argument("question", metavar="[QUESTION]", nargs=-1)
@output_option("FILE", "Write the answer to FILE. Default: - (stdout).", formats=TEXT_FORMATS, dir_okay=False)
@answering_options()
@history_option
@click.option(
    "--passages",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Answer from the passages in FILE (- for stdin): JSON lines or plain text.",
)
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
@click.option("--short", is_flag=True, help="Print only the short answer. Without one, exit with 6.")
@click.option("--explain", is_flag=True, help="Show every call and decision on stderr.")
@pass_run
def command(
    run: Run,
    /,
    *,
    question: tuple[str, ...],
    out: Path | None,
    passages: Path | None,
    filters: dict[str, str],
    as_json: bool,
    short: bool,
    explain: bool,
    **answering: Any,
) -> None:
    """Answer QUESTION, or the question on stdin, and cite the sources."""
    from ..calls.trace import Trace
    from ..expressions import names_given, parse_expression
    from . import output
    from .answering import command_session
    from .live import Live

    options = Answering(**answering)
    as_json |= suffix_of(out) == "json"
    if short and as_json:
        raise click.UsageError("--short cannot be combined with --json.")
    if passages and (options.docs or (options.retriever and not names_given(parse_expression(options.retriever)))):
        raise click.UsageError(
            "--passages cannot be combined with --docs, or with a --retriever that does not name `given`."
        )
    if filters and passages:
        raise click.UsageError("--in, --type, --since and --title cannot be combined with --passages.")
    parsed = _question(" ".join(question) if question else None, passages, options.docs)
    if question and not (passages or options.docs or options.retriever) and (piped := piped_document(run)):
        options = replace(options, docs=(piped,))
    output.print_to(out)
    live = Live(
        steps=run.verbosity >= 0 and not explain,
        streaming=not (short or as_json or explain or out) and os.isatty(descriptor()),
    )
    trace = Trace(watcher=live)
    with plugins_write_to_stderr():
        # Outside the event loop, so that Ctrl-C interrupts indexing.
        session = command_session(run, options, record="ask", fresh=passages is None, filters=filters)
        run.hold()  # messages follow the answer, a part of which may be on the screen
        click.get_current_context().call_on_close(run.release)
        try:
            runner = click.get_current_context().with_resource(_entered(run, session))
            answer = runner.run(_answer(session, parsed, trace, live))
        except (RqaError, KeyboardInterrupt) as error:  # show what was reached
            if trace.steps and (explain or (live.steps and not isinstance(error, RqaError))):
                from .explaining import explain_steps

                explain_steps(parsed.text, trace.steps, verbose=run.verbosity > 0)
            raise
    if explain:
        from .explaining import explain as print_trace

        print_trace(answer, verbose=run.verbosity > 0)
    if short:
        output.print_short(answer)
    elif as_json:
        output.print_data(data_of(answer))
    else:
        shown = live.end(output.marked_answer(answer))
        output.print_answer(answer, shown=shown, cost=run.verbosity >= 0 and not explain, whole=run.verbosity > 0)


def _question(text: str | None, passages: Path | None, docs: Sequence[Path]) -> Question:
    own = passages_in(passages) if passages else None
    if text is None or text == "-":
        for option, reads in (("--passages", passages == STDIN), ("--docs", STDIN in docs)):
            if reads:
                raise click.UsageError(f"`{option} -` reads stdin, so give the question as an argument.")
        if sys.stdin is None or (text is None and sys.stdin.isatty()):
            raise click.UsageError('Missing question. Example: rqa ask "Who wrote the first compiler?"')
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    if not text.strip():
        raise InputError("The question is empty.", hint='Example: rqa ask "Who wrote the first compiler?"')
    # An argument that is not UTF-8 contains lone surrogates, which cannot be encoded.
    return Question(text.encode("utf-8", "replace").decode().strip(), passages=own)


@contextmanager
def _entered(run: Run, session: Session) -> Iterator[asyncio.Runner]:
    """Enter the session. Close it when the answer is printed, because that may take as long as 30 seconds."""
    import asyncio

    with asyncio.Runner() as runner:
        runner.run(session.__aenter__())
        try:
            yield runner
            sys.stdout.flush()
        finally:
            with plugins_write_to_stderr():
                runner.run(session.__aexit__(None, None, None))
            if session.trouble:
                run.say(session.trouble)


async def _answer(session: Session, question: Question, trace: Trace, live: Live) -> Answer:
    async with live.drawing():
        return await session.answer(question, trace=trace)

"""Print answers, traces and errors. Strips control characters from outside text; escapes them in JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.files import atomic_write
from ..encoding import as_json
from ..errors import Exit, InputError
from ..sanitize import printable, printable_json, single_line
from ..stdout import descriptor
from ..types import Answer, Citation, Step

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    from ..errors import RqaError

_MEMORY = "the model's memory"
_STALE = {
    "changed": "changed since it was indexed",
    "gone": "the file is gone",
    "unreadable": "the file cannot be opened any more",
}
_MARKED = "magenta"  # legible on white and on black
_UNSURE = "yellow"  # of an answer that is only probable; legible on white and on black
_LONGEST_REPLY = 600  # characters of a reply or prompt shown by --explain without -v


def complain(error: RqaError) -> None:
    """Print an error and its hint on stderr."""
    click.echo(f"rqa: {printable(error.message)}", err=True)
    for line in error.hint.splitlines():
        click.echo(f"     {printable(line)}", err=True)


def print_to(out: Path | None) -> None:
    """Redirect the command's output to the file `out`. None: standard output.

    Replaces the file when the command succeeds. Raises InputError if it cannot be written.
    """
    if out is not None:
        click.get_current_context().with_resource(_printed_to(out))


@contextmanager
def _printed_to(out: Path) -> Iterator[None]:
    exit_code = None
    try:
        regular = out.is_file() or not out.exists()  # else a device or a pipe
        binary = atomic_write(out) if regular else out.open("wb")
        with binary as file, TextIOWrapper(file, "utf-8", "replace") as text, redirect_stdout(text):
            try:
                yield
            except click.exceptions.Exit as error:  # raised after everything is printed
                exit_code = error
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(out)):
            raise
        raise InputError(f"Cannot write {out}: {error.strerror}.") from error
    if exit_code:
        raise exit_code


def print_rows(lines: Sequence[bytes], out: Path | None) -> None:
    """Print rows of JSON, without line ends, in the format that the name `out` asks for: JSON lines for stdout."""
    from ..batch.output_formats import format_of, rendered

    for part in rendered(lambda: (line + b"\n" for line in lines), format_of(out)):
        click.echo(part, nl=False)


def console(*, err: bool = False) -> Console:
    """Return a console that styles text only on terminals, or as NO_COLOR and FORCE_COLOR say.

    Its width is that of the terminal on any standard stream, because piped output often ends up there.
    """
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:  # main() exits quietly; rich would exit with 1
            raise BrokenPipeError

    stream = sys.stderr if err else sys.stdout
    width = height = None  # rich asks the terminal at each print
    terminal = next(filter(os.isatty, (*range(3), descriptor())), None)
    if "COLUMNS" in os.environ or terminal is None:
        import shutil

        width, height = shutil.get_terminal_size((100, 25))  # rich prints nothing if COLUMNS is 0
    return Piped(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False, width=width, height=height)


def print_json(answer: Answer) -> None:
    """Print the whole answer on stdout as one JSON object."""
    print_data(as_json(answer))


def print_data(data: Any) -> None:
    """Print JSON-ready data on stdout."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(data), indent=2)
    sys.stdout.buffer.write(printable_json(encoded) + b"\n")


def print_short(answer: Answer) -> None:
    """Print the answer alone on stdout. Exits with 6 if there is none, or if the documents do not support it."""
    if answer.text is None or answer.unsupported:
        raise click.exceptions.Exit(Exit.NEGATIVE)
    click.echo(printable(answer.text))


def marked_answer(answer: Answer) -> str:
    """Return the line of an answer: with its standing, and in several sentences with the numbers of their sources."""
    sources = _numbered(answer)
    return printable(answer.marked(lambda cited: " " + "".join(f"[{sources[each]}]" for each in cited)))


def print_answer(answer: Answer, *, shown: str = "", cost: bool = True, quotes: bool = True) -> None:
    """Print the answer, conflicts, numbered sources and closest passages on stdout, and the cost on stderr.

    `shown`: the first part of the answer, which is on the screen already. `quotes`: also quote the sources.
    """
    from rich.text import Text

    from ..kit.dates import date_of

    out = console()
    if answer.text is None and (guess := answer.probable):
        out.print(Text(f"Probably: {single_line(guess.text)} ({guess.confidence:.0%})", style=_UNSURE))
        if answer.conflicts:
            out.print(Text(printable(answer.reason)))
    elif answer.text is None:
        out.print(Text(printable(answer.reason) or "Not sure."))
    else:
        style = "bold" if answer.standing in ("", "supported", "partly supported") else _UNSURE
        text = Text(marked_answer(answer)[len(shown) :], style=style)
        if out.is_terminal and answer.confidence is not None:  # a pipe gets the answer alone on its line
            text.append(f" ({answer.confidence:.0%})", style="not bold")
        out.print(text, soft_wrap=bool(shown))
        if answer.reason:
            out.print(Text(printable(answer.reason)))
    sources = _numbered(answer)
    if answer.conflicts:
        out.print()
        out.print(Text("The sources disagree:"))
        ages = list(map(date_of, answer.conflicts))
        for position, date in zip(answer.conflicts, ages, strict=True):
            mark = "●" if position.chosen else "○"
            confidence = "" if position.confidence is None else f" ({position.confidence:.0%})"
            when = ""
            if all(ages) and len(set(ages)) > 1:
                when = f"{'newer' if date == max(ages) else 'older'}, {date}: "
            who = ", ".join(f"[{sources[citation]}]" for citation in dict.fromkeys(position.citations)) or "no source"
            _print_indented(out, Text(f"{mark} {when}{single_line(position.text)}{confidence}: {who}"), 2)
    print_sources(answer, quotes=quotes)
    if cost:
        aside = console(err=True)
        aside.print()
        aside.print(Text(f"{single_line(answer.strategy)} · {cost_line(answer)}", style="dim"))


def print_sources(answer: Answer, *, quotes: bool = True) -> None:
    """Print the numbered sources and closest passages on stdout."""
    from rich.text import Text

    out = console()
    sources = _numbered(answer)
    if sources:
        out.print()
    for citation, number in sources.items():
        print_source(citation, number, quote=quotes)
    if answer.closest:
        out.print()
        out.print(Text("Other passages that may help:" if answer.citations else "The closest passages:"))
    for number, citation in enumerate(answer.closest, start=len(sources) + 1):
        print_source(citation, number, quote=quotes)


def print_source(
    citation: Citation, number: int, marked: Sequence[tuple[int, int]] | None = None, *, quote: bool = True
) -> None:
    """Print a numbered source on stdout, and its quote with the spans `marked` in bold, by default its highlight."""
    out = console()
    line = _source_line(citation, number)
    if out.file.isatty() and Path(citation.file).is_absolute():
        line.stylize(f"link {Path(citation.file).as_uri()}")  # OSC 8; rich leaves it out on a terminal without colours
    out.print(line)
    if citation.quote and quote:
        if marked is None:
            marked = [citation.highlight] if citation.highlight else ()
        _print_indented(out, _quoted(citation.quote, marked), 4)


def _quoted(quote: str, marked: Sequence[tuple[int, int]]) -> Text:
    """Return the quote with the spans `marked` in bold."""
    from rich.text import Text

    text, at = Text("“", style="italic"), 0
    for start, end in marked:
        text.append(printable(quote[at:start])).append(printable(quote[start:end]), "bold not italic")
        at = end
    return text.append(printable(quote[at:])).append("”")


def _print_indented(out: Console, text: Text, indent: int) -> None:
    for line in text.wrap(out, max(out.width - indent, 20)):
        line.rstrip()  # drop rich's padding
        line.pad_left(indent)
        out.print(line)


def _numbered(answer: Answer) -> dict[Citation, int]:
    cited = [*answer.citations, *(c for position in answer.conflicts for c in position.citations)]
    return {citation: number for number, citation in enumerate(dict.fromkeys(cited), start=1)}


def _source_line(citation: Citation, number: int) -> Text:
    from rich.text import Text

    where = _MEMORY if citation.origin == "memory" else citation.where.removeprefix(f"{Path.cwd()}{os.sep}")
    # One line: a line break in a file name could fake another source.
    name = " · ".join(filter(None, map(single_line, (citation.title, where))))
    line = Text(f"[{number}] {name or single_line(citation.id) or 'a passage without a title'}", style=_MARKED)
    return line.append(f" ({_STALE[citation.stale]})", style="bold") if citation.stale else line


def cost_line(answer: Answer) -> str:
    """Return calls, tokens, seconds and confidence as one line."""
    usage = answer.usage
    parts: list[str] = []
    if usage.calls:
        cached = f" ({usage.cached} cached)" if usage.cached else ""
        parts.append(f"{usage.calls} {'call' if usage.calls == 1 else 'calls'}{cached}")
        parts.append(f"{usage.prompt_tokens} + {usage.completion_tokens} tokens")
    parts.append(f"{answer.seconds:.2f} s")
    if answer.confidence is not None and not answer.abstained:
        parts.append(f"confidence {answer.confidence:.2f}")
    return " · ".join(parts)


def explain(answer: Answer, *, verbose: bool) -> None:
    """Print the trace as a tree on stderr. `verbose` adds prompts and whole replies."""
    explain_steps(
        answer.question, answer.trace, verbose=verbose, cost=f"{single_line(answer.strategy)} · {cost_line(answer)}"
    )


def explain_steps(question: str, steps: Sequence[Step], *, verbose: bool, cost: str = "") -> None:
    """Print the steps to an answer or an error as a tree on stderr."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(printable(question), style="bold"))
    for step in steps:
        _add_step(tree, step, verbose)
    if cost:
        tree.add(Text(cost, style="dim"))
    console(err=True).print(tree)


def _add_step(tree: Tree, step: Step, verbose: bool) -> None:
    from rich.text import Text

    if step.kind == "note":
        branch = tree.add(Text(f"→ {printable(step.what)}", style=_MARKED))
    else:
        label = Text()
        label.append(f"{step.kind} ", style=f"bold {_MARKED}")
        label.append(f"{single_line(step.component)}: {_shortened(step.what, 80)}")
        label.append(f"  {_step_cost(step)}", style="dim")
        branch = tree.add(label)
    if step.error:
        branch.add(Text(printable(step.error), style="red"))
    for key, value in step.data.items():
        if step.kind == "note":
            _add_value(branch, key, value, verbose)  # the strategy's own keys have no special meaning
        else:
            _add_data(branch, key, value, verbose)


def _step_cost(step: Step) -> str:
    parts = [f"{step.seconds:.2f} s"]
    if step.usage.calls:
        parts.insert(0, f"{step.usage.prompt_tokens} + {step.usage.completion_tokens} tokens")
    if step.cached:
        parts.append("cached")
    if step.retries:
        parts.append(f"{step.retries} retries")
    return " · ".join(parts)


def _add_data(branch: Tree, key: str, value: Any, verbose: bool) -> None:
    from rich.text import Text

    if key == "prompt":
        if verbose:
            for message in value:
                branch.add(Text(f"{message['role']}: {printable(message['content'])}", style="dim"))
        return
    if key == "passages" and value and isinstance(value[0], dict):
        for number, passage in enumerate(value, start=1):
            titled = ": ".join(part for part in (passage["title"], passage["text"]) if part)
            shown = printable(titled) if verbose else _shortened(titled, 90)
            branch.add(Text(f"{number}. {passage['score']:.2f}  {shown}"))
        return
    _add_value(branch, key, value, verbose)


def _add_value(branch: Tree, key: str, value: Any, verbose: bool) -> None:
    from rich.text import Text

    if not verbose and (not value or (key, value) == ("finish", "stop")):
        return  # empty or as expected
    if isinstance(value, list) and isinstance(value[0] if value else None, dict | list):
        items = branch.add(Text(key))
        for item in value:
            items.add(_item(item, verbose))
        return
    text = _as_text(value)
    branch.add(Text(f"{key}: {printable(text) if verbose else _shortened(text, _LONGEST_REPLY)}"))


def _item(item: Any, verbose: bool) -> Text:
    """Return one list item as a line. Items not kept are marked with - and struck out."""
    from rich.text import Text

    if not isinstance(item, dict) or "kept" not in item:
        return Text(_shortened(_as_text(item), _LONGEST_REPLY))
    rest = _as_text({name: value for name, value in item.items() if name != "kept"})
    shown = printable(rest) if verbose else _shortened(rest, 120)
    return Text(f"+ {shown}") if item["kept"] else Text("- ").append(shown, style="strike dim")


def _as_text(value: Any) -> str:
    """Return JSON-ready data as one line."""
    if isinstance(value, dict):
        return " · ".join(f"{key}: {_as_text(inner)}" for key, inner in value.items() if inner not in ("", None, []))
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _shortened(text: str, length: int) -> str:
    line = single_line(text)
    return line if len(line) <= length else line[: length - 1] + "…"

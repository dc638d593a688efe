"""Print answers, traces and errors. Strips control characters from outside text; escapes them in JSON."""

from __future__ import annotations

import os
import re
import shutil
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
from ..types import Answer, Citation, Position, Step

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
_UNWRAPPED = 10_000  # columns
_LONGEST_REPLY = 600  # characters of a reply or prompt shown by --explain without -v


def complain(error: RqaError) -> None:
    """Print an error and its hint on stderr."""
    say(error.message, "rqa: error: ", "bold red")
    if error.hint:
        say(error.hint, "hint: ", "bold")


def say(text: str, label: str = "rqa: ", style: str = "") -> None:
    """Print a message on stderr after its label, with later lines indented, also those wrapped on a terminal."""
    text, indent = printable(text), label.index(" ") + 1
    if not sys.stderr.isatty():
        click.echo(label + text.replace("\n", "\n" + " " * indent), err=True)
        return
    from rich.text import Text

    print_wrapped(console(err=True), Text.assemble((label, style), text), hanging=indent)


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

    A pipe gets each row in one line, unless COLUMNS says how wide it is.
    """
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:  # main() exits quietly; rich would exit with 1
            raise BrokenPipeError

    stream = sys.stderr if err else sys.stdout
    width = height = None  # rich asks the terminal at each print
    if "COLUMNS" in os.environ:
        width, height = shutil.get_terminal_size((100, 25))  # rich prints nothing if COLUMNS is 0
    elif not stream.isatty():
        width, height = _UNWRAPPED, 25
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


def _numbers(answer: Answer) -> dict[Citation, int]:
    """Return the number of each citation, in their order."""
    return {citation: number for number, citation in enumerate(answer.numbered, start=1)}


def marked_answer(answer: Answer) -> str:
    """Return the line of an answer: with its standing, and in several sentences with the numbers of their sources."""
    numbers = _numbers(answer)
    return printable(answer.marked(lambda cited: " " + "".join(f"[{numbers[each]}]" for each in cited)))


def print_answer(answer: Answer, *, shown: str = "", cost: bool = True, whole: bool = False, more: str = "-v") -> None:
    """Print the answer with its quotes, then the other sides with theirs, on stdout, and the cost on stderr.

    `shown`: the first part of the answer, which is on the screen already. Other passages are only counted below an
    answer, unless `whole` is true. `more` says how to see them.
    """
    from rich.text import Text

    out, guess = console(), answer.probable
    sure = answer.text is not None
    weak = guess or answer.doubted
    lead = Text(marked_answer(answer) if sure else single_line(answer.lead), _UNSURE if weak else "bold" * sure)
    if sure and out.is_terminal and answer.confidence is not None:  # a pipe gets the answer alone on its line
        lead.append(f" ({answer.confidence:.0%})", "not bold")
    print_wrapped(out, lead[len(shown) :], soft=bool(shown))
    if answer.reason and (sure or (guess and not answer.reason.startswith("Not sure"))):
        print_wrapped(out, Text(printable(answer.reason)))
    told = answer.text or (guess.text if guess else "")
    sides = [side for side in answer.conflicts if not (side.chosen or side.text == told)]
    of_sides = {citation for side in sides for citation in side.citations}
    own = answer.citations if sure else [each for each in answer.numbered if each not in of_sides]
    numbers = _numbers(answer)
    if own:
        out.print()
    for citation in own:
        print_source(citation, numbers[citation])
    if sides:
        out.print("\nThe sources disagree:")
    for side in sides:
        who = ", ".join(f"[{numbers[citation]}]" for citation in dict.fromkeys(side.citations)) or "no source"
        share = "" if side.confidence is None else f" ({side.confidence:.0%})"
        print_wrapped(out, Text(f"○ {_age(side, answer)}{single_line(side.text)}{share}: {who}"), hanging=2)
        for citation in dict.fromkeys(side.citations):
            if citation not in own:
                print_source(citation, numbers[citation], indent=2)
    _print_others(answer, whole or not (told or sides), more)
    if cost:
        aside = console(err=True)
        aside.print()
        aside.print(Text(f"{single_line(answer.strategy)} · {cost_line(answer)}", style="dim"))


def _age(side: Position, answer: Answer) -> str:
    """Return "newer, 2024: " if all sides have dates that differ, else ""."""
    from ..kit.editions import date_of

    dates = [*map(date_of, answer.conflicts)]
    if not all(dates) or len(set(dates)) == 1:
        return ""
    return f"{'newer' if date_of(side) == max(dates) else 'older'}, {date_of(side)}: "


def print_sources(answer: Answer) -> None:
    """Print the numbered sources and the other passages on stdout."""
    for citation, number in _numbers(answer).items():
        print_source(citation, number)
    _print_others(answer, whole=True)


def _print_others(answer: Answer, whole: bool, more: str = "") -> None:
    """Print the passages that are no sources, with the words of the question underlined, or their number."""
    from rich.text import Text

    from ..kit.text import content_terms, term_spans

    cited = {(each.source, each.id) for each in answer.numbered}
    others = [each for each in answer.closest if (each.source, each.id) not in cited]
    if not others:
        return
    out, asked = console(), set(content_terms(answer.question))
    out.print()
    if not whole:
        count, them = ("1 passage", "it") if len(others) == 1 else (f"{len(others)} passages", "them")
        out.print(Text(f"Also found: {count} ({more} shows {them})", style="dim"))
        return
    out.print("Also found:")
    for number, citation in enumerate(others, start=len(answer.numbered) + 1):
        print_source(citation, number, term_spans(citation.quote, asked))


def print_source(
    citation: Citation, number: int, words: Sequence[tuple[int, int]] | None = None, *, indent: int = 0
) -> None:
    """Print a numbered source with its quote on stdout, the answer in it in bold, or the spans `words` underlined."""
    out = console()
    line = _source_line(citation, number)
    if out.file.isatty() and Path(citation.file).is_absolute():
        line.stylize(f"link {Path(citation.file).as_uri()}")  # OSC 8; rich leaves it out on a terminal without colours
    print_wrapped(out, line, indent, hanging=4)
    if citation.quote:
        answer = [citation.highlight] if citation.highlight else ()
        quote = (
            _quoted(citation.quote, answer, "bold") if words is None else _quoted(citation.quote, words, "underline")
        )
        print_wrapped(out, quote, indent + 4, one_line=True)


def _quoted(quote: str, marked: Sequence[tuple[int, int]], style: str) -> Text:
    """Return the quote with the spans `marked` in that style."""
    from rich.text import Text

    text, at = Text("“", style="italic"), 0
    for start, end in marked:
        text.append(printable(quote[at:start])).append(printable(quote[start:end]), f"{style} not italic")
        at = end
    return text.append(printable(quote[at:])).append("”")


def print_wrapped(
    out: Console, text: Text, indent: int = 0, *, hanging: int = 0, one_line: bool = False, soft: bool = False
) -> None:
    """Print text between words on a terminal, where the lines after the first are indented by `hanging` more.

    A pipe gets lines as they are, so that grep and copying find whole sentences; with `one_line` it gets one. `soft`
    lets the terminal wrap, because the text goes on where other text ends.
    """
    from rich.text import Text

    lines = [*text.split(allow_blank=True)]
    if not out.file.isatty():
        lines = [Text(" ").join(line for line in lines if line)] if one_line else lines
    elif not soft:
        width = max(out.width - indent - hanging, 20)
        room = [width + hanging, *[width] * len(lines)]
        lines = [each for n, line in enumerate(lines) for each in line.divide(_breaks(line.plain, room[n], width))]
    for number, line in enumerate(lines):
        line.rstrip()  # drop rich's padding
        line.pad_left(indent + (hanging if number else 0))
        out.print(line, soft_wrap=True)


def _breaks(text: str, room: int, width: int) -> Iterator[int]:
    """Yield where to break a line, whose first part has that `room`. Words stay whole, because a cut path is none."""
    from rich.cells import cell_len

    used = 0
    for word in re.finditer(r"\S+\s*", text):
        if used and used + cell_len(word[0].rstrip()) > room:
            yield word.start()
            used, room = 0, width
        used += cell_len(word[0])


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

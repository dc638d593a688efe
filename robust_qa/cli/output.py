"""Print answers, traces and errors. Strips control characters from outside text; escapes them in JSON."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Exit, InputError
from ..sanitize import printable, printable_json, single_line
from ..types import Answer, Citation, Position, cells_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..errors import RqaError

_REASONS = 12  # that `summarised` shows
_MEMORY = "the model's memory"
_STALE = {
    "changed": "changed since it was indexed",
    "gone": "the file is gone",
    "unreadable": "the file cannot be opened any more",
}
MARKED = "magenta"  # legible on white and on black
_UNSURE = "yellow"  # of an answer that is only probable; legible on white and on black
_UNWRAPPED = 10_000  # columns
_NEXT = "Ask in words of a passage, search a part (`rqa ask --in PATH`), or use a model (`rqa models list`)."
_MARKDOWN = re.compile(r"^(?:[-*+]|\d+\.|#{1,6}|>) |^```|^\|.*\|$|\*\*\S|`\S", re.MULTILINE)  # of a model's answer
_PIPED = re.compile(r"\A.*[/\\]piped[/\\][0-9a-f]{20}[/\\]")  # the folder of what was on stdin


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
    from ..config.files import atomic_write

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


def print_data(data: Any) -> None:
    """Print JSON-ready data on stdout."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(data), indent=2)
    sys.stdout.buffer.write(printable_json(encoded) + b"\n")


def print_short(answer: Answer) -> None:
    """Print the answer alone on stdout, of several sentences those confirmed. Exits with 6 if nothing is."""
    if answer.text is None or answer.doubted:
        raise click.exceptions.Exit(Exit.NEGATIVE)
    held = [each.sentence for each in answer.checks if each.holds and not each.is_disputed]
    click.echo(printable(" ".join(held) if answer.standing == "partly supported" else answer.text))


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
    if sure and out.is_terminal and answer.usage.calls and not shown and is_markdown(lead.plain):
        _print_markdown(out, lead.plain)
    else:
        print_wrapped(out, lead[len(shown) :], soft=bool(shown))
    if answer.reason and (sure or (guess and not answer.reason.startswith("Not sure"))):
        print_wrapped(out, Text(printable(answer.reason)))
    if answer.corrections:
        print_wrapped(out, Text(asked_with(answer), "dim"))
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
        print_wrapped(out, Text(f"○ {_age(side, answer)}{single_line(side.text)}{share}: {who}", _UNSURE), hanging=2)
        for citation in dict.fromkeys(side.citations):
            if citation not in own:
                print_source(citation, numbers[citation], indent=2)
    _print_others(answer, whole or not (told or sides), more)
    if cost:
        aside = console(err=True)
        aside.print()
        aside.print(
            Text(f"{single_line(answer.strategy)} · {cost_line(answer, confidence=not out.is_terminal)}", style="dim")
        )


def is_markdown(text: str) -> bool:
    """Return whether a model's answer has lists, code, headings or bold words in Markdown."""
    return _MARKDOWN.search(text) is not None


def _print_markdown(out: Console, text: str) -> None:
    """Print the Markdown that a model wrote: its lists, code and bold words."""
    from rich.markdown import Markdown

    out.print(Markdown(text, hyperlinks=False))


def asked_with(answer: Answer) -> str:
    """Return a line with the words that were asked in place of misspelt ones."""
    return f"Asked with: {', '.join(map(single_line, answer.corrections.values()))}"


def _age(side: Position, answer: Answer) -> str:
    """Return "newer, 2024: " if all sides have dates that differ, else ""."""
    from ..kit.dates import date_of

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
    out, asked = console(), set(content_terms(" ".join((answer.question, *answer.corrections.values()))))
    out.print()
    if not whole:
        count, them = ("1 passage", "it") if len(others) == 1 else (f"{len(others)} passages", "them")
        out.print(Text(f"Also found: {count} ({more} shows {them})", style="dim"))
        return
    out.print("Also found:")
    for number, citation in enumerate(others, start=len(answer.numbered) + 1):
        print_source(citation, number, term_spans(citation.quote, asked))
    if out.is_terminal and answer.abstained and not answer.numbered:
        print_wrapped(out, Text(f"\n{_NEXT}", "dim"))


def print_source(
    citation: Citation, number: int, words: Sequence[tuple[int, int]] | None = None, *, indent: int = 0
) -> None:
    """Print a numbered source with its quote on stdout, the answer in it in bold, or the spans `words` underlined."""
    out = console()
    line = _source_line(citation, number)
    if out.file.isatty() and Path(citation.file).is_absolute():
        line.stylize(f"link {Path(citation.file).as_uri()}")  # OSC 8; rich leaves it out on a terminal without colours
    print_wrapped(out, line, indent, hanging=4)
    if (row := cells_of(citation.quote)) and out.file.isatty() and _print_row(out, row, citation, indent + 4):
        return
    if citation.quote:
        answer = [citation.highlight] if citation.highlight else ()
        quote = (
            _quoted(citation.quote, answer, "bold") if words is None else _quoted(citation.quote, words, "underline")
        )
        print_wrapped(out, quote, indent + 4, one_line=True)


def _print_row(out: Console, row: Sequence[tuple[str, str]], citation: Citation, indent: int) -> bool:
    """Print a row of a table below the names of its columns, the answer in bold. Return False if it is too wide."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    start, end = citation.highlight or (0, 0)
    answer = citation.quote[start:end]
    cells = [(single_line(column), single_line(value), value == answer) for column, value in row]
    widths = [max(cell_len(column), cell_len(value)) for column, value, _ in cells]
    if indent + sum(widths) + 2 * len(cells) > out.width:
        return False
    above, below = Text(" " * indent, "dim"), Text(" " * indent)
    for (column, value, is_answer), width in zip(cells, widths, strict=True):
        above.append(set_cell_size(column, width + 2))
        below.append(value, "bold" if is_answer else "").append(" " * (width + 2 - cell_len(value)))
    for line in (above, below):
        line.rstrip()
        out.print(line, soft_wrap=True)
    return True


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

    where = (
        _MEMORY if citation.origin == "memory" else _PIPED.sub("", citation.where.removeprefix(f"{Path.cwd()}{os.sep}"))
    )
    # One line: a line break in a file name could fake another source.
    name = " · ".join(filter(None, map(single_line, (citation.title, where))))
    line = Text(f"[{number}] {name or single_line(citation.id) or 'a passage without a title'}", style=MARKED)
    return line.append(f" ({_STALE[citation.stale]})", style="bold") if citation.stale else line


def cost_line(answer: Answer, *, confidence: bool = True) -> str:
    """Return calls, tokens, seconds and, if it is not shown already, confidence as one line."""
    usage = answer.usage
    parts: list[str] = []
    if usage.calls:
        cached = f" ({usage.cached} cached)" if usage.cached else ""
        parts.append(f"{usage.calls} {'call' if usage.calls == 1 else 'calls'}{cached}")
        parts.append(f"{usage.prompt_tokens} + {usage.completion_tokens} tokens")
    parts.append(f"{answer.seconds:.2f} s")
    if confidence and answer.confidence is not None and not answer.abstained:
        parts.append(f"confidence {answer.confidence:.2f}")
    return " · ".join(parts)


def summarised(skipped: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each reason, with the first path and the number of the others."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for path, why in skipped:
        groups.setdefault(re.sub(r"\d[\d.,]*", "0", why), []).append((path, why))
    lines = []
    for (path, why), *others in list(groups.values())[:_REASONS]:
        lines.append(f"skipped {path}{f' and {len(others):,} more' if others else ''}: {why}")
    if left := sum(map(len, list(groups.values())[_REASONS:])):
        lines.append(f"skipped {left:,} more, for other reasons")
    return lines

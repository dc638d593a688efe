"""The command `rqa check`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from robust_qa import Checked, Citation, Exit, InputError, Passage, Question, RqaError
from robust_qa.cli import (
    ROW_FORMATS,
    TEXT_FORMATS,
    Answering,
    KeyValue,
    output_option,
    passages_in,
    reading_options,
    suffix_of,
)
from robust_qa.kit import single_line, whole_characters

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

_MARKS = {"supported": "✓", "contradicted": "✗", "disputed": "±", "not decided": "?"}
_COLOURS = {"supported": "green", "contradicted": "red", "disputed": "yellow", "not decided": "dim"}
_AT_ONCE = 8  # answers
_MARK = re.compile(r"^(?:[-*+]|\d+[.)]) +|\[\^\w+\]", re.MULTILINE)  # of a list item, and of a footnote


@dataclass(frozen=True, slots=True)
class _Row:
    """An answer to check, from a line of JSON if it has `fields`."""

    answer: str = ""
    passages: Sequence[Passage] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    error: InputError | None = None


@click.command(epilog='Example: rqa check -d handbook/ "A crossing costs 4.20."')
@click.argument("answer", required=False)
@click.option(
    "-f",
    "--file",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Check the answer in FILE (- for stdin): text, Markdown, or one answer per line of JSON.",
)
@click.option(
    "-d",
    "--docs",
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Check against these files or folders. May be repeated.",
)
@reading_options
@click.option(
    "--passages",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Check against the passages in FILE (- for stdin): JSON lines or plain text.",
)
@click.option("-k", metavar="N", type=click.IntRange(1, 10_000), help="Passages to retrieve per sentence.")
@click.option("--reader", metavar="NAME", help="Language model to use. `embedded` uses none.")
@output_option(
    "FILE", "Write the verdicts to this file. Default: stdout.", formats=(*TEXT_FORMATS, *ROW_FORMATS), dir_okay=False
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@click.option("--no-cache", is_flag=True, help="Do not use the cache of finished calls.")
@click.pass_obj
def check(
    run: Run,
    /,
    *,
    answer: str | None,
    file: Path | None,
    passages: Path | None,
    out: Path | None,
    as_json: bool,
    **answering: Any,
) -> None:
    """Check each sentence of ANSWER (- for stdin) against documents, passages or your index.

    The exit code is 6 if a sentence is contradicted, disputed or not decided.
    """
    from robust_qa.cli import print_data, print_to
    from robust_qa.cli.answering import in_session
    from rqa_rows import print_rows

    from .checking import check_answer

    if answer == "-" and file is None:
        answer, file = None, Path("-")
    if (answer is None) == (file is None):
        raise click.UsageError("Give an answer, or a file with --file FILE.")
    if passages and answering["docs"]:
        raise click.UsageError("--passages cannot be combined with --docs.")
    if passages and passages == file:
        raise click.UsageError("--passages and --file cannot both read the same file.")
    rows = _rows_in(file) if file else [_Row(whole_characters(answer or "").strip())]
    if not any(row.answer or row.fields or row.error for row in rows):
        raise InputError("The answer is empty.", hint='Example: rqa check "A crossing costs 4.20."')
    as_rows = any(row.fields or row.error for row in rows)
    formats = ROW_FORMATS if as_rows else TEXT_FORMATS
    if suffix_of(out) not in ("", *formats):
        what = "Rows of verdicts" if as_rows else "The verdicts of one answer"
        raise click.UsageError(f"{what} can be written as {', '.join(f'.{each}' for each in formats)}, not to {out}.")
    given = passages_in(passages) if passages else None
    print_to(out)

    async def checked(session: Session, row: _Row) -> list[Checked] | RqaError:
        if row.error:
            return row.error
        if not row.answer:  # null, as `rqa batch` writes for an abstention
            return []
        own = given if row.passages is None else row.passages
        question = Question(row.answer, passages=None if own is None else tuple(own))
        return await check_answer(row.answer, session.toolbox_for(question), own)

    async def work(session: Session) -> list[list[Checked] | RqaError]:
        found: list[list[Checked] | RqaError] = []
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            found += await asyncio.gather(*(checked(session, row) for row in part))
        return found

    results = in_session(run, Answering(**answering), work)
    if as_rows:
        pairs = zip(rows, results, strict=True)
        print_rows([msgspec.json.encode(_line(number, *pair)) for number, pair in enumerate(pairs, start=1)], out)
    elif isinstance(results[0], list) and (as_json or suffix_of(out) == "json"):
        print_data({"sentences": results[0]})
    elif isinstance(results[0], list):
        _print(results[0])
    _finish(run, results)


def _rows_in(file: Path) -> list[_Row]:
    """Return the answers in a file: one per line if it has JSON lines, else one."""
    from robust_qa.answering import portable

    try:
        raw = sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read {file}: {error.strerror}.", hint="Give the path of a file, or - for stdin."
        ) from error
    text = raw.decode("utf-8-sig", "replace").strip()
    if file.suffix.lower() in (".md", ".markdown"):
        return [_Row(_prose(text))]
    if not text.startswith("{"):
        return [_Row(text)]
    return [_row(portable(line.encode()), number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _prose(text: str) -> str:
    """Return a Markdown text without its headings, code and marks."""
    from rqa_files import read_markdown

    kept = [block.text for block in read_markdown(text)[1] if block.kind not in ("heading", "code")]
    return "\n\n".join(_MARK.sub("", text) for text in kept)


def _row(line: bytes, number: int) -> _Row:
    from robust_qa.answering import read_passages

    where = f"line {number}"
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
        answer = fields.get("answer", "")
        if "answer" not in fields or not isinstance(answer, str | None):
            raise InputError(f"In {where}, `answer` is not text.", hint='Write {"answer": "...", "passages": ["..."]}.')
        if isinstance(answer, str) and not answer.strip():
            raise InputError(f"In {where}, `answer` is empty.", hint="Write null for a row without an answer.")
        listed = fields.get("passages")
        passages = None if listed is None else read_passages(msgspec.json.encode(listed), f"`passages` of {where}")
    except (msgspec.DecodeError, RecursionError) as error:
        return _Row(error=InputError(f"{where} is not a JSON object: {error}."))
    except InputError as error:
        return _Row(error=error)
    return _Row((answer or "").strip(), passages, fields)


def _line(number: int, row: _Row, result: list[Checked] | RqaError) -> dict[str, Any]:
    kept = {name: value for name, value in row.fields.items() if name != "passages"}
    if isinstance(result, RqaError):
        return {**kept, "row": number, "error": {"message": result.message, "hint": result.hint}}
    supported = all(each.verdict == "supported" for each in result)
    return {**kept, "row": number, "supported": supported, "sentences": result}


def _finish(run: Run, results: Sequence[list[Checked] | RqaError]) -> None:
    """Print the summary. Exit with 3 if a row is invalid, else with 6 if a sentence is not supported."""
    sentences = [each for result in results if isinstance(result, list) for each in result]
    supported = sum(each.verdict == "supported" for each in sentences)
    run.say(f"{supported} of {len(sentences)} sentences are supported")
    if invalid := sum(isinstance(result, RqaError) for result in results):
        run.say(f"invalid rows: {invalid:,}")
        raise click.exceptions.Exit(Exit.ROWS_FAILED)
    if supported < len(sentences):
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _print(found: Sequence[Checked]) -> None:
    from rich.text import Text

    from robust_qa.cli import console, print_wrapped

    out = console()

    def indented(text: str, before: str = "", colour: str = "") -> None:
        if text:
            print_wrapped(out, Text.assemble((before, colour), text), 4)

    def quoted(cited: Citation) -> str:
        where = single_line(cited.where or cited.title or cited.id).removeprefix(f"{Path.cwd()}{os.sep}")
        return f"“{single_line(cited.quote)}” {where}"

    for each in found:
        line = Text(f"{_MARKS[each.verdict]} {each.verdict}", _COLOURS[each.verdict])
        print_wrapped(out, line.append(f": {single_line(each.sentence)}", "default"), hanging=4)
        if not (each.supporting and each.contradicting):
            closest = "closest: " if each.citation and each.verdict == "not decided" else ""
            indented(closest + quoted(each.citation) if each.citation else single_line(each.reason))
            continue
        one = len(each.supporting) == 1
        number = f"{len(each.supporting)} {'source supports' if one else 'sources support'} it"
        indented(f"{number}, {len(each.contradicting)} contradict{'s' * (len(each.contradicting) == 1)} it")
        sides = ("supports", "green", each.supporting), ("contradicts", "red", each.contradicting)
        for said, colour, sources in sides:
            for cited in sources:
                indented(f": {quoted(cited)}", said, colour)

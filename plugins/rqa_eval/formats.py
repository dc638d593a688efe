"""Read question sets in the format of rqa or in common public formats.

Readers yield entries (number, location, function that returns the row in the format of rqa). The function raises
Malformed for an invalid row, so that one error can list all invalid rows.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from robust_qa import InputError
from robust_qa.batch import check_rows, portable

from .items import Item, Malformed, item

Entry = tuple[int, str, Callable[[], Any]]  # number from 1, location, row

_SHOWN = 5  # malformed rows that an error lists
_HINT = "Set the layout with --format, or see rqa-eval(1) for the format of a row."


def read_set(path: Path, layout: str | None = None) -> tuple[list[Item], str]:
    """Return the questions at `path` and their layout, by default detected. InputError lists malformed rows."""
    try:
        if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode)):
            raise InputError(
                f"{path} is a stream, but a set is read more than once.",
                hint="Write it to a file first.",
            )
        layout = layout or _detect(path)
        items, problems = [], []
        for number, where, row in LAYOUTS[layout](path):
            try:
                items.append(item(number, row()))
            except Malformed as error:
                problems.append(f"{where}: {error}")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    if problems:
        more = f"\nand {len(problems) - _SHOWN} more." if len(problems) > _SHOWN else ""
        raise InputError(
            f"{path} has {len(problems)} malformed {'row' if len(problems) == 1 else 'rows'}. No question was asked.\n"
            + "\n".join(problems[:_SHOWN])
            + more,
            hint=f"It was read as {layout}. {_HINT}",
        )
    if not items:
        raise InputError(f"{path} has no questions.", hint=f"It was read as {layout}. {_HINT}")
    return items, layout


def _detect(path: Path) -> str:
    if path.is_dir():
        if (path / "queries.jsonl").is_file():
            return "beir"
        raise InputError(f"{path} is a folder without queries.jsonl, so it is not a BEIR set.")
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.strip():
        raise InputError(f"{path} has no questions.")
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].rstrip()
    if {b"question", b"possible_answers"} <= set(first.split(b"\t")):
        return "popqa"
    if not first.startswith(b"{"):
        check_rows(first, str(path))
        raise InputError(f"Cannot detect the layout of {path} from its first line.", hint=_HINT)
    try:
        row = _loads(first)
    except Malformed:
        if path.suffix != ".json":
            return "jsonl"  # its reader explains the error
        row = _load_file(path)
    for layout, fields in _SIGNS:
        if fields <= row.keys():
            return layout
    raise InputError(f"Cannot detect the layout of {path} from the fields {', '.join(list(row)[:8])}.", hint=_HINT)


# The first layout whose fields are all in the row wins.
_SIGNS: tuple[tuple[str, set[str]], ...] = (
    ("squad", {"data"}),
    ("triviaqa", {"Data"}),
    ("jsonl", {"question", "answers"}),
    ("nq-open", {"question", "answer"}),
    ("jsonl", {"question"}),
    ("kilt", {"input"}),
    ("beir", {"_id", "text"}),
)


def _loads(text: bytes, name: str = "it") -> Any:
    """Parse JSON. Also accepts NaN and lone surrogates, which Python's json module writes."""
    _decoded(text)
    try:
        try:
            return _decode(text)
        except msgspec.DecodeError:
            return _decode(portable(text))
    except msgspec.DecodeError as error:
        raise Malformed(f"{name} is not JSON: {str(error).removeprefix('JSON is malformed: ')}") from error


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 text: {error.reason} at byte {error.start + 1}") from error


_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')
_decode = msgspec.json.Decoder().decode


def _lines(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                check_rows(line, str(path))
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text.strip():
                yield number, f"line {number}", partial(_loads, text)


def _load_file(path: Path) -> dict[str, Any]:
    try:
        content = _loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except Malformed as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    return content if isinstance(content, dict) else {}


def _converted(entries: Iterable[Entry], change: Callable[[Any], dict[str, Any]]) -> Iterator[Entry]:
    for number, where, row in entries:
        yield number, where, partial(_convert, row, change)


def _convert(row: Callable[[], Any], change: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    try:
        return change(row())
    except Malformed:
        raise
    except KeyError as error:
        raise Malformed(f"it has no `{error.args[0]}`") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise Malformed("its fields do not match the layout") from error


def _nq_open(path: Path) -> Iterator[Entry]:
    return _converted(_lines(path), lambda row: {**row, "answers": row["answer"]})


def _kilt(path: Path) -> Iterator[Entry]:
    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        answers = [output["answer"] for output in row.get("output") or () if output.get("answer")]
        return {"id": row.get("id"), "question": row["input"], "answers": answers}

    return _converted(_lines(path), change)


def _squad(path: Path) -> Iterator[Entry]:
    articles = _load_file(path).get("data")
    if not isinstance(articles, list):
        raise InputError(f"{path} has no list `data`, so it is not a SQuAD set.", hint=_HINT)
    number = 0
    for a, article in enumerate(articles):
        for p, paragraph in enumerate(_list(path, article, f"data[{a}]", "paragraphs")):
            for q, asked in enumerate(_list(path, paragraph, f"data[{a}].paragraphs[{p}]", "qas")):
                number += 1
                row = partial(_squad_row, article, paragraph, asked)
                yield number, f"data[{a}].paragraphs[{p}].qas[{q}]", partial(_convert, row, dict)


def _list(path: Path, value: Any, where: str, name: str) -> list[Any]:
    inner = value.get(name) if isinstance(value, dict) else None
    if not isinstance(inner, list):
        raise InputError(f"{path}: {where} has no list `{name}`, so it is not a SQuAD set.", hint=_HINT)
    return inner


def _squad_row(article: Any, paragraph: Any, asked: Any) -> dict[str, Any]:
    return {
        "id": asked.get("id"),
        "question": asked["question"],
        "answers": [answer["text"] for answer in asked.get("answers") or ()],
        "passages": [{"title": article.get("title") or "", "text": paragraph["context"]}],
    }


def _triviaqa(path: Path) -> Iterator[Entry]:
    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        answer = row.get("Answer") or {}
        aliases = answer.get("Aliases") or []
        if not isinstance(aliases, list):
            raise Malformed("`Aliases` is not a list")
        answers = [answer["Value"], *aliases] if answer else []
        return {"id": row.get("QuestionId"), "question": row["Question"], "answers": answers}

    rows = _load_file(path).get("Data")
    if not isinstance(rows, list):
        raise InputError(f"{path} has no list `Data`, so it is not a TriviaQA set.", hint=_HINT)
    return _converted(((n, f"Data[{n - 1}]", partial(_identity, row)) for n, row in enumerate(rows, start=1)), change)


def _identity(row: Any) -> Any:
    return row


def _popqa(path: Path) -> Iterator[Entry]:
    header: list[str] = []

    def change(line: bytes) -> dict[str, Any]:
        cells = _cells(_decoded(line))
        if any(cells[len(header) :]):
            raise Malformed(f"it has {len(cells)} columns, but the header has {len(header)}")
        row = dict(zip_longest(header, cells[: len(header)], fillvalue=""))
        return {**row, "answers": _loads(row["possible_answers"].encode(), "`possible_answers`")}

    # Not with csv: a stray quote would swallow the rows below.
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not header:
                header = _cells(line.decode("utf-8-sig", "replace"))
            elif line.strip():
                yield from _converted([(number, f"line {number}", partial(_identity, line))], change)


def _cells(line: str) -> list[str]:
    cells = line.rstrip("\r\n").split("\t")
    return [quoted[1].replace('""', '"') if (quoted := _QUOTED.fullmatch(cell)) else cell for cell in cells]


def _beir(path: Path) -> Iterator[Entry]:
    queries = path / "queries.jsonl" if path.is_dir() else path
    relevant = _judgements(queries.parent / "qrels")

    def change(row: Mapping[str, Any]) -> dict[str, Any]:
        identity = str(row["_id"])
        return {"id": identity, "question": row["text"], "relevant": relevant.get(identity, [])}

    for entry in _converted(_lines(queries), change):
        if not relevant or _in_split(entry, relevant):
            yield entry


def _in_split(entry: Entry, relevant: Mapping[str, list[str]]) -> bool:
    try:
        return entry[2]()["id"] in relevant
    except Malformed:
        return True


def _judgements(folder: Path) -> dict[str, list[str]]:
    """Return the ids of the relevant passages by query, from the test split if there is one."""
    files = {file.stem: file for file in sorted(folder.glob("*.tsv"))} if folder.is_dir() else {}
    file = next((files[name] for name in ("test", "dev", *files) if name in files), None)
    relevant: dict[str, list[str]] = {}
    if file is None:
        return relevant
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            fields = line.decode().split("\t")
            query, passage, score = fields[0], fields[1], int(fields[2])
        except (IndexError, ValueError) as error:
            if number == 1:
                continue  # the header
            raise InputError(f"{file}, line {number} is not `query<TAB>passage<TAB>score`.") from error
        if score > 0:
            relevant.setdefault(query, []).append(passage)
    return relevant


LAYOUTS: Mapping[str, Callable[[Path], Iterator[Entry]]] = {
    "jsonl": _lines,
    "squad": _squad,
    "nq-open": _nq_open,
    "triviaqa": _triviaqa,
    "popqa": _popqa,
    "kilt": _kilt,
    "beir": _beir,
}

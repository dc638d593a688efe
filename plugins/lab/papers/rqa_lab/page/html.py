"""HTML pages in one file with inline styles and scripts. They make no network requests."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Iterable, Iterator
from html import escape as escape_html

from robust_qa.kit import printable
from rqa_eval.report.tables import ABOVE, BELOW, Cell, Column, Table

_SHADES = 10  # CSS classes of a heat map; the Content-Security-Policy forbids style attributes

_MARKS = {ABOVE: "above the baseline", BELOW: "below the baseline"}


def escape(text: str) -> str:
    """Escape untrusted text for HTML, without control and bidirectional characters."""
    return escape_html(printable(text))


def page(title: str, about: str, body: Iterable[str], scripts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of a page. `about` is HTML below the title; `scripts` are asset names."""
    style = asset("page.css")
    sources = [asset(name) for name in ("theme.js", *scripts)]
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {' '.join(map(_hash, sources))}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        f"<style>{style}</style>\n<script>{sources[0]}</script>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><button id="theme" type="button" hidden></button><p>{about}</p></header>\n'
        "<main>\n"
    )
    yield from body
    yield "</main>\n"
    yield from (f"<script>{source}</script>\n" for source in sources[1:])
    yield "</body>\n</html>\n"


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section with the id `name`."""
    return f'<section id="{name}"><h2>{escape(heading)}</h2>\n{"".join(parts)}</section>\n'


def table(data: Table, *, caption: bool = True) -> str:
    """Return a table that scrolls horizontally if it is too wide, also with the keyboard."""
    columns = "".join(map(_column, data.columns))
    body = "".join(
        f"<tr>{_keys(keys, 'row')}{''.join(_cell(cell, data.shaded) for cell in cells)}</tr>\n"
        for keys, cells in data.rows
    )
    title = f"<caption><span>{escape(data.title)}</span></caption>" if caption else ""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in data.notes)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(data.title)}"><table>{title}'
        f"<thead><tr>{_keys(data.heads, 'col')}{columns}</tr></thead>\n<tbody>\n{body}</tbody></table></div>{notes}\n"
    )


def _column(column: Column) -> str:
    title = f' title="{escape(column.summary)}"' if column.summary else ""
    return f'<th scope="col" class="figure"{title}><bdi>{escape(column.name)}</bdi></th>'


def _keys(keys: tuple[str, ...], scope: str) -> str:
    """Return all keys in one cell, which stays visible while the values scroll."""
    names = "&nbsp;· ".join(f"<bdi>{escape(key)}</bdi>" for key in keys)
    return f'<th scope="{scope}"><span>{names}</span></th>'


def _cell(cell: Cell, shaded: bool) -> str:
    shade = f" shade{round(cell.level * _SHADES)}" if shaded and cell.level is not None else ""
    value = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    mark = f'<span role="img" aria-label="significantly {_MARKS[cell.mark]}">{cell.mark}</span>' if cell.mark else ""
    interval = f"<small>{escape(cell.interval)}</small>" if cell.interval else ""
    return f'<td class="figure{shade}">{value}{mark}{interval}</td>'


def asset(name: str) -> str:
    """Return the content of an asset file."""
    return importlib.resources.files(__package__).joinpath("assets", name).read_text("utf-8").strip()


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"

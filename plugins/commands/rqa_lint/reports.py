"""Findings for other programs and for a browser: SARIF 2.1.0 and a page without scripts or links to elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>rqa lint</title>
"""
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 4px solid #c60; margin: 1rem 0; padding: .1rem 1rem; }
h3 { font-size: 1rem; margin: .3rem 0; } p { margin: .3rem 0; } code { font-size: .85rem; opacity: .8; }
"""


def shown(place: Place) -> str:
    """Return the file of a place, relative to the working directory, and the line if it is known."""
    return f"{_relative(place.source)}:{place.line}" if place.line else _relative(place.source)


def uri_of(place: Place) -> str:
    """Return a link to the file of a place, "" if it is no file."""
    return Path(place.source).as_uri() if Path(place.source).is_absolute() else ""


def count_of(findings: int, files: int) -> str:
    """Return how many findings there are in how many files."""
    return f"{findings} finding{'s' * (findings != 1)} in {files} file{'s' * (files != 1)}"


def sarif(findings: Sequence[Finding], titles: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return a SARIF log (OASIS SARIF 2.1.0), as code scanning reads it."""
    rules = [{"id": kind, "shortDescription": {"text": title}} for kind, title in titles.items()]
    driver = {"name": "rqa lint", "version": version, "rules": rules}
    results = [
        {
            "ruleId": each.kind,
            "level": "note" if each.kind == "duplicate" else "warning",
            "message": {"text": f"{described(each)}: {'; '.join(map(shown, each.places))}"},
            "locations": [_location(each.places[0])],
            "relatedLocations": [_location(place) for place in each.places[1:]],
        }
        for each in findings
    ]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def page(findings: Sequence[Finding], titles: Mapping[str, str], files: int) -> str:
    """Return the findings as a page of HTML."""
    parts = [f"<h1>rqa lint</h1><p>{count_of(len(findings), files)}</p>"]
    for kind, title in titles.items():
        own = [each for each in findings if each.kind == kind]
        parts += [f"<h2>{title} ({len(own)})</h2>", *map(_article, own)] if own else []
    return f"{_HEAD}<style>{_STYLE}</style>\n" + "\n".join(parts)


def _article(finding: Finding) -> str:
    places = "".join(f"<p>{html.escape(place.text)}<br><code>{_linked(place)}</code></p>" for place in finding.places)
    return f"<article><h3>{html.escape(described(finding))}</h3>{places}</article>"


def _linked(place: Place) -> str:
    name, uri = html.escape(shown(place)), html.escape(uri_of(place))
    return f'<a href="{uri}">{name}</a>' if uri else name


def _location(place: Place) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": Path(_relative(place.source)).as_posix()}}
    if place.line:
        where["region"] = {"startLine": place.line}
    return {"physicalLocation": where, "message": {"text": place.text}}


def _relative(source: str) -> str:
    path = Path(source)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else source


Kind = Literal["disagreement", "duplicate", "instruction", "hidden"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document: its source, the line (0 if unknown) and the text there."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with its places.

    `score` orders findings of a kind, from 0 to 1. `files` are those of the places, `times` is how often it is there.
    """

    kind: Kind
    message: str
    places: tuple[Place, ...]
    score: float = 1.0
    files: tuple[str, ...] = ()
    times: int = 1


def described(finding: Finding) -> str:
    """Return the message, with how often it is there."""
    many = finding.kind == "disagreement" and finding.times > 1
    return f"{finding.message}, {finding.times} times" if many else finding.message

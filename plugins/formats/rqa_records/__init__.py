"""Formats `calendar`, `contacts` and `bibtex`: each event, card or entry of a file is a row "Field: value".

iCalendar (RFC 5545) and vCard (2.1 to 4.0) have the same form of lines, so one reader does for both.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from robust_qa import Registry, hookimpl
from rqa_files import Blocks, Document, File, Report, without_escapes

_FIELDS = {
    "SUMMARY": "Summary", "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration",
    "LOCATION": "Location", "ORGANIZER": "Organizer", "ATTENDEE": "Attendees", "DESCRIPTION": "Description",
    "STATUS": "Status", "CATEGORIES": "Categories", "RRULE": "Repeats", "COMMENT": "Comment", "URL": "URL",
    "FN": "Name", "NICKNAME": "Nickname", "ORG": "Organisation", "TITLE": "Title", "ROLE": "Role", "TEL": "Phone",
    "EMAIL": "Email", "ADR": "Address", "BDAY": "Birthday", "NOTE": "Note",
}  # fmt: skip
_ENTRIES = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")
_LINE = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<options>(?:;(?:\"[^\"]*\"|[^\":])*)?):(?P<value>.*)")
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)\d*(Z?))?")
_TYPES = re.compile(r"(?:TYPE=)?\"?(\b(?:home|work|cell|mobile|fax|voice|pager)\b)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_PARTED = re.compile(r"(?<!\\);")
_ENTRY = re.compile(r"^[ \t]*@(\w+)\s*[{(]\s*([^,\s{}]+)\s*,", re.M)
_FIELD = re.compile(r"\s*+,?+\s*+(\w[\w-]*+)\s*+=\s*+")
_COMMAND = re.compile(r"[{}]|\\[a-zA-Z]+\s?")


def read_lines(file: File, report: Report) -> Iterator[Document]:
    """Yield a document with a row for each event, task and card of a calendar or an address book."""
    blocks = Blocks()
    entries: list[tuple[int, dict[str, list[str]]]] = []  # that are open, with their first lines
    for number, line in _unfolded(file.text()):
        if not (found := _LINE.fullmatch(line)):
            continue
        name, options, value = found["name"].upper(), found["options"], found["value"].strip()
        if "QUOTED-PRINTABLE" in options.upper():
            stated = re.search(r"CHARSET=([\w-]+)", options, re.IGNORECASE)
            value = file.text(quopri.decodestring(value.encode()), stated[1] if stated else "")
        if name == "BEGIN":
            entries.append((number, {}))
        elif name == "END" and entries:
            begin, fields = entries.pop()
            if value.upper() in _ENTRIES:
                begun, ended = fields.get("DTSTART", []), fields.get("DTEND", [])
                if ended and ended < begun and " " not in ended[0]:  # some programs end a day on itself
                    fields["DTEND"] = begun
                shown = {label: ", ".join(fields[key]) for key, label in _FIELDS.items() if key in fields}
                blocks.row(list(shown), list(shown.values()), begin)
        elif entries and name in _FIELDS and (value := _shown(name, options, value)):
            entries[-1][1].setdefault(name, []).append(value)
    yield file.document("", blocks.found)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines as they were before they were folded, with their numbers in the file."""
    begin, parts = 1, [""]
    for number, line in enumerate(text.split("\n"), start=1):
        if line[:1] in (" ", "\t"):
            parts.append(line[1:])
        elif parts[-1].endswith("=") and "QUOTED-PRINTABLE" in parts[0].upper():
            parts += [parts.pop()[:-1], line]
        else:
            yield begin, "".join(parts)
            begin, parts = number, [line]
    yield begin, "".join(parts)


def _shown(name: str, options: str, value: str) -> str:
    """Return the value of a line as a reader would write it. `options` are the ones before its colon."""
    if name in ("DTSTART", "DTEND", "DUE", "BDAY"):
        return _time(value, options, is_end=name == "DTEND" and "T" not in value)
    if name == "RRULE":
        return value.lower().removeprefix("freq=").replace(";", ", ")
    if name in ("ORGANIZER", "ATTENDEE"):
        named = re.search(r"CN=\"?([^\";:]+)", options, re.IGNORECASE)
        address = re.sub("^mailto:", "", value, flags=re.IGNORECASE)
        return f"{named[1]} <{address}>" if named else address
    parts = _PARTED.split(value) if name in ("ADR", "ORG") else [value.removeprefix("tel:")]
    shown = ", ".join(filter(None, (_ESCAPED.sub(_unescaped, part).strip() for part in parts)))
    types = ", ".join(dict.fromkeys(each.lower() for each in _TYPES.findall(options)))
    return f"{shown} ({types})" if types and shown and name in ("TEL", "EMAIL", "ADR") else shown


def _unescaped(found: re.Match[str]) -> str:
    return " " if found[1] in "nN" else found[1]


def _time(value: str, options: str, *, is_end: bool) -> str:
    """Return a date or a time with its zone. The end of a whole day is the day after it."""
    found = _TIME.fullmatch(value)
    if not found:
        return value
    year, month, day, hour, minute, utc = found.groups()
    if hour is None:
        with suppress(ValueError):  # there is no such day
            return (date(int(year), int(month), int(day)) - timedelta(days=is_end)).isoformat()
        return value
    zone = re.search(r"TZID=\"?([^\";:]+)", options)
    where = " UTC" if utc else f" ({zone[1]})" if zone else ""
    return f"{year}-{month}-{day} {hour}:{minute}{where}"


def read_bibtex(file: File, report: Report) -> Iterator[Document]:
    """Yield a document with a row for each entry of a BibTeX file."""
    text = file.text()
    blocks, line, last = Blocks(), 1, 0
    for entry in _ENTRY.finditer(text):
        line, last = line + text.count("\n", last, entry.start()), entry.start()
        fields = {"Type": entry[1].lower(), "Key": entry[2]} | dict(_bibtex_fields(text, entry.end()))
        if entry[1].lower() not in ("comment", "string", "preamble"):
            blocks.row(list(fields), list(fields.values()), line)
    yield file.document("", blocks.found)


def _bibtex_fields(text: str, at: int) -> Iterator[tuple[str, str]]:
    """Yield the fields of the entry whose fields begin at `at`."""
    while field := _FIELD.match(text, at):
        begin = at = field.end()
        depth, quoted = 0, text[begin : begin + 1] == '"'
        while at < len(text):
            mark = text[at]
            depth += (mark == "{") - (mark == "}")
            if depth < 0 or (not depth and (mark in ",)\n" if not quoted else mark == '"' and at > begin)):
                break
            at += 1
        value = _COMMAND.sub("", without_escapes(text[begin:at].strip(' "'))).replace("--", "-")
        at += quoted
        name = field[1].capitalize()
        yield name, ", ".join(map(_named, value.split(" and "))) if name in ("Author", "Editor") else value


def _named(person: str) -> str:
    last, _, first = person.partition(",")
    return f"{first} {last}".strip()


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.format("calendar", read="rqa_records:read_lines", suffixes="ics|vcs")
    registry.format("contacts", read="rqa_records:read_lines", suffixes="vcf|vcard")
    registry.format("bibtex", read="rqa_records:read_bibtex", suffixes="bib|bibtex")

"""Formats of word processors, slides, sheets, books and typesetting, with the library xberg."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the formats that xberg reads."""
    registry.format(
        "office",
        read="rqa_office.reader:read_office",
        suffixes="docx|docm|dotx|pptx|pptm|ppsx|xlsb|odt|ods|odp|epub|doc|dot|xls|ppt|msg|rtf",
        magic=rb"PK\x03\x04|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|\{\\rtf",
        opens="rqa_office.kinds:is_office",
    )
    registry.format("markup", read="rqa_office.reader:read_office", suffixes="adoc|asciidoc|asc|org|tex|latex|fb2")

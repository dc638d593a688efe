"""Determine the format of a file: by its first bytes, then by its suffix."""

from __future__ import annotations

import re
from pathlib import Path

from ..file_formats import FORMATS, FileFormat
from .blocks import Unreadable
from .document import LIMIT, File
from .encodings import decode, is_text

NOT_TEXT = "it is neither text nor a supported format"
_SUFFIXES = {
    suffix: name
    for name, suffixes in {
        "plain": "txt text",
        "markdown": "md markdown mdown mkd mdx rmd qmd",
        "html": "html htm xhtml",
        "jsonl": "jsonl ndjson",
        "table": "csv tsv",
        "json": "json geojson",
        "notebook": "ipynb",
        "asciidoc": "adoc asciidoc asc",
        "org": "org",
        "latex": "tex latex",
        "fictionbook": "fb2",
        "code": """bash c cc cfg clj conf cpp cs css el erl ex go h hpp hs ini java jl js jsx kt lua m ml php pl
            properties ps1 py pyi r rb rs scala scss sh sql swift tf toml ts tsx vue xml yaml yml zsh""",
    }.items()
    for suffix in suffixes.split()
}
_BINARY = {  # formats whose first bytes decide, by suffix, for links into a store of unnamed files
    "pdf": "pdf", "rtf": "rtf", "docx": "docx", "docm": "docx", "dotx": "docx", "pptx": "pptx", "pptm": "pptx",
    "ppsx": "pptx", "xlsx": "workbook", "xlsm": "workbook", "xlsb": "xlsb", "odt": "odt", "ods": "ods", "odp": "odp",
    "epub": "epub", "doc": "doc", "dot": "doc", "xls": "xls", "ppt": "ppt", "msg": "msg",
}  # fmt: skip
_OPENED = {  # by the type that an OpenDocument or EPUB file states first
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/epub+zip": "epub",
}
_STREAMS = {  # by a name in the directory of a file of Office 97 to 2003
    "WordDocument": "doc", "Workbook": "xls", "PowerPoint Document": "ppt", "__substg1.0": "msg",
    "EncryptedPackage": "encrypted",
}  # fmt: skip
_HTML = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S)


def format_of(file: File) -> str | FileFormat:
    """Return the format of `file`: that of a plugin or the name of another, "" if it is neither text nor known.

    Raises OSError and Unreadable.
    """
    head = file.head
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"PK\x03\x04"):
        return _zipped(file)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _compound(file)
    if not is_text(head) or file.path.name.startswith("~$"):  # Word's mark of an open file
        return ""
    suffix = file.suffix.removeprefix(".")
    text = decode(head, file.encoding).replace("\r\n", "\n")
    for format in FORMATS:
        if format.has_suffix(suffix) and format.accepts(text):
            return format
    by_suffix = _SUFFIXES.get(suffix, "")
    if by_suffix and by_suffix != "plain":
        return by_suffix
    if _HTML.match(text):
        return "html"
    for format in FORMATS:
        if not format.suffixes and format.accepts(text):
            return format
    return "code" if text.startswith("#!") else "plain"


def is_readable(path: Path) -> bool:
    """Return whether the file at `path` has a format, by its content or its suffix. Raises OSError."""
    try:
        return format_of(File(path, LIMIT)) != "" or has_known_suffix(path)
    except Unreadable:
        return has_known_suffix(path)


def has_known_suffix(path: Path) -> bool:
    """Return whether the suffix of `path` is that of a format, or of source code."""
    suffix = File(path, LIMIT).suffix.removeprefix(".")
    by_plugin = any(format.has_suffix(suffix) for format in FORMATS if not format.sniff)
    return suffix in _SUFFIXES or suffix in _BINARY or by_plugin


def _zipped(file: File) -> str:
    """Return the format of a zip file by what is in it."""
    if file.head[30:38] == b"mimetype":
        stated = file.head[38:120]
        return next((name for type, name in _OPENED.items() if stated.startswith(type)), "")
    import zipfile  # here, because few files need it

    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return _BINARY.get(file.suffix.removeprefix("."), "")
    folders = {name.partition("/")[0] for name in names}
    if "xl" in folders:
        return "xlsb" if "xl/workbook.bin" in names else "workbook"
    return "docx" if "word" in folders else "pptx" if "ppt" in folders else ""


def _compound(file: File) -> str:
    with file.open() as stream:
        content = stream.read(file.limit)
    return next((name for part, name in _STREAMS.items() if part.encode("utf-16-le") in content), "")

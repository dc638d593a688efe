"""Tell the kinds of office files apart, by their content."""

from __future__ import annotations

from rqa_files import File

_BY_SUFFIX = {
    "docx": "docx", "docm": "docx", "dotx": "docx", "pptx": "pptx", "pptm": "pptx", "ppsx": "pptx", "xlsb": "xlsb",
    "odt": "odt", "ods": "ods", "odp": "odp", "epub": "epub", "adoc": "asciidoc", "asciidoc": "asciidoc",
    "asc": "asciidoc", "org": "org", "tex": "latex", "latex": "latex", "fb2": "fictionbook",
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


def is_office(file: File) -> bool:
    """Return whether a file is of one of these kinds."""
    return kind_of(file) != ""


def kind_of(file: File) -> str:
    """Return the kind of a file, such as "docx" or "encrypted", "" if it is of none."""
    if file.head.startswith(b"{\\rtf"):
        return "rtf"
    if file.head.startswith(b"PK\x03\x04"):
        return _zipped(file)
    if file.head.startswith(b"\xd0\xcf\x11\xe0"):
        return _compound(file)
    return _BY_SUFFIX.get(file.suffix.removeprefix("."), "")


def _zipped(file: File) -> str:
    if file.head[30:38] == b"mimetype":
        stated = file.head[38:120]
        return next((name for type, name in _OPENED.items() if stated.startswith(type)), "")
    if not file.members:  # it is damaged
        return _BY_SUFFIX.get(file.suffix.removeprefix("."), "")
    folders = {name.partition("/")[0] for name in file.members}
    if "xl" in folders:
        return "xlsb" if "xl/workbook.bin" in file.members else ""
    return "docx" if "word" in folders else "pptx" if "ppt" in folders else ""


def _compound(file: File) -> str:
    with file.open() as stream:
        content = stream.read(file.limit)
    return next((name for part, name in _STREAMS.items() if part.encode("utf-16-le") in content), "")

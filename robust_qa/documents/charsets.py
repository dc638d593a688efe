"""Determine the character encoding of text from outside."""

from __future__ import annotations

import codecs
import re

_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_DECLARATION = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE
)
_HEAD = 4096  # bytes in which a page declares its charset


def charset(body: bytes, named: str = "", *, page: bool = False) -> str:
    """Return the Python name of the encoding of `body`, "" if unknown.

    A byte order mark comes first, then `named`, the charset that the server sent. A `page` of HTML or XML may declare
    its own.
    """
    import webencodings  # here, because few files need it

    for mark, name in _MARKS.items():
        if body.startswith(mark):
            return name
    declared = _DECLARATION.search(body[:_HEAD]) if page and not named else None
    encoding = webencodings.lookup(declared[1].decode("ascii", "replace") if declared else named)
    if encoding is None or encoding.name in ("replacement", "x-user-defined"):
        return ""
    if declared and encoding.name.startswith("utf-16"):
        return "utf-8"  # a UTF-16 page would not be readable up to its declaration
    return "gb18030" if encoding.name == "gbk" else str(encoding.codec_info.name)  # gb18030 extends gbk

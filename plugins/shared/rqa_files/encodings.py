"""Decode text from outside.

A byte order mark comes first, then what the page declares or the user says, then UTF-8, UTF-16 without a mark, and
what chardet detects.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from .blocks import Unreadable

_MARKS = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_DECLARATION = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE
)
_HEAD = 4096  # bytes in which a page declares its charset
_SAMPLE = 20_000  # bytes that show the encoding of a file
_SURE = 0.2  # confidence of chardet; below it the text is too short to tell, and Windows-1252 is the most common
_NOT_CONTROL = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\a\b\t\n\f\r\x1b")
_INVALID = re.compile("[\udc80-\udcff]")
_CONTROL = re.compile(r"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in ISO 8859, letters and quotes in the code pages of Windows
_WINDOWS = {  # by the ISO 8859 that each extends
    "iso8859-1": "cp1252", "iso8859-2": "cp1250", "iso8859-5": "cp1251", "iso8859-6": "cp1256", "iso8859-7": "cp1253",
    "iso8859-8": "cp1255", "iso8859-9": "cp1254", "iso8859-13": "cp1257",
}  # fmt: skip


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


def is_text(head: bytes) -> bool:
    """Return whether a file that begins with `head` is text."""
    if charset(head) or _utf_16(head):
        return True
    return not head.translate(None, _NOT_CONTROL)


def decode(body: bytes, named: str = "", *, page: bool = False) -> str:
    """Return the text of `body`, without a byte order mark. `named` and `page` are as for `charset`.

    Raises Unreadable if it is not text.
    """
    if page and not named and not body.isascii():
        with suppress(UnicodeDecodeError):  # pages saved as UTF-8 often still declare their old charset
            return body.decode("utf-8-sig")
    return body.decode(*encoding_of(body, named, page=page)).removeprefix("\ufeff")


def encoding_of(body: bytes, named: str = "", *, page: bool = False) -> tuple[str, str]:
    """Return the encoding of text that begins with `body`, and the error handler for invalid bytes.

    Raises Unreadable if it is not text.
    """
    encoding = charset(body, named, page=page) or _detected(body)
    return ("utf-8-sig", "robust_qa.windows_1252") if encoding.startswith("utf-8") else (encoding, "replace")


def _detected(body: bytes) -> str:
    if utf_16 := _utf_16(body[:_SAMPLE]):
        return utf_16
    if b"\0" in body:
        raise Unreadable("it is binary, not text")
    with suppress(UnicodeDecodeError):
        body.decode()
        return "utf-8"
    text = body.decode("utf-8", "surrogateescape")
    invalid = len(_INVALID.findall(text))
    if 3 * invalid <= 2 * (len(text) - len(text.encode("ascii", "ignore"))):
        return "utf-8"  # perhaps with a few invalid bytes

    import chardet  # here, because few files need it

    sample = b"\n".join(line for line in body.splitlines() if not line.isascii())[:_SAMPLE]
    found = chardet.detect(sample)
    if not found["encoding"] or found["confidence"] < _SURE:
        return "cp1252"
    name = codecs.lookup(found["encoding"]).name
    return _WINDOWS.get(name, name) if _C1.search(sample) else name


def _utf_16(sample: bytes) -> str:
    """Return the encoding if `sample` is UTF-16 without a mark: every second byte of Latin text is then zero."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if half and zeros > 0.7 * half and others == 0:
            text = sample[: 2 * half].decode(name, "replace")
            return name if not _CONTROL.search(text) else ""
    return ""


def _decode_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("robust_qa.windows_1252", _decode_as_windows_1252)

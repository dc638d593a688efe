"""How bytes that somebody else wrote are encoded, by what they or their server say."""

from __future__ import annotations

import codecs
import re

_MARKS = {  # that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_SAID = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE
)
_HEAD = 4096  # bytes in which a page says its charset
# Labels of the standard below that Python does not know, by ones that it does.
_LABELS = {
    **{f"iso8859{n}": f"iso8859-{n}" for n in range(1, 16)},
    **{f"x-cp125{n}": f"cp125{n}" for n in range(9)},
    **{
        label: name
        for name, labels in {
            "big5": "cn-big5 x-x-big5",
            "cp932": "windows-31j x-sjis",
            "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
            "cp874": "dos-874 windows-874",
            "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
            "gbk": "csgb2312 gb_2312 gb_2312-80 x-gbk",
            "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
            "iso8859-7": "sun_eu_greek",
            "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual",
            "iso8859-15": "csisolatin9",
            "koi8-r": "koi koi8",
            "koi8-u": "koi8-ru",
            "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
            "mac-roman": "csmacintosh mac x-mac-roman",
            "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
            "utf-16-be": "unicodefffe",
            "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
        }.items()
        for label in labels.split()
    },
}
# Those of the web (whatwg's Encoding Standard), by Python's names. Python has others, which are none of text, or take
# a quadratic time: 250 kB of punycode hold up everything for seconds.
_CHARSETS = frozenset(
    """ascii big5 big5hkscs cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    euc_jp euc_kr gb18030 gb2312 gbk iso2022_jp iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7
    iso8859-8 iso8859-9 iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-cyrillic
    mac-roman shift_jis tis-620 utf-8 utf-8-sig utf-16 utf-16-be utf-16-le""".split()
)
_MEANT = {  # what is written under these names, by the same standard
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}


def charset(body: bytes, named: str = "", *, page: bool = False) -> str:
    """How text is encoded, by Python's name: by its byte order mark, else by `named`, which its server may say.

    A `page` of HTML or XML may say it itself. "" where none of them names a charset of the web.
    """
    for mark, name in _MARKS.items():
        if body.startswith(mark):
            return name
    inside = _SAID.search(body[:_HEAD]) if page and not named else None
    label = (inside[1].decode("ascii", "replace") if inside else named).strip().lower()
    try:
        found = codecs.lookup(_LABELS.get(label, label)).name
    except (LookupError, ValueError):
        return ""
    if inside and found.startswith("utf-16"):
        return "utf-8"  # else it could not have been read
    return _MEANT.get(found, found) if found in _CHARSETS else ""

"""The answer in the first part of a reply, to show it while the model writes."""

from __future__ import annotations

import json
import re

from .replies import labelled_answer, one_line, says_unknown, without_thoughts

# Characters of an answer before it is shown: by then `says_unknown` recognises most refusals.
_HELD_BACK = 36
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)("?)|[{}\[\]:,]', re.DOTALL)
_BROKEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z|\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def json_preview(reply: str) -> str:
    """Return the field `answer` of a JSON object that may not be complete yet, "" while it cannot be shown."""
    return showable(_field(without_thoughts(reply), "answer"))


def prose_preview(reply: str) -> str:
    """Return the answer of a reply in prose, "" while it cannot be shown."""
    text = without_thoughts(reply)
    stated = labelled_answer(text)
    return _unless_declining(text if stated is None else stated)


def showable(field: str) -> str:
    """Return a field of a reply as one line if it is long enough to tell that it does not decline, else ""."""
    return _unless_declining(one_line(field))


def _unless_declining(answer: str) -> str:
    return "" if len(answer) < _HELD_BACK or says_unknown(answer) else answer


def _field(text: str, name: str) -> str:
    """Return the text of that field of the outermost object, whole or as far as it is written."""
    depth, key, before = 0, "", ""
    for token in _TOKEN.finditer(text, max(0, text.find("{"))):
        mark = token[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        elif mark.startswith('"') and depth == 1:
            if before == ":" and key == name:
                return _unescaped(token[1])
            key = token[1]
        before = mark
    return ""


def _unescaped(text: str) -> str:
    try:
        value: str = json.loads(f'"{_BROKEN_ESCAPE.sub("", text)}"', strict=False)
    except ValueError:
        return ""
    return value

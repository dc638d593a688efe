"""The answer that a reply of any form states: strategies that ask for reasoning get it in many.

Nothing here raises, whatever the text, and the work is linear in its length.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .replies import between, one_line, parse_object

_FIELD = re.compile(r"""["']answer["']\s*:\s*""", re.IGNORECASE)
_AFTER = r"""\s*(?:,\s*["'][^"'\n]{1,40}["']\s*:|[}\]]|\Z)"""  # a field; other quotes are within its text
_WITHIN = re.compile(r"""[\w"']""")  # right behind a quote, which then ends nothing: The "Rough Riders"
_VALUE = re.compile(rf"""(["'])((?:\\.|(?!\1{_AFTER})[^\\])++)\1|([^\s"'\[{{][^"{{}},\n]*+)(?=[}},])""", re.DOTALL)
# JSON, a code fence, documents without an answer behind them.
_NO_ANSWER = re.compile(r'\s*(?:```|[{}\]]|\[["{\d]|"\w+"\s*:)|[^\w\n]*documents?[^\w\n]*[:：](?!.*\banswer\b)', re.I)
_LABELLED = re.compile(
    r"^[^\w\n]*+(?:.*(?:[\d.,;:|\])]|\b(?:so|thus|therefore|and|that))[ \t]++)?"
    r"(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t]*(?:is\b|[*_]*[:：])[\s:：*_]*+(.*\w.*)$",
    re.I | re.M,
)


def stated_answer(reply: str) -> str:
    """The marked answer of `reply`, else that of its JSON, else a labelled one, else its last line; as one line.

    Of several of a kind the last. "" where there is none; whether it says that none is known is not looked at.
    """
    if marked := between(reply, "ANSWER"):
        return one_line(marked[-1])
    if whole := parse_object(reply, "answer") or _broken(reply):
        return one_line(whole["answer"])
    lines = [one_line(line) for line in reply.splitlines() if re.search(r"\w", line) and not _NO_ANSWER.match(line)]
    return one_line("".join((_LABELLED.findall("\n".join(lines)) or lines)[-1:]))


def _broken(reply: str) -> dict[str, Any] | None:
    """The last answer of what is nearly JSON: cut behind it, with quotes in its text, or as Python writes it."""
    for field in list(_FIELD.finditer(reply))[-1:]:
        closed = None
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(reply, field.end())
            closed = {"answer": value}
            if not _WITHIN.match(reply, end):
                return closed
        except (ValueError, RecursionError):
            pass
        found = _VALUE.match(reply, field.end())
        return {"answer": found[2] or found[3]} if found else closed
    return None

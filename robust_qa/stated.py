"""The answer that a reply of any form states: strategies that ask for reasoning get it in many.

Nothing here raises, whatever the text, and the work is linear in its length.
"""

from __future__ import annotations

import re

from .replies import between, one_line, parse_object

_QUOTED = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)+")')
_NO_ANSWER = re.compile(r'\s*(?:```|[{}\]]|\[["{\d]|"\w+"\s*:)|[^\w\n]*documents?[^\w\n]*:', re.I)  # JSON, a code fence
_LABELLED = re.compile(
    r"^[^\w\n]*+(?:.*(?:[.,;:]|\b(?:so|thus|therefore|and|that))[ \t]++)?"
    r"(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t]*(?:is\b|[*_]*:)[\s:*_]*+(.*\w.*)$",
    re.I | re.M,
)


def stated_answer(reply: str) -> str:
    """The marked answer of `reply`, else that of its JSON, else a labelled one, else its last line; as one line.

    Of several of a kind the last. "" where there is none; whether it says that none is known is not looked at.
    """
    if marked := between(reply, "ANSWER"):
        return one_line(marked[-1])
    cut = "".join(f'{{"answer": {value}}}' for value in _QUOTED.findall(reply)[-1:])
    if whole := parse_object(reply, "answer") or parse_object(cut, "answer"):
        return one_line(whole["answer"])
    lines = [one_line(line) for line in reply.splitlines() if re.search(r"\w", line) and not _NO_ANSWER.match(line)]
    return one_line("".join((_LABELLED.findall("\n".join(lines)) or lines)[-1:]))

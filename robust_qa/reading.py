"""Reading with a language model: one prompt in, an answer and its passages out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import CutError
from .prompts import load_prompts
from .replies import parse_object, says_unknown, without_thoughts
from .types import Completion, Passage, Reading

PROMPT = load_prompts(Path(__file__).parent / "prompts")["read"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "documents": {"type": "array", "items": {"type": "integer"}, "maxItems": 20},
        "answer": {"type": ["string", "null"]},
    },
    "required": ["documents", "answer"],
    "additionalProperties": False,
}

_AS_OBJECT = (
    'Reply with a JSON object and nothing else: {"documents": [numbers of the documents that state the answer], '
    '"answer": "the answer", or null when the documents do not contain it}'
)
_AS_LINES = (
    "Reply in two lines and nothing else:\n"
    "Documents: the numbers of the documents that state the answer\n"
    "Answer: the answer, or UNKNOWN when the documents do not contain it"
)
_LINE = re.compile(r"^\W*(documents?|answer)\W*:\W*(.*)$", re.IGNORECASE | re.MULTILINE)
_ANSWERED = re.compile(r"^[^\w\n]*+answer[^\w\n:]*+:[^\w\n]*+\w.*\n", re.IGNORECASE | re.MULTILINE)


def reply_format(structured: bool) -> str:
    """What to tell the model about the form of its reply."""
    return _AS_OBJECT if structured else _AS_LINES


def parse_reading(completion: Completion, passages: Sequence[Passage]) -> Reading:
    """A reply as a Reading: from a JSON object, from labelled lines, or else the whole reply as the answer.

    Numbers of documents that do not exist are left out. CutError when the reply was cut before its answer was whole.
    """
    reply = without_thoughts(completion.text)
    parsed = parse_object(reply, "answer")
    if completion.finish == "length" and parsed is None and not _ANSWERED.search(reply):
        raise CutError
    if not reply:
        return Reading(None, usage=completion.usage, reason="The language model's reply is empty.")
    if parsed is not None:
        answer = "" if parsed["answer"] is None else str(parsed["answer"])  # 0 is an answer
        documents = str(parsed.get("documents", ""))
    else:
        lines = {label.lower()[:6]: rest for label, rest in _LINE.findall(reply)}
        answer = lines.get("answer", "" if lines else reply)
        documents = lines.get("docume", "")
    if says_unknown(answer):
        return Reading(None, usage=completion.usage)
    numbers = dict.fromkeys(int(digits) for digits in re.findall(r"\d{1,4}", documents))
    positions = tuple(n - 1 for n in numbers if 1 <= n <= len(passages))
    return Reading(answer.strip(), passages=positions, usage=completion.usage)

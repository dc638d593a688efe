"""Reading with a language model: one prompt in, an answer and its passages out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import CutError
from ..kit.prompts import load_prompts
from ..kit.replies import named_documents, one_line, parse_object, says_unknown, stated_answer, without_thoughts
from ..types import Completion, Passage, Reading

PROMPT = load_prompts()["read"]

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
_LABEL = r"[^\w\n]*+(documents?|(?:the +)?(?:final +)?answer(?: +is)?)[^\w\n:：]*+[:：]"
# What is labelled may stand below its label. Runs are taken whole: a page of line breaks or leader dots is linear work.
_LINE = re.compile(
    rf"^{_LABEL}[*_]*+(?:\s*+(?!{_LABEL})|[ \t]*+)(?:(?<=\n)[-•] +)?(?P<field>.*)$", re.IGNORECASE | re.MULTILINE
)
# The two lines that were asked for, with their labels in the language of the question: numbers, or UNKNOWN, and a
# word for documents or one in other letters, tell them from two lines of an answer.
_NAME = r"\W*+\w[^\n:：\d]{0,30}+[:：]"
_TRANSLATED = re.compile(
    rf"(?=[^\n:：]*(?:(?i:do[ck]u)|[^\W\x00-\x7f])){_NAME}([^\w\n]*+(?:\d{{1,3}}(?!\d)[^\w\n]*+)*+)\n{_NAME}(.+)"
)
_ON_A_LINE = re.compile(r"\banswer\b", re.IGNORECASE)  # what documents end at, where the answer stands behind them


def reply_format(structured: bool) -> str:
    """What to tell the model about the form of its reply."""
    return _AS_OBJECT if structured else _AS_LINES


def parse_reading(completion: Completion, passages: Sequence[Passage]) -> Reading:
    """A reply as a Reading: from a JSON object, from labelled lines, or else the whole reply as the answer.

    Of what has a form, but no answer in its place, that which it states otherwise; a reason where it states none.
    Numbers of documents that do not exist are left out. CutError when the reply was cut before its answer was whole.
    """
    reply = without_thoughts(completion.text)
    parsed = parse_object(reply, "answer")
    lines = {"documents" if line[1][0] in "dD" else "answer": line for line in _LINE.finditer(reply)}
    answered = lines.get("answer")
    whole = parsed or (answered and answered["field"] and answered.end() < len(reply))
    if completion.finish == "length" and not whole:
        raise CutError
    if not reply:
        return Reading(None, usage=completion.usage, reason="The language model's reply is empty.")
    fields = parsed or {label: line["field"] for label, line in lines.items()}
    if not fields and (translated := _TRANSLATED.fullmatch(reply)):
        documents, said = translated.groups()
        if any(map(str.isdigit, documents)) or says_unknown(one_line(said)):
            fields = {"documents": documents, "answer": said}
    nearly = parsed is None and reply.removeprefix("```json").lstrip().startswith("{")
    if "answer" in fields and not nearly:
        answer = one_line(fields["answer"])
    else:
        answer = stated_answer(reply) if fields or nearly else reply
        if not answer:
            return Reading(None, usage=completion.usage, reason="The language model's reply has no answer in it.")
    if says_unknown(answer):
        return Reading(None, usage=completion.usage)
    named = fields.get("documents")
    if isinstance(named, str):
        named = _ON_A_LINE.split(named, 1)[0]
    positions = tuple(number - 1 for number in named_documents(named, len(passages))[0])
    return Reading(answer, passages=positions, usage=completion.usage)

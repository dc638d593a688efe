"""Read with a language model: the reply format, and the parser of replies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import CutError
from ..kit.forms import ANSWER, TEXT, list_of, object_of
from ..kit.previews import json_preview, showable
from ..kit.prompts import abstention, load_prompts
from ..kit.replies import (
    UNKNOWN,
    between,
    final_answer,
    labelled_answer,
    named_documents,
    one_line,
    parse_object,
    says_unknown,
    without_thoughts,
)
from ..kit.warnings import PLAIN_TEXT, warn
from ..types import Completion, Passage, Reading

PROMPT = load_prompts()["read"]
_MOST_DOCUMENTS = 20

_ABSTAIN = "If the documents do not contain the answer, say so instead of guessing."
_AS_OBJECT = (
    'Reply with a JSON object and nothing else: {"documents": [numbers of the documents that state the answer], '
    '"answer": "the answer"'
)
_AS_LINES = (
    "Reply in two lines and nothing else:\n"
    "Documents: the numbers of the documents that state the answer\n"
    "Answer: the answer"
)
_LABEL = r"[^\w\n]*+(documents?|(?:the +)?(?:final +)?answer(?: +is)?)[^\w\n:：]*+[:：]"
# The value may be on the line below its label. Possessive quantifiers keep the time linear.
_LINE = re.compile(
    rf"^{_LABEL}[*_]*+(?:\s*+(?!{_LABEL})|[ \t]*+)(?:(?<=\n)[-•] +)?(?P<field>.*)$", re.IGNORECASE | re.MULTILINE
)
# The two lines with translated labels. The first label must look like "documents" or use another script.
_NAME = r"\W*+\w[^\n:：\d]{0,30}+[:：]"
_TRANSLATED = re.compile(
    rf"(?=[^\n:：]*(?:(?i:do[ck]u)|[^\W\x00-\x7f])){_NAME}([^\w\n]*+(?:\d{{1,3}}(?!\d)[^\w\n]*+)*+)\n{_NAME}(.+)"
)
_INLINE_ANSWER = re.compile(r"\banswer\b", re.IGNORECASE)  # the answer is on the line of the documents


def schema(*, abstain: bool) -> dict[str, Any]:
    """The JSON schema of a reply. `abstain`: the answer may be null."""
    return object_of(documents=list_of({"type": "integer"}, _MOST_DOCUMENTS), answer=ANSWER if abstain else TEXT)


def instructions(*, structured: bool, abstain: bool) -> dict[str, str]:
    """The fields `format` and `abstain` of the prompt: the form of the reply, and whether it may say "not known"."""
    unknown = ", or null" if structured else f", or {UNKNOWN}"
    form = _AS_OBJECT if structured else _AS_LINES
    when = f"{unknown} when the documents do not contain it" if abstain else ""
    return {
        "format": form + when + ("}" if structured else ""),
        "abstain": _ABSTAIN if abstain else abstention(offered=False),
    }


def preview(reply: str) -> str:
    """Return the answer in the first part of a reply, "" while it cannot be shown. See `Preview`."""
    lines = [line["field"] for line in _LINE.finditer(without_thoughts(reply)) if line[1][0] not in "dD"]
    return json_preview(reply) or showable(lines[-1] if lines else "")


def parse_reading(completion: Completion, passages: Sequence[Passage]) -> Reading:
    """Parse a JSON object or labelled lines. Otherwise the whole reply is the answer.

    A reply without an answer gives a Reading with a reason. Numbers of documents that do not exist are ignored.
    Raises CutError if the reply was cut before the end of the answer.
    """
    reply = without_thoughts(completion.text)
    parsed = parse_object(reply, "answer")
    lines = {"documents" if line[1][0] in "dD" else "answer": line for line in _LINE.finditer(reply)}
    answer_line = lines.get("answer")
    complete = parsed or (answer_line and answer_line["field"] and answer_line.end() < len(reply))
    if completion.finish == "length" and not complete:
        raise CutError
    if not reply:
        return Reading(None, usage=completion.usage, reason="The language model's reply is empty.")
    fields = parsed or {label: line["field"] for label, line in lines.items()}
    if not fields and (translated := _TRANSLATED.fullmatch(reply)):
        documents, text = translated.groups()
        if any(map(str.isdigit, documents)) or says_unknown(one_line(text)):
            fields = {"documents": documents, "answer": text}
    broken_json = parsed is None and reply.removeprefix("```json").lstrip().startswith("{")
    if "answer" in fields and not broken_json:
        answer = one_line(fields["answer"])
    else:
        whole = not (fields or broken_json or "<<<ANSWER>>>" in reply or between(reply, "ANSWER"))
        answer = reply if whole else final_answer(reply)
        if not answer:
            return Reading(None, usage=completion.usage, reason="The language model's reply has no answer.")
    if says_unknown(answer):
        return Reading(None, usage=completion.usage)
    if labelled_answer(reply) is None:
        warn(PLAIN_TEXT)
    numbers = fields.get("documents")
    if isinstance(numbers, str):
        numbers = _INLINE_ANSWER.split(numbers, 1)[0]
    positions = tuple(number - 1 for number in named_documents(numbers, len(passages))[0])
    return Reading(answer, passages=positions, usage=completion.usage)

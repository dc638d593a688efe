"""Read with a language model: the reply format, and the parser of replies."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from robust_qa import Completion, CutError, Passage, Reading
from robust_qa.kit import PLAIN_TEXT, warn

from .forms import ANSWER, TEXT, list_of, object_of
from .labels import Labels
from .prompts import abstention, fenced, load_prompts
from .replies import (
    UNKNOWN,
    answer_line,
    before_remarks,
    final_answer,
    is_cut,
    json_preview,
    labelled_answer,
    named_documents,
    one_line,
    parse_object,
    says_unknown,
    showable,
    without_thoughts,
)

if TYPE_CHECKING:
    from robust_qa import Toolbox
    from robust_qa.answering import Asking

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
_LABELS = Labels(lines=("documents", "answer"), texts=(), inside=(), outside=("documents", "answer"))
_DOCUMENTS = re.compile(r"""documents["']\s*:\s*(\[[^]]*)""", re.IGNORECASE)  # in broken JSON
# The two lines with translated labels. The first label must look like "documents" or use another script.
_NAME = r"\W*+\w[^\n:：\d]{0,30}+[:：]"
_TRANSLATED = re.compile(
    rf"(?=[^\n:：]*(?:(?i:do[ck]u)|[^\W\x00-\x7f])){_NAME}([^\w\n]*+(?:\d{{1,3}}(?!\d)[^\w\n]*+)*+)\n{_NAME}(.+)"
)


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
    return json_preview(reply) or showable(_LABELS.parse(without_thoughts(reply))[1].get("answer", ""))


def parse_reading(completion: Completion, passages: Sequence[Passage], *, formed: bool = True) -> Reading:
    """Parse a JSON object or labelled lines. Otherwise the whole reply is the answer, with a warning if `formed`.

    A reply without an answer gives a Reading with a reason. Numbers of documents that do not exist are ignored.
    Raises CutError if the reply was cut before the end of the answer.
    """
    reply = without_thoughts(completion.text)
    parsed = parse_object(reply, "answer")
    if is_cut(dataclasses.replace(completion, text=reply)):
        raise CutError
    if not reply:
        return Reading(None, usage=completion.usage, reason="The language model's reply is empty.")
    broken_json = parsed is None and reply.removeprefix("```json").lstrip().startswith("{")
    fields = parsed or ({} if broken_json else _LABELS.parse(reply)[1])
    if broken_json and (documents := _DOCUMENTS.search(reply)):
        fields = {"documents": documents[1]}
    if not fields and (translated := _TRANSLATED.fullmatch(reply)):
        numbers, text = translated.groups()
        if any(map(str.isdigit, numbers)) or says_unknown(one_line(text)):
            fields = {"documents": numbers, "answer": text}
    if "answer" in fields:
        answer = answer_line(fields["answer"])
    else:
        plain = not (fields or broken_json or "<<<ANSWER>>>" in reply or "\\boxed" in reply)
        answer = before_remarks(reply) if plain else final_answer(reply)
        if not answer:
            return Reading(None, usage=completion.usage, reason="The language model's reply has no answer.")
    if says_unknown(answer):
        return Reading(None, usage=completion.usage)
    if formed and labelled_answer(reply) is None:
        warn(PLAIN_TEXT)
    positions = tuple(number - 1 for number in named_documents(fields.get("documents"), len(passages))[0])
    return Reading(answer, passages=positions, usage=completion.usage)


async def read(toolbox: Toolbox, question: str, passages: Sequence[Passage], how: Asking) -> Reading:
    """The answer of the toolbox's language model, as `Toolbox.read` returns it, with the numbers that were shown."""
    prompt, abstain = how.get("prompt") or PROMPT, how.get("abstain", True)
    formed = "format" in prompt.fields  # else the prompt itself says how to reply
    structured = toolbox.structured and formed
    completion = await toolbox.generate(
        prompt,
        passages=passages,
        fields={"question": fenced(question), **instructions(structured=structured, abstain=abstain)},
        order=how.get("order", "descending"),
        seed=how.get("seed"),
        sample=how.get("sample", 0),
        temperature=how.get("temperature"),
        schema=schema(abstain=abstain) if structured else None,
        preview=preview if how.get("final") else None,
    )
    return parse_reading(completion, passages, formed=formed)

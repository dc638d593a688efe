"""Check the sentences of an answer against passages, with the judge or with a language model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import Checked, ContextError, CutError, InputError, MissingError, Passage, Question, Toolbox
from robust_qa.kit import cite, sentences
from rqa_claims import check_claim
from rqa_prompts import TEXT, fenced, final_reply, list_of, load_prompts, object_of, one_line, parse_object

if TYPE_CHECKING:
    from robust_qa.answering import Session


async def check_answer(answer: str, toolbox: Toolbox, passages: Sequence[Passage] | None = None) -> list[Checked]:
    """Return each sentence of `answer` with its verdict, by the language model if the toolbox has one.

    Without `passages`, retrieves some for each sentence. Raises InputError if `answer` is empty, MissingError if there
    is no retriever, and ConfigError if the evaluator judges no claims.
    """
    claims = [answer[start:end] for start, end in sentences(answer)]
    if not claims:
        raise InputError("The answer is empty.", hint="Give a text of at least one sentence.")
    if passages is not None:
        found = [list(passages)] * len(claims)
    elif toolbox.retriever is None:
        raise MissingError(
            "There are no documents to check against.",
            hint="Give documents with --docs PATH, or index them once with `rqa index PATH`.",
        )
    else:
        found = list(await asyncio.gather(*map(toolbox.retrieve, claims)))
    if toolbox.generative:
        return await check_by_model(claims, found, toolbox)
    return list(await asyncio.gather(*(check_claim(*each, toolbox) for each in zip(claims, found, strict=True))))


_BATCH = 8  # sentences in a call
_VERDICTS = ("supported", "contradicted", "not found")


async def check_by_model(claims: Sequence[str], found: Sequence[Sequence[Passage]], toolbox: Toolbox) -> list[Checked]:
    """Return the verdict of each claim over its passages. An unusable reply gives "not decided" and a reason."""
    batches = [slice(start, start + _BATCH) for start in range(0, len(claims), _BATCH)]
    checked = await asyncio.gather(*(_checked(claims[each], _merged(found[each]), toolbox) for each in batches))
    return [one for batch in checked for one in batch]


async def _checked(claims: Sequence[str], passages: Sequence[Passage], toolbox: Toolbox) -> list[Checked]:
    listed = "\n".join(f"{number}. {' '.join(claim.split())}" for number, claim in enumerate(claims, start=1))
    entry = object_of(sentence={"type": "integer"}, quote=TEXT, verdict={"type": "string", "enum": list(_VERDICTS)})
    try:
        completion = await toolbox.generate(
            load_prompts(Path(__file__).with_name("prompts"))["check"],
            passages=passages,
            fields={"sentences": fenced(listed)},
            schema=object_of(verdicts=list_of(entry, len(claims))) if toolbox.structured else None,
        )
        reply = parse_object(final_reply(completion).text, "verdicts")
    except (ContextError, CutError) as error:
        return [Checked(claim, "not decided", reason=error.message) for claim in claims]
    listed_verdicts = reply["verdicts"] if reply else None
    entries = listed_verdicts if isinstance(listed_verdicts, list) else []
    by_number = {str(entry.get("sentence")): entry for entry in entries if isinstance(entry, dict)}
    return [_verdict(claim, by_number.get(str(number)), passages) for number, claim in enumerate(claims, start=1)]


def _verdict(claim: str, entry: Mapping[str, Any] | None, passages: Sequence[Passage]) -> Checked:
    said = one_line(entry.get("verdict")).lower().replace("_", " ") if entry else ""
    if entry is None or said not in _VERDICTS:
        return Checked(claim, "not decided", reason="The language model gave no verdict.")
    if said == "not found":
        return Checked(claim, "not decided")
    quote = entry.get("quote")
    place = _place(quote, passages) if isinstance(quote, str) else None
    if place is None:
        return Checked(claim, "not decided", reason=f"The language model said “{said}” without a verbatim quote.")
    passage, start = place
    return Checked(claim, "supported" if said == "supported" else "contradicted", cite(passage, start=start))


def _place(quote: str, passages: Sequence[Passage]) -> tuple[Passage, int] | None:
    """Return the passage with that quote, and the offset of its first word. White space does not matter."""
    parts = quote.split()
    if not parts:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)))
    return next(((each, match.start()) for each in passages if (match := pattern.search(each.text))), None)


def _merged(found: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Return the passages of several claims, the first ones of each claim first, each once."""
    ranked = sorted(((rank, each) for own in found for rank, each in enumerate(own)), key=lambda pair: pair[0])
    return list({(each.source, each.id, each.text): each for _, each in ranked}.values())


def tools(session: Session) -> list[Callable[..., Awaitable[dict[str, Any]]]]:
    """Return the tool that checks against the documents of `session`."""

    async def check(answer: str, passages: list[str] | None = None) -> dict[str, Any]:
        """Check each sentence of an answer against passages, or against the documents if there are no passages.

        A sentence is "supported", "contradicted", "disputed" or "not decided". Its `citation` quotes the text that
        decides, or the closest one. `supporting` and `contradicting` quote each independent source.
        `supported` tells whether all sentences are supported.
        """
        given = None if passages is None else tuple(map(Passage, passages))
        checked = await check_answer(answer, session.toolbox_for(Question(answer, passages=given)), given)
        sentences = msgspec.to_builtins(checked)
        return {"supported": all(each.verdict == "supported" for each in checked), "sentences": sentences}

    return [check]

"""Verdicts by a language model: one call for a few sentences. A verdict counts only with a verbatim quote."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robust_qa import Checked, ContextError, CutError, Passage, Toolbox
from robust_qa.kit import TEXT, cite, fenced, final_reply, list_of, load_prompts, object_of, one_line, parse_object

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

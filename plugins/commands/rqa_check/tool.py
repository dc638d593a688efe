"""The tool `check` of `rqa mcp`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import Passage, Question

from .checking import check_answer

if TYPE_CHECKING:
    from robust_qa.answering import Session


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

"""Check the sentences of an answer against passages, with the judge or with a language model (asking.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from robust_qa import Checked, InputError, MissingError, Passage, Toolbox
from robust_qa.kit import check_claim, sentences

from .asking import check_by_model


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

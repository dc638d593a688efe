"""Give llm the passages that rqa finds: `llm -f "rqa:Who was the last keeper?" "Who was the last keeper?"`.

rqa searches as its configuration says, by default the index of `rqa index`.
"""

from __future__ import annotations

import asyncio

import llm

from robust_qa import Passage, Question, RqaError, open_session


@llm.hookimpl
def register_fragment_loaders(register):  # type: ignore[no-untyped-def]  # llm passes arguments by these names
    """Register the prefix `rqa`."""
    register("rqa", passages)


def passages(question: str) -> list[llm.Fragment]:
    """Return the passages that rqa finds for the text after "rqa:", the most relevant first."""
    try:
        found = asyncio.run(_found(question))
    except RqaError as error:
        raise ValueError(f"{error.message} {error.hint}") from error
    return [
        llm.Fragment(  # type: ignore[no-untyped-call]
            "\n".join(filter(None, (passage.title, passage.text))), f"rqa:{passage.source or passage.id}"
        )
        for passage in found
    ]


async def _found(question: str) -> list[Passage]:
    async with open_session(config="auto") as session:
        return list(await session.toolbox_for(Question(question)).retrieve(question))

"""What the host asks of this package: see `robust_qa.answering.Prompting`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa.kit import normalise

from . import reading
from .context_window import fit_window, shown_order
from .prompts import fenced, load_prompts
from .replies import declines, final_reply

if TYPE_CHECKING:
    from robust_qa import Message, Passage, Reading, Toolbox
    from robust_qa.answering import Asking, Pipeline
    from robust_qa.kit import Layout, Prompt

_EXPRESSIONS = Path(__file__).parent / "prompts" / "expressions"


class Prompting:
    """Prompts that fence passages as data, cut to the reader's window, and replies in JSON or labelled lines."""

    def expression_prompts(self, replaced: Mapping[str, Path]) -> dict[str, Prompt]:
        """The prompts `background` and `compress`, or the files that replace them. Raises ConfigError."""
        return load_prompts(_EXPRESSIONS, replaced)

    def shown_order(self, passages: Sequence[Passage], layout: Layout) -> list[int]:
        """The positions of `passages` as a prompt shows and numbers them."""
        return shown_order(passages, layout)

    async def messages(
        self,
        toolbox: Toolbox,
        reader: Pipeline,
        prompt: Prompt,
        passages: Sequence[Passage],
        *,
        fields: Mapping[str, str],
        layout: Layout,
        reply_room: int,
    ) -> list[Message]:
        """The messages of `prompt`, which fit the window. Notes which passages were cut. Raises ContextError."""
        fields = {"question": fenced(toolbox.question.text), **fields}
        fitted = await fit_window(reader, prompt, passages, fields, layout, reply_room=reply_room)
        if fitted.dropped or fitted.shortened:
            toolbox.note(
                f"{len(fitted.dropped)} passages left out and {len(fitted.shortened)} shortened to fit the window",
                dropped=list(fitted.dropped),
                shortened=list(fitted.shortened),
            )
        return fitted.messages

    async def read(
        self, toolbox: Toolbox, question: str, passages: Sequence[Passage], layout: Layout, how: Asking
    ) -> Reading:
        """The answer of a language model, with positions in `passages`."""
        found = await reading.read(toolbox, question, passages, how)
        shown = shown_order(passages, layout)  # the numbers in the reply are those that were shown
        return dataclasses.replace(found, passages=tuple(shown[number] for number in found.passages))

    async def write(self, toolbox: Toolbox, prompt: Prompt, passages: Sequence[Passage]) -> str:
        """The reply to `prompt`, "" if it declines."""
        text = final_reply(await toolbox.generate(prompt, passages=passages)).text
        return "" if declines(text) or normalise(text) == "none" else text

"""What asks language models in words. The host knows none; `rqa_prompts` registers the one that comes with rqa."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..calls.pipeline import Pipeline
from ..prompt import Layout, Prompt
from ..protocols import Asking, Toolbox
from ..types import Message, Passage, Reading


class Prompting(Protocol):
    """Writes prompts for language models, and reads their replies."""

    def expression_prompts(self, replaced: Mapping[str, Path]) -> dict[str, Prompt]:
        """The prompts of retriever expressions, some of them replaced by files. Raises ConfigError."""

    def shown_order(self, passages: Sequence[Passage], layout: Layout) -> list[int]:
        """The positions of `passages` (the most relevant first) as a prompt shows and numbers them."""

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
        """The messages of `prompt`, within the reader's window less `reply_room` tokens. Raises ContextError."""

    async def read(
        self, toolbox: Toolbox, question: str, passages: Sequence[Passage], layout: Layout, how: Asking
    ) -> Reading:
        """The answer of a language model. The rest is as in `Toolbox.read`."""

    async def write(self, toolbox: Toolbox, prompt: Prompt, passages: Sequence[Passage]) -> str:
        """A text of a language model for an expression, "" if it has nothing to say."""

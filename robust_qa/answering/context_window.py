"""Prompts that fit the reader's window: what overflows is cut from the least relevant end, by sentences."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ContextError
from ..kit.prompts import arrange, render_passages
from ..kit.text import sentences
from ..prompt import Prompt
from ..types import Message, Order, Passage

if TYPE_CHECKING:
    from ..calls.pipeline import Pipeline

Counter = Callable[[Sequence[Message]], int]
_MARGIN = 16  # tokens left free, for what a chat template adds
# Where a text without sentence ends may be cut (a table, a list): at a line's end, else a word's, else anywhere.
_PIECE = re.compile(r".{1,400}(?=\n|\Z)|.{1,400}(?=\s)|.{1,400}", re.DOTALL)
_SCALE = 80  # weights are whole numbers in a byte: eightieths of a token
# Tokens in a character, by the first byte of it in UTF-8; most vocabularies cut digits one by one, and scripts that
# they have few words of into letters or less.
_TOKENS = {
    range(0x80): 1.0,  # signs and line breaks
    range(0x80, 0xC0): 0.0,  # the further bytes of a character
    range(0xC0, 0xC7): 1.5,  # accented Latin letters
    range(0xC7, 0xE0): 1.2,  # Greek, Hebrew, Arabic
    range(0xD0, 0xD2): 0.5,  # Cyrillic
    range(0xE0, 0xE1): 1.5,  # Indic scripts, Thai
    range(0xE1, 0xE2): 3.0,  # Georgian, Ethiopic, Khmer
    range(0xE2, 0xE3): 1.5,  # symbols
    range(0xE3, 0xEA): 1.15,  # Kana, Han
    range(0xEA, 0x100): 1.5,  # Hangul
    range(0xF0, 0x100): 3.0,  # emoji
    b" \tabcdefghijklmnopqrstuvwxyz": 0.275,
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ": 0.5,
    b"0123456789": 1.25,  # often with the space before them
}
_WEIGHTS = bytearray(256)
for _bytes, _tokens in _TOKENS.items():
    for _byte in _bytes:
        _WEIGHTS[_byte] = round(_tokens * _SCALE)
_VIETNAMESE = (b"\xe1\xba", b"\xe1\xbb")  # beside Georgian in Unicode, and half as many tokens


_HINT = "Ask a shorter question, or configure a larger window or a smaller max_tokens."


@dataclass(frozen=True, slots=True)
class Layout:
    """How passages are laid out in a prompt."""

    order: Order = "descending"
    seed: int | str = 0
    source_aware: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages that fit. `dropped` and `shortened` are the numbers of the passages that did not, or not whole."""

    messages: list[Message]
    dropped: tuple[int, ...] = ()
    shortened: tuple[int, ...] = ()


def estimate_tokens(messages: Sequence[Message]) -> int:
    """An estimate on the high side for readers that cannot count, by kinds of characters, and eight for each turn."""
    return sum(_estimate(message.content.encode()) + 8 for message in messages)


def _estimate(content: bytes) -> int:
    vietnamese = sum(map(content.count, _VIETNAMESE))
    return sum(content.translate(_WEIGHTS)) // _SCALE - vietnamese * 3 // 2


async def fit_window(
    reader: Pipeline,
    prompt: Prompt,
    passages: Sequence[Passage],
    fields: Mapping[str, str],
    layout: Layout,
    *,
    reply_room: int,
) -> Fitted:
    """`prompt` with `passages` in what the reader's window leaves beside `reply_room` tokens; see `fit`.

    Everything where the window is not known. ContextError also when there is no room but the reply's.
    """
    count: Counter | None = getattr(reader.component, "count_tokens", None)
    window: int | None
    if count is None:
        window = getattr(reader.component, "window", None)
    else:  # an engine that may have to be loaded to tell, or be busy generating
        window = await reader.in_thread(getattr, reader.component, "window", None)
    if window is None:
        return fit(prompt, passages, fields, layout, budget=None)
    if window <= reply_room:
        raise ContextError(
            f"{reader.name} has a window of {window} tokens, and {reply_room} of them are for the reply.",
            hint=f"Under [{reader.name}], lower `max_tokens` or set a larger context window.",
        )
    budget = window - reply_room - _MARGIN
    if count is None:
        return fit(prompt, passages, fields, layout, budget=budget)
    return await reader.in_thread(lambda: fit(prompt, passages, fields, layout, budget=budget, count=count))


def fit(
    prompt: Prompt,
    passages: Sequence[Passage],
    fields: Mapping[str, str],
    layout: Layout,
    *,
    budget: int | None,
    count: Counter = estimate_tokens,
) -> Fitted:
    """`prompt` with `passages` (the most relevant first, numbered from 1) in at most `budget` tokens.

    Memory passages are the reader's own few words and are cut last. ContextError when the prompt overflows
    without any passage, or leaves no room for the beginning of one.
    """

    def render(kept: Mapping[int, Passage]) -> list[Message]:
        external = arrange([n for n in kept if kept[n].origin == "external"], layout.order, layout.seed)
        shown = external + [n for n in kept if kept[n].origin == "memory"]
        documents = render_passages([kept[n] for n in shown], shown, source_aware=layout.source_aware)
        return prompt.messages({"passages": documents, **fields})

    everything = dict(enumerate(passages, start=1))
    messages = render(everything)
    if budget is None or count(messages) <= budget:
        return Fitted(messages)
    bare = count(render({}))
    if bare > budget:
        raise ContextError(
            f"The prompt takes {bare} tokens without its passages, and the reader's window leaves {max(budget, 0)}.",
            hint=_HINT,
        )
    ranked = sorted(everything, key=lambda n: everything[n].origin != "memory")  # stable: memory, then as ranked
    ends = [(n, end) for n in ranked for end in _ends(everything[n].text)]

    def keep(sentence_count: int) -> dict[int, Passage]:
        last = dict(ends[:sentence_count])  # the last sentence kept of each passage
        return {n: dataclasses.replace(p, text=p.text[: last[n]]) for n, p in everything.items() if n in last}

    # The prompt grows with every sentence, so the most that fits is found by bisection.
    fitting = bisect.bisect_right(range(len(ends)), budget, lo=1, key=lambda size: count(render(keep(size)))) - 1
    kept = keep(max(fitting, 0))
    if ends and not kept:
        raise ContextError(
            f"The prompt takes {bare} tokens without its passages, and what is left of the {budget} that the reader's "
            "window has for them holds the beginning of none.",
            hint=_HINT,
        )
    return Fitted(
        render(kept),
        dropped=tuple(n for n in everything if n not in kept),
        shortened=tuple(n for n in kept if len(kept[n].text) < len(everything[n].text.rstrip())),
    )


def _ends(text: str) -> list[int]:
    """Where `text` may be cut: at the ends of its sentences, and within those that are very long."""
    return [piece.end() for start, end in sentences(text) for piece in _PIECE.finditer(text, start, end)]

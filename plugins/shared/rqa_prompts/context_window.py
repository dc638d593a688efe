"""Fit prompts into the reader's context window. Cuts the least relevant passages, sentence by sentence."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import ContextError, Message, Passage
from robust_qa.kit import Layout, Prompt, sentences

from .prompts import arrange, render_passages

if TYPE_CHECKING:
    from robust_qa.answering import Pipeline

Counter = Callable[[Sequence[Message]], int]
_MARGIN = 16  # tokens left free for the chat template
# Long text without sentence ends, such as a table, is cut after a line, else after a word, else anywhere.
_PIECE = re.compile(r".{1,400}(?=\n|\Z)|.{1,400}(?=\s)|.{1,400}", re.DOTALL)
_SCALE = 80  # a weight is one byte, in eightieths of a token
# Tokens per character, by its first byte in UTF-8. Most vocabularies split digits and rare scripts into characters.
_TOKENS = {
    range(0x80): 1.0,  # punctuation and line breaks
    range(0x80, 0xC0): 0.0,  # continuation bytes
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

_HINT = "Ask a shorter question, or configure a larger window or a smaller `max_tokens`."


@dataclass(frozen=True, slots=True)
class TruncatedPrompt:
    """Messages that fit into the window. `dropped` and `shortened` are the numbers of passages that were cut."""

    messages: list[Message]
    dropped: tuple[int, ...] = ()
    shortened: tuple[int, ...] = ()


def estimate_tokens(messages: Sequence[Message]) -> int:
    """A high estimate, for readers without `count_tokens`: by the kinds of characters, plus eight for each message."""
    return sum(sum(message.content.encode().translate(_WEIGHTS)) // _SCALE + 8 for message in messages)


async def fit_window(
    reader: Pipeline,
    prompt: Prompt,
    passages: Sequence[Passage],
    fields: Mapping[str, str],
    layout: Layout,
    *,
    reply_room: int,
) -> TruncatedPrompt:
    """`prompt` with `passages`, cut to fit the reader's window minus `reply_room` tokens.

    Cuts nothing if the reader has no `window`. Raises ContextError if the window is too small.
    """
    count: Counter | None = getattr(reader.component, "count_tokens", None)
    window: int | None
    if count is None:
        window = getattr(reader.component, "window", None)
    else:  # in a thread: reading `window` may load the model
        window = await reader.in_thread(getattr, reader.component, "window", None)
    if window is None:
        return fit(prompt, passages, fields, layout, budget=None)
    if window <= reply_room:
        raise ContextError(
            f"{reader.name} has a window of {window} tokens and reserves {reply_room} of them for the reply.",
            hint=f"Under [{reader.name}], lower `max_tokens` or set a larger context window.",
        )
    budget = window - reply_room - _MARGIN
    if count is None:
        return fit(prompt, passages, fields, layout, budget=budget)
    return await reader.in_thread(lambda: fit(prompt, passages, fields, layout, budget=budget, count=count))


def shown_order(passages: Sequence[Passage], layout: Layout) -> list[int]:
    """The positions of `passages` (the most relevant first) as a prompt shows and numbers them.

    So the numbers tell no ranks. Passages from the reader's memory are last.
    """
    external = [n for n, passage in enumerate(passages) if passage.origin == "external"]
    memory = [n for n, passage in enumerate(passages) if passage.origin == "memory"]
    return arrange(external, layout.order, layout.seed) + memory


def fit(
    prompt: Prompt,
    passages: Sequence[Passage],
    fields: Mapping[str, str],
    layout: Layout,
    *,
    budget: int | None,
    count: Counter = estimate_tokens,
) -> TruncatedPrompt:
    """`prompt` with `passages` (the most relevant first) in at most `budget` tokens (None: no limit).

    The passages are numbered from 1 in their shown order. Cuts the least relevant ones, and those from the reader's
    memory last, because they are short. Raises ContextError if the budget leaves no room for a passage.
    """
    numbers = {n: number for number, n in enumerate(shown_order(passages, layout), start=1)}

    def render(kept: Mapping[int, Passage]) -> list[Message]:
        shown = {numbers[n]: kept[n] for n in numbers if n in kept}
        documents = render_passages(
            list(shown.values()), list(shown), source_aware=layout.source_aware, trust=layout.trust
        )
        return prompt.messages({"passages": documents, **fields})

    everything = dict(enumerate(passages))
    messages = render(everything)
    if budget is None or count(messages) <= budget:
        return TruncatedPrompt(messages)
    empty_size = count(render({}))
    if empty_size > budget:
        raise ContextError(
            f"The prompt without passages takes {empty_size} tokens, and the reader's window has room for "
            f"{max(budget, 0)}.",
            hint=_HINT,
        )
    ranked = sorted(everything, key=lambda n: everything[n].origin != "memory")  # memory first, then by relevance
    ends = [  # where a text may be cut: after a sentence, and within a very long one
        (n, piece.end())
        for n in ranked
        for start, end in sentences(everything[n].text)
        for piece in _PIECE.finditer(everything[n].text, start, end)
    ]

    def keep(sentence_count: int) -> dict[int, Passage]:
        last = dict(ends[:sentence_count])  # the end of the last sentence to keep, by passage
        return {n: dataclasses.replace(p, text=p.text[: last[n]]) for n, p in everything.items() if n in last}

    # The prompt grows with every sentence, so bisection finds the most sentences that fit.
    fitting = bisect.bisect_right(range(len(ends)), budget, lo=1, key=lambda size: count(render(keep(size)))) - 1
    kept = keep(max(fitting, 0))
    if ends and not kept:
        raise ContextError(
            f"The prompt without passages takes {empty_size} of {budget} tokens, which leaves no room for a passage.",
            hint=_HINT,
        )
    return TruncatedPrompt(
        render(kept),
        dropped=tuple(numbers[n] for n in everything if n not in kept),
        shortened=tuple(numbers[n] for n in kept if len(kept[n].text) < len(everything[n].text.rstrip())),
    )

"""Questions by a language model: one call writes a question and its twin, a second one checks each of them."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path

from robust_qa import CallError, ContextError, Passage, Toolbox
from robust_qa.kit import contains_words, words
from rqa_prompts import final_reply, load_prompts, one_line, parse_object

from .rules import Row

_AT_ONCE = 8
# Nobody who has not seen the document asks like this.
_POINTS = re.compile(
    r"\b(?:this|given|provided|above|according to the) (?:document|passage|text|section|page|table|article)\b"
    r"|\b(?:section|chapter|table|figure) \d",
    re.IGNORECASE,
)
_NEAR = 3  # passages that a twin is checked against, besides its own


async def rows_by_model(passages: Sequence[Passage], toolbox: Toolbox, number: int, seed: int) -> list[Row]:
    """Return up to `number` questions about different passages, each followed by its twin, if that passes the check.

    Raises the error of the first call if no call succeeds.
    """
    chosen = random.Random(seed).sample(list(passages), min(number, len(passages)))
    slots = asyncio.Semaphore(_AT_ONCE)
    errors: list[CallError | ContextError] = []

    async def write(passage: Passage) -> list[Row]:
        async with slots:
            try:
                return await _written(passage, passages, toolbox)
            except (CallError, ContextError) as error:
                if getattr(error, "general", False):
                    raise
                errors.append(error)
                return []

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(write(passage)) for passage in chosen]
    if errors and len(errors) == len(tasks):
        raise errors[0]
    return [row for task in tasks for row in task.result()]


async def _written(passage: Passage, passages: Sequence[Passage], toolbox: Toolbox) -> list[Row]:
    prompt = load_prompts(Path(__file__).with_name("prompts"))["ask"]
    reply = final_reply(await toolbox.generate(prompt, passages=[passage])).text
    fields = parse_object(reply, "question", "answer") or {}
    question, answer, evidence = (one_line(fields.get(name)) for name in ("question", "answer", "evidence"))
    if not question or not answer or not evidence or _POINTS.search(question):
        return []
    if evidence not in one_line(passage.text) or not contains_words(answer, evidence):
        return []
    reading = await toolbox.read(question, [passage])
    if reading.text is None or not (contains_words(answer, reading.text) or contains_words(reading.text, answer)):
        return []
    row = Row(question, (answer,), passage.source, evidence=evidence)
    twin = one_line(fields.get("unanswerable"))
    if twin and twin != question:
        near = sorted(passages, key=lambda other: -_shared(twin, other))[:_NEAR]
        if (await toolbox.read(twin, [passage, *(other for other in near if other is not passage)])).text is None:
            return [row, Row(twin, (), passage.source, twin_of=question)]
    return [row]


def _shared(question: str, passage: Passage) -> int:
    return len(set(words(question)) & set(words(f"{passage.title} {passage.text}")))

"""Small deterministic components for tests, which record their calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from robust_qa import Completion, Continuation, Decoding, Message, Passage, Reading, Token, Usage
from robust_qa.kit import sentences, words

Reply: TypeAlias = str | Mapping[str, Any] | Completion | Continuation | Exception
Script: TypeAlias = Reply | Iterable[Reply] | Callable[[list[Message], Decoding], Reply]


class ScriptedModel:
    """A language model with scripted replies. It ignores the decoding.

    `replies`: one reply for all calls, a list of replies in turn, or a function of the messages and the decoding.
    A mapping becomes JSON, and an exception is raised.
    `calls`: the messages and the decoding of each call. A text to continue is recorded as one message.
    """

    cached = False

    def __init__(
        self,
        replies: Script,
        *,
        structured: bool = False,
        window: int | None = None,
        max_tokens: int = 1024,
    ) -> None:
        self._reply = _script(replies)
        self.structured = structured
        self.window = window
        self.max_tokens = max_tokens
        self.calls: list[tuple[list[Message], Decoding]] = []

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        """The next reply. Its usage counts words as tokens. Raises AssertionError if there are no more replies."""
        self.calls.append((list(messages), decoding))
        reply = self._reply(messages, decoding)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        text = _text(reply)
        prompt = sum(len(message.content.split()) for message in messages)
        return Completion(text, Usage(calls=1, prompt_tokens=prompt, completion_tokens=len(text.split())))

    async def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        """The next reply, with each word as a token of probability 1. Script a Continuation for others."""
        messages = [Message("user", prompt)]
        self.calls.append((messages, decoding))
        reply = self._reply(messages, decoding)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Continuation):
            return reply
        text = _text(reply)
        tokens = tuple(Token(word, 0.0, {word: 0.0} if top else {}) for word in re.findall(r"\s*\S+|\s+", text))
        return Continuation(text, tokens, Usage(1, len(prompt.split()), len(tokens)))


def _text(reply: Reply) -> str:
    if isinstance(reply, Completion | Continuation):
        return reply.text
    return reply if isinstance(reply, str) else json.dumps(reply)


def _script(replies: Script) -> Callable[[list[Message], Decoding], Reply]:
    if isinstance(replies, str | Mapping | Completion | Continuation | Exception):
        return lambda messages, decoding: replies
    if callable(replies):
        return replies
    turns = list(replies)
    remaining = iter(turns)

    def in_turn(messages: list[Message], decoding: Decoding) -> Reply:
        for reply in remaining:
            return reply
        raise AssertionError(f"The script has only {len(turns)} replies. The next call was {messages[-1:]}.")

    return in_turn


class StaticRetriever:
    """A retriever that returns the same passages for every query. `queries` records the queries."""

    def __init__(self, passages: Iterable[Passage | str]) -> None:
        self.passages = [
            passage if isinstance(passage, Passage) else Passage(passage, id=str(number))
            for number, passage in enumerate(passages, 1)
        ]
        self.queries: list[str] = []

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """The first `k` passages."""
        self.queries.append(query)
        return self.passages[:k]


class SentenceReader:
    """An extractive reader: returns the sentence that shares most words with the question."""

    cached = False

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        """The best sentence. Its score is the share of the question's words in it. None if that is 0."""
        found = [
            Reading(passage.text[start:end], _shared(question, passage.text[start:end]), (position,), start, end)
            for position, passage in enumerate(passages)
            for start, end in sentences(passage.text)
        ]
        best = max(found, key=lambda reading: reading.score or 0.0, default=Reading(None))
        return best if best.score else Reading(None)


class OverlapEvaluator:
    """An evaluator that counts words: 1 if a text has all words of the question, -1 if it has none."""

    cached = False

    async def score(self, question: str, texts: list[str]) -> list[float]:
        """Twice the share of the question's words in each text, minus 1."""
        return [2 * _shared(question, text) - 1 for text in texts]


def _shared(question: str, text: str) -> float:
    wanted = set(words(question))
    return len(wanted & set(words(text))) / max(len(wanted), 1)

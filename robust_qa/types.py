"""The plain data that passes between host and plugins: frozen dataclasses, no behaviour to inherit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NewType, get_args

Kind = Literal["retriever", "reader", "evaluator", "strategy"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Origin = Literal["external", "memory"]
Role = Literal["system", "user", "assistant"]
Order = Literal["descending", "ascending", "random", "ping-pong-top", "ping-pong-bottom"]
"""The order of passages in a prompt, by relevance (Astute RAG, Appendix F, Table 8)."""
ORDERS: tuple[Order, ...] = get_args(Order)
Url = NewType("Url", str)
"""An endpoint. An untrusted configuration may point it only at this machine or at a host with a stored key."""
Expression = NewType("Expression", str)
"""An option that holds a retriever expression. Its names must be configured or installed."""
Power = Literal["retrieve", "read", "generate", "continue_text", "score"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text to answer from.

    `source` is a path or URL for people; `score` is on the retriever's own scale, higher is better;
    `origin` is "external" (retrieved) or "memory" (written by the reader itself). `made_of` are the passages
    that a compressed one was written from.
    """

    text: str
    id: str = ""
    title: str = ""
    source: str = ""
    score: float = 0.0
    origin: Origin = "external"
    made_of: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took: calls of a language model, their tokens, and how many calls the cache answered."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached + other.cached,
        )


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to generate. None means: as the reader is configured.

    `temperature` is 0 for greedy decoding; `max_tokens` bounds the reply; `schema` is a JSON schema that
    the reply should satisfy (a reader that cannot constrain its output ignores it).
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's reply. `finish` is "length" when it was cut at max_tokens, else "stop"."""

    text: str
    usage: Usage = Usage(calls=1)
    finish: Literal["stop", "length"] = "stop"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that a language model wrote.

    `logprob` is the natural logarithm of its probability; `top` holds the likeliest tokens at its place with theirs,
    by their texts, as many as were asked for.
    """

    text: str
    logprob: float
    top: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a language model writes right after a text, special tokens included, and how sure it is of each token.

    `tokens` are all that were written, in order; the one that ends the text is no part of `text`. `finish` is as
    of a Completion.
    """

    text: str
    tokens: tuple[Token, ...]
    usage: Usage = Usage(calls=1)
    finish: Literal["stop", "length"] = "stop"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found in passages.

    `text` is None when the answer is not in them; `score` in [0, 1] is the reader's confidence in `text` (without one,
    that the best answer there was is wrong), None where it has no measure; `passages` are 0-based positions in the list
    read, best first; `start` and `end` are character offsets of the answer in the first of them, for readers that
    point. `places`, where the reader tells, are offsets in each of `passages` at which the words begin that it was told
    by.
    `rivals` are the answers that others of the passages give instead, likeliest first, each with a confidence of its
    own; they have no rivals.
    `reason` says in a sentence why there is no `text`, where it is not that the passages lack the answer.
    """

    text: str | None
    score: float | None = None
    passages: tuple[int, ...] = ()
    start: int | None = None
    end: int | None = None
    usage: Usage = Usage()
    places: tuple[int | None, ...] = ()
    rivals: tuple[Reading, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """Where an answer stands: the passage, and in `quote` the sentence of it that carries the answer."""

    quote: str
    title: str = ""
    source: str = ""
    id: str = ""
    origin: Origin = "external"


@dataclass(frozen=True, slots=True)
class Position:
    """One side of a conflict: a candidate answer, who says so, and whether it was chosen."""

    text: str
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the trace: a call (`kind` names the power used) or a decision (`kind` is "note").

    `started` is in seconds since the question began; `data` is JSON-ready.
    """

    kind: Power | Literal["note"]
    what: str
    component: str = ""
    started: float = 0.0
    seconds: float = 0.0
    usage: Usage = Usage()
    cached: bool = False
    retries: int = 0
    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A strategy's result.

    `text` is None when the strategy abstains, and `reason` then says why in a sentence for people.
    `confidence` in [0, 1] or None where the strategy has none. `conflicts` holds the candidate answers when
    sources disagree (empty when they do not). `details` is the strategy's own JSON-ready account. The host
    fills in the fields below the line; a strategy leaves them alone.
    """

    text: str | None
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    conflicts: tuple[Position, ...] = ()
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    # -- filled in by the host
    question: str = ""
    strategy: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    trace: tuple[Step, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether the strategy declined to answer."""
        return self.text is None


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it came in; `passages` is None unless the asker brought their own."""

    text: str
    id: str = ""
    passages: tuple[Passage, ...] | None = None

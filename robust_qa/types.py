"""The data types that host and plugins exchange: frozen dataclasses."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NewType, get_args

Kind = Literal["retriever", "reader", "evaluator", "embedder", "strategy", "checker", "recorder", "engine"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWERING_KINDS = KINDS[:5]
RESERVED_TABLES = (*KINDS, "defaults", "cache", "trust", "plugins")
NAMED_KINDS: tuple[Kind, ...] = ("checker", "recorder")  # their options are in the table [NAME]
"""The kinds that take part in answering a question. An engine runs them for many questions."""
Origin = Literal["external", "memory"]
Role = Literal["system", "user", "assistant"]
Order = Literal["descending", "ascending", "random", "ping-pong-top", "ping-pong-bottom"]
"""The order of passages in a prompt, by relevance (Astute RAG, Appendix F, Table 8)."""
ORDERS: tuple[Order, ...] = get_args(Order)
Url = NewType("Url", str)
"""The type of options that hold a URL. An untrusted file may name only this machine."""
Expression = NewType("Expression", str)
"""The type of options that hold a retriever expression. Its names must be configured or installed."""
EmbedderName = NewType("EmbedderName", str)
"""The type of options that name an embedder. Empty means the default one. The factory gets an EmbedderHandle."""
Trusted = NewType("Trusted", str)
"""The type of options that run code or spend money without a `Key`. Refused while an untrusted file applies."""
Stale = Literal["", "changed", "gone", "unreadable"]
"""Whether a file is as it was indexed: "" if so or unknown, "unreadable" if it cannot be opened any more."""
LONGEST_REPLY = 300_000  # characters; a longer reply of a language model is an error
PROBABLE = 0.35
"""The confidence from which a best guess is shown: "Probably: 1871 (52 %)"."""
Power = Literal["retrieve", "read", "quote", "generate", "continue_text", "score"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text to answer from.

    `source` is a path or URL to show. `score` is on the retriever's own scale, higher is better. `origin` is
    "external" if retrieved, "memory" if the reader wrote it. `made_of` holds the originals of a compressed passage.
    `date` is YYYY, YYYY-MM or YYYY-MM-DD, as the source states it. `place` is where in the source it stands, such as
    "line 12" or "page 3". `file` is the file that it was read from, if any, `stale` what became of that file since.
    `lines` has for each line of `text` the line, row, paragraph, cell or page in the file, 0 if unknown.
    """

    text: str
    id: str = ""
    title: str = ""
    source: str = ""
    score: float = 0.0
    origin: Origin = "external"
    made_of: tuple[Passage, ...] = ()
    date: str = ""
    file: str = ""
    stale: Stale = ""
    place: str = ""
    lines: tuple[int, ...] = ()

    def place_of(self, start: int) -> str:
        """Return the place of the character `start` of the text: that of the passage, with its own line or row."""
        at = self.text.count("\n", 0, start)
        line = self.lines[at] if len(self.lines) == self.text.count("\n") + 1 else 0
        numbered = rf"\b(line|row|cell|paragraph|page) (?!{line}\b)\d+(?: \(printed [^()]*\))?"
        return re.sub(numbered, rf"\1 {line}", self.place, count=1) if line else self.place


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of an answer: language model calls and their tokens.

    `cached` counts the calls served from the cache, `batched` those that a provider's batch answered at half price.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: int = 0
    batched: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached + other.cached,
            self.batched + other.batched,
        )


@dataclass(frozen=True, slots=True)
class Decoding:
    """Generation parameters. None uses the reader's configuration.

    A `temperature` of 0 decodes greedily. `max_tokens` limits the reply. `schema` is a JSON schema for the reply;
    readers that cannot constrain their output ignore it.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's reply. `finish` is "length" if it was cut at max_tokens, else "stop"."""

    text: str
    usage: Usage = Usage(calls=1)
    finish: Literal["stop", "length"] = "stop"


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token.

    `logprob` is the natural logarithm of its probability. `top` maps the texts of the most likely tokens at its
    position to their logprobs.
    """

    text: str
    logprob: float
    top: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Continuation:
    """A language model's continuation of a text, with token probabilities.

    `tokens` are all generated tokens in order, including special tokens and the end token. `text` excludes the end
    token. `finish` is as in Completion.
    """

    text: str
    tokens: tuple[Token, ...]
    usage: Usage = Usage(calls=1)
    finish: Literal["stop", "length"] = "stop"


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's result for some passages.

    - `text`: the answer, None if the passages do not contain it.
    - `score`: the probability that `text` is right in [0, 1], or None. Always None without `text`.
    - `passages`: 0-based positions of the supporting passages in the list, best first.
    - `start`, `end`: character offsets of the answer in the first of `passages`, for extractive readers.
    - `places`: optional; for each of `passages` the offset of the supporting words.
    - `rivals`: competing answers from other passages, most likely first, without rivals of their own. Without `text`,
      the candidates that the reader is not sure of.
    - `reason`: one sentence on why there is no `text`, if not because the passages lack the answer.
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


class Judgment(NamedTuple):
    """The probabilities that a text supports a claim and that it contradicts it. The rest: it leaves the claim open."""

    supported: float
    contradicted: float


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a passage that may answer a question.

    - `passage`: its 0-based position in the list of passages.
    - `start`, `end`: character offsets of whole sentences in its text.
    - `score`: the probability that it answers the question, or None.
    - `highlight`: character offsets in the text of the words that may be the answer, or None.
    """

    passage: int
    start: int
    end: int
    score: float | None = None
    highlight: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer.

    `quote` is the sentence of the passage that contains the answer, `highlight` the offsets in it of the words that
    answer, if they are known. `date`, `file`, `stale` and `place` are those of the passage.
    """

    quote: str
    title: str = ""
    source: str = ""
    id: str = ""
    origin: Origin = "external"
    date: str = ""
    highlight: tuple[int, int] | None = field(default=None, compare=False)
    file: str = field(default="", compare=False)
    stale: Stale = field(default="", compare=False)
    place: str = field(default="", compare=False)

    @property
    def where(self) -> str:
        """The source and the place in it, such as "pier.md:12" and "fees.xlsx, Boats row 3"."""
        line = self.place.removeprefix("line ")
        return f"{self.source}:{line}" if line.isdecimal() else ", ".join(filter(None, (self.source, self.place)))


def cells_of(unit: str) -> list[tuple[str, str]]:
    """Return the columns and cells of a row of a table, as rqa reads it: "Name: Ann; Room: A12". [] for other text."""
    found = [part.partition(": ") for part in unit.split("; ")]
    is_table = len(found) > 1 and "\n" not in unit and all(column and colon for column, colon, _ in found)
    return [(column, cell) for column, _, cell in found] if is_table else []


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its value, the name of its column, and its row by column."""

    value: str
    column: str
    row: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Position:
    """One side of a conflict: a candidate answer, its sources, and whether it was chosen."""

    text: str
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the trace: a call (`kind` is the method called) or a decision (`kind` is "note").

    `started` is in seconds since the start of the question. `data` is JSON-ready.
    """

    kind: Power | Literal["embed", "quote", "note"]
    what: str
    component: str = ""
    started: float = 0.0
    seconds: float = 0.0
    usage: Usage = Usage()
    cached: bool = False
    retries: int = 0
    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Verdict = Literal["supported", "contradicted", "disputed", "not decided"]
Standing = Literal[
    "", "supported", "partly supported", "disputed", "not confirmed", "contradicted", "not in the documents"
]
LEADS: Mapping[Standing, str] = {
    "disputed": "Your documents disagree: ",
    "not confirmed": "Not confirmed: ",
    "contradicted": "Your documents contradict this: ",
    "not in the documents": "Not in your documents: ",
}
"""The words before an answer of which no sentence is both supported and undisputed."""
_MAJORITY = 3  # supporting sources for each contradicting one, from which a sentence is not disputed


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer with its verdict. `citation` is the text that decides, `reason` why nobody judged it.

    `supporting` and `contradicting` have a citation of each independent source. `missing` are the numbers and names of
    the sentence that stand neither in the texts nor in the question.
    """

    sentence: str
    verdict: Verdict
    citation: Citation | None = None
    reason: str = ""
    supporting: tuple[Citation, ...] = ()
    contradicting: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether a source supports the sentence, and all of its numbers and names stand in a text."""
        return self.verdict in ("supported", "disputed") and not self.missing

    @property
    def is_disputed(self) -> bool:
        """Whether sources contradict the sentence, and no clear majority of them supports it."""
        return len(self.supporting) < _MAJORITY * len(self.contradicting)


def _escaped(text: str) -> str:
    """Return a document's text so that Markdown shows it as it is, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~$])", r"\\\1", " ".join(text.split()))


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """A strategy's result.

    - `text`: the answer, None if the strategy abstains.
    - `confidence`: the probability that `text` is right in [0, 1], or None. Always None without `text`.
    - `conflicts`: the candidate answers if the sources disagree, else empty.
    - `reason`: one sentence on why the strategy abstains.
    - `details`: JSON-ready data of the strategy.
    - `closest`: quotes of the passages closest to the question, best first, without those cited. If a strategy gives
      none, the host quotes what it retrieved, unless a language model answered.
    - `withstands`: how many forged sources cannot change the answer, if the strategy proves that.
    - `best_guess`: the likeliest answer, if the strategy abstains because it is not sure enough of one.
    - `checks`: the sentences of an answer that a language model wrote, checked against what was retrieved.

    The host sets the fields from `question` on. `corrections` are its misspelt words, with those that were asked.
    """

    text: str | None
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    conflicts: tuple[Position, ...] = ()
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    closest: tuple[Citation, ...] = ()
    withstands: int | None = None
    best_guess: Position | None = None
    checks: tuple[Checked, ...] = ()
    # -- set by the host
    question: str = ""
    corrections: Mapping[str, str] = field(default_factory=dict)
    strategy: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    trace: tuple[Step, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether the strategy gave no answer."""
        return self.text is None

    @property
    def probable(self) -> Position | None:
        """The best guess if it is likely enough to be shown: in a conflict, more likely than its rivals together."""
        guess, least = self.best_guess, 0.5 if self.conflicts else PROBABLE
        return guess if guess and guess.confidence is not None and guess.confidence >= least else None

    @property
    def standing(self) -> Standing:
        """How the sources stand to an answer that was checked, "" to any other."""
        if not self.checks or self.text is None:
            return ""
        if held := [each for each in self.checks if each.holds]:
            if all(each.is_disputed for each in held):
                return "disputed"
            return "supported" if len(held) == len(self.checks) else "partly supported"
        if any(each.missing for each in self.checks):
            return "not in the documents"
        if any(each.contradicting for each in self.checks):
            return "contradicted"
        return "" if all(each.reason for each in self.checks) else "not confirmed"

    @property
    def unsupported(self) -> bool:
        """Whether the documents contradict the answer or lack something in it, and support no sentence of it."""
        return self.standing in ("contradicted", "not in the documents")

    @property
    def doubted(self) -> bool:
        """Whether the answer is shown with a doubt before it, such as "Not confirmed:"."""
        return self.standing in LEADS

    @property
    def notes(self) -> list[tuple[Checked, str]]:
        """The sentences that were checked, each with what is to be said of it, "" if it is confirmed."""
        found = []
        for each in self.checks:
            note = f"no source says {', '.join(each.missing)}" if each.missing else ""
            if len(self.checks) > 1 and not (note or each.reason):
                against = "disputed" if each.is_disputed else ""
                note = against if each.holds else "contradicted" if each.contradicting else "not confirmed"
            found.append((each, note))
        return found

    def marked(self, mark: Callable[[Sequence[Citation]], str]) -> str:
        """Return the answer as it is shown: its lead, and after each sentence what no source says, and its sources.

        `mark` returns a text with the numbers of citations. A single sentence has none, because they follow it.
        """
        shown, rest = LEADS.get(self.standing, ""), self.text or ""
        several = len(self.checks) > 1
        for each, note in self.notes:
            before, found, rest = rest.partition(each.sentence)
            body = found.rstrip(".!? ")
            cited = mark(each.supporting) if several and each.holds else ""
            shown += f"{before}{body}{f' ({note})' if note else ''}{found[len(body) :]}{cited}"
        return shown + rest

    @property
    def lead(self) -> str:
        """The answer, else the probable one with its chance, else why there is none. Every door begins with it."""
        if self.text is None and (guess := self.probable):
            return f"Probably: {guess.text} ({guess.confidence:.0%})"
        return (self.reason or "Not sure.") if self.text is None else self.marked(lambda _: "")

    @property
    def table_cell(self) -> Cell | None:
        """The cell of a table that is the answer, from its first citation."""
        cited = next(iter(self.citations), None)
        row = cells_of(cited.quote) if cited and self.text else []
        column = next((column for column, value in row if value == self.text), None)
        return None if column is None else Cell(self.text or "", column, dict(row))

    @property
    def numbered(self) -> tuple[Citation, ...]:
        """All citations in the order of their numbers, from 1: of the answer or the probable one, then of the sides."""
        sides = (*filter(None, [self.probable]), *self.conflicts)
        return tuple(dict.fromkeys((*self.citations, *(each for side in sides for each in side.citations))))

    def __repr__(self) -> str:
        parts = [repr(self.text)]
        if self.confidence is not None:
            parts.append(f"confidence={self.confidence:.2f}")
        if self.citations:
            parts.append(f"sources={[citation.source or citation.title for citation in self.citations]}")
        if self.conflicts:
            parts.append(f"conflicts={[position.text for position in self.conflicts]}")
        if self.reason:
            parts.append(f"reason={self.reason!r}")
        return f"Answer({', '.join(parts)})"

    def _repr_markdown_(self) -> str:
        """The answer, its quotes and its conflicts, as a notebook shows them."""
        sure = "" if self.confidence is None else f" ({self.confidence:.0%})"
        told = _escaped(self.marked(lambda cited: f" ({', '.join(each.where or each.title for each in cited)})"))
        lines = [_escaped(self.lead) if self.text is None else f"**{told}**{sure}"]
        if self.text is not None and self.reason:
            lines.append(_escaped(self.reason))
        if self.conflicts:
            lines.append("The sources disagree:")
            lines += [
                f"- {_escaped(side.text)}{'' if side.confidence is None else f' ({side.confidence:.0%})'}: "
                + ", ".join(dict.fromkeys(_escaped(citation.where or citation.title) for citation in side.citations))
                for side in self.conflicts
            ]
        for citation in (*self.citations, *self.closest):
            lines.append(f"> {_escaped(citation.quote)}\n>\n> {_escaped(citation.where or citation.title)}")
        return "\n\n".join(lines)


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `passages` are its own passages, None if it has none.

    A language model samples other replies for another `repetition` of the question.
    """

    text: str
    id: str = ""
    passages: tuple[Passage, ...] | None = None
    repetition: int = 0


def are_names(value: Any) -> bool:
    """Return whether `value` is a collection of strings. A single string is not."""
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(it, str) for it in value)

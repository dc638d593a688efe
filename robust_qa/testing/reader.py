"""What the host relies on in a reader: one that points at answers, one that writes, or one that does both."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from ..sanitize import flat
from ..types import Completion, Continuation, Decoding, Message, Passage, Reading
from .conformance import Skipped, Subject, Suite, expect, fits
from .samples import ODD_TEXTS, PASSAGES, QUESTION

SUITE = Suite()
SHORT = 8  # tokens
NEARLY = 1e-3  # above 0, of a log-probability computed in 32 bits
ASK = [Message("system", "Answer in a few words."), Message("user", QUESTION)]
SCHEMA = {
    "type": "object",
    "properties": {"known": {"type": "boolean"}},
    "required": ["known"],
    "additionalProperties": False,
}


@SUITE.behaviour("it has a method `read(question, passages)` or `generate(messages, decoding)`")
async def _shape(subject: Subject) -> None:
    expect(not isinstance(subject.component, type), "this is the class: make an instance of it")
    methods = [getattr(subject.component, name, None) for name in ("read", "generate")]
    expect(any(map(callable, methods)), "it has neither")


@SUITE.behaviour("`read` returns a Reading whose score, passages and offsets fit what was read", of="read")
async def _reading(subject: Subject) -> None:
    _valid_reading(await subject.call("read", QUESTION, list(PASSAGES)), list(PASSAGES))
    _valid_reading(await subject.call("read", QUESTION, list(PASSAGES[-1:])), list(PASSAGES[-1:]))


@SUITE.behaviour("`read` finds no answer where there are no passages", of="read")
async def _nothing_to_read(subject: Subject) -> None:
    reading = await subject.call("read", QUESTION, [])
    _valid_reading(reading, [])
    expect(reading.text is None, f"it found {reading.text!r}")


@SUITE.behaviour("`read` takes any text in a passage, and any question", of="read")
async def _any_passage(subject: Subject) -> None:
    await subject.survives(
        "read",
        *((what, (QUESTION, [Passage(text, id="odd")])) for what, text in ODD_TEXTS),
        *((f"{what} as question", (text, list(PASSAGES))) for what, text in ODD_TEXTS),
    )
    odd = [Passage(text, id=what) for what, text in ODD_TEXTS]
    _valid_reading(await subject.call("read", QUESTION, odd), odd)


@SUITE.behaviour("`read` leaves the list of passages as it was", of="read")
async def _unchanged_passages(subject: Subject) -> None:
    passages = list(PASSAGES)
    await subject.call("read", QUESTION, passages)
    expect(passages == list(PASSAGES), "the list was changed")


@SUITE.behaviour("`generate` returns a Completion with text and usage", of="generate")
async def _completion(subject: Subject) -> None:
    _valid_completion(await subject.call("generate", list(ASK), Decoding(temperature=0.0, max_tokens=32)))
    _valid_completion(await subject.call("generate", ASK[1:], Decoding(max_tokens=SHORT, seed=1)))


@SUITE.behaviour("`generate` keeps to max_tokens", of="generate")
async def _max_tokens(subject: Subject) -> None:
    ask = [Message("user", "Count from one to one hundred in words.")]
    completion = await subject.call("generate", ask, Decoding(temperature=0.0, max_tokens=SHORT))
    used = completion.usage.completion_tokens
    if not used:
        raise Skipped("its usage names no completion tokens")
    expect(used <= SHORT + 2, f"{used} tokens for max_tokens={SHORT}")  # engines count end marks differently


@SUITE.behaviour("`generate` ends at a stop sequence", of="generate")
async def _stop(subject: Subject) -> None:
    completion = await subject.call("generate", list(ASK), Decoding(temperature=0.0, max_tokens=32, stop=("a",)))
    expect("a" not in completion.text, f"the reply to stop=('a',) is {completion.text!r}")


@SUITE.behaviour("`generate` takes any text in a message", of="generate")
async def _any_message(subject: Subject) -> None:
    window = getattr(subject.component, "window", None)
    short = [(what, text) for what, text in ODD_TEXTS if text.strip() and len(text) < 1000]
    cases = ((what, ([Message("user", text)], Decoding(max_tokens=SHORT))) for what, text in short)
    if window is not None and window < 512:
        raise Skipped(f"its window is {window} tokens")
    await subject.survives("generate", *cases)


@SUITE.behaviour("`generate` leaves the messages as they were", of="generate")
async def _unchanged_messages(subject: Subject) -> None:
    messages = list(ASK)
    await subject.call("generate", messages, Decoding(max_tokens=SHORT))
    expect(messages == ASK, "the list was changed")


@SUITE.behaviour("`generate` answers two calls at once", of="generate")
async def _at_once(subject: Subject) -> None:
    if getattr(subject.component, "concurrency", None) == 1:
        raise Skipped("its `concurrency` is 1")
    decoding = Decoding(temperature=0.0, max_tokens=SHORT)
    for completion in await asyncio.gather(*(subject.call("generate", list(ASK), decoding) for _ in range(2))):
        _valid_completion(completion)


@SUITE.behaviour("`structured` is a bool, and where it is true a reply to a schema is JSON of it", of="generate")
async def _structured(subject: Subject) -> None:
    if not subject.attribute("structured", lambda value: isinstance(value, bool), "a bool"):
        raise Skipped("it does not constrain replies")
    decoding = Decoding(temperature=0.0, max_tokens=128, schema=SCHEMA)
    completion = await subject.call("generate", list(ASK), decoding)
    if completion.finish == "length":
        raise Skipped("the reply was cut at 128 tokens")
    try:
        reply = json.loads(completion.text)
    except ValueError:
        reply = None
    fits = isinstance(reply, dict) and isinstance(reply.get("known"), bool)
    expect(fits, f'a schema that asks for {{"known": true or false}} got {completion.text[:200]!r}')


@SUITE.behaviour("`window` and `max_tokens` are token counts", of="generate")
async def _bounds(subject: Subject) -> None:
    window = subject.attribute("window", lambda v: v is None or _count(v), "a number of tokens, or None")
    bound = subject.attribute("max_tokens", _count, "a number of tokens")
    if window is not None and bound is not None:
        expect(bound < window, f"a reply of {bound} tokens leaves no room for a prompt in a window of {window}")


@SUITE.behaviour("`count_tokens` counts more for longer messages", of="count_tokens")
async def _count_tokens(subject: Subject) -> None:
    expect(not inspect.iscoroutinefunction(subject.component.count_tokens), "it is `async`, and must be a plain `def`")
    counts = [
        await subject.call("count_tokens", [Message("user", "Paris is the capital. " * times)]) for times in (1, 2, 8)
    ]
    expect(all(map(_count, counts)), f"the counts are {counts}")
    expect(counts[0] < counts[1] < counts[2], f"once, twice and eight times the text count {counts}")


@SUITE.behaviour("`continue_text` returns a Continuation with the probability of each token", of="continue_text")
async def _continuation(subject: Subject) -> None:
    continuation = await _continued(subject, f"Question: {QUESTION}\nAnswer:", top=3)
    expect(bool(continuation.tokens) or not continuation.text, "there is a text, and there are no tokens")
    for token in continuation.tokens:
        logprobs = (token.logprob, *token.top.values())
        expect(all(logprob <= NEARLY for logprob in logprobs), f"a log-probability of {token!r} is above 0")
        # An engine may tell the one it wrote beside the likeliest.
        expect(len(token.top) <= 4, f"{len(token.top)} tokens where the 3 likeliest are asked for")


@SUITE.behaviour("`continue_text` keeps to max_tokens, and ends at a stop sequence", of="continue_text")
async def _continuation_ends(subject: Subject) -> None:
    short = await _continued(subject, "one two three four", max_tokens=2)
    expect(len(short.tokens) <= 3, f"{len(short.tokens)} tokens for max_tokens=2")  # and the one that ends it
    stopped = await _continued(subject, "a b c a b c a b c", stop=("a",))
    expect("a" not in stopped.text, f"the continuation to stop=('a',) is {stopped.text!r}")


@SUITE.behaviour("`continue_text` takes any text", of="continue_text")
async def _any_prompt(subject: Subject) -> None:
    window = getattr(subject.component, "window", None)
    if window is not None and window < 512:
        raise Skipped(f"its window is {window} tokens")
    short = [(what, text) for what, text in ODD_TEXTS if text.strip() and len(text) < 1000]
    await subject.survives("continue_text", *((what, (text, Decoding(max_tokens=SHORT), 1)) for what, text in short))


async def _continued(
    subject: Subject, prompt: str, *, top: int = 0, max_tokens: int = SHORT, stop: tuple[str, ...] = ()
) -> Continuation:
    decoding = Decoding(temperature=0.0, max_tokens=max_tokens, stop=stop)
    continuation: Continuation = await subject.call("continue_text", prompt, decoding, top)
    fits(continuation, Continuation)
    expect(continuation.usage.calls >= 1, "the usage counts no call")
    return continuation


def _count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _valid_reading(reading: Any, passages: list[Passage]) -> None:
    fits(reading, Reading, QUESTION, passages)
    text = reading.text
    expect(text is None or bool(text.strip()), f"the text is {text!r}: None or words")
    expect(len(set(reading.passages)) == len(reading.passages), f"`passages` is {reading.passages!r}")
    for rival in reading.rivals:
        expect(
            rival.text is not None and not rival.rivals, f"a rival is {rival!r}: an answer without rivals of its own"
        )
        _valid_reading(rival, passages)
    if reading.places:
        lengths = [len(passages[position].text) for position in reading.passages]
        expect(
            len(reading.places) == len(lengths)
            and all(place is None or place in range(n) for place, n in zip(reading.places, lengths, strict=True)),
            f"`places` is {reading.places!r}: for each of `passages` an offset into its text, or None",
        )
    if reading.start is None and reading.end is None:
        return
    expect(text is not None and bool(reading.passages), "there are offsets, and no answer or no passage")
    pointed = passages[reading.passages[0]].text
    start, end = reading.start, reading.end
    expect(
        start is not None and end is not None and 0 <= start < end <= len(pointed),
        f"the offsets are {start!r} and {end!r}, in a passage of {len(pointed)} characters",
    )
    expect(
        flat(pointed[start:end]) == flat(text),
        f"the offsets point at {pointed[start:end]!r}, and the text is {text!r}",
    )


def _valid_completion(completion: Any) -> None:
    fits(completion, Completion)
    expect(completion.usage.calls >= 1, "the usage counts no call")

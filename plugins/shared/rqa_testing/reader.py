"""The conformance checks of readers: extractive, generative or both."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from robust_qa import Completion, Continuation, Decoding, Message, Passage, Quote, Reading
from robust_qa.kit import single_line

from .suite import ODD_TEXTS, PASSAGES, QUESTION, Skipped, Subject, Suite, expect, fits

SUITE = Suite()
SHORT = 8  # tokens
TOLERANCE = 1e-3  # 32-bit log-probabilities may be a little above 0
ASK = [Message("system", "Answer in a few words."), Message("user", QUESTION)]
SCHEMA = {
    "type": "object",
    "properties": {"known": {"type": "boolean"}},
    "required": ["known"],
    "additionalProperties": False,
}


@SUITE.behaviour("it has a method `read(question, passages)` or `generate(messages, decoding)`")
async def _shape(subject: Subject) -> None:
    subject.has("read", "generate")


@SUITE.behaviour("`read` returns a Reading whose score, passages and offsets are valid", of="read")
async def _reading(subject: Subject) -> None:
    _valid_reading(await subject.call("read", QUESTION, list(PASSAGES)), list(PASSAGES))
    _valid_reading(await subject.call("read", QUESTION, list(PASSAGES[-1:])), list(PASSAGES[-1:]))


@SUITE.behaviour("`read` returns no answer without passages", of="read")
async def _nothing_to_read(subject: Subject) -> None:
    reading = await subject.call("read", QUESTION, [])
    _valid_reading(reading, [])
    expect(reading.text is None, f"it returned {reading.text!r}")


@SUITE.behaviour("`read` accepts any text in passages and questions", of="read")
async def _any_passage(subject: Subject) -> None:
    await subject.survives(
        "read",
        *((what, (QUESTION, [Passage(text, id="odd")])) for what, text in ODD_TEXTS),
        *((f"{what} as question", (text, list(PASSAGES))) for what, text in ODD_TEXTS),
    )
    odd = [Passage(text, id=what) for what, text in ODD_TEXTS]
    _valid_reading(await subject.call("read", QUESTION, odd), odd)


@SUITE.behaviour("`quote` returns parts of the passages", of="quote")
async def _quotes(subject: Subject) -> None:
    fits(await subject.call("quote", QUESTION, list(PASSAGES)), list[Quote], QUESTION, PASSAGES)


@SUITE.behaviour("`generate` returns a Completion with text and usage", of="generate")
async def _completion(subject: Subject) -> None:
    _valid_completion(await subject.call("generate", list(ASK), Decoding(temperature=0.0, max_tokens=32)))
    _valid_completion(await subject.call("generate", ASK[1:], Decoding(max_tokens=SHORT, seed=1)))


@SUITE.behaviour("`generate_stream` returns a Completion, whose text the pieces make up", of="generate_stream")
async def _streams(subject: Subject) -> None:
    pieces: list[str] = []
    completion = await subject.call(
        "generate_stream", list(ASK), Decoding(temperature=0.0, max_tokens=32), pieces.append
    )
    _valid_completion(completion)
    expect(completion.text in "".join(pieces), f"the pieces of {completion.text!r} are {pieces!r}")


@SUITE.behaviour("`generate` respects max_tokens", of="generate")
async def _max_tokens(subject: Subject) -> None:
    ask = [Message("user", "Count from one to one hundred in words.")]
    completion = await subject.call("generate", ask, Decoding(temperature=0.0, max_tokens=SHORT))
    used = completion.usage.completion_tokens
    if not used:
        raise Skipped("its usage has no completion tokens")
    expect(used <= SHORT + 2, f"it wrote {used} tokens for max_tokens={SHORT}")  # engines count end tokens differently


@SUITE.behaviour("`generate` stops at a stop sequence", of="generate")
async def _stop(subject: Subject) -> None:
    completion = await subject.call("generate", list(ASK), Decoding(temperature=0.0, max_tokens=32, stop=("a",)))
    expect("a" not in completion.text, f"the reply to stop=('a',) is {completion.text!r}")


@SUITE.behaviour("`generate` accepts any text in a message", of="generate")
async def _any_message(subject: Subject) -> None:
    window = getattr(subject.component, "window", None)
    short = [(what, text) for what, text in ODD_TEXTS if text.strip() and len(text) < 1000]
    cases = ((what, ([Message("user", text)], Decoding(max_tokens=SHORT))) for what, text in short)
    if window is not None and window < 512:
        raise Skipped(f"its window is {window} tokens")
    await subject.survives("generate", *cases)


@SUITE.behaviour("`generate` handles two concurrent calls", of="generate")
async def _at_once(subject: Subject) -> None:
    if getattr(subject.component, "concurrency", None) == 1:
        raise Skipped("its `concurrency` is 1")
    decoding = Decoding(temperature=0.0, max_tokens=SHORT)
    for completion in await asyncio.gather(*(subject.call("generate", list(ASK), decoding) for _ in range(2))):
        _valid_completion(completion)


@SUITE.behaviour("`structured` is a bool, and if it is true, replies follow the schema", of="generate")
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
    expect(fits, f'the reply to the schema {{"known": true or false}} is {completion.text[:200]!r}')


@SUITE.behaviour("`window` and `max_tokens` are token counts", of="generate")
async def _bounds(subject: Subject) -> None:
    window = subject.attribute("window", lambda v: v is None or _count(v), "a number of tokens, or None")
    bound = subject.attribute("max_tokens", _count, "a number of tokens")
    if window is not None and bound is not None:
        expect(bound < window, f"`max_tokens` {bound} leaves no room for a prompt in a window of {window}")


@SUITE.behaviour("`count_tokens` counts more for longer messages", of="count_tokens")
async def _count_tokens(subject: Subject) -> None:
    expect(not inspect.iscoroutinefunction(subject.component.count_tokens), "it is `async def`, not a plain `def`")
    counts = [
        await subject.call("count_tokens", [Message("user", "Paris is the capital. " * times)]) for times in (1, 2, 8)
    ]
    expect(all(map(_count, counts)), f"the counts are {counts}")
    expect(counts[0] < counts[1] < counts[2], f"the counts for 1, 2 and 8 times the text are {counts}")


@SUITE.behaviour("`continue_text` returns a Continuation with the probability of each token", of="continue_text")
async def _continuation(subject: Subject) -> None:
    continuation = await _continued(subject, f"Question: {QUESTION}\nAnswer:", top=3)
    expect(bool(continuation.tokens) or not continuation.text, "there is a text, but there are no tokens")
    for token in continuation.tokens:
        logprobs = (token.logprob, *token.top.values())
        expect(all(logprob <= TOLERANCE for logprob in logprobs), f"a log-probability of {token!r} is above 0")
        # An engine may return the sampled token besides the most likely ones.
        expect(len(token.top) <= 4, f"it returned {len(token.top)} top tokens for top=3")


@SUITE.behaviour("`continue_text` respects max_tokens and stops at a stop sequence", of="continue_text")
async def _continuation_ends(subject: Subject) -> None:
    short = await _continued(subject, "one two three four", max_tokens=2)
    expect(len(short.tokens) <= 3, f"it wrote {len(short.tokens)} tokens for max_tokens=2")  # one more: the end token
    stopped = await _continued(subject, "a b c a b c a b c", stop=("a",))
    expect("a" not in stopped.text, f"the continuation to stop=('a',) is {stopped.text!r}")


@SUITE.behaviour("`continue_text` accepts any text", of="continue_text")
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
    expect(text is None or bool(text.strip()), f"the text is {text!r}, not None or words")
    expect(len(set(reading.passages)) == len(reading.passages), f"`passages` is {reading.passages!r}")
    for rival in reading.rivals:
        expect(rival.text is not None and not rival.rivals, f"a rival is {rival!r}, not an answer without rivals")
        _valid_reading(rival, passages)
    if reading.places:
        lengths = [len(passages[position].text) for position in reading.passages]
        expect(
            len(reading.places) == len(lengths)
            and all(place is None or place in range(n) for place, n in zip(reading.places, lengths, strict=True)),
            f"`places` is {reading.places!r}, not an offset or None for each of `passages`",
        )
    if reading.start is None and reading.end is None:
        return
    expect(text is not None and bool(reading.passages), "there are offsets, but no answer or no passage")
    pointed = passages[reading.passages[0]].text
    start, end = reading.start, reading.end
    expect(
        start is not None and end is not None and 0 <= start < end <= len(pointed),
        f"the offsets are {start!r} and {end!r}, but the passage has {len(pointed)} characters",
    )
    expect(
        single_line(pointed[start:end]) == single_line(text),
        f"the offsets point at {pointed[start:end]!r}, but the text is {text!r}",
    )


def _valid_completion(completion: Any) -> None:
    fits(completion, Completion)
    expect(completion.usage.calls >= 1, "the usage counts no call")

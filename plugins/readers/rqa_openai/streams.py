"""Streamed replies: server-sent events, put together to the reply that the endpoint would have sent at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from robust_qa.kit import LONGEST_REPLY

from .replies import Endpoint, too_long

_BROKEN_OFF = "the stream ended early"


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class Stream:
    """The events of one reply of `endpoint`. `on_text` gets each piece of the text."""

    def __init__(self, endpoint: Endpoint, on_text: Callable[[str], None] | None) -> None:
        self._endpoint = endpoint
        self._on_text = on_text
        self._line = bytearray()  # not complete yet
        self._event: list[bytes] = []  # the lines of data of an event that is not complete yet
        self._texts: dict[str, list[str]] = {"content": []}  # the pieces of each field
        self._lengths = Counter[str]()  # characters of each field
        self._tools: list[Any] = []
        self._finish: str | None = None
        self._usage: Any = None
        self._foreign = b""  # an error, or what is not a chunk

    def add(self, part: bytes) -> None:
        """Add a part of the body. Raises RefusedError if the reply is longer than any answer."""
        *lines, rest = part.split(b"\n")
        for line in lines:
            self._line += line
            self._read(bytes(self._line))
            self._line.clear()
        self._line += rest

    def _read(self, line: bytes) -> None:
        line = line.strip()
        field, _, data = line.partition(b":")
        if field == b"data":
            self._event.append(data.strip())
            if len(self._event) == 1 and self._take(self._event[0]):  # without a blank line after it, too
                self._event.clear()
        elif not line and self._event:
            event = b"\n".join(self._event)
            self._event.clear()
            if not self._take(event):
                self._foreign = self._foreign or event

    def _take(self, data: bytes) -> bool:
        """Add a chunk to the reply. Return whether `data` is one."""
        if data == b"[DONE]":
            self._finish = self._finish or "stop"
            return True
        try:
            chunk = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if self._foreign:
            return True
        if chunk.error:
            self._foreign = data
        self._usage = chunk.usage or self._usage
        for choice in (chunk.choices or [])[:1]:
            self._finish = choice.finish_reason or self._finish
            for name, part in msgspec.structs.asdict(choice.delta or _Delta()).items():
                if isinstance(part, str) and part:
                    self._texts.setdefault(name, []).append(part)
                    self._lengths[name] += len(part)
                    if self._lengths[name] > LONGEST_REPLY:
                        raise too_long(self._endpoint, f"{LONGEST_REPLY:,} characters")
                self._tools += part if isinstance(part, list) else ()
            if self._on_text and choice.delta and choice.delta.content:
                self._on_text(choice.delta.content)
        return True

    def reply(self) -> bytes:
        """Return the body of the whole reply, or the error in the stream."""
        if self._foreign:
            return self._foreign
        message = {**{name: "".join(pieces) for name, pieces in self._texts.items()}, "tool_calls": self._tools}
        choice = {"message": message, "finish_reason": self._finish or _BROKEN_OFF}
        return msgspec.json.encode({"choices": [choice], "usage": self._usage})

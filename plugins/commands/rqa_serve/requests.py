"""The bodies of requests, read within a limit and validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from robust_qa import Message, Passage, Question

from .errors import ApiError
from .footnotes import without_notes

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")


class Part(msgspec.Struct):
    """A part of a message. Only text is read."""

    type: str
    text: str = ""


class Turn(msgspec.Struct):
    """A message of a conversation."""

    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of the message. Raises ApiError if it has images or other parts."""
        if not isinstance(self.content, list):
            return (self.content or "").strip()
        if other := [part.type for part in self.content if part.type != "text"]:
            raise ApiError(400, f"Messages with {other[0]!r} are not supported, only text.")
        return "\n".join(part.text for part in self.content).strip()

    @property
    def message(self) -> Message:
        """The turn of a user, or of rqa without its footnotes."""
        return Message("user" if self.role == "user" else "assistant", without_notes(self.text))


class StreamOptions(msgspec.Struct):
    """What a stream contains besides the text."""

    include_usage: bool | None = None


class Format(msgspec.Struct):
    """The form of a completion. Only "text" is supported."""

    type: str


class Chat(msgspec.Struct):
    """A request for a chat completion. Further fields, such as `temperature`, have no effect."""

    model: str
    messages: list[Turn]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: Format | None = None

    def question(self) -> tuple[str, list[Message]]:
        """Return the text of the last user message and the messages before it.

        Raises ApiError if there is none, or if the request wants several completions or another form than text.
        """
        if self.n not in (None, 1):
            raise ApiError(400, "`n` must be 1. rqa gives one answer.", code="unsupported_value", param="n")
        if self.response_format and self.response_format.type != "text":
            message = "`response_format` must be text. For an answer as JSON, ask /v1/rqa/ask."
            raise ApiError(400, message, code="unsupported_value", param="response_format")
        turns = [turn for turn in self.messages if turn.role in ("user", "assistant") and turn.text]
        if not turns or turns[-1].role != "user":
            raise ApiError(400, "The last of `messages` must be a question of the role `user`.")
        return turns[-1].text, [turn.message for turn in turns[:-1]]


class _Given(msgspec.Struct):
    text: str
    title: str = ""
    source: str = ""
    id: str = ""


class Ask(msgspec.Struct):
    """A request for a whole answer. `passages` replace retrieval. With `stream`, the answer comes as events."""

    text: str = msgspec.field(name="question")
    strategy: str | None = None
    passages: list[str | _Given] | None = None
    stream: bool | None = None

    def question(self) -> Question:
        """Return the question with its passages. Raises ApiError if it is empty."""
        if not self.text.strip():
            raise ApiError(400, "`question` is empty.")
        return Question(
            self.text.strip(), passages=None if self.passages is None else tuple(map(_passage, self.passages))
        )


def _passage(given: str | _Given) -> Passage:
    if isinstance(given, str):
        return Passage(given)
    return Passage(given.text, given.id, given.title, given.source)


async def read(request: Request, kind: type[T], most: int) -> T:
    """Return the body of `request`, at most `most` bytes of JSON. Raises ApiError if it is no `kind`."""
    # A browser sends JSON to another site only if that site allows it. So a web page cannot spend the user's tokens.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "The Content-Type must be application/json.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise ApiError(413, f"The request is larger than {most:,} bytes.")
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The request is invalid: {error}.".replace("`$.", "`")) from error

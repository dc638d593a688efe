"""Requests: their bodies, read within a limit and validated, what front ends add to a question, and errors."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from robust_qa import CallError, CallTimeout, InputError, Message, Passage, Question, RqaError

from .footnotes import without_notes

if TYPE_CHECKING:
    from starlette.requests import Request

_STATUS: tuple[tuple[type[RqaError], int], ...] = ((InputError, 400), (CallTimeout, 504), (CallError, 502))


class ApiError(Exception):
    """An error with its HTTP status. `kind`, `code` and `param`, a field of the request, go into the body."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def api_error(error: RqaError) -> ApiError:
    """Return `error` for the client: 400 if the request is invalid, 502 or 504 if a model failed, else 500."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return ApiError(status, f"{error.message} {error.hint}".strip(), error.kind)


# Open WebUI quotes the chat between tags, LibreChat quotes it last. Both begin each turn with its role.
_CHAT = re.compile(r"(?:<chat_history>|\n\nConversation:)\s(.+?)(?:</chat_history>|\Z)", re.DOTALL)
_QUESTION = re.compile(r"^USER: (.+?)(?=^(?:USER|ASSISTANT|AI): |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_FORM = re.compile(r'"(\w+)"\s*:\s*(["\[])')  # a field of the JSON that a task asks for
# The end of a template: a line with the question, and one that the answer is to follow.
_TEMPLATE = re.compile(r"^(?:Question|Query|Q): *(\S[^\n]*)\n*(?:(?:[A-Z]\w+ )?(?:Answer|A|Response):)?\s*\Z", re.M)
_USER_QUERY = re.compile(r"<user_query>(.+?)</user_query>", re.DOTALL)
_TITLE = 60  # characters
_LONGEST_END = 20_000  # characters of a template with the question


def task_reply(message: str) -> str | None:
    """Return the reply to a task about the chat, such as to write its title, or None if `message` is no task.

    The title is the first question, cut, and the search query is the last question. Other fields are empty.
    """
    chat = _CHAT.search(message)
    questions = [text for each in _QUESTION.findall(chat[1]) if (text := each.strip())] if chat else []
    if not chat or not questions:
        return None
    title = shorten(questions[0], _TITLE, placeholder="…")
    if form := _FORM.search(message, 0, chat.start()):
        empty = "" if form[2] == '"' else []
        return msgspec.json.encode({form[1]: {"title": title, "queries": [questions[-1]]}.get(form[1], empty)}).decode()
    return title if "title" in message[: chat.start()] else None


def without_context(message: str) -> str:
    """Return the question in a template of a front end or a chain, or `message` if it is no template."""
    if asked := _TEMPLATE.search(message, max(0, len(message) - _LONGEST_END)):
        return asked[1]
    before, end, after = message.rpartition("</context>")
    query = _USER_QUERY.search(after)
    question = (query[1] if query else after).strip()
    return question if end and "<context>" in before and question else message


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
    """A request for a chat completion. Further fields, such as `temperature` and `tools`, have no effect."""

    model: str
    messages: list[Turn]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: Format | None = None
    tool_choice: str | dict[str, Any] | None = None

    def question(self) -> tuple[str, list[Message]]:
        """Return the text of the last user message and the messages before it.

        Raises ApiError if there is none, or if the request wants several completions, another form than text or a tool.
        """
        if self.n not in (None, 1):
            raise ApiError(400, "`n` must be 1. rqa gives one answer.", code="unsupported_value", param="n")
        if self.response_format and self.response_format.type != "text":
            message = "`response_format` must be text. For an answer as JSON, ask /v1/rqa/ask."
            raise ApiError(400, message, code="unsupported_value", param="response_format")
        if self.tool_choice not in (None, "auto", "none"):
            message = (
                "rqa calls no tools, so `tool_choice` must be auto or none. For an answer as JSON, ask /v1/rqa/ask."
            )
            raise ApiError(400, message, code="unsupported_value", param="tool_choice")
        turns = [turn for turn in self.messages if turn.role in ("user", "assistant") and turn.text]
        if not turns or turns[-1].role != "user":
            raise ApiError(400, "The last of `messages` must be a question of the role `user`.")
        return turns[-1].text, [turn.message for turn in turns[:-1]]


class _Given(msgspec.Struct):
    text: str
    title: str = ""
    source: str = ""
    id: str = ""


class _Earlier(msgspec.Struct):
    question: str
    answer: str | None = None


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    """A request for a whole answer. `passages` replace retrieval. With `stream`, the answer comes as events.

    A question is completed from the `earlier` ones, unless `follow` is false. `in` is a folder of /v1/rqa/documents.
    """

    text: str = msgspec.field(name="question")
    strategy: str | None = None
    passages: list[str | _Given] | None = None
    stream: bool | None = None
    within: str | None = msgspec.field(name="in", default=None)
    earlier: list[_Earlier] = []
    follow: bool = True

    def messages(self) -> list[Message]:
        """Return the earlier questions and answers as messages."""
        turns = [(Message("user", turn.question), Message("assistant", turn.answer or "")) for turn in self.earlier]
        return [message for turn in turns for message in turn if message.content]

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
    content = await body(request, most)
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The request is invalid: {error}.".replace("`$.", "`")) from error


async def body(request: Request, most: int) -> bytes:
    """Return the body of `request`. Raises ApiError if it has more than `most` bytes."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise ApiError(413, f"The request is larger than {most:,} bytes.")
    return bytes(content)

"""Messages of chat front ends that are more, or other, than a question: context around it, and tasks of their own."""

from __future__ import annotations

import re
from textwrap import shorten

import msgspec

# Open WebUI quotes the chat between tags, LibreChat quotes it last. Both begin each turn with its role.
_CHAT = re.compile(r"(?:<chat_history>|\n\nConversation:)\s(.+?)(?:</chat_history>|\Z)", re.DOTALL)
_QUESTION = re.compile(r"^USER: (.+?)\s*(?=^(?:USER|ASSISTANT|AI): |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_FORM = re.compile(r'"(\w+)"\s*:\s*(["\[])')  # a field of the JSON that a task asks for
_USER_QUERY = re.compile(r"<user_query>(.+?)</user_query>", re.DOTALL)
_TITLE = 60  # characters


def task_reply(message: str) -> str | None:
    """Return the reply to a task about the chat, such as to write its title, or None if `message` is no task.

    The title is the first question, cut, and the search query is the last question. Other fields are empty.
    """
    chat = _CHAT.search(message)
    questions = _QUESTION.findall(chat[1]) if chat else []
    if not chat or not questions:
        return None
    title = shorten(questions[0], _TITLE, placeholder="…")
    if form := _FORM.search(message, 0, chat.start()):
        empty = "" if form[2] == '"' else []
        return msgspec.json.encode({form[1]: {"title": title, "queries": [questions[-1]]}.get(form[1], empty)}).decode()
    return title if "title" in message[: chat.start()] else None


def without_context(message: str) -> str:
    """Return the question that follows the context in a template of a front end, or `message` if there is none."""
    before, end, after = message.rpartition("</context>")
    query = _USER_QUERY.search(after)
    question = (query[1] if query else after).strip()
    return question if end and "<context>" in before and question else message

"""Messages to the one text a model reads: its chat template, and message text that cannot act as control."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from robust_qa import ConfigError, Message
from robust_qa.kit import without_thoughts

_PROBE = "rqa-probe"
_MARKER = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,40}\]")
_OPENED = re.compile(r"(<(?:(?:seed:)?think(?:ing)?|thought|reasoning)>|\[THINK\]|◁think▷)\s*\Z")

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For models that bring no template, as llama.cpp itself does."""


class Neutraliser:
    """Breaks up, by a space, whatever in a text the tokeniser would take for one of the special tokens.

    llama.cpp reads special tokens out of the whole rendered prompt and cannot tell the template's own from
    those that a passage spells out (`<|im_end|>`), so a passage must not be able to spell one.
    """

    def __init__(self, special_tokens: Iterable[tuple[str, bool]], template: str = "") -> None:
        texts = {text.strip() for text, user_defined in special_tokens if not user_defined or _is_markup(text)}
        texts.update(_MARKER.findall(template))  # some families mark turns in plain text: [INST], <<SYS>>
        longest_first = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def __call__(self, text: str) -> str:
        # Again until nothing is found: breaking up one token can leave another that overlapped it.
        while self._special.search(text):
            text = self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text


def _is_markup(text: str) -> bool:
    """Whether a user-defined token could steer a model; the others are runs of spaces, words and letters."""
    return len(text) > 2 and text[0] in "<[{|" and text[-1] in ">]}|"


class ChatTemplate:
    """A model's chat template. Where it has no place for a system message, that goes before the user's.

    Raises ConfigError when the template cannot be used.
    """

    def __init__(self, source: str, *, bos: str, eos: str, neutralise: Neutraliser) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._neutralise = neutralise
        try:
            self._formatter: Any = Jinja2ChatFormatter(template=source, bos_token=bos, eos_token=eos)
        except Exception as error:  # a template is a program: what it raises, and how deep it goes, is its own
            raise _unusable(error) from error
        self._folds_system = not self._has_system()

    def _has_system(self) -> bool:
        try:
            return _PROBE in self._fill([Message("system", _PROBE), Message("user", "?")], thinking=False)
        except Exception:  # whatever it raises, it does not render that role
            return False

    def render(self, messages: Sequence[Message], *, thinking: bool) -> str:
        """The prompt, up to where the reply begins. `thinking` is for the templates that know the word."""
        messages = [Message(message.role, self._neutralise(message.content)) for message in messages]
        if self._folds_system:
            messages = _fold_system(messages)
        try:
            return self._fill(messages, thinking=thinking)
        except Exception as error:  # it is a program, as above
            raise _unusable(error) from error

    def _fill(self, messages: Sequence[Message], *, thinking: bool) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return str(self._formatter(messages=turns, enable_thinking=thinking).prompt)


def _unusable(error: Exception) -> ConfigError:
    return ConfigError(
        f"The model's chat template cannot be used: {error}",
        hint="Name a Jinja template that works in the reader's option chat_template.",
    )


def _fold_system(messages: Sequence[Message]) -> list[Message]:
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if not system:
        return turns
    first = turns.pop(0).content if turns and turns[0].role == "user" else ""
    return [Message("user", f"{system}\n\n{first}".rstrip()), *turns]


def without_thought(prompt: str, reply: str) -> str:
    """`reply` without the reasoning that some models write first, in tags that the prompt may open."""
    opened = _OPENED.search(prompt)
    return without_thoughts(opened[1] + reply if opened else reply)


def with_thought_closed(prompt: str) -> str:
    """`prompt`, with the thought that it may open closed at once, for a reply that cannot begin in one."""
    opened = _OPENED.search(prompt)
    return f"{prompt.rstrip()}\n\n{opened[1][0]}/{opened[1][1:]}\n\n" if opened else prompt

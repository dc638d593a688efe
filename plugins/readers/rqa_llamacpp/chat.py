"""Converts messages to a prompt with the model's chat template, and makes control tokens in them harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from robust_qa import ConfigError, Message
from rqa_prompts import without_thoughts

_PROBE = "rqa-probe"
_MARKER = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,40}\]")
_REASONING_START = re.compile(r"(<(?:(?:seed:)?think(?:ing)?|thought|reasoning)>|\[THINK\]|◁think▷)\s*\Z")

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template for models without one, as in llama.cpp."""


class Neutraliser:
    """Inserts a space into every special token in a text.

    llama.cpp parses special tokens in the whole prompt. Without this, a passage with `<|im_end|>` could end the
    user's message.
    """

    def __init__(self, special_tokens: Iterable[tuple[str, bool]], template: str = "") -> None:
        texts = {text.strip() for text, user_defined in special_tokens if not user_defined or _is_markup(text)}
        texts.update(_MARKER.findall(template))  # markers in plain text, such as [INST] and <<SYS>>
        longest_first = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def __call__(self, text: str) -> str:
        # Repeat, because splitting one token may leave another that overlapped it.
        while self._special.search(text):
            text = self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text


def _is_markup(text: str) -> bool:
    """Whether a user-defined token looks like a control token. Others are spaces, words and letters."""
    return len(text) > 2 and text[0] in "<[{|" and text[-1] in ">]}|"


class ChatTemplate:
    """A model's chat template. If it has no system role, system messages are put before the user's.

    Raises ConfigError if the template does not work.
    """

    def __init__(self, source: str, *, bos: str, eos: str, neutralise: Neutraliser) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._neutralise = neutralise
        try:
            self._formatter: Any = Jinja2ChatFormatter(template=source, bos_token=bos, eos_token=eos)
        except Exception as error:  # a template may raise anything
            raise _unusable(error) from error
        self._folds_system = not self._has_system()

    def _has_system(self) -> bool:
        try:
            return _PROBE in self._fill([Message("system", _PROBE), Message("user", "?")], thinking=False)
        except Exception:  # the template does not support that role
            return False

    def render(self, messages: Sequence[Message], *, thinking: bool) -> str:
        """Return the prompt. `thinking` has an effect only in templates that support it."""
        messages = [Message(message.role, self._neutralise(message.content)) for message in messages]
        if self._folds_system:
            messages = _fold_system(messages)
        try:
            return self._fill(messages, thinking=thinking)
        except Exception as error:  # a template may raise anything
            raise _unusable(error) from error

    def _fill(self, messages: Sequence[Message], *, thinking: bool) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return str(self._formatter(messages=turns, enable_thinking=thinking).prompt)


def _unusable(error: Exception) -> ConfigError:
    return ConfigError(
        f"The model's chat template does not work: {error}",
        hint="Set the reader's option `chat_template` to a Jinja file that works.",
    )


def _fold_system(messages: Sequence[Message]) -> list[Message]:
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if not system:
        return turns
    first = turns.pop(0).content if turns and turns[0].role == "user" else ""
    return [Message("user", f"{system}\n\n{first}".rstrip()), *turns]


def without_reasoning(prompt: str, reply: str) -> str:
    """Return `reply` without reasoning at its start. The opening tag may be at the end of the prompt."""
    return without_thoughts(opened_reasoning(prompt) + reply)


def opened_reasoning(prompt: str) -> str:
    """Return the opening tag for reasoning at the end of `prompt`, or ""."""
    start = _REASONING_START.search(prompt)
    return start[1] if start else ""


def with_reasoning_closed(prompt: str) -> str:
    """Return `prompt` with a closing tag if it ends with an opening tag for reasoning."""
    start = _REASONING_START.search(prompt)
    return f"{prompt.rstrip()}\n\n{start[1][0]}/{start[1][1:]}\n\n" if start else prompt

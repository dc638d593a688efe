"""Prompts: message templates with fields, and how they show passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .types import Message, Order, Passage, Role

_FIELD = re.compile(r"\{([a-z_]+)\}")
_RULE = re.compile(r"^---\n", re.MULTILINE)


class Prompt:
    """A message template. `{name}` is a field; a line of `---` separates the system message from the user's.

    Fields are filled in one pass, so a value that looks like a field is not replaced.
    """

    def __init__(self, template: str, name: str = "prompt") -> None:
        self.name = name
        self.template = template.strip()
        self.fields = frozenset(_FIELD.findall(template))
        *system, user = _RULE.split(self.template, maxsplit=1)
        parts: tuple[tuple[Role, str], ...] = (("system", "".join(system).strip()), ("user", user.strip()))
        self._parts = [(role, text) for role, text in parts if text]

    def messages(self, fields: Mapping[str, str]) -> list[Message]:
        """Return the messages with their fields filled in. Ignores fields that the template does not use."""
        return [Message(role, self._fill(text, fields)) for role, text in self._parts]

    @staticmethod
    def _fill(text: str, fields: Mapping[str, str]) -> str:
        return _FIELD.sub(lambda match: fields.get(match.group(1), match.group()), text)


@dataclass(frozen=True, slots=True)
class Layout:
    """The order and form of passages in a prompt."""

    order: Order = "descending"
    seed: int | str = 0
    source_aware: bool = False
    trust: Callable[[Passage], float] | None = None

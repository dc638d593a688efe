"""Ask a language model in a form: a JSON schema if the reader constrains its replies, labelled text otherwise.

A strategy keeps its prompts as text files in a folder. Beside the prompt `finalise.txt` stand the two descriptions of
its form, `finalise_json.txt` and `finalise_text.txt`, and `repair.txt` asks once more for a form that was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from robust_qa import Completion, ContextError, CutError, Order, Passage

from .prompts import abstention, fenced, load_prompts
from .replies import final_reply

if TYPE_CHECKING:
    from robust_qa import Toolbox
    from robust_qa.kit import Prompt

T = TypeVar("T")

TEXT: Mapping[str, Any] = {"type": "string"}
ANSWER: Mapping[str, Any] = {"type": ["string", "null"]}  # null: not known
# What is not the answer is bounded, because a small model may go on in circles until its reply is cut.
NOTE: Mapping[str, Any] = {"type": "string", "maxLength": 600}
NUMBER: Mapping[str, Any] = {"type": "number"}


def object_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with just these properties, in this order. Models think in it: the answer last."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """The JSON schema of a list. It is bounded: a small model under constraint may go on listing without end."""
    return {"type": "array", "items": items, "maxItems": longest}


def numbers_of(documents: int) -> dict[str, Any]:
    """The JSON schema of a list of document numbers."""
    return list_of({"type": "integer"}, documents)


@dataclass(frozen=True, slots=True)
class Form:
    """A form: the prompts `NAME_json` and `NAME_text` describe it, and `schema` constrains readers that can be."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Filled(Generic[T]):
    """A form that a model has filled in.

    `value` is None if nothing could be read from `reply`, nor from `repaired`, the reply to the request for its form.
    """

    value: T | None
    reply: Completion
    repaired: str = ""


class Prompter:
    """Asks the language model with one strategy's prompts and sampling options.

    `options` may have `prompts`, `order`, `seed`, `temperature`, `max_tokens`, `repair` and `abstain`.
    """

    def __init__(self, folder: Path, options: Any = None) -> None:
        self.prompts: dict[str, Prompt] = load_prompts(folder, getattr(options, "prompts", None))
        chosen = getattr(options, "prompts", None) or ""
        self._plain = chosen == "paper" or "set" in chosen  # whose prompts ask in plain text
        self._order: Order = getattr(options, "order", "descending")
        self._repairs = "repair" in self.prompts and getattr(options, "repair", True)
        self._abstain: bool = getattr(options, "abstain", True)
        self._how = {name: getattr(options, name, None) for name in ("seed", "temperature", "max_tokens")}

    async def ask(
        self,
        toolbox: Toolbox,
        role: str,
        passages: Sequence[Passage] = (),
        *,
        form: Form | None = None,
        source_aware: bool = False,
        sample: int = 0,
        fields: Mapping[str, str] | None = None,
        **how: Any,
    ) -> Completion:
        """The reply to the prompt of that role, without the model's reasoning.

        `fields` are put in as they are: use `fenced` for what comes from outside. `how` overrides the sampling
        options. Raises CutError if the reply was cut within its reasoning.
        """
        null = form is not None and toolbox.structured and not self._plain
        filled = {
            "question": fenced(toolbox.question.text),
            "abstain": abstention(offered=self._abstain, null=null),
            **(fields or {}),
        }
        if form:
            filled["format"] = self.text(f"{form.name}_{'json' if null else 'text'}", **filled)
        completion = await toolbox.generate(
            self.prompts[role],
            passages=passages,
            fields=filled,
            order=self._order,
            source_aware=source_aware,
            sample=sample,
            schema=form.schema if form and null else None,
            **{**self._how, **how},
        )
        return final_reply(completion)

    def numbered(self, toolbox: Toolbox, passages: Sequence[Passage]) -> list[Passage]:
        """`passages` in the order of the numbers that replies name them by."""
        return toolbox.numbered(passages, order=self._order, seed=self._how["seed"])

    async def fill(
        self,
        toolbox: Toolbox,
        role: str,
        form: Form,
        parse: Callable[[str], T | None],
        passages: Sequence[Passage] = (),
        **how: Any,
    ) -> Filled[T]:
        """Ask for a form and `parse` the reply, which returns None if it cannot be used.

        With a prompt `repair`, unless the option is off, the model is asked once to bring such a reply into the form.
        """
        reply = await self.ask(toolbox, role, passages, form=form, **how)
        value = parse(reply.text)
        if value is not None or not reply.text or not self._repairs:  # "": a repair would make things up
            return Filled(value, reply)
        toolbox.note("the reply does not have the form that was asked for; asking for it once", reply=reply.text)
        repaired = ""
        with suppress(ContextError, CutError):  # the reply is too long to read, or to write, once more
            repaired = (await self.ask(toolbox, "repair", form=form, fields={"reply": fenced(reply.text)})).text
        return Filled(parse(repaired), reply, repaired)

    def text(self, role: str, **fields: str) -> str:
        """The prompt of that role with its fields filled in, to be a part of another prompt."""
        return "\n".join(message.content for message in self.prompts[role].messages(fields))

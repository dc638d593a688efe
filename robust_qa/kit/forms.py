"""Ask a language model in a form: a JSON schema if the reader constrains its replies, labelled text otherwise.

A strategy keeps its prompts as text files in a folder. Beside the prompt `finalise.txt` stand the two descriptions of
its form, `finalise_json.txt` and `finalise_text.txt`, and `repair.txt` asks once more for a form that was missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import ContextError, CutError
from ..types import Completion, Order, Passage
from .prompts import abstention, fenced, load_prompts
from .replies import final_reply

if TYPE_CHECKING:
    from ..prompt import Prompt
    from ..protocols import Toolbox

T = TypeVar("T")

TEXT: Mapping[str, Any] = {"type": "string"}
ANSWER: Mapping[str, Any] = {"type": ["string", "null"]}  # null: not known
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
        null = form is not None and toolbox.structured
        filled = {
            "question": fenced(toolbox.question.text),
            "abstain": abstention(offered=self._abstain, null=null),
            **(fields or {}),
        }
        if form:
            filled["format"] = self.text(f"{form.name}_{'json' if toolbox.structured else 'text'}", **filled)
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


class Labels:
    """The labelled text form: fields such as `answer: ...`, in parts that repeat and outside them.

    The grammar, by lines. List numbers, bullets, quote marks and emphasis around them do not matter:

        heading     NOUN [number] [":" or "(" ...]    begins a part, or goes on with the one of that number
        field       LABEL ":" value                   of the part, or outside; one that is repeated begins a part
        table row   "|" cell "|" cell ... "|"         the first row has labels, and each further row is a part
        mark, fence, rule or Markdown heading         ends a field, as does "Step 2"
        text                                          continues a field of `texts`

    Fields of `lines` have one line: the rest of theirs, or else the next. There, and in a heading, more fields may
    follow after a punctuation mark: `GROUP 1 (documents 1, 4): answer: Paris, confidence 0.9`. A heading's other words
    are the first of `texts`. So nothing within a longer text is a field, and a quoted document cannot add one.

    `outside`: the labels outside parts. One that is also of parts belongs to the part until it is repeated.
    `whole`: the label that completes a part. Where fields are outside, a part with nothing else is one of them.
    """

    def __init__(
        self,
        *,
        lines: Sequence[str] = (),
        texts: Sequence[str],
        outside: Sequence[str] = (),
        inside: Sequence[str],
        heading: str,
        whole: str,
    ) -> None:
        names = dict.fromkeys((*lines, *texts, *outside, *inside))
        spelled = "|".join(_SPELLINGS.get(name, re.escape(name)) for name in names)
        self.label = re.compile(
            rf"(?:(?:{_ADJECTIVES})\s+)?(final answer|{spelled})(?:\s+(?:{_NOUNS}))?", re.IGNORECASE
        )
        colon, short = r"[\s*_]*[:：][\s*_]*", r"[\s*_]*(?:[:：][\s*_]*|(?=\d))"
        self.field = re.compile(rf"[\s*_#>\d.)-]*+{self.label.pattern}{colon}(.*)", re.IGNORECASE)
        self.inner = re.compile(rf"(?:[;,.|(–—-]|\s\*)[\s*_]{{0,9}}{self.label.pattern}{short}", re.IGNORECASE)
        self.heading = re.compile(
            rf"[\s*_#>-]*+{heading}s?(?:\s+#?(\d{{1,4}}|[A-Z]))?[\s*_]*(?:\Z|[:：(.,–—-](.*))", re.IGNORECASE
        )
        self.texts, self.inside, self.outside, self.whole = tuple(texts), frozenset(inside), frozenset(outside), whole

    def parse(self, reply: str) -> tuple[list[dict[str, str]], dict[str, str]]:
        """Return the parts of `reply` and the fields outside them. Nothing is checked: a reply is data."""
        sheet = _Sheet(self)
        for line in reply.splitlines():
            sheet.add(line)
        return sheet.finished()


_SPELLINGS = {"documents": "documents?", "reason": "reason(?:ing)?"}
_ADJECTIVES = "the|proposed|candidate|possible|suggested"
_NOUNS = "scores?|levels?|numbers?|used"
_END = re.compile(r"\s*(?:<{1,3}/?\w|```|---|#{1,6}\s|\**step\s+\d)", re.IGNORECASE)
_RULE = re.compile(r"[\s|:-]+")
_LISTED = re.compile(r"\d++(?:(?:[\s,&–-]|and\b|to\b)++\d++)*+")


class _Sheet:
    """One reply, read line by line."""

    def __init__(self, form: Labels) -> None:
        self.form = form
        self.parts: list[dict[str, str]] = []
        self.outside: dict[str, str] = {}
        self.headed: dict[str, dict[str, str]] = {}  # by the number in the heading
        self.current, self.seen = self.outside, set[str]()
        self.target, self.name = self.outside, ""  # the field that the next line may continue
        self.columns: list[str] = []

    def add(self, line: str) -> None:
        if self._is_row(line):
            return
        self.columns = []
        if field := self.form.field.match(line):
            self._put(field[1], field[2])
        elif heading := self.form.heading.match(line):
            self._begin(heading[1] or f"unnumbered {len(self.parts)}")
            self._put_heading(heading[2] or "")
        elif _END.match(line):
            self.name = ""
        elif self.name and (self.name in self.form.texts or not self.target[self.name].strip()):
            self.target[self.name] += " " + line

    def finished(self) -> tuple[list[dict[str, str]], dict[str, str]]:
        parts, fields = list[dict[str, str]](), dict[str, str]()
        for part in self.parts:
            if self.form.outside and part.keys() == {self.form.whole} and part not in self.headed.values():
                fields = part
            elif any(map(str.strip, part.values())):
                parts.append(part)
        return parts, fields | self.outside

    def _begin(self, number: str = "") -> None:
        known = self.headed.get(number)
        if known is None or self.form.whole in known:
            known = {}
            self.parts.append(known)
        if number:
            self.headed[number] = known
        self.current, self.seen, self.name = known, set(), ""

    def _put(self, label: str, value: str) -> None:
        """Store a field, and those that follow on its line."""
        while True:
            name = self._named(label)
            inner = None if name in self.form.texts else self.form.inner.search(value)
            self._store(label, name, value[: inner.start()] if inner else value)
            if not inner:
                return
            label, value = inner[1], value[inner.end() :]

    def _store(self, label: str, name: str, value: str) -> None:
        form, within = self.form, self.current is not self.outside
        repeated = not within or name in self.seen
        if label.lower() == "final answer" or name not in form.inside or (name in form.outside and repeated):
            self.current = self.outside
        elif repeated:
            self._begin()
        self.seen.add(name)
        self.target, self.name = self.current, name
        self.target[name] = value

    def _put_heading(self, rest: str) -> None:
        rest = "(" + rest  # so that a field at its beginning is an inner one
        while inner := self.form.inner.search(rest):
            name, value = self._named(inner[1]), rest[inner.end() :]
            listed = _LISTED.match(value) if name == "documents" else None
            if not listed:
                self._put(inner[1], value)
                return
            self._store(inner[1], name, listed[0])
            rest = value[listed.end() :]
        words = rest.lstrip(" ()[]*_:：.,;–—-").rstrip(" ()[]*_:：")
        self.target, self.name = self.current, self.form.texts[0]
        self.target[self.name] = words or self.target.get(self.name, "")

    def _named(self, label: str) -> str:
        label = label.lower()
        return {"document": "documents", "reasoning": "reason", "final answer": "answer"}.get(label, label)

    def _is_row(self, line: str) -> bool:
        """Read a row of a table, if `line` is one."""
        stripped = line.strip()
        if len(stripped) < 3 or stripped[0] != "|" or stripped[-1] != "|":
            return False
        cells = [cell.strip(" *_`") for cell in stripped[1:-1].split("|")]
        labels = [self._named(label[1]) if label else "" for label in map(self.form.label.fullmatch, cells)]
        if sum(map(bool, labels)) > 1:
            self.columns = labels
        elif self.columns and not _RULE.fullmatch(stripped):
            row = {name: cell for name, cell in zip(self.columns, cells, strict=False) if name}
            self.parts.append(row)
            self.current, self.seen, self.name = row, set(row), ""
        return bool(self.columns)


def in_either_form(
    reply: str, as_json: Callable[[str], T | None], as_text: Callable[[str], T | None], *, first: str
) -> T | None:
    """`reply` read in the form that was asked for (`first`: "json" or "text"), or else in the other one."""
    forms = (as_json, as_text) if first == "json" else (as_text, as_json)
    return next((value for form in forms if (value := form(reply)) is not None), None)

"""The grammar of replies in labelled text. `replies` reads JSON, marks and prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from .replies import between, final_answer

T = TypeVar("T")


class Labels:
    """The labelled text form: fields such as `answer: ...`, in parts that repeat and outside them.

    The grammar, by lines. List numbers, bullets, quote marks and emphasis around them do not matter::

        heading     NOUN [number] [":" or "(" ...]    begins a part, or goes on with the one of that number
        field       LABEL ":" value                   of the part, or outside; one that is repeated begins a part
        table row   "|" cell "|" cell ... "|"         the first row has labels, and each further row is a part
        mark, fence, rule or Markdown heading         ends a field, as does "Step 2"
        text                                          continues a field of `texts`

    Fields of `lines` have one line: the rest of theirs, or else the next. There, and in a heading, more fields may
    follow after a punctuation mark: `GROUP 1 (documents 1, 4): answer: Paris, confidence 0.9`. A heading's other words
    are the first of `texts`. So nothing within a longer text is a field, and a quoted document cannot add one.

    An answer between the marks `<<<ANSWER>>>` and `<<</ANSWER>>>` is the field `answer` outside.

    `outside`: the labels outside parts. One that is also of parts belongs to the part until it is repeated.
    `whole`: the label that completes a part. Where fields are outside, a part with nothing else is one of them.
    `free`: the label of the text in a part that stands under no label.
    """

    def __init__(
        self,
        *,
        lines: Sequence[str] = (),
        texts: Sequence[str],
        outside: Sequence[str] = (),
        inside: Sequence[str],
        heading: str = r"(?!)",
        whole: str = "",
        free: str = "",
    ) -> None:
        self.marked = "answer" in (*lines, *texts)
        names = dict.fromkeys((*lines, *texts, *outside, *inside))
        spelled = "|".join(_SPELLINGS.get(name, re.escape(name)) for name in names)
        self.label = re.compile(
            rf"(?:(?:{_ADJECTIVES})\s+)?(final answer|{spelled})(?:\s+(?:{_NOUNS}))?", re.IGNORECASE
        )
        colon, short = r"[\s*_]*[:：][\s*_]*", r"[\s*_]*(?:[:：][\s*_]*|(?=\d))"
        self.field = re.compile(rf"[\s*_#>\d.)-]*+{self.label.pattern}{colon}(.*)", re.IGNORECASE)
        self.inner = re.compile(rf"(?:[;,.|(–—-]|\s\*)[\s*_]{{0,9}}{self.label.pattern}{short}", re.IGNORECASE)
        self.heading = re.compile(
            rf"[\s*_#>-]*+{heading}s?(?:\s+#?(\d{{1,4}}|[A-Z]))?[\s*_]*(?:\Z|[:：(\[.,–—-](.*))", re.IGNORECASE
        )
        self.texts, self.inside, self.outside, self.whole = tuple(texts), frozenset(inside), frozenset(outside), whole
        self.free = free

    def parse(self, reply: str) -> tuple[list[dict[str, str]], dict[str, str]]:
        """Return the parts of `reply` and the fields outside them. Nothing is checked: a reply is data."""
        sheet = _Sheet(self)
        for line in filter(str.strip, reply.splitlines()):
            sheet.add(line)
        parts, fields = sheet.finished()
        if self.marked and between(reply, "ANSWER"):
            fields["answer"] = final_answer(reply)
        return parts, fields


_SPELLINGS = {
    "documents": "documents?",
    "reason": "reason(?:ing)?",
    "source": "sources?",
    "text": "text|content|information|(?:key )?details",
}
_ADJECTIVES = "the|proposed|candidate|possible|suggested|original|supporting|final"
_NOUNS = "scores?|levels?|numbers?|used|is"
_END = re.compile(r"\s*(?:<{1,3}/?\w|```|---|#{1,6}\s|\**step\s+\d)", re.IGNORECASE)
_RULE = re.compile(r"[\s|:-]+")
_BULLET = re.compile(r"\A\s*+[-•]\s+")
_LISTED = re.compile(r"\d++(?:(?:[\s,&–-]|and\b|to\b)++\d++)*+")
_IN_BRACKETS = {"documents": _LISTED, "source": re.compile(r"(?:[^()\[\]:：;,]|,(?=\s*\d))++")}
_AFTER_BRACKET = re.compile(r"\A[^()\[\]:：]*+[)\]]\s*[:：]\s*(?=[^\W_])")


class _Sheet:
    """One reply, read line by line."""

    def __init__(self, form: Labels) -> None:
        self.form = form
        self.parts: list[dict[str, str]] = []
        self.outside: dict[str, str] = {}
        self.headed: dict[str, dict[str, str]] = {}  # by the number in the heading
        self.current, self.seen, self.in_heading = self.outside, set[str](), set[str]()
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
            if self.form.free:
                self.current = self.outside
        elif self.name and (self.name in self.form.texts or not self.target[self.name].strip()):
            self.target[self.name] += " " + _BULLET.sub("", line)
        elif self.form.free and self.current is not self.outside:
            self.target, self.name = self.current, self.form.free
            self.target[self.name] = f"{self.target.get(self.name, '')} {_BULLET.sub('', line)}".strip()

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
        self.current, self.seen, self.in_heading, self.name = known, set(), set(), ""

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
        elif repeated and (not within or name not in self.in_heading):
            self._begin()
        self.in_heading.discard(name)
        self.seen.add(name)
        self.target, self.name = self.current, name
        self.target[name] = value

    def _put_heading(self, rest: str) -> None:
        """Store the fields in a heading. Its other words begin the first of `texts`."""
        rest, words = "(" + rest, ""  # so that a field at its beginning is an inner one
        while inner := self.form.inner.search(rest):
            if self.form.field.match(_AFTER_BRACKET.sub("", rest)):
                break
            words = words or rest[: inner.start()]
            name, value = self._named(inner[1]), rest[inner.end() :]
            listed = _IN_BRACKETS[name].match(value) if name in _IN_BRACKETS else None
            if not listed:
                self._put(inner[1], value)
                self._put_words(words)
                return
            self._store(inner[1], name, listed[0])
            self.in_heading.add(name)  # a line of its own may say it again
            rest = value[listed.end() :]
        after = _AFTER_BRACKET.sub("", rest)
        if field := self.form.field.match(after):
            self._put_words(words)
            self._put(field[1], field[2])
            return
        self.target, self.name = self.current, self.form.texts[0]
        self.target.setdefault(self.name, "")
        self._put_words(words + after)

    def _put_words(self, words: str) -> None:
        if words := words.lstrip(" ()[]*_:：.,;–—-").rstrip(" ()[]*_:："):
            self.current[self.form.texts[0]] = words

    def _named(self, label: str) -> str:
        label = label.lower()
        spelled = (name for name, spelling in _SPELLINGS.items() if re.fullmatch(spelling, label))
        return "answer" if label == "final answer" else next(spelled, label)

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

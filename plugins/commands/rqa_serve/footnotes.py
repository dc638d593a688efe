"""An answer as Markdown with footnotes, and the same citations as annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robust_qa import Answer, Citation
from robust_qa.kit import printable, single_line

_MEMORY = "the model's memory"
_MARKUP = re.compile(r"[\\`\[\]<]|(?<=:)/|(?<=www)\.")  # of code, links, images, HTML and bare addresses
_ADDRESS = re.compile(r"https?://[^\s<>\\]+")
_NOTES = re.compile(r"\n\n\[\^1\]: .*", re.DOTALL)
_MARK = re.compile(r"\[\^\d+\]")


@dataclass
class Page:
    """Markdown, with an annotation for each mark of a footnote."""

    text: str = ""
    annotations: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[Citation, int] = field(default_factory=dict)

    def cite(self, citations: Iterable[Citation]) -> None:
        """Add marks such as [^1]."""
        for citation in dict.fromkeys(citations):
            start = len(self.text)
            self.text += f"[^{self._numbers.setdefault(citation, len(self._numbers) + 1)}]"
            if citation.source and citation.origin != "memory":
                cited = {"url": _url(citation.source), "title": single_line(citation.title)}
                place = {"start_index": start, "end_index": len(self.text)}
                self.annotations.append({"type": "url_citation", "url_citation": {**cited, **place}})

    def end(self) -> None:
        """Add the footnotes."""
        if self._numbers:
            self.text += "\n\n" + "\n".join(f"[^{number}]: {_note(cited)}" for cited, number in self._numbers.items())


def page_of(answer: Answer, *, after: str = "") -> Page:
    """Return the answer, then the sides of a conflict, the closest passages and the footnotes.

    The page begins with `after` and the answer's lead.
    """
    page = Page(after + printable(answer.lead))
    page.cite(answer.citations)
    if answer.text is not None and answer.reason:
        page.text += f"\n\n{printable(answer.reason)}"
    if answer.conflicts:
        page.text += "\n\nThe sources disagree:\n"
        for side in answer.conflicts:
            confidence = "" if side.confidence is None else f" ({side.confidence:.0%})"
            page.text += f"\n- {escaped(side.text)}{confidence}"
            page.cite(side.citations)
    if answer.closest:
        page.text += "\n\nAlso found:"
        page.cite(answer.closest)
    page.end()
    return page


def without_notes(text: str) -> str:
    """Return an earlier answer of the server without its footnotes."""
    return _MARK.sub("", _NOTES.sub("", text)).strip()


def escaped(text: str) -> str:
    """Return text of a document as one line that contains no Markdown, HTML or link.

    A planted image would send what it likes to its server as soon as a chat window shows it.
    """
    return _MARKUP.sub(r"\\\g<0>", single_line(text))


def _note(citation: Citation) -> str:
    where = _MEMORY if citation.origin == "memory" else _place(single_line(citation.where))
    name = " · ".join(filter(None, (escaped(citation.title), where))) or escaped(citation.id) or "a passage"
    if citation.stale:
        name += f" ({citation.stale})"
    return f"{name}: “{escaped(citation.quote)}”" if citation.quote else name


def _place(source: str) -> str:
    """Return a source as Markdown: an address to click on, or the path of a file as code."""
    if _ADDRESS.fullmatch(source):
        return f"<{source}>"
    return escaped(source) if "`" in source or not source else f"`{source}`"


def _url(source: str) -> str:
    return Path(source).as_uri() if Path(source).is_absolute() else single_line(source)

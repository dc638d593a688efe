"""An answer as Markdown with footnotes, and the same citations as annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from robust_qa import Answer, Citation
from robust_qa.kit import printable, single_line

_MEMORY = "the model's memory"
_MARKUP = re.compile(r"[\\`\[\]<]|(?<=:)/|(?<=www)\.")  # of code, links, images, HTML and bare addresses
_ADDRESS = re.compile(r"https?://[^\s<>\\]+")
_UNDERSTOOD, _CORRECTED = "Understood as:", "Asked with:"
_NOTES = re.compile(rf"\n\n(?:\[\^1\]:|{_UNDERSTOOD}|{_CORRECTED}) .*", re.DOTALL)
_PAGE = re.compile(r"page (\d+)")
_MARK = re.compile(r"\[\^\d+\]")


@dataclass
class Page:
    """Markdown, with an annotation for each mark of a footnote."""

    text: str = ""
    base: str = ""  # the server's address
    annotations: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[Citation, int] = field(default_factory=dict)

    def cite(self, citations: Iterable[Citation]) -> None:
        """Add marks such as [^1]."""
        for citation in dict.fromkeys(citations):
            start = len(self.text)
            self.text += f"[^{self._numbers.setdefault(citation, len(self._numbers) + 1)}]"
            if citation.source and citation.origin != "memory":
                cited = {"url": self._url(citation), "title": single_line(citation.title)}
                place = {"start_index": start, "end_index": len(self.text)}
                self.annotations.append({"type": "url_citation", "url_citation": {**cited, **place}})

    def end(self) -> None:
        """Add the footnotes."""
        if self._numbers:
            self.text += "\n\n" + "\n".join(
                f"[^{number}]: {self._note(cited)}" for cited, number in self._numbers.items()
            )

    def _note(self, citation: Citation) -> str:
        where = _MEMORY if citation.origin == "memory" else self._place(citation)
        name = " · ".join(filter(None, (escaped(citation.title), where))) or escaped(citation.id) or "a passage"
        if citation.stale:
            name += f" ({citation.stale})"
        return f"{name}: “{escaped(citation.quote)}”" if citation.quote else name

    def _place(self, citation: Citation) -> str:
        """Return a source as Markdown: an address to click on, a file of the server, or a name as code."""
        where = single_line(citation.where)
        if citation.file:
            return f"[{escaped(where)}]({self._url(citation)})"
        if _ADDRESS.fullmatch(where):
            return f"<{where}>"
        return escaped(where) if "`" in where or not where else f"`{where}`"

    def _url(self, citation: Citation) -> str:
        """Return the address of a source. A file is served, because its path means nothing on another machine."""
        if not citation.file:
            return single_line(citation.source)
        page = _PAGE.search(citation.place)
        there = f"#page={page[1]}" if page else ""
        return f"{self.base}v1/rqa/document?{urlencode({'file': citation.file}, safe='/')}{there}"


def page_of(answer: Answer, base: str, *, asked: str = "", sent: str = "") -> Page:
    """Return the answer, then the sides of a conflict, the closest passages and the footnotes, with links below `base`.

    The page begins with the answer's lead. If another text was `sent` before, it follows below that, or only what is to
    be said of the sentences if these are the answer's. It names the question if that is not what was `asked`.
    """
    page = Page(_begin(answer, sent), base)
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
    if answer.corrections:
        page.text += f"\n\n{_CORRECTED} {escaped(', '.join(answer.corrections.values()))}"
    if asked and answer.question not in ("", asked):
        page.text += f"\n\n{_UNDERSTOOD} {escaped(answer.question)}"
    page.end()
    return page


def _begin(answer: Answer, sent: str) -> str:
    lead = printable(answer.lead)
    if lead.startswith(sent):
        return lead
    if not printable(answer.text or "").startswith(sent):
        return f"{sent}\n\n{lead}"
    standing = answer.lead.partition(": ")[0] if answer.doubted else ""
    if len(answer.checks) == 1:
        said = ": ".join(filter(None, [standing, answer.notes[0][1]]))
    else:
        said = "\n".join([standing, *(f"{each.sentence} ({note})" for each, note in answer.notes if note)])
    return f"{printable(answer.text or '')}\n\n{printable(said).strip()}"


def without_notes(text: str) -> str:
    """Return an earlier answer of the server without its footnotes."""
    return _MARK.sub("", _NOTES.sub("", text)).strip()


def escaped(text: str) -> str:
    """Return text of a document as one line that contains no Markdown, HTML or link.

    A planted image would send what it likes to its server as soon as a chat window shows it.
    """
    return _MARKUP.sub(r"\\\g<0>", single_line(text))

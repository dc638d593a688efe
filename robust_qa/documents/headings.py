"""Find the headings of Markdown and reStructuredText, and split text into sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..sanitize import tidy

_LONGEST_TITLE = 300  # characters


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with the offsets of its line and marks. `level` 1 is the highest."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its marks, the text up to the next heading, and the titles above it, its own last."""

    head: str
    body: str
    path: tuple[str, ...] = ()


def as_title(title: str) -> str:
    """Return `title` as one line of limited length."""
    return " ".join(title.split())[:_LONGEST_TITLE]


def sections(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    """Split `text` at its headings. Text before the first heading is a section of its own. Applies `tidy`."""
    first = headings[0].start if headings else len(text)
    if text[:first].strip():
        yield Section("", tidy(text[:first]))
    above: list[Heading] = []
    for i, heading in enumerate(headings):
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        end = headings[i + 1].start if i + 1 < len(headings) else len(text)
        path = tuple(tidy(each.title) for each in above)
        yield Section(tidy(text[heading.start : heading.end]), tidy(text[heading.end : end]), path)


def title_under(title: str, path: Sequence[str], *, heading: bool) -> str:
    """Return the title of a passage: the document's title and the titles in `path` that it does not contain.

    If the document's title is a `heading` itself, only `path` counts.
    """
    if heading and path:
        title = ""
    own = [part for part in path if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", title, re.IGNORECASE)]
    return " – ".join([title, *own] if title else own)[:_LONGEST_TITLE]


# -- Markdown

_FENCED = re.compile(r"^ {0,3}(`{3,}+(?![^\n]*`)|~{3,})[^\n]*(?:\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|\Z)", re.M | re.S)
_LONGEST_CODE = 300  # characters of inline code
# Fenced code (also in lists and quotes), indented code, inline code, or a comment.
_COMMENT = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?(?P<fence>`{3,}+(?![^\n]*`)|~{3,})[^\n]*"
    r"(?:\n.*?(?:^[ \t>]*(?P=fence)|\Z)|\Z)"
    rf"|^(?: {{4}}|\t)[^\n]*|(?<!`)(?P<ticks>`++)[^\n]{{0,{_LONGEST_CODE}}}?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<comment><!--(?:-?>|.*?-->))",
    re.M | re.S,
)
# The language after an opening fence. More than one word may be a title or the text of a note, and is kept.
_LANGUAGE = re.compile(
    r"^([ \t>]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?(`{3,}+(?![^\n]*`)|~{3,}+))(?:[ \t]*[\w+#.-]+[ \t]*$)?"
    r"([^\n]*(?:\n.*?(?:^[ \t>]*\2|\Z)|\Z))",
    re.M | re.S,
)
# A line above dashes is a heading only as a paragraph of its own. Otherwise it may belong to a table or list.
_MARKDOWN = re.compile(
    r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<marked>\S.*)$"
    r"|^(?P<first>\S.*)\n=+[ \t]*$"
    r"|(?<![^\n]\n)^(?P<second>(?![-*+>|]|\d+[.)][ \t])\S.{0,99})\n-{3,}[ \t]*$",
    re.M,
)
_CLOSING = re.compile(r"(?<![ \t])[ \t]+#+[ \t]*$")


def shown(text: str) -> str:
    """Return Markdown without HTML comments and without the languages of code fences."""
    return _LANGUAGE.sub(r"\1\3", _uncommented(text))


def _uncommented(text: str) -> str:
    end = text.rfind("-->")
    if end < 0:
        return text
    end += len("-->") + _LONGEST_CODE  # include inline code around the last comment
    return _COMMENT.sub(lambda match: "" if match["comment"] else match[0], text[:end]) + text[end:]


def of_markdown(text: str) -> list[Heading]:
    """Return the headings of Markdown, except lines in code blocks."""
    seen = _FENCED.sub(lambda block: "\n" * len(block[0]), text)
    found = []
    for match in _MARKDOWN.finditer(seen):
        level = len(match["marks"]) if match["marks"] else 1 if match["first"] else 2
        title = _CLOSING.sub("", match["marked"] or match["first"] or match["second"])
        found.append(Heading(match.start(), match.end(), level, as_title(title)))
    return [heading for heading in found if heading.title.strip("# ")]


# Only if a key follows: otherwise `---` is a horizontal rule.
_FRONT = re.compile(
    r"\A---[ \t]*\n(?=[\w\"'-]+[ \t]*:)(?P<yaml>(?:(?:[\w\"'.-]+[ \t]*:(?:[ \t].*)?|[ \t].*|-[ \t].*|#.*|)\n)*?)"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_TITLE = re.compile(r"^[\"']?title[\"']?[ \t]*:[ \t]*(?P<value>.*(?:\n[ \t]+\S.*)*)", re.M | re.I)
_QUOTED = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^']|'')*)'", re.S)


def front_matter(text: str) -> tuple[int, str]:
    """Return the end of the YAML front matter (0 if none) and its title ("" if none)."""
    front = _FRONT.match(text)
    if not front:
        return 0, ""
    title = _TITLE.search(front["yaml"])
    return front.end(), as_title(_scalar(title["value"])) if title else ""


def _scalar(value: str) -> str:
    if quoted := _QUOTED.match(value):
        if quoted["single"] is not None:
            return quoted["single"].replace("''", "'")
        return re.sub(r"\\(.)", r"\1", quoted["double"])
    if value.startswith((">", "|")):
        return value.partition("\n")[2]
    return re.sub(r"(?:^|[ \t])#.*", "", value)


# -- reStructuredText

_RST = re.compile(
    r"^(?:(?P<over>[=\-~^\"'`#*+.:_])(?P=over){2,}[ \t]*\n[ \t]*)?(?P<title>\S.*)\n"
    r"(?P<under>[=\-~^\"'`#*+.:_])(?P=under){2,}[ \t]*$",
    re.M,
)


def of_rst(text: str) -> list[Heading]:
    """Return the headings of reStructuredText. Levels follow the first use of each underline character."""
    levels: dict[tuple[str | None, str], int] = {}
    found = []
    for match in _RST.finditer(text):
        level = levels.setdefault((match["over"], match["under"]), len(levels) + 1)
        found.append(Heading(match.start(), match.end(), level, as_title(match["title"])))
    return found

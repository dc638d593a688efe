"""The headings of a text, as the marks of its format tell them, and the parts that they divide it into."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..sanitize import tidy

_LONGEST_TITLE = 300  # characters


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading and its marks begin and end in the text; `level` 1 is above all others."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its marks, what follows to the next one, and the titles that it stands under, its own last."""

    head: str
    body: str
    path: tuple[str, ...] = ()


def as_title(title: str) -> str:
    """`title` as one line of bounded length."""
    return " ".join(title.split())[:_LONGEST_TITLE]


def sections(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    """`text` in parts that each begin with a heading, but for what stands before the first; all tidied."""
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
    """The title of a passage that stands under `path`: the document's, and what of the path that does not say yet.

    A document's title that is a `heading` itself is told where it is above the passage: another section has another.
    """
    if heading and path:
        title = ""
    own = [part for part in path if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", title, re.IGNORECASE)]
    return " – ".join([title, *own] if title else own)[:_LONGEST_TITLE]


# -- Markdown

_FENCED = re.compile(r"^ {0,3}(`{3,}+(?![^\n]*`)|~{3,})[^\n]*(?:\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|\Z)", re.M | re.S)
_LONGEST_CODE = 300  # characters, of code in a line
# Code: fenced, in an item of a list or a quote too, indented, or in a line.
_COMMENT = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?(?P<fence>`{3,}+(?![^\n]*`)|~{3,})[^\n]*"
    r"(?:\n.*?(?:^[ \t>]*(?P=fence)|\Z)|\Z)"
    rf"|^(?: {{4}}|\t)[^\n]*|(?<!`)(?P<ticks>`++)[^\n]{{0,{_LONGEST_CODE}}}?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<comment><!--(?:-?>|.*?-->))",
    re.M | re.S,
)
# The language behind an opening fence is not shown; what is more than one word may be a title, or the text of a note.
_LANGUAGE = re.compile(
    r"^([ \t>]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?(`{3,}+(?![^\n]*`)|~{3,}+))(?:[ \t]*[\w+#.-]+[ \t]*$)?"
    r"([^\n]*(?:\n.*?(?:^[ \t>]*\2|\Z)|\Z))",
    re.M | re.S,
)
# A line over dashes is a heading only where it is a paragraph of its own: it may be a table's, or a list's last.
_MARKDOWN = re.compile(
    r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<marked>\S.*)$"
    r"|^(?P<first>\S.*)\n=+[ \t]*$"
    r"|(?<![^\n]\n)^(?P<second>(?![-*+>|]|\d+[.)][ \t])\S.{0,99})\n-{3,}[ \t]*$",
    re.M,
)
_CLOSING = re.compile(r"(?<![ \t])[ \t]+#+[ \t]*$")


def shown(text: str) -> str:
    """Markdown without what its reader does not see: comments of HTML outside of code, and fences' languages."""
    return _LANGUAGE.sub(r"\1\3", _uncommented(text))


def _uncommented(text: str) -> str:
    end = text.rfind("-->")
    if end < 0:
        return text
    end += len("-->") + _LONGEST_CODE  # what opens after that is no comment, and around it there may be code
    return _COMMENT.sub(lambda match: "" if match["comment"] else match[0], text[:end]) + text[end:]


def of_markdown(text: str) -> list[Heading]:
    """The headings of Markdown; a comment in a block of code is none."""
    seen = _FENCED.sub(lambda block: "\n" * len(block[0]), text)
    found = []
    for match in _MARKDOWN.finditer(seen):
        level = len(match["marks"]) if match["marks"] else 1 if match["first"] else 2
        title = _CLOSING.sub("", match["marked"] or match["first"] or match["second"])
        found.append(Heading(match.start(), match.end(), level, as_title(title)))
    return [heading for heading in found if heading.title.strip("# ")]


# Only what begins with a key: else `---` is a rule.
_FRONT = re.compile(
    r"\A---[ \t]*\n(?=[\w\"'-]+[ \t]*:)(?P<yaml>(?:(?:[\w\"'.-]+[ \t]*:(?:[ \t].*)?|[ \t].*|-[ \t].*|#.*|)\n)*?)"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_TITLE = re.compile(r"^[\"']?title[\"']?[ \t]*:[ \t]*(?P<value>.*(?:\n[ \t]+\S.*)*)", re.M | re.I)
_QUOTED = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^']|'')*)'", re.S)


def front_matter(text: str) -> tuple[int, str]:
    """Where the YAML before a text ends, 0 where there is none, and the title that it gives, or ""."""
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
    """The headings of reStructuredText; what their lines are made of says the level, in the order of coming."""
    levels: dict[tuple[str | None, str], int] = {}
    found = []
    for match in _RST.finditer(text):
        level = levels.setdefault((match["over"], match["under"]), len(levels) + 1)
        found.append(Heading(match.start(), match.end(), level, as_title(match["title"])))
    return found

"""Text that people do not see and models read: invisible characters, and hidden elements of HTML and Word files."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from .reports import Finding, Place

_LARGEST = 20_000_000  # bytes of a file
_SHOWN = 80  # characters
_TAGS = re.compile("[\U000e0001-\U000e007f]{2,}")
_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SPLIT = re.compile("(?<=[A-Za-z])[\u200b-\u200d\u2060\ufeff]+(?=[A-Za-z])")  # between Latin letters nothing needs them
_RUN = re.compile("[\u200b-\u200d\u2060-\u2064]{8,}")  # long enough to encode text
_MARKUP = frozenset((".html", ".htm", ".xhtml", ".md", ".markdown"))
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.I
)
_COLOUR = re.compile(r"(?<![\w-])(color|background(?:-color)?)\s*:\s*([^;]+)", re.I)
_NAMES = {"white": "#ffffff", "#fff": "#ffffff", "black": "#000000", "#000": "#000000"}
_RUNS = re.compile(r"<w:r[ >](?:(?!<w:r[ >]).)*?</w:r>", re.S)
_VANISHED = re.compile(r"<w:vanish ?/>|<w:color w:val=\"FFFFFF\"", re.I)
_TEXT = re.compile(r"<w:t(?: [^<>]*)?>([^<]*)</w:t>")


def hidden_text(path: Path) -> Iterator[Finding]:
    """Yield the hidden text of the file at `path`. Raises OSError."""
    if path.stat().st_size > _LARGEST:
        return
    if path.suffix.lower() == ".docx":
        yield from _in_word(path)
        return
    text = path.read_text("utf-8", errors="replace")
    yield from _invisible(text, str(path))
    if path.suffix.lower() in _MARKUP:
        page = _Page(str(path))
        page.feed(text)
        yield from page.found


def _invisible(text: str, source: str) -> Iterator[Finding]:
    if text.isascii():
        return
    for pattern, what in (
        (_TAGS, "tag characters, which spell a text"),
        (_CONTROLS, "characters that change the direction of text"),
        (_SPLIT, "zero-width characters inside a word"),
        (_RUN, "a run of zero-width characters"),
    ):
        if matches := list(pattern.finditer(text)):
            first = matches[0]
            times = f", {len(matches)} times" if len(matches) > 1 else ""
            yield _finding(f"{what}{times}", source, text.count("\n", 0, first.start()) + 1, _around(text, first))


def _around(text: str, match: re.Match[str]) -> str:
    """Return the line of a match, with tag characters as the letters that they stand for."""
    line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
    shown = "".join(chr(ord(mark) - 0xE0000) if 0xE0020 <= ord(mark) <= 0xE007E else mark for mark in line)
    return "".join(mark for mark in shown if unicodedata.category(mark) not in ("Cf", "Cc"))


def _finding(what: str, source: str, line: int, text: str) -> Finding:
    return Finding("hidden", what, (Place(source, line, " ".join(text.split())[:_SHOWN]),))


class _Page(HTMLParser):
    """Collects the text of hidden elements."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Finding] = []
        self._source = source
        self._open: list[tuple[str, str]] = []  # tag, and why it is hidden: "" if it is not
        self._text: list[str] = []
        self._line = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        if not self._reason() and (reason := _hides(dict(attrs))):
            self._text, self._line = [], self.getpos()[0]
            self._open.append((tag, reason))
        else:
            self._open.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        while any(name == tag for name, _ in self._open):
            name, reason = self._open.pop()
            if reason and (text := " ".join("".join(self._text).split())) and " " in text:
                self.found.append(_finding(reason, self._source, self._line, text))
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        if self._reason() and not any(name in ("script", "style", "template", "svg") for name, _ in self._open):
            self._text.append(data)

    def _reason(self) -> str:
        return next((reason for _, reason in self._open if reason), "")


def _hides(attributes: dict[str, str | None]) -> str:
    style = attributes.get("style") or ""
    if "hidden" in attributes and (attributes["hidden"] or "") != "until-found":
        return "an element with the attribute hidden"
    if match := _STYLE.search(style):
        return f"an element with the style {match[0].lower()}"
    colours = {name.lower(): _colour(value) for name, value in _COLOUR.findall(style)}
    text = colours.pop("color", None)
    return "text in the colour of its background" if text and text in colours.values() else ""


def _colour(value: str) -> str:
    name = value.strip().lower()
    return _NAMES.get(name, name)


def _in_word(path: Path) -> Iterator[Finding]:
    try:
        with zipfile.ZipFile(path) as file:
            body = file.open("word/document.xml").read(_LARGEST).decode("utf-8", "replace")
    except (KeyError, zipfile.BadZipFile):
        return
    texts = ["".join(_TEXT.findall(run)) for run in _RUNS.findall(body) if _VANISHED.search(run)]
    if text := " ".join(" ".join(texts).split()):
        yield _finding("hidden or white text", str(path), 0, text)


_VERBS = r"(?:ignore|disregard|forget|override)"
_WHICH = r"(?:previous|prior|earlier|above|other|all)"
_WHAT = r"(?:documents?|passages?|sources?|instructions?|prompts?|context)"
_MODEL = r"(?:AI|LLM|language model|chat ?bot|assistant)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_VERBS}\b[^.!?\n]{{0,40}}\b{_WHICH}\b[^.!?\n]{{0,30}}\b{_WHAT}\b",
        r"\b(?:answer|reply|respond|output|say)\b (?:exactly|only|just)(?: with)?\s*[:“\"']",
        rf"\b(?:as|you are|you're) (?:now )?(?:an?|the) {_MODEL}\b[^.!?\n]{{0,40}}\b(?:must|should|will|shall)\b",
        r"\b(?:do not|don't|never) (?:tell|reveal|mention|inform)\b[^.!?\n]{0,30}\bthe user\b",
        r"\bsystem prompt\b|<\|(?:im_start|system)\|>|\[/?INST\]|<<SYS>>",
    )
)


def instructions(given: Sequence[Place]) -> list[Finding]:
    """Return the places that tell a model what to do."""
    return [
        Finding("instruction", f"“{' '.join(match[0].split())}” may be aimed at a language model", (place,))
        for place in given
        if (match := next(filter(None, (pattern.search(place.text) for pattern in _PATTERNS)), None))
    ]

"""Format `man`: manual pages in man and mdoc."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from robust_qa import Registry, hookimpl
from rqa_files import Block, Blocks, Document, File, Report, as_title, read_text, unwrapped

_BEGIN = re.compile(r"^['.]\s*(?:TH|Dd|SH|Sh)\b", re.MULTILINE)
_ESCAPE = re.compile(  # names have a limit, so that the search is linear
    r"\\f(?:\[[^\]]{0,99}\]|\([A-Za-z]{2}|.)|\\s(?:\[[^\]]{0,99}\]|[+-]?\d)|\\m\[[^\]]{0,99}\]|\\\*(?:\[(?P<string>[^\]]{0,99})\]|\((?P<two>..)|(?P<one>.))"
    r"|\\\((?P<pair>..)|\\\[(?P<named>[^\]]{0,99})\]|\\[hvwlLDNoX]'[^']{0,99}'|\\[&|^%!/,:c{}p]|\\(?P<other>.)"
)
_CHARACTERS = {
    "bu": "•", "em": "—", "en": "–", "hy": "-", "mi": "-", "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'",
    "dq": '"', "co": "©", "rg": "®", "tm": "™", "R": "®", "Tm": "™", "ha": "^", "ti": "~", "rs": "\\", "bv": "|",
    "ga": "`", "Fo": "«", "Fc": "»", "ge": "≥", "le": "≤", "ua": "↑", "->": "→", "<-": "←", "char46": ".",
}  # fmt: skip
_OTHERS = {"e": "\\", "\\": "\\", "-": "-", "~": " ", " ": " ", "0": " ", "'": "'", "`": "`", "t": "\t", ".": "."}
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\ |\S)+)')
_PUNCTUATION = frozenset(".,:;()[]?!|")
_LONGEST_TERM = 120  # characters
_MDOC_QUOTES = {
    "Op": "[]", "Oo": "[", "Oc": "]", "Dq": "“”", "Do": "“", "Dc": "”", "Sq": "‘’", "Ql": "‘’", "Pq": "()", "Po": "(",
    "Pc": ")", "Bq": "[]", "Aq": "<>", "Brq": "{}", "Qq": '""',
}  # fmt: skip
_MDOC_NAMES = {"Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Ux": "UNIX", "At": "AT&T UNIX"}
_MDOC_WORDS = frozenset(
    """Fl Cm Ar Pa Ev Va Li Em Sy Op Oo Oc Dq Do Dc Sq Ql Pq Po Pc Bq Aq Brq Qq Nm Xr Ns Ic Dv Er Fn Ft Fa Vt Tn Nd An
    Ad Lk Mt Ux Bx Fx Nx Ox At St Ta Cd Ms No Rv Ex In Fd Sx Ap Xo Xc""".split()
)
_FONTS = frozenset("B I R BR RB BI IB IR RI SM SB".split())


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the page, in parts if it is long."""
    return read_text(file, read_roff)


def is_roff(file: File) -> bool:
    """Return whether a text begins as a manual page does: with a macro or a comment, and .TH, .Dd or .SH below."""
    text = file.beginning
    return text.lstrip()[:1] in (".", "'") and _BEGIN.search(text) is not None


def read_roff(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the name of the page, as name(section), and the blocks. `line` is the first line's number."""
    reader = _Reader()
    for number, content in _lines(text, line):
        reader.read(content, number)
    reader.flush()
    return as_title(reader.title), reader.blocks.found


def _lines(text: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without comments, macro definitions and groff's own requests."""
    end = ""  # of the lines to skip
    depth = 0  # of conditions, mostly about the output device, that are skipped
    for number, content in enumerate(text.split("\n"), start=line):
        if end:
            end = "" if content.startswith(end) else end
        elif depth or re.match(r"['.]\s*i[ef]\s.*\\{", content):
            depth = max(0, depth + content.count("\\{") - content.count("\\}"))
        elif re.match(r"['.]\s*(?:de|am|ig)\b", content):
            end = ".."
        elif not re.match(r"['.]\s*(?:\\\"|$)", content):
            yield number, re.sub(r"(?<!\\)(?:\\\\)*\\[\"#].*", "", content)


class _Reader:
    def __init__(self) -> None:
        self.title = ""
        self.blocks = Blocks()
        self._name = ""  # of the command that an mdoc page is about
        self._text: list[str] = []
        self._line = 0
        self._literal = False  # whether lines stay as they are
        self._depth = 0
        self._indents: list[int] = []  # depth that each open .RS adds
        self._terms: list[str] = []  # of the open entry, until it has text
        self._mark = ""  # of the open item
        self._wants_term = False  # whether the next line is a term
        self._is_inside = False  # whether the open entry or item has text
        self._lists: list[str] = []  # types of the open lists of mdoc

    def read(self, line: str, number: int) -> None:  # noqa: PLR0912
        """Add a line: a macro or text."""
        if line[:1] not in (".", "'") or len(line) < 2:
            self._add(_shown(line), number)
            return
        name, _, rest = line[1:].strip().partition(" ")
        arguments = _arguments(rest)
        if name in ("SH", "SS", "Sh", "Ss"):
            self.flush()
            self._depth, self._indents, self._lists = 0, [], []
            heading = " ".join(map(_shown, arguments))
            self.blocks.heading(2 if name in ("SH", "Sh") else 3, heading, number)
        elif name in ("TH", "Dt") and arguments:
            self.title = f"{_shown(arguments[0]).lower()}({arguments[1]})" if len(arguments) > 1 else arguments[0]
        elif name in ("PP", "P", "LP", "Pp", "HP", "sp"):
            self.flush(end=name != "sp")
        elif name == "RS":
            self._indent()
        elif name == "RE":
            self.flush()
            self._depth -= self._indents.pop() if self._indents else 0
        elif name in ("nf", "EX", "Bd", "fi", "EE", "Ed"):
            self.flush(end=False)
            self._literal = name in ("nf", "EX") or (name == "Bd" and not {"-filled", "-ragged"} & set(arguments))
        elif name in ("TP", "TQ"):
            if name == "TP":
                self.flush()
            self._wants_term = True
        elif name == "IP":
            self.flush()
            self._open_entry(_shown(arguments[0]) if arguments else "")
        elif name in _FONTS:
            joined = ("" if len(name) == 2 and name not in ("SM", "SB") else " ").join(map(_shown, arguments))
            self._add(joined, number)
        elif name in ("UR", "MT", "URL") and arguments:
            self._add(_shown(arguments[0]), number)
        elif name == "br":
            self._text += ["\n"] if self._text else []
        else:
            self._mdoc(name, arguments, number)

    def flush(self, *, end: bool = True) -> None:
        """Add the current block. With `end`, the entry or item ends with it."""
        text = "".join(self._text)
        self._text, line, self._line = [], self._line, 0
        shown = "\n".join(filter(None, map(unwrapped, text.split("\n"))))
        if self._literal:
            self.blocks.code(text, line, self._depth + self._is_inside)
        elif self._mark and shown:
            self.blocks.item(self._mark, shown, line, self._depth)
            self._mark, self._is_inside = "", True
        elif self._terms and (shown or end):
            self.blocks.option(", ".join(self._terms), shown, line, self._depth)
            self._terms, self._is_inside = [], True
        else:
            self.blocks.paragraph(shown, line, self._depth + self._is_inside)
        if end:
            self._terms, self._mark, self._wants_term, self._is_inside = [], "", False, False

    def _indent(self) -> None:
        """Begin indented text. A short line before it is a term that the text describes."""
        text = unwrapped("".join(self._text))
        is_entry = bool(self._terms or self._mark or self._is_inside)
        if text and not is_entry and not self._literal and len(text) <= _LONGEST_TERM and text[-1] not in ".:":
            self._text = []
            self._open_entry(text)
            self._indents.append(0)
        else:
            self.flush(end=False)
            self._depth += self._is_inside
            self._indents.append(int(self._is_inside))
            self._is_inside = False

    def _add(self, text: str, number: int) -> None:
        if self._wants_term and text.strip():
            self._wants_term = False
            self._open_entry(text.strip())
        elif text.strip() or self._literal:
            self._line = self._line or number
            self._text.append(text + ("\n" if self._literal else " "))
        else:
            self.flush(end=False)

    def _open_entry(self, term: str) -> None:
        if term in ("•", "-", "*", "o", "\\(bu", "·"):
            self._mark = "-"
        elif re.fullmatch(r"\(?\w{1,3}[.)]|\[\w+\]", term):
            self._mark = term
        elif term:
            self._terms.append(unwrapped(term))

    # -- mdoc

    def _mdoc(self, name: str, arguments: Sequence[str], number: int) -> None:
        if name == "Bl":
            self.flush(end=False)
            self._depth += bool(self._lists)
            self._lists.append("".join(arguments[:1]))
        elif name == "El" and self._lists:
            self.flush()
            self._lists.pop()
            self._depth = max(self._depth - bool(self._lists), 0)
        elif name == "It":
            self.flush()
            kind = self._lists[-1] if self._lists else ""
            if arguments:
                self._open_entry(self._inline(arguments))
            else:
                self._mark = {"-enum": "•"}.get(kind, "-")
        elif name in ("Dl", "D1"):
            self.flush(end=False)
            self.blocks.code(self._inline(arguments), number, self._depth)
        elif name in _MDOC_WORDS:
            if name == "Nm" and arguments and not self._name:
                self._name = arguments[0]
            self._add(("— " if name == "Nd" else "") + self._inline([name, *arguments]), number)

    def _inline(self, words: Sequence[str]) -> str:
        """Return the words of an mdoc line as they are shown."""
        shown: list[str] = []
        closing = ""
        glue = False
        for i, word in enumerate(words):
            text = _shown(word)
            if word in _MDOC_NAMES:
                text = _MDOC_NAMES[word]
            elif word in _MDOC_QUOTES:
                quotes = _MDOC_QUOTES[word]
                text, closing = quotes[0], (quotes[1:] + closing)
                shown.append(text if not shown or glue else f" {text}")
                glue = text in '[(“‘<{"'
                continue
            elif word == "Ns":
                glue = True
                continue
            elif word == "Nm" and i + 1 == len(words):
                text = self._name
            elif word == "Fl":
                following = words[i + 1] if i + 1 < len(words) else ""
                shown.append("-" if not shown or glue else " -")
                glue = following == "Fl" or (bool(following) and following not in _MDOC_WORDS)
                continue
            elif word == "Ar" and (i + 1 == len(words) or words[i + 1] in _MDOC_WORDS):
                text = "file ..."
            elif word in _MDOC_WORDS:
                continue
            elif i and words[i - 1] not in _MDOC_WORDS and i > 1 and words[i - 2] == "Xr" and text.isdigit():
                text, glue = f"({text})", True
            if text in _PUNCTUATION and text not in "([":
                glue = True
            shown.append(text if not shown or glue else f" {text}")
            glue = text in ("(", "[")
        return "".join(shown) + closing


def _arguments(rest: str) -> list[str]:
    return [match[1].replace('""', '"') if match[1] is not None else match[2] for match in _ARGUMENT.finditer(rest)]


def _shown(text: str) -> str:
    """Return `text` with its escapes replaced by characters."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    name = match["string"] or match["two"] or match["one"] or match["pair"] or match["named"]
    if name:
        if re.fullmatch(r"u[0-9A-Fa-f]{4,5}", name):
            return chr(int(name[1:], 16))
        return _CHARACTERS.get(name, "")
    return _OTHERS.get(match["other"] or "", "")


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.format("man", read="rqa_roff:read", suffixes="[1-9][a-z]*", opens="rqa_roff:is_roff")

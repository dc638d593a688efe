"""A manual page as plain text, where there is no man(1): the few macros that rqa's own pages use."""

from __future__ import annotations

import re
import textwrap

_WIDTH = 80
_ESCAPES = {"\\-": "-", "\\(bu": "•", "\\(dq": '"', "\\e": "\\"}
_WORDS = re.compile(r'"((?:[^"]|"")*)"|(\S+)')


def plain(source: str) -> str:
    """The page as text of 80 columns."""
    page = _Page()
    for line in source.splitlines():
        page.take(line)
    page.flush()
    return "\n".join(page.lines).strip() + "\n"


class _Page:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._words: list[str] = []
        self._indents = [0]
        self._hanging = 0
        self._tag_next = False
        self._verbatim = False

    def take(self, line: str) -> None:
        if line.startswith(('.\\"', "'\\\"")):
            return
        if not line.startswith((".", "'")):
            self._text(line)
            return
        macro, _, rest = line[1:].partition(" ")
        if macro in ("B", "I"):
            self._text(" ".join(_arguments(rest)))
        elif macro in ("BR", "RB", "IR", "RI"):
            self._text("".join(_arguments(rest)))
        else:
            getattr(self, f"_on_{macro.lower()}")(rest)  # the tests read every page: none has another

    def flush(self) -> None:
        if self._words:
            indent = " " * (7 + sum(self._indents) + self._hanging)
            self.lines += textwrap.wrap(
                " ".join(self._words), _WIDTH, initial_indent=indent, subsequent_indent=indent,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
            self._words = []

    def _text(self, text: str) -> None:
        text = _clean(text)
        if self._tag_next:
            self._tag_next = False
            self.lines.append(" " * (7 + sum(self._indents)) + text)
            self._hanging = 7
        elif self._verbatim:
            self.lines.append(" " * (7 + sum(self._indents) + self._hanging) + text)
        else:
            self._words.append(text)

    def _paragraph(self) -> None:
        self.flush()
        self._hanging = 0
        if self.lines and self.lines[-1].startswith(" " * 7):  # nothing stands between a heading and its text
            self.lines.append("")

    def _on_th(self, rest: str) -> None:
        name, section, *_ = [*_arguments(rest), "", ""]
        self.lines += [f"{name}({section})", ""]

    def _on_sh(self, rest: str) -> None:
        self._paragraph()
        self._indents = [0]
        self.lines.append(_clean(" ".join(_arguments(rest))))

    def _on_ss(self, rest: str) -> None:
        self._paragraph()
        self.lines.append("   " + _clean(" ".join(_arguments(rest))))

    def _on_pp(self, _: str) -> None:
        self._paragraph()

    def _on_tp(self, _: str) -> None:
        self._paragraph()
        self._tag_next = True

    def _on_rs(self, rest: str) -> None:
        self.flush()
        self._indents.append(self._hanging + int(rest))
        self._hanging = 0

    def _on_re(self, _: str) -> None:
        self.flush()
        if len(self._indents) > 1:
            self._hanging = 0
            self._indents.pop()

    def _on_nf(self, _: str) -> None:
        self.flush()
        self._verbatim = True

    _on_ex = _on_nf

    def _on_fi(self, _: str) -> None:
        self._verbatim = False

    _on_ee = _on_fi


def _arguments(rest: str) -> list[str]:
    return [(quoted.replace('""', '"') if quoted or not bare else bare) for quoted, bare in _WORDS.findall(rest)]


def _clean(text: str) -> str:
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text

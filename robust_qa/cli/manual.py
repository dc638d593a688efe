"""Render a manual page, which is Markdown, as text for the terminal."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from .output import console

_WIDTH = 80  # columns
# Bold and underline only: a colour may be invisible on the reader's background.
_STYLES = {
    "code": "bold",
    "code_block": "none",
    "h1": "bold underline",
    "h2": "bold",
    "h3": "bold",
    "item.bullet": "none",
    "item.number": "none",
    "list": "none",
    "table.border": "none",
    "table.header": "bold",
}
_LINK_TO_PAGE = re.compile(r"\[([^\]]+)\]\([^):]+\.md(?:#[^)]*)?\)")


def render(page: str) -> str:
    """The page as text, at most 80 columns wide, with bold headings and code if stdout is a terminal."""
    screen = console()
    theme = Theme({f"markdown.{name}": style for name, style in _STYLES.items()})
    with screen.use_theme(theme), screen.capture() as captured:
        screen.print(_Page(_LINK_TO_PAGE.sub(r"\1", page), hyperlinks=False), width=min(screen.width, _WIDTH))
    return "\n".join(line.rstrip() for line in captured.get().strip().splitlines())


class _Heading(Heading):
    """A heading at the left margin, that of a section in capitals."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title = self.text.plain
        yield Text(title.upper() if self.tag == "h2" else title, style=self.style_name)


class _CodeBlock(CodeBlock):
    """Code as it is written, indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(str(self.text).rstrip(), style=self.style), (0, 0, 0, 4))


class _Page(Markdown):
    elements = {  # noqa: RUF012 (declared by rich)
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }

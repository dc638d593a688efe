"""Format `rst`: reStructuredText, with the directives and roles of Sphinx."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, ClassVar

from docutils import nodes, utils
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, roles
from docutils.parsers.rst.states import Inliner

from robust_qa import Registry, hookimpl
from rqa_files import Block, Blocks, Document, File, Report, header_title, read_plain, read_text, unwrapped

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "syntax_highlight": "none",
}
_LONG = re.compile(r"[^\n]{10000}")  # docutils refuses such lines, and may need the square of their length
_NAME = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]*\|[ \t]+)?([\w:+.-]+)[ \t]?::", re.M)
_ROLE = re.compile(r":([\w:+.-]{1,80}):(?=`)|(?<=`):([\w:+.-]{1,80}):")
_TARGET = re.compile(r"(?:(?P<text>\S.*?)\s+)?<(?P<target>.+)>", re.S)
_SPLITS = re.compile("[\x1c-\x1e\x85\u2028\u2029]")  # docutils ends lines there
_TITLED = re.compile(r"[A-Z][\w-]*:\s")
_CODE = frozenset("code code-block sourcecode prompt testcode testsetup doctest math console".split())
_HIDDEN = frozenset(
    """image toctree contents include index highlight currentmodule module raw literalinclude default-domain role
    default-role meta sectnum tocdepth autosummary rst-class target-notes only-index canonical""".split()
)
_DESCRIBED = frozenset("option envvar data function class method attribute exception confval describe".split())
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_KEPT = frozenset(  # directives of docutils
    """admonition attention caution danger error hint important note tip warning topic sidebar rubric epigraph
    highlights pull-quote compound parsed-literal container line-block table csv-table figure replace unicode""".split()
)
_UNSEEN = (
    nodes.comment, nodes.image, nodes.target, nodes.substitution_definition, nodes.raw, nodes.label,
)  # fmt: skip


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the document, in parts if it is long."""
    return read_text(file, read_rst)


def read_rst(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the title in a header ("" if none) and the blocks. `line` is the first line's number."""
    if _LONG.search(text):
        return read_plain(text, line)
    for name in {match[1].lower() for match in _NAME.finditer(text)} - _KEPT:
        directives.register_directive(name, _Directive)
    for role in {(match[1] or match[2]).lower() for match in _ROLE.finditer(text)}:
        roles.register_local_role(role, _role)
    inliner = Inliner()
    inliner.implicit_inline = lambda text, line: [nodes.Text(text)]  # no search for addresses, which are text anyway
    document = utils.new_document("", _settings())
    Parser(inliner=inliner).parse(_SPLITS.sub(" ", text), document)
    reader = _Reader(document, line - 1)
    reader.read(document.children, 0)
    found = reader.blocks.found
    if sum(block.kind == "heading" and block.level == 1 for block in found) > 1:  # no heading is the title
        found = [
            Block("heading", each.text, each.level + 1, (), each.line) if each.kind == "heading" else each
            for each in found
        ]
    return header_title([each.rstrip() for each in text.partition("\n\n")[0].split("\n")]), found


@cache
def _settings() -> Any:
    settings = get_default_settings(Parser)
    vars(settings).update(_SETTINGS)
    return settings


class _Directive(Directive):
    """Any directive: hidden, code, a table, a term with its description, or a note with the name of the directive."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = defaultdict(lambda: directives.unchanged, name=directives.unchanged)

    def run(self) -> list[Any]:
        lines = self.arguments[0].split("\n") if self.arguments else []
        line = self.content_offset + 1 if self.content else self.lineno
        above: list[Any] = []
        if self.name in _HIDDEN:
            return []
        if self.name in _CODE:
            rest = lines if self.name == "math" else [] if self.content else lines[1:]
            content = made = nodes.literal_block("", "\n".join([*rest, *self.content]))
        elif self.name == "list-table":
            content = made = nodes.container(classes=[self.name])
            above = [nodes.paragraph("", " ".join(lines))] if lines else []
        elif ":" in self.name or self.name in _DESCRIBED:
            content = nodes.definition()
            made = nodes.definition_list_item("", nodes.term("", ", ".join(lines)), content)
        else:
            label, text = self.name, " ".join(lines)
            if label in _VERSIONS:
                version, _, text = text.partition(" ")
                label = f"{_VERSIONS[label]} {version}"
            content = made = nodes.admonition("", nodes.title("", label))
            if text:
                made += nodes.paragraph("", "", *self.state.inline_text(text, self.lineno)[0])
                line = self.lineno
        made.line = line
        if self.name not in _CODE:
            self.state.nested_parse(self.content, self.content_offset, content)
        return [*above, made]


def _role(name: str, raw: str, text: str, *rest: object, **options: object) -> tuple[list[Any], list[Any]]:
    """Return what Sphinx shows of the text with a role: its title, or what it refers to."""
    text = utils.unescape(text)
    if target := _TARGET.fullmatch(text):
        text = target["text"] or target["target"]
    elif text.startswith("~"):
        text = text.rpartition(".")[2].lstrip("~")
    shown = f"{name.upper()} {text}" if name in ("pep", "rfc") else text.lstrip("!")
    return [nodes.inline("", shown)], []


class _Reader:
    """Turns the nodes of docutils into blocks."""

    def __init__(self, document: Any, before: int) -> None:
        self.blocks = Blocks()
        self._defined = document.substitution_defs
        self._before = before  # lines of the file
        self._level = 0
        self._line = 0  # of the last node that has one

    def read(self, found: Sequence[Any], depth: int) -> None:  # noqa: PLR0912
        for node in found:
            line = self._at(node)
            match node:
                case nodes.section():
                    self._level += 1
                    self.read(node.children, depth)
                    self._level -= 1
                case nodes.title():
                    self.blocks.heading(self._level, self._shown(node), line - 1)  # that of docutils is below it
                case nodes.bullet_list() | nodes.enumerated_list():
                    for i, item in enumerate(node.children):
                        first, rest = self._first(item)
                        if first:
                            self.blocks.item(_mark(node, i), first, self._at(item), depth)
                        self.read(rest, depth + 1)
                case nodes.definition_list_item() | nodes.field() | nodes.option_list_item():
                    first, rest = self._first(node[-1])
                    term = " : ".join(map(self._shown, node[:-1]))
                    self.blocks.option(term, first, line, depth)
                    self.read(rest, depth + 1)
                case nodes.footnote() | nodes.citation():
                    marks = [each for each in node.children if isinstance(each, nodes.label)]
                    first, rest = self._first(node, len(marks))
                    name = marks[0].astext() if marks else " ".join(node["names"])
                    self.blocks.paragraph(f"[{name}] {first}", line, depth)
                    self.read(rest, depth)
                case nodes.Admonition() | nodes.topic() | nodes.sidebar():
                    titled = isinstance(node[0], nodes.title) if node.children else False
                    label = self._shown(node[0]) if titled else node.tagname
                    first, rest = self._first(node, titled)
                    text = f"{label[:1].upper()}{label[1:]}{':' * bool(first or rest)} {first}"
                    self.blocks.paragraph(text, line, depth)
                    self.read(rest, depth)
                case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
                    self.blocks.code(node.astext(), line, depth)
                case nodes.table():
                    self._table(node, line, depth)
                case nodes.container() if "list-table" in node["classes"] and node.children:
                    rows = [[self._shown(cell) for cell in row[0].children] for row in node[0].children if row.children]
                    for row, cells in zip(node[0].children[1:], rows[1:], strict=False):
                        self.blocks.row(rows[0], cells, self._at(row), depth)
                case nodes.line_block():
                    self.blocks.paragraph("\n".join(map(self._shown, node.findall(nodes.line))), line, depth)
                case nodes.system_message():  # what docutils cannot read
                    self.read([each for each in node.children if isinstance(each, nodes.literal_block)], depth)
                case nodes.TextElement() if not isinstance(node, _UNSEEN):
                    self.blocks.paragraph(self._text(node), line, depth)
                case nodes.Element() if not isinstance(node, _UNSEEN):
                    self.read(node.children, depth)

    def _at(self, node: Any) -> int:
        """Return the line of a node in the file. If it has none, that is of the first inside it, or the last one."""
        lines = (each.line for each in node.findall(nodes.Element) if each.line)
        self._line = next(lines, self._line)
        return self._before + self._line

    def _first(self, node: Any, start: int = 0) -> tuple[str, list[Any]]:
        """Return the text of the first paragraph in a node, from the child `start` on, and the nodes after it."""
        found = node.children[start:]
        at = next((i for i, each in enumerate(found) if not isinstance(each, nodes.Admonition)), 0)  # the version
        if found and isinstance(found[at], nodes.paragraph):
            return unwrapped(self._shown(found[at])), [*found[:at], *found[at + 1 :]]
        return "", found

    def _table(self, table: Any, line: int, depth: int) -> None:
        head: list[list[str]] = []
        for title in table.findall(nodes.title):
            self.blocks.paragraph(self._text(title), line, depth)
        for part in table[-1].children:
            if not isinstance(part, nodes.thead | nodes.tbody):
                continue
            is_head, below = isinstance(part, nodes.thead), dict[int, tuple[str, int]]()
            for row in part.children:
                cells: list[str] = []
                entry: Any = None
                entries = iter(row.children)
                while (at := len(cells)) in below or (entry := next(entries, None)) is not None:
                    if at in below:
                        text, more = below.pop(at)
                        wide = 0
                    else:
                        text, more, wide = self._shown(entry), entry.get("morerows", 0), entry.get("morecols", 0)
                    if more:
                        below[at] = text, more - 1
                    cells += [text, *[text if is_head else ""] * wide]
                if is_head:
                    head.append(cells)
                else:
                    names = [
                        " ".join(dict.fromkeys(filter(None, column))) for column in zip_longest(*head, fillvalue="")
                    ]
                    self.blocks.row(names, cells, max(self._at(row), line), depth)  # rows of CSV begin at 1

    def _text(self, node: Any) -> str:
        text = self._shown(node)
        return text if all(map(_TITLED.match, text.split("\n"))) else unwrapped(text)  # lines of a header stay

    def _shown(self, node: Any) -> str:
        """Return the text of a node as a reader sees it."""
        match node:
            case nodes.Text() | nodes.option_group():
                return str(node.astext())
            case nodes.image() | nodes.footnote_reference() | nodes.citation_reference() | nodes.system_message():
                return ""
            case nodes.substitution_reference() if node["refname"] in self._defined:
                return str(self._defined[node["refname"]].astext())
        return ("" if isinstance(node, nodes.TextElement) else " ").join(map(self._shown, node.children))


def _mark(items: Any, i: int) -> str:
    if isinstance(items, nodes.bullet_list):
        return "-"
    number, kind = items.get("start", 1) + i, items["enumtype"]
    shown = chr(ord("a" if kind == "loweralpha" else "A") + number - 1) if kind.endswith("alpha") else number
    return f"{items['prefix']}{shown}{items['suffix']}"


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.format("rst", read="rqa_rst:read", suffixes="rst")

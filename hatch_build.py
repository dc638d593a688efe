"""Build hook: write the roff pages for man(1) from the Markdown pages in man/, with pandoc.

A release builds with `HATCH_BUILD_HOOK_ENABLE_CUSTOM=true`. An installation from a checkout has no pages for man(1),
because pandoc is a large download; `rqa help` shows the Markdown.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path(__file__).parent / "man"
MARKDOWN = "commonmark+pipe_tables"
_LINE = 70  # characters of a table, as pandoc counts them

Node = dict[str, Any]  # an element of pandoc's document tree: {"t": type, "c": content}


class ManualPages(BuildHookInterface[Any]):
    """Adds the roff pages to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages to a temporary folder, and tell the wheel builder where they go."""
        folder = Path(tempfile.mkdtemp())
        for source in sorted(FOLDER.glob("rqa*.md")):
            page = folder / source.stem
            page.write_text(roff(source.read_text("utf-8")), "utf-8")
            build_data["shared_data"][str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"


def roff(markdown: str) -> str:
    """The roff source of a page."""
    import pypandoc

    # The one in the package, not another version on PATH, which may write other roff.
    os.environ["PYPANDOC_PANDOC"] = str(Path(pypandoc.__file__).with_name("files") / "pandoc")
    title, _, body = markdown.partition("\n")
    name, section = re.fullmatch(r"# ([\w-]+)\((\d)\)", title).groups()  # type: ignore[union-attr]
    tree = json.loads(pypandoc.convert_text(body, "json", format=MARKDOWN, extra_args=["--shift-heading-level-by=-1"]))
    variables = {"title": name.upper(), "section": section, "footer": f"robust-qa {_version()}"}
    arguments = ["--standalone", *(f"--variable={key}={value}" for key, value in variables.items())]
    page: str = pypandoc.convert_text(json.dumps(_for_man(tree)), "man", format="json", extra_args=arguments)
    page = re.sub(r"^\.\\\".*\n", "", page, flags=re.MULTILINE)  # pandoc's version
    page = re.sub(r"^\.IP\n(\.EX\n.*?\.EE\n)", r".PP\n.RS 4\n\1.RE\n", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^\.TH .*\n", r"\g<0>.nr HY 0\n.ad l\n", page, flags=re.MULTILINE)  # names stay whole


def _version() -> str:
    found = re.search(r'__version__ = "(.+)"', (FOLDER.parent / "robust_qa" / "version.py").read_text("utf-8"))
    assert found
    return found[1]


def _for_man(node: Any) -> Any:
    """The tree as man(1) shows it best: headings in capitals, code in bold, lists of options as definitions."""
    if isinstance(node, list):
        return [_for_man(each) for each in node]
    if not isinstance(node, dict):
        return node
    kind: str | None = node.get("t")
    content: Any = node.get("c")
    if kind == "Code":
        return {"t": "Strong", "c": [{"t": "Str", "c": content[1]}]}
    if kind == "CodeBlock":  # without its language, which pandoc would highlight
        return {"t": kind, "c": [["", [], []], content[1]]}
    if kind == "Header" and content[0] == 1:
        content[2] = _capitals(content[2])
    if kind == "Link":  # man(1) cannot follow it
        return {"t": "Span", "c": [["", [], []], _for_man(content[1])]}
    if kind == "Table":
        content[2] = _columns(content)
    if kind == "BulletList" and all(split := [_definition(item) for item in content]):
        return {"t": "DefinitionList", "c": _for_man(split)}
    return {key: _for_man(value) for key, value in node.items()}


def _capitals(inlines: list[Node]) -> list[Node]:
    return [{**each, "c": each["c"].upper()} if each["t"] == "Str" else each for each in inlines]


def _columns(table: list[Any]) -> list[Any]:
    """The alignments and widths of the columns, each as wide as its text if they fit."""
    rows = [row[1] for part in (table[3], *table[4]) for row in (part[1] if part is table[3] else part[3])]
    widths = [max(len(_text(row[column])) for row in rows) + 1 for column in range(len(table[2]))]
    while sum(widths) > _LINE - 3 * len(widths):
        widths[widths.index(max(widths))] -= 1
    return [
        [alignment, {"t": "ColWidth", "c": width / _LINE}]
        for (alignment, _), width in zip(table[2], widths, strict=True)
    ]


def _text(node: Any) -> str:
    """What a part of the tree says."""
    if isinstance(node, list):
        return "".join(_text(each) for each in node)
    if not isinstance(node, dict):
        return ""
    content = node.get("c")
    if node["t"] in ("Str", "Code"):
        return content if isinstance(content, str) else str(content[1])  # type: ignore[index]
    return " " if node["t"] in ("Space", "SoftBreak") else _text(content)


def _definition(item: list[Node]) -> list[Any] | None:
    """Term and definition of a list item that begins with code or bold text and a colon."""
    first, *others = item
    inlines = first["c"]
    if inlines[0]["t"] not in ("Code", "Strong"):
        return None
    for n, inline in enumerate(inlines):
        if inline["t"] == "Str" and inline["c"].endswith(":"):
            term = [*inlines[:n], {"t": "Str", "c": inline["c"][:-1]}]
            return [term, [[{"t": first["t"], "c": inlines[n + 2 :]}, *others]]]
    return None

"""Hooks of MkDocs: add the manual, the benchmarks and a page of options to the site, and build the navigation.

Pages outside docs/ stay where they are. Every link between files works in the repository; here it becomes a link of
the site.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from robust_qa.cli.reference import OptionTable, option_tables, options_of
from robust_qa.host.loading import Host
from robust_qa.version import OWN_DISTRIBUTION

ROOT = Path(__file__).parent

# The doors: a folder of docs/, its title, and what to look for there. A folder without pages has no door.
DOORS = {
    "tutorial": ("Tutorial", "Learn rqa by doing. Each page starts from nothing and ends with something that works."),
    "how-to": ("How-to", "Recipes for one task each, for readers who know what they want."),
    "reference": ("Reference", "Every command, option and function, to look up."),
    "explanation": ("Explanation", "The ideas behind the answers, and the figures that we measured."),
}
# The order of pages within a folder. Others follow by name.
TUTORIALS = ("own-files", "bring-a-model", "measure-strategies", "write-a-plugin")
ORDER = (*TUTORIALS, "confidence", "conflicts", "which-strategy", "robustness", "fidelity")
REFERENCE = {
    "Ask": ("rqa.1", "rqa-ask.1", "rqa-search.1", "rqa-chat.1", "rqa-batch.1", "rqa-history.1", "rqa-strategies.7"),
    "Documents": ("rqa-expressions.7", "rqa-check.1", "rqa-lint.1", "rqa-postgres.7", "rqa-bridges.7"),
    "Measure": (
        "rqa-eval.1",
        "rqa-testset.1",
        "rqa-compare.1",
        "rqa-grid.1",
        "rqa-plant.1",
        "rqa-inconsistency.1",
        "rqa-judge.1",
        "rqa-train.1",
        "rqa-papers.7",
    ),
    "Serve": ("rqa-serve.1", "rqa-mcp.1", "rqa-ray.1", "rqa-provider.1"),
    "Extend": ("rqa-plugin.7", "rqa-python.7"),
    "Configuration": ("rqa-config.5", "options"),
    "Python": ("python", "protocols", "kit", "tools"),
}
KINDS = {
    "strategy": "Strategies",
    "retriever": "Retrievers",
    "reader": "Readers",
    "evaluator": "Evaluators",
    "embedder": "Embedders",
    "engine": "Engines",
}
ELSEWHERE = {
    "benchmarks/README.md": "explanation/benchmarks.md",
    "benchmarks/scoreboard.md": "explanation/scoreboard.md",
    "benchmarks/scoreboard.json": "explanation/scoreboard.json",
    "benchmarks/scoreboard.svg": "explanation/scoreboard.svg",
    "benchmarks/data/README.md": "explanation/samples.md",
    "benchmarks/picture.svg": "picture.svg",
    "benchmarks/picture-narrow.svg": "picture-narrow.svg",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/, and set the navigation."""
    manual = {f"man/{page.name}": f"reference/{page.name}" for page in sorted((ROOT / "man").glob("*.md"))}
    for source, target in {**manual, **ELSEWHERE}.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    files.append(File.generated(config, "reference/options.md", content=options_page()))
    doors: list[dict[str, Any]] = []
    for folder, (title, purpose) in DOORS.items():
        index = f"{folder}/index.md"
        pages = {f.src_uri for f in files.documentation_pages() if f.src_uri.startswith(f"{folder}/")} - {index}
        if not pages:
            continue
        groups = _reference(pages) if folder == "reference" else {"": sorted(pages, key=_position)}
        if not files.get_file_from_path(index):
            files.append(File.generated(config, index, content=_index(title, purpose, groups, files)))
        doors.append({title: [index, *groups.pop("", []), *({name: group} for name, group in groups.items())]})
    others = [page for page in ("troubleshooting.md",) if files.get_file_from_path(page)]
    config.nav = [{"Home": "index.md"}, *doors, *others, {"Project": ["contributing.md", "changelog.md"]}]
    return files


def _position(page: str) -> tuple[int, str]:
    stem = Path(page).stem
    return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)


def _reference(pages: set[str]) -> dict[str, list[str]]:
    """The pages of the reference by what people do. Raises PluginError if one has no group."""
    grouped = {name: [f"reference/{stem}.md" for stem in stems] for name, stems in REFERENCE.items()}
    if left := pages - {page for group in grouped.values() for page in group}:
        raise PluginError(f"Add these pages to REFERENCE in mkdocs_hooks.py: {', '.join(sorted(left))}")
    return grouped


def _index(title: str, purpose: str, groups: dict[str, list[str]], files: Files) -> str:
    """The page behind a door: its pages with what each is about."""
    lines = [f"# {title}", "", purpose, ""]
    for name, pages in groups.items():
        lines += [f"## {name}", ""] if name else []
        for page in pages:
            file = files.get_file_from_path(page)
            assert file
            text = file.content_string
            about = re.search(r"^rqa[\w-]* - (.+)", text, re.MULTILINE)
            heading = re.search(r"^# (.+)", text, re.MULTILINE)
            lines.append(f"- [{heading[1] if heading else page}]({Path(page).name}){f': {about[1]}' if about else ''}")
        lines.append("")
    return "\n".join(lines)


# -- links


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links of the site."""
    if page.is_homepage:
        doors = [(folder, *door) for folder, door in DOORS.items() if files.get_file_from_path(f"{folder}/index.md")]
        markdown += "".join(f"- [**{title}**]({folder}/index.md): {purpose}\n" for folder, title, purpose in doors)
    if page.file.abs_src_path is None:
        return markdown
    folder = Path(page.file.abs_src_path).parent
    by_source = {os.path.realpath(file.abs_src_path): file for file in files if file.abs_src_path}

    def rewritten(link: re.Match[str]) -> str:
        text, target, anchor = link.groups()
        path = os.path.realpath(folder / target)
        if file := by_source.get(path):
            return f"{text}({posixpath.relpath(file.src_uri, posixpath.dirname(page.file.src_uri))}{anchor or ''})"
        if Path(path).exists():  # only in the repository
            return text[1:-1]
        return link[0]

    markdown = re.sub(
        r"^## Name\n+rqa[\w-]* - (.+)", lambda name: _sentence(name[1]), markdown, count=1, flags=re.MULTILINE
    )
    return re.sub(r"(\[[^\]]*\])\(([^)#:\s]+)(#[^)]*)?\)", rewritten, markdown)


def on_page_content(html: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link every mention of a page of the manual, such as rqa-ask(1). Keep short code on one line."""

    def linked(found: re.Match[str]) -> str:
        name, section = found.groups()
        file = files.get_file_from_path(f"reference/{name}.{section}.md") if name else None
        return f'<a href="{file.url_relative_to(page.file)}">{found[0]}</a>' if file else found[0]

    html = re.sub(r"<code>(?=[^<\s]{1,24}</code>)", '<code class="whole">', html)
    kept = r"<(?:pre|code|a|h1)\b.*?</(?:pre|code|a|h1)>|<[^>]*>"
    return re.sub(rf"{kept}|\b(rqa(?:-[a-z]+)?)\((\d)\)", linked, html, flags=re.DOTALL)


def on_post_page(html: str, /, *, page: Page, config: MkDocsConfig) -> str:
    """Name the dialog of the search for screen readers."""
    return html.replace('role="dialog"', 'role="dialog" aria-label="Search"')


# -- options


def options_page() -> str:
    """A page with the options of every built-in component, from the classes that define them."""
    parts = [
        "# All options",
        "",
        "Each table of the configuration with its options, types and defaults, as the code defines them. rqa-config(5) "
        "explains how to set them.",
        "",
    ]
    heading = ""
    for table in option_tables(Host()):
        if not table.distribution or table.distribution.startswith(OWN_DISTRIBUTION):
            kind = table.name.partition(".")[0]
            if heading != (heading := KINDS.get(kind, "The host")):
                parts += [f"## {heading}", ""]
            parts += [f"### `[{table.name}]`", "", f"{table.about}.", "", *_rows(table), ""]
    return "\n".join(parts)


def _rows(table: OptionTable) -> Iterator[str]:
    yield from ("| option | meaning |", "|---|---|")
    for each in options_of(table.owner):
        default = "; required" if each.is_required else f"; default: `{each.default}`" if each.default else ""
        meaning = f"{each.comment}<br>*{each.kind}{default}*"
        yield f"| `{each.name}` | {meaning.replace('|', chr(92) + '|')} |"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'.' if text else ''}"


class PublicNames(griffe.Extension):
    """Shows what a package imports as a name of its own: `from .module import name as name`."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Export those names, which griffe takes for imports."""
        if mod.is_init_module:
            mod.exports = re.findall(r" import (\w+) as \1$", mod.source, re.MULTILINE) or mod.exports

"""Formats of text: Markdown, HTML and source code. Text that no format claims is plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry

_CODE = """bash c cc cfg clj conf cpp cs css el erl ex go h hpp hs ini java jl js jsx kt lua m ml php pl properties ps1
    py pyi r rb rs scala scss sh swift tf toml ts tsx vue yaml yml zsh"""


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the formats of text."""
    add = registry.format
    add("markdown", read="rqa_text.reader:markdown", suffixes="md|markdown|mdown|mkd|mdx|rmd|qmd")
    add("html", read="rqa_text.reader:html", suffixes="x?html|htm")
    add("code", read="rqa_text.reader:code", suffixes="|".join(_CODE.split()))
    add("page", read="rqa_text.reader:html", opens="rqa_text.reader:is_page")
    add("script", read="rqa_text.reader:code", opens="rqa_text.reader:is_script")

"""Read Markdown, HTML and source code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rqa_files import Document, File, Report, read_code_file, read_html, read_markdown, read_text, report_left_out
from rqa_files import html as html_pages
from rqa_files import markdown as markdown_texts

_HTML = re.compile(r"\s*+(?:<\?xml[^>]*>\s*+)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|html)\b", re.I | re.S)


def is_page(file: File) -> bool:
    """Return whether a text begins as a page of HTML does."""
    return _HTML.match(file.beginning) is not None


def is_script(file: File) -> bool:
    """Return whether a text names its interpreter."""
    return file.beginning.startswith("#!")


def html(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a page."""
    page, left_out = file.text(page=True), list[str]()
    title, blocks = read_html(page, left_out=left_out)
    yield file.document(title, blocks, html_pages.date_in(page))
    report_left_out(file, left_out, report)


def markdown(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a Markdown file, a long one in parts."""
    left_out: list[str] = []
    yield from read_text(file, lambda text, line: read_markdown(text, line, left_out), markdown_texts.date_in)
    report_left_out(file, left_out, report)


def code(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a file of source code, a long one in parts."""
    return read_code_file(file)

"""What the server gives out as it is: its own page, and indexed documents."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, HTMLResponse, Response

from rqa_files import Formats, Unreadable, unmoved
from rqa_files.showing import View, view_of

from .requests import ApiError

if TYPE_CHECKING:
    from collections.abc import Container

_PAGE = Path(__file__).with_name("page.html")
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_LOOKED_AT = 4096  # bytes that tell whether a file is text


def page() -> Response:
    """Return the page. It may run its own script, ask this server, and nothing else."""
    html, policy = _page()
    return HTMLResponse(html, headers={**_HEADERS, "Content-Security-Policy": policy})


@cache
def _page() -> tuple[str, str]:
    html = _PAGE.read_text(encoding="utf-8")
    allowed = {kind: f"'sha256-{_digest(content)}'" for kind, content in _INLINE.findall(html)}
    policy = {
        "default-src": "'none'",
        "script-src": allowed["script"],
        "style-src": allowed["style"],
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return html, "; ".join(f"{name} {value}" for name, value in policy.items())


def _digest(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _path(name: str, indexed: Container[str]) -> Path:
    """Return the path of the file `name`. Raises ApiError unless it is one of `indexed` and is still there."""
    path = unmoved(name) if name in indexed else None
    if path is None:
        raise ApiError(404, f"There is no indexed document {name!r}.", code="document_not_found")
    return path


def text(name: str, indexed: Container[str], formats: Formats, quote: str, place: str) -> View:
    """Return the text of the file `name` around a quote. Raises ApiError if it is not indexed or cannot be read."""
    try:
        return view_of(_path(name, indexed), formats, quote, place)
    except (OSError, Unreadable) as error:
        raise ApiError(404, f"{name} cannot be read: {error}.", code="document_not_found") from error


def document(name: str, indexed: Container[str]) -> Response:
    """Return the file `name`, which must be one of `indexed`. Raises ApiError otherwise, or if it is gone.

    A browser shows text and PDF, and saves all else. No document is ever a page of this server.
    """
    path = _path(name, indexed)
    policy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"
    if path.suffix.lower() == ".pdf":  # a sandbox would also keep out the browser's viewer
        kind, disposition = "application/pdf", "inline"
    else:
        policy += "; sandbox"
        with path.open("rb") as file:
            is_text = b"\0" not in file.read(_LOOKED_AT)
        kind, disposition = ("text/plain", "inline") if is_text else ("application/octet-stream", "attachment")
    headers = {**_HEADERS, "Content-Security-Policy": policy}
    return FileResponse(path, 200, headers, kind, filename=path.name, content_disposition_type=disposition)

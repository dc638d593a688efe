"""The format PDF, with the library pypdfium2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register PDF, which may begin with up to a thousand other bytes."""
    registry.format("pdf", read="rqa_pdf.reader:read_pdf", suffixes="pdf", magic=rb"(?s).{0,1019}%PDF-")

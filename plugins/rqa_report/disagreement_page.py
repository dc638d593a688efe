"""The page of `rqa report inconsistency`: heat maps."""

from __future__ import annotations

from collections.abc import Iterator

from .disagreement import Disagreement
from .page import page, section, table


def disagreement_page(found: Disagreement) -> Iterator[str]:
    """The parts of the page, in order. It has no script but that of the theme."""
    about = f"Questions: {found.members.asked:,} · members: {len(found.members.names)}"
    yield from page(f"rqa report inconsistency: {found.run}", about, _body(found), [])


def _body(found: Disagreement) -> Iterator[str]:
    for number, part in enumerate(found.tables(), start=1):
        yield section(f"table{number}", part.title, table(part, caption=False))

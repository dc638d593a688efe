"""The plugins that come with rqa, as each package registers itself, so that a start imports none of them.

After a change in a package's `rqa_register`, write the list anew with `python -m rqa_catalogue`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

from .entries import ENTRIES

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register everything."""
    for method, arguments, options in ENTRIES:
        getattr(registry, method)(*arguments, **options)

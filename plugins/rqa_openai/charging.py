"""What a reply cost that came and could not be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from robust_qa import RqaError, Usage

from .replies import Reply, usage_in


class _Body(msgspec.Struct):
    usage: object = None


@contextmanager
def charging(reply: Reply) -> Iterator[None]:
    """Errors that are raised within have the usage that `reply` reports: the provider bills it all the same."""
    try:
        yield
    except RqaError as error:
        error.usage = _usage(reply)
        raise


def _usage(reply: Reply) -> Usage:
    try:
        return usage_in(msgspec.json.decode(reply.body, type=_Body).usage)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Usage()  # no reply of a model

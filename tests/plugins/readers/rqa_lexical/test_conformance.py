"""The reader passes the conformance checks."""

from __future__ import annotations

from robust_qa.testing import assert_conforms
from rqa_lexical import Lexical


def test_lexical_conforms() -> None:
    assert_conforms("reader", Lexical(Lexical.Options()))

"""The reader passes the conformance checks."""

from __future__ import annotations

import pytest

from robust_qa.testing import assert_conforms
from rqa_lexical import Lexical


@pytest.mark.parametrize("span", ["auto", "sentence"])
def test_lexical_conforms(span: str) -> None:
    assert_conforms("reader", Lexical(Lexical.Options(span=span)))  # type: ignore[arg-type]

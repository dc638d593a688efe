"""Tools for the tests of plugins: conformance checks, a toolbox and fake components, from the package rqa_testing.

In a plugin's tests:

    from robust_qa.testing import assert_conforms

    def test_notes_conform(server):
        assert_conforms("retriever", Notes(Notes.Options(url=server.url)), query="mole")

`rqa plugins check NAME` runs the same checks on an installed component. To test a strategy's answers, use `ask`: it
puts one question to the strategy through the host's real toolbox.
"""

from __future__ import annotations

from rqa_testing import *  # noqa: F403 (an import name for authors)
from rqa_testing import __all__ as __all__  # noqa: PLC0414

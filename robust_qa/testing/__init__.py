"""For plugin authors: one line that checks a component against its contract, and components to test with.

In a plugin's tests::

    from robust_qa.testing import assert_conforms

    def test_notes_conform(server):
        assert_conforms("retriever", Notes(Notes.Options(url=server.url)), query="mole")

`rqa plugins check NAME` runs the same checks on an installed component. What a plugin does beyond its
contract is for its own tests: `ask` puts one question to a strategy through the host's real toolbox, over
any components, or over the small ones here.
"""

from __future__ import annotations

from .bench import ask, toolbox
from .conformance import Finding, assert_conforms, check
from .fakes import OverlapEvaluator, ScriptedModel, SentenceReader, StaticRetriever

__all__ = [
    "Finding",
    "OverlapEvaluator",
    "ScriptedModel",
    "SentenceReader",
    "StaticRetriever",
    "ask",
    "assert_conforms",
    "check",
    "toolbox",
]

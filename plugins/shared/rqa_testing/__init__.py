"""Tools for the tests of plugins, which import them from `robust_qa.testing`.

In a plugin's tests:

    from robust_qa.testing import assert_conforms

    def test_notes_conform(server):
        assert_conforms("retriever", Notes(Notes.Options(url=server.url)), query="mole")

`rqa plugins check NAME` runs the same checks on an installed component. To test a strategy's answers, use `ask`: it
puts one question to the strategy through the host's real toolbox.
"""

from __future__ import annotations

from .bench import ask, embedder_handle, toolbox
from .conformance import assert_conforms, check
from .fakes import OverlapEvaluator, ScriptedModel, SentenceReader, StaticRetriever
from .suite import Finding

__all__ = [
    "Finding",
    "OverlapEvaluator",
    "ScriptedModel",
    "SentenceReader",
    "StaticRetriever",
    "ask",
    "assert_conforms",
    "check",
    "embedder_handle",
    "toolbox",
]

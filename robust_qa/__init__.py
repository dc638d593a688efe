"""rqa: answers that hold when the documents are irrelevant, contradictory or planted.

A plugin is a module with a class and a hook:

    from dataclasses import dataclass
    from robust_qa import Passage, Url, hookimpl

    class Notes:
        "Passages from my notes server."

        @dataclass
        class Options:
            url: Url
            language: str = "en"  # of the notes

        def __init__(self, options: Options) -> None: ...
        async def retrieve(self, query: str, k: int) -> list[Passage]: ...

    @hookimpl
    def rqa_register(registry):
        registry.retriever("notes", Notes)

and, in its pyproject, an entry point in the group `rqa`:

    [project.entry-points.rqa]
    notes = "my_notes"

`rqa plugins new NAME --kind retriever` writes all of that with tests. rqa-plugin(7) documents the contract.

A program asks with `robust_qa.ask(question, docs="notes/")`, or opens a session with `robust_qa.open_session`.

Here are these doors, the data, the protocols and the errors. Further public modules:

- `robust_qa.kit`: for strategy authors: prompts, replies, answer normalisation, citations, HTTP
- `robust_qa.documents`: for retrievers that read files
- `robust_qa.cli`: for plugins that add commands
- `robust_qa.answering` and `robust_qa.batch`: sessions and batches for plugins that add commands
- `robust_qa.testing`: fakes and the conformance checks
"""

from __future__ import annotations

from .config.keys import Key
from .errors import (
    BusyError,
    CallError,
    CallTimeout,
    ConfigError,
    ContextError,
    CutError,
    Exit,
    ExpressionError,
    InputError,
    MissingError,
    PluginError,
    RefusedError,
    ReplyError,
    RqaError,
    UnavailableError,
)
from .host.metrics import Metric, Outcome
from .host.registry import Registry, hookimpl
from .programs import BlockingSession, ask, open_session
from .protocols import (
    AssistedEvaluator,
    Embedder,
    EmbedderHandle,
    Evaluator,
    ExtractiveReader,
    IndexProgress,
    IndexReport,
    LanguageModel,
    Retriever,
    Strategy,
    Toolbox,
)
from .types import (
    PROBABLE,
    Answer,
    Checked,
    Citation,
    Completion,
    Continuation,
    Decoding,
    EmbedderName,
    Expression,
    Judgment,
    Message,
    Order,
    Passage,
    Position,
    Question,
    Quote,
    Reading,
    Step,
    Token,
    Trusted,
    Url,
    Usage,
)
from .version import __version__

__all__ = [
    "PROBABLE",
    "Answer",
    "AssistedEvaluator",
    "BlockingSession",
    "BusyError",
    "CallError",
    "CallTimeout",
    "Checked",
    "Citation",
    "Completion",
    "ConfigError",
    "ContextError",
    "Continuation",
    "CutError",
    "Decoding",
    "Embedder",
    "EmbedderHandle",
    "EmbedderName",
    "Evaluator",
    "Exit",
    "Expression",
    "ExpressionError",
    "ExtractiveReader",
    "IndexProgress",
    "IndexReport",
    "InputError",
    "Judgment",
    "Key",
    "LanguageModel",
    "Message",
    "Metric",
    "MissingError",
    "Order",
    "Outcome",
    "Passage",
    "PluginError",
    "Position",
    "Question",
    "Quote",
    "Reading",
    "RefusedError",
    "Registry",
    "ReplyError",
    "Retriever",
    "RqaError",
    "Step",
    "Strategy",
    "Token",
    "Toolbox",
    "Trusted",
    "UnavailableError",
    "Url",
    "Usage",
    "__version__",
    "ask",
    "hookimpl",
    "open_session",
]

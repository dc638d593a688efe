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

- `robust_qa.kit`: for strategy authors: citations, quotes, normal forms of answers, sentences and words
- `rqa_prompts`: prompts for language models, forms of replies, and how replies are read
- `rqa_files`: for retrievers that read files
- `robust_qa.cli`: for plugins that add commands
- `robust_qa.answering` and `rqa_rows`: sessions and batches for plugins that add commands
- `rqa_testing`: fakes and the conformance checks
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .config.key import Key as Key
    from .errors import BusyError as BusyError
    from .errors import CallError as CallError
    from .errors import CallTimeout as CallTimeout
    from .errors import ConfigError as ConfigError
    from .errors import ContextError as ContextError
    from .errors import CutError as CutError
    from .errors import Exit as Exit
    from .errors import ExpressionError as ExpressionError
    from .errors import InputError as InputError
    from .errors import MissingError as MissingError
    from .errors import PluginError as PluginError
    from .errors import RefusedError as RefusedError
    from .errors import ReplyError as ReplyError
    from .errors import RqaError as RqaError
    from .errors import UnavailableError as UnavailableError
    from .file_formats import FileFormat as FileFormat
    from .host.metrics import Metric as Metric
    from .host.metrics import Outcome as Outcome
    from .host.registry import Registry as Registry
    from .host.registry import hookimpl as hookimpl
    from .programs import BlockingSession as BlockingSession
    from .programs import ask as ask
    from .programs import open_session as open_session
    from .protocols import AssistedEvaluator as AssistedEvaluator
    from .protocols import Checker as Checker
    from .protocols import Embedder as Embedder
    from .protocols import EmbedderHandle as EmbedderHandle
    from .protocols import Evaluator as Evaluator
    from .protocols import ExtractiveReader as ExtractiveReader
    from .protocols import IndexProgress as IndexProgress
    from .protocols import IndexReport as IndexReport
    from .protocols import LanguageModel as LanguageModel
    from .protocols import ReaderHandle as ReaderHandle
    from .protocols import Recorder as Recorder
    from .protocols import Relay as Relay
    from .protocols import Retriever as Retriever
    from .protocols import Strategy as Strategy
    from .protocols import Toolbox as Toolbox
    from .types import PROBABLE as PROBABLE
    from .types import Answer as Answer
    from .types import Checked as Checked
    from .types import Citation as Citation
    from .types import Completion as Completion
    from .types import Continuation as Continuation
    from .types import Decoding as Decoding
    from .types import EmbedderName as EmbedderName
    from .types import Expression as Expression
    from .types import Judgment as Judgment
    from .types import Message as Message
    from .types import Order as Order
    from .types import Passage as Passage
    from .types import Position as Position
    from .types import Question as Question
    from .types import Quote as Quote
    from .types import Reading as Reading
    from .types import Stale as Stale
    from .types import Step as Step
    from .types import Token as Token
    from .types import Trusted as Trusted
    from .types import Url as Url
    from .types import Usage as Usage
    from .types import Verdict as Verdict
else:
    __getattr__, __all__ = lazy(__name__)

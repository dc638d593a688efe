"""rqa: answers that hold when the documents are irrelevant, contradictory or planted.

A plugin is a module with a class and a hook::

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

and, in its pyproject, an entry point of group `rqa`::

    [project.entry-points.rqa]
    notes = "my_notes"

`rqa plugins new NAME --kind retriever` writes all of that, tested; rqa-plugin(7) is the whole contract.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # not typing's: what is imported here comes before Ctrl-C is minded (__main__.py)
if TYPE_CHECKING:
    from .alone import each_alone as each_alone
    from .charsets import charset as charset
    from .citing import citations as citations
    from .citing import cite as cite
    from .citing import stands_in as stands_in
    from .cli.batch_run import Target as Target
    from .cli.batch_run import answer_rows as answer_rows
    from .cli.batch_run import in_session as in_session
    from .cli.options import Answering as Answering
    from .cli.options import KeyValue as KeyValue
    from .cli.options import answering_options as answering_options
    from .cli.options import jobs_option as jobs_option
    from .cli.options import output_option as output_option
    from .cli.output import console as console
    from .cli.output import cost_line as cost_line
    from .cli.output import print_to as print_to
    from .cli.passages import passages_in as passages_in
    from .cli.run import Run as Run
    from .command_groups import command_group as command_group
    from .components import AssistedEvaluator as AssistedEvaluator
    from .components import Evaluator as Evaluator
    from .components import ExtractiveReader as ExtractiveReader
    from .components import IndexProgress as IndexProgress
    from .components import IndexReport as IndexReport
    from .components import LanguageModel as LanguageModel
    from .components import Retriever as Retriever
    from .components import Strategy as Strategy
    from .english.candidates import candidates as candidates
    from .english.evidence import Candidate as Candidate
    from .english.terms import STOPWORDS as STOPWORDS
    from .english.terms import content_terms as content_terms
    from .environment import cores as cores
    from .environment import data_dir as data_dir
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
    from .expressions import Expression as Expression
    from .expressions import parse_expression as parse_expression
    from .headers import retry_after as retry_after
    from .hookspecs import hookimpl as hookimpl
    from .http import read_body as read_body
    from .installation import install_hint as install_hint
    from .metrics import Metric as Metric
    from .metrics import Outcome as Outcome
    from .order import Order as Order
    from .order import arrange as arrange
    from .pool import Pool as Pool
    from .prompts import Prompt as Prompt
    from .prompts import fenced as fenced
    from .prompts import load_prompts as load_prompts
    from .reading import spoken as spoken
    from .registry import Registry as Registry
    from .remarks import remark as remark
    from .replies import between as between
    from .replies import declines as declines
    from .replies import named_documents as named_documents
    from .replies import one_line as one_line
    from .replies import parse_object as parse_object
    from .replies import parse_objects as parse_objects
    from .replies import says_unknown as says_unknown
    from .replies import without_thoughts as without_thoughts
    from .resume import answered_by as answered_by
    from .rows import check_rows as check_rows
    from .rows import portable as portable
    from .rows import unread_passages as unread_passages
    from .secrets import Key as Key
    from .secrets import is_loopback as is_loopback
    from .session import Session as Session
    from .settings import Url as Url
    from .sharing import even_batches as even_batches
    from .stated import stated_answer as stated_answer
    from .text import answer_key as answer_key
    from .text import contains_answer as contains_answer
    from .text import flat as flat
    from .text import gold_facts as gold_facts
    from .text import normalise as normalise
    from .text import printable as printable
    from .text import raised as raised
    from .text import sentences as sentences
    from .text import titled as titled
    from .text import visible as visible
    from .text import whole_characters as whole_characters
    from .text import words as words
    from .toolbox import Toolbox as Toolbox
    from .types import Answer as Answer
    from .types import Citation as Citation
    from .types import Completion as Completion
    from .types import Continuation as Continuation
    from .types import Decoding as Decoding
    from .types import Message as Message
    from .types import Passage as Passage
    from .types import Position as Position
    from .types import Question as Question
    from .types import Reading as Reading
    from .types import Step as Step
    from .types import Token as Token
    from .types import Usage as Usage

__version__ = "0.1.0"

# Resolved on first use (PEP 562), so that `rqa --version` imports none of it.
_HOME = {
    "alone": "each_alone",
    "charsets": "charset",
    "citing": "citations cite stands_in",
    "cli.batch_run": "Target answer_rows in_session",
    "cli.options": "Answering KeyValue answering_options jobs_option output_option",
    "cli.output": "console cost_line print_to",
    "cli.passages": "passages_in",
    "cli.run": "Run",
    "command_groups": "command_group",
    "components": """AssistedEvaluator Evaluator ExtractiveReader IndexProgress IndexReport LanguageModel Retriever
    Strategy""",
    "english.candidates": "candidates",
    "english.evidence": "Candidate",
    "english.terms": "STOPWORDS content_terms",
    "environment": "cores data_dir",
    "errors": """BusyError CallError CallTimeout ConfigError ContextError CutError Exit ExpressionError InputError
    MissingError PluginError RefusedError ReplyError RqaError UnavailableError""",
    "expressions": "Expression parse_expression",
    "headers": "retry_after",
    "hookspecs": "hookimpl",
    "http": "read_body",
    "installation": "install_hint",
    "metrics": "Metric Outcome",
    "order": "Order arrange",
    "pool": "Pool",
    "prompts": "Prompt fenced load_prompts",
    "reading": "spoken",
    "registry": "Registry",
    "remarks": "remark",
    "replies": "between declines named_documents one_line parse_object parse_objects says_unknown without_thoughts",
    "resume": "answered_by",
    "rows": "check_rows portable unread_passages",
    "secrets": "Key is_loopback",
    "session": "Session",
    "settings": "Url",
    "sharing": "even_batches",
    "stated": "stated_answer",
    "text": """answer_key contains_answer flat gold_facts normalise printable raised sentences titled visible
    whole_characters words""",
    "toolbox": "Toolbox",
    "types": """Answer Citation Completion Continuation Decoding Message Passage Position Question Reading Step Token
    Usage""",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULE)]  # noqa: PLE0604


if not TYPE_CHECKING:  # which would take any name for one that is there

    def __getattr__(name: str) -> object:
        if name not in _MODULE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_MODULE[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE])

"""Answer questions from a program with `Session`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from ..calls.cache import open_cache as open_cache
    from ..calls.concurrency import in_daemon as in_daemon
    from ..calls.contract import answer_of as answer_of
    from ..calls.contract import attributed as attributed
    from ..calls.contract import cancellations as cancellations
    from ..calls.contract import check_component as check_component
    from ..calls.contract import cited as cited
    from ..calls.contract import closed as closed
    from ..calls.contract import passes as passes
    from ..calls.contract import unit_vectors as unit_vectors
    from ..calls.contract import validated as validated
    from ..calls.limits import RESERVED as RESERVED
    from ..calls.limits import Limits as Limits
    from ..calls.pipeline import Pipeline as Pipeline
    from ..calls.trace import Watcher as Watcher
    from ..config.layers import FILE_NAME as FILE_NAME
    from ..config.layers import USER_FILE_NAME as USER_FILE_NAME
    from ..config.layers import Config as Config
    from ..config.options import convert as convert
    from ..config.trusted_files import trust as trust
    from ..config.values import Value as Value
    from ..config.values import scrubbed as scrubbed
    from ..expressions import Source as Source
    from ..expressions import Tree as Tree
    from ..expressions import sources as sources
    from ..host.loading import Host as Host
    from ..protocols import Asking as Asking
    from ..types import ANSWERING_KINDS as ANSWERING_KINDS
    from ..types import Kind as Kind
    from ..types import Power as Power
    from .components import Components as Components
    from .configured import split_reader as split_reader
    from .configured import unusable_handle as unusable_handle
    from .embedding import Handle as Handle
    from .indexing import index as index
    from .indexing import indexed_files as indexed_files
    from .indexing import indexing_retriever as indexing_retriever
    from .passages import BOM as BOM
    from .passages import passages_of as passages_of
    from .passages import plain as plain
    from .passages import portable as portable
    from .passages import read_passages as read_passages
    from .prompting import Prompting as Prompting
    from .recipe import Recipe as Recipe
    from .recipe import recipe_of as recipe_of
    from .recipe import share as share
    from .retrieval import ExpressionPool as ExpressionPool
    from .session import Session as Session
    from .session import check_question as check_question
    from .session import corrected as corrected
    from .toolbox import SessionToolbox as SessionToolbox
else:
    __getattr__, __all__ = lazy(__name__)

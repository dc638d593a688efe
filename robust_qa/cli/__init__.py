"""Tools for plugins that add commands: the options, output and session of the built-in commands.

To open a session, see `robust_qa.cli.answering`. To answer many questions, see `robust_qa.cli.batch_run`.
"""

from __future__ import annotations

from ..encoding import ROW_FORMATS, TEXT_FORMATS, as_json, suffix_of
from .options import (
    Answering,
    FiniteFloat,
    KeyValue,
    StoredKey,
    answering_options,
    engine_option,
    filter_options,
    history_option,
    jobs_option,
    output_option,
    passages_in,
    retrieval_options,
)
from .output import (
    complain,
    console,
    cost_line,
    explain,
    marked_answer,
    print_answer,
    print_data,
    print_rows,
    print_source,
    print_sources,
    print_to,
    print_wrapped,
)
from .run import Run

__all__ = [
    "ROW_FORMATS",
    "TEXT_FORMATS",
    "Answering",
    "FiniteFloat",
    "KeyValue",
    "Run",
    "StoredKey",
    "answering_options",
    "as_json",
    "complain",
    "console",
    "cost_line",
    "engine_option",
    "explain",
    "filter_options",
    "history_option",
    "jobs_option",
    "marked_answer",
    "output_option",
    "passages_in",
    "print_answer",
    "print_data",
    "print_rows",
    "print_source",
    "print_sources",
    "print_to",
    "print_wrapped",
    "retrieval_options",
    "suffix_of",
]

"""Answer many questions: input rows, the run, output and resume."""

from __future__ import annotations

from ..protocols import Engine, Job, Output, ReaderHandle, Recipe, Relay, Result, Worker
from .input import (
    check_rows,
    input_rows,
    is_table,
    portable,
    question_column,
    table_fields,
    workbook_rows,
)
from .lines import read_lines
from .rows import read_passages, unread_passages
from .run import Batch, answer_all
from .state import answered_by, options_of

__all__ = [
    "Batch",
    "Engine",
    "Job",
    "Output",
    "ReaderHandle",
    "Recipe",
    "Relay",
    "Result",
    "Worker",
    "answer_all",
    "answered_by",
    "check_rows",
    "input_rows",
    "is_table",
    "options_of",
    "portable",
    "question_column",
    "read_lines",
    "read_passages",
    "table_fields",
    "unread_passages",
    "workbook_rows",
]

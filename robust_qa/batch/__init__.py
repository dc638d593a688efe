"""Answer many questions: input rows, the run loop, output and resume."""

from __future__ import annotations

from ..documents.lines import read_lines
from ..protocols import Engine, Job, OutputFile, ReaderHandle, Recipe, Relay, Runner, Worker
from ..types import Survey, Tally
from .conversion import converted
from .layout import bare, check_rows, question_column
from .local import Local
from .resume import answered_by, survey
from .rows import portable, read_passages, unread_passages
from .tables import input_rows, is_table, table_fields

__all__ = [
    "Engine",
    "Job",
    "Local",
    "OutputFile",
    "ReaderHandle",
    "Recipe",
    "Relay",
    "Runner",
    "Survey",
    "Tally",
    "Worker",
    "answered_by",
    "bare",
    "check_rows",
    "converted",
    "input_rows",
    "is_table",
    "portable",
    "question_column",
    "read_lines",
    "read_passages",
    "survey",
    "table_fields",
    "unread_passages",
]

"""Answer many questions: input rows, the run, output and resume."""

from __future__ import annotations

from .identity import answered_by, options_of
from .input import check_rows, input_rows, is_table, question_column, table_fields, workbook_rows
from .lines import read_lines
from .output_formats import print_rows
from .protocols import Engine, Job, Output, Recipe, Result, Worker
from .rows import unread_passages
from .run import Batch, answer_all

__all__ = [
    "Batch",
    "Engine",
    "Job",
    "Output",
    "Recipe",
    "Result",
    "Worker",
    "answer_all",
    "answered_by",
    "check_rows",
    "input_rows",
    "is_table",
    "options_of",
    "print_rows",
    "question_column",
    "read_lines",
    "table_fields",
    "unread_passages",
    "workbook_rows",
]

"""Answer many questions: input rows, the run loop, output and resume."""

from __future__ import annotations

from ..protocols import Engine, Job, OutputFile, Recipe, Runner, Worker
from ..types import Survey, Tally
from .resume import answered_by, survey
from .rows import bare, check_rows, portable, read_passages, unread_passages
from .tables import input_rows, table_delimiter, table_fields

__all__ = [
    "Engine",
    "Job",
    "OutputFile",
    "Recipe",
    "Runner",
    "Survey",
    "Tally",
    "Worker",
    "answered_by",
    "bare",
    "check_rows",
    "input_rows",
    "portable",
    "read_passages",
    "survey",
    "table_delimiter",
    "table_fields",
    "unread_passages",
]

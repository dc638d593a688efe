"""Tools for plugins that add commands: the options, output and session of the built-in commands.

To answer many questions, see `robust_qa.cli.batch_run`.
"""

from __future__ import annotations

from .groups import command_group
from .options import Answering, KeyValue, StoredKey, answering_options, jobs_option, output_option, passages_in
from .output import as_json, console, cost_line, print_to
from .run import Run

__all__ = [
    "Answering",
    "KeyValue",
    "Run",
    "StoredKey",
    "answering_options",
    "as_json",
    "command_group",
    "console",
    "cost_line",
    "jobs_option",
    "output_option",
    "passages_in",
    "print_to",
]

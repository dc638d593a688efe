"""For plugins that add commands: the options, the output and the session of the built-in ones.

`robust_qa.cli.batch_run` has what runs many questions.
"""

from __future__ import annotations

from .groups import command_group
from .options import Answering, KeyValue, answering_options, jobs_option, output_option
from .output import console, cost_line, print_to
from .passages import passages_in
from .run import Run

__all__ = [
    "Answering",
    "KeyValue",
    "Run",
    "answering_options",
    "command_group",
    "console",
    "cost_line",
    "jobs_option",
    "output_option",
    "passages_in",
    "print_to",
]

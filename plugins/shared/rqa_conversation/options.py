"""The option of commands that hold a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def follow_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --no-follow, which asks questions as they are typed."""
    return click.option("--no-follow", is_flag=True, help="Ask each question as typed, not completed.")(command)

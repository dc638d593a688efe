"""The history: a recorder that keeps answers on disk, and `rqa history`, which shows them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Registry, hookimpl

if TYPE_CHECKING:
    from robust_qa import Answer


class Recorder:
    """Adds answers to the history."""

    @dataclass
    class Options:
        """Answers kept on disk."""

        enabled: bool = True  # false: keep no answers
        size: Annotated[int, Meta(ge=1)] = 100  # megabytes; the oldest answers go first
        days: Annotated[int, Meta(ge=1)] = 365  # older answers are deleted

    def __init__(self, options: Options) -> None:
        from .store import History

        self._options = options
        self._history = History()
        self._lock = threading.Lock()

    def add(self, answer: Answer, command: str) -> str | None:
        """Add an answer. May wait for another process. Returns a notice with the first one of all."""
        with self._lock:
            new = self._history.add(answer, command, megabytes=self._options.size, days=self._options.days)
        if not new:
            return None
        return (
            f"answers are kept in {self._history.path}, see `rqa history`. "
            "To turn this off, use `-O history.enabled=false`, or write `enabled = false` under [history] in your "
            "configuration"
        )

    def questions(self, command: str, limit: int) -> list[str]:
        """Return the questions of a command among the newest answers, the newest first."""
        with self._lock:
            return [entry.question for entry in self._history.entries(limit=limit) if entry.command == command]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._history.close()


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the recorder and the command."""
    registry.recorder("history", "rqa_history:Recorder", summary="Earlier answers, kept on disk")
    registry.command(
        "history",
        "rqa_history.command:command",
        section="Ask",
        summary="Show, search, export or delete earlier answers.",
    )
    registry.command(
        "open",
        "rqa_history.opening:command",
        section="Ask",
        summary="Show a source of the last answer in its document.",
    )

"""The hooks that a plugin can implement. See also rqa-plugin(7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    import click

    from .metrics import Metric
    from .registry import Registry

hookspec = pluggy.HookspecMarker("rqa")
hookimpl = pluggy.HookimplMarker("rqa")


class Hooks:
    """The hook specifications for pluggy."""

    @hookspec
    def rqa_register(self, registry: Registry) -> None:
        """Register components with `registry.retriever(name, factory)`, `reader` and so on for the other kinds.

        The host calls `factory` with an instance of its `Options` dataclass, or without arguments if it has none.
        This hook runs at every start, so import heavy libraries inside the factory.
        """

    @hookspec
    def rqa_commands(self, cli: click.Group) -> None:
        """Add commands with `cli.add_command(...)`. You cannot replace built-in commands.

        To add a command to a shared group such as `rqa train`, use `command_group(cli, "train", "...")`.
        """

    @hookspec
    def rqa_metrics(self) -> list[Metric]:  # type: ignore[empty-body]
        """Return metrics for `rqa eval`, for example `[Metric("words", count_words, unit="count", better="lower")]`."""

    @hookspec
    def rqa_tools(self, session: Any) -> list[Callable[..., Awaitable[dict[str, Any]]]]:  # type: ignore[empty-body]
        """Return async functions that `rqa mcp` offers to agents, and that use `session`, a Session.

        Their annotations become the schema, and their docstrings tell agents what they do. They return JSON-ready data.
        """

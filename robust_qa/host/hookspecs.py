"""The hooks a plugin may implement; each docstring is that hook's manual. rqa-plugin(7) has the long form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from .metrics import Metric
    from .registry import Registry

hookspec = pluggy.HookspecMarker("rqa")
hookimpl = pluggy.HookimplMarker("rqa")


class Hooks:
    """The namespace pluggy reads the specifications from."""

    @hookspec
    def rqa_register(self, registry: Registry) -> None:
        """Register components: `registry.retriever(name, factory)`, and likewise reader, evaluator, strategy.

        `factory` is called with one instance of its `Options` dataclass (a class without `Options` is called
        with nothing). Keep imports of heavy engines inside the factory: this hook runs at every start.
        """

    @hookspec
    def rqa_commands(self, cli: click.Group) -> None:
        """Add commands of your own with `cli.add_command(...)`; a built-in command cannot be replaced.

        A command of a group that other plugins have a part in, such as `rqa train`, is added to
        `command_group(cli, "train", "...")`.
        """

    @hookspec
    def rqa_metrics(self) -> list[Metric]:  # type: ignore[empty-body]
        """Metrics for `rqa eval`, such as `[Metric("words", count_words, unit="count", better="lower")]`.

        This hook runs when something is evaluated.
        """

"""The conformance checks of commands."""

from __future__ import annotations

import re

import click
from click.testing import CliRunner

from robust_qa.cli import Run

from .suite import Subject, Suite, expect

SUITE = Suite()


@SUITE.behaviour("it is a click command")
async def _shape(subject: Subject) -> None:
    expect(isinstance(subject.component, click.Command), f"it is a {type(subject.component).__name__}")


@SUITE.behaviour("`--help` describes it in a sentence, and every option")
async def _help(subject: Subject) -> None:
    command = subject.component
    expect(bool((command.help or "").strip()), "it has no docstring and no `help`")
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    bare = [each.opts[0] for each in options if not each.help]
    expect(not bare, f"these options have no `help`: {', '.join(bare)}")
    shown = CliRunner().invoke(command, ["--help"], obj=Run())
    expect(shown.exit_code == 0, f"`--help` ended with {shown.exit_code}: {shown.exception or shown.output[:200]}")


@SUITE.behaviour("`--help` has an example")
async def _example(subject: Subject) -> None:
    text = f"{subject.component.help}\n{subject.component.epilog or ''}"
    found = re.search(r"^\s*(?:Examples?:)?\s*rqa \S", text, re.MULTILINE)
    expect(bool(found), 'add one: @click.command(epilog="Example: rqa ...")')

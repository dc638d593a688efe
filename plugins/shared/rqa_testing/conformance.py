"""Conformance checks: does a component keep the contract of its kind?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, get_args

from robust_qa import PluginError, RqaError
from robust_qa.answering import Kind, check_component, closed, passes

from . import checker, command, embedder, engine, evaluator, format, reader, recorder, retriever, strategy
from .suite import Behaviour, Failed, Finding, Make, Skipped, Subject, Suite, described, expect


class Report:
    """Receives the progress of the checks. This one does nothing."""

    def begin(self, name: str) -> None:
        """The check `name` begins."""

    def found(self, finding: Finding) -> None:
        """A check ended."""


COMMON = Suite()


@COMMON.behaviour("its optional attributes have the documented types")
async def _attributes(subject: Subject) -> None:
    subject.attribute("cached", lambda value: isinstance(value, bool), "a bool")
    subject.attribute("close", callable, "a method")
    try:
        check_component(subject.kind, type(subject.component).__name__, subject.component)
    except PluginError as error:
        raise Failed(error.message) from error


@COMMON.behaviour("`fingerprint` returns the same str while nothing changes", of="fingerprint")
async def _fingerprint(subject: Subject) -> None:
    first, second = subject.component.fingerprint(), subject.component.fingerprint()
    expect(isinstance(first, str), f"it returned a {type(first).__name__}")
    expect(first == second, f"it returned {first!r}, then {second!r}")


def check(
    kind: str,
    component: Any,
    *,
    query: str = "What is the capital of France?",
    seconds: float = 300.0,
    close: bool = False,
    make: Make | None = None,
    file: Path | None = None,
    report: Report | None = None,
) -> list[Finding]:
    """Run every check of that kind on the component. Returns one finding for each check.

    `query`: a query for which a retriever finds something.
    `seconds`: the time limit of each check.
    `close`: close the component at the end, and report that as a finding.
    `make`: returns another such component with these options changed. Filters and indexes are not checked without it.
    `file`: an example file for a format, whose component is its FileFormat. That of a command is the click command.
    Skips checks of optional methods that the component lacks. If one of the first two checks fails, skips the others.
    Runs its own event loop. Raises ValueError if there is no such kind.
    """
    subject = Subject(kind, component, query, make, file)
    return asyncio.run(_try_all(_suite(kind), subject, seconds, report or Report(), close=close))


def assert_conforms(
    kind: str,
    component: Any,
    *,
    query: str = "What is the capital of France?",
    make: Make | None = None,
    file: Path | None = None,
) -> None:
    """Raises AssertionError with all findings if a check fails. The arguments are those of `check`."""
    findings = check(kind, component, query=query, make=make, file=file)
    if any(finding.state == "failed" for finding in findings):
        report = "\n".join(map(str, findings))
        raise AssertionError(f"{type(component).__name__} does not conform to the contract of a {kind}:\n{report}")


async def _try_all(suite: Suite, subject: Subject, seconds: float, report: Report, *, close: bool) -> list[Finding]:
    every = [*suite, *(COMMON if subject.kind in get_args(Kind) else [])]
    tried = [each for each in every if not each.of or hasattr(subject.component, each.of)]
    findings: list[Finding] = []
    stop = ""

    def add(finding: Finding) -> None:
        findings.append(finding)
        report.found(finding)

    for behaviour in tried:
        if stop:
            add(Finding(behaviour.name, "skipped", stop))
            continue
        report.begin(behaviour.name)
        try:
            add(await _try(behaviour, subject, seconds))
        except RqaError as error:
            # A model, a key or the network is missing, so the other checks would fail too.
            add(Finding(behaviour.name, "failed", described(error)))
            stop = f"skipped after the {error.kind}"
        if len(findings) <= 2 and findings[-1].state == "failed":
            stop = stop or "skipped, because a call that all checks need failed"
    if close and hasattr(subject.component, "close"):
        report.begin("`close` ends it")
        failure = await closed("it", subject.component, seconds)
        add(Finding("`close` ends it", "failed" if failure else "passed", failure))
    report.begin("its tasks and threads end")
    return findings


async def _try(behaviour: Behaviour, subject: Subject, seconds: float) -> Finding:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            await behaviour.check(subject)
    except Skipped as why:
        return Finding(behaviour.name, "skipped", str(why))
    except Failed as why:
        return Finding(behaviour.name, "failed", str(why))
    except RqaError:
        raise
    except BaseException as error:
        if passes(error):
            raise
        why_not = f"no result within {seconds:g} seconds" if limit.expired() else described(error)
        return Finding(behaviour.name, "failed", why_not)
    return Finding(behaviour.name, "passed")


def _suite(kind: str) -> Suite:
    modules = (retriever, reader, evaluator, embedder, strategy, engine, command, format, checker, recorder)
    suites: dict[str, Suite] = {module.__name__.rpartition(".")[2]: module.SUITE for module in modules}
    if kind not in suites:
        raise ValueError(f"There is no component kind {kind!r}. The kinds are {', '.join(suites)}.")
    return suites[kind]

"""What the host relies on in a component, as behaviours that can be tried on it one by one."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from ..calls.concurrency import call
from ..calls.contract import check_component, closed, passes, validated
from ..errors import PluginError, RqaError
from .bench import toolbox
from .fakes import OverlapEvaluator, ScriptedModel

State: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a component shows one behaviour: `name` says which; `detail` says why not."""

    name: str
    state: State
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.state:>7}  {self.name}" + (f": {self.detail}" if self.detail else "")


class Failed(Exception):
    """The component does otherwise."""


class Skipped(Exception):
    """The behaviour cannot be tried on this component."""


def expect(holds: bool, otherwise: str) -> None:
    """Fail the check unless `holds`; `otherwise` says what was found instead."""
    if not holds:
        raise Failed(otherwise)


def fits(result: Any, promised: Any, *arguments: Any, case: str = "") -> None:
    """Fail the check unless the host would take `result`, given for `arguments`, as what was promised."""
    wrong = validated(result, promised, arguments)[1]
    expect(not wrong, f"{case}it returned {wrong}")


@dataclass(frozen=True, slots=True)
class Subject:
    """The component under check, called as the host calls it."""

    kind: str
    component: Any
    query: str

    async def call(self, method: str, *arguments: Any) -> Any:
        """The method's result; a plain `def` runs in a worker thread."""
        function = getattr(self.component, method)
        if method == "score" and hasattr(self.component, "needs"):
            arguments += (toolbox(self.query, reader=ScriptedModel("Yes."), evaluator=OverlapEvaluator()),)
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        result = await _in_thread(function, *arguments)
        return await result if inspect.isawaitable(result) else result

    async def survives(self, method: str, *cases: tuple[str, tuple[Any, ...]]) -> None:
        """Fail, naming the cases, when the method raises on any of them."""
        raised = []
        for case, arguments in cases:
            try:
                await self.call(method, *arguments)
            except BaseException as error:
                if passes(error):
                    raise
                raised.append(f"{case} raised {told(error)}")
        expect(not raised, "; ".join(raised))

    def attribute(self, name: str, valid: Callable[[Any], bool], expected: str) -> Any:
        """An optional attribute, None when the component lacks it; fail when it is not as `expected`."""
        value = getattr(self.component, name, None)
        expect(not hasattr(self.component, name) or valid(value), f"`{name}` is {value!r}, and should be {expected}")
        return value


Check: TypeAlias = Callable[[Subject], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A check, the sentence that says what it shows, and the optional method it is about ("": none)."""

    name: str
    check: Check
    of: str


class Suite(list[Behaviour]):
    """The behaviours of one kind in the order they are tried; the first is the shape that the others need."""

    def behaviour(self, name: str, *, of: str = "") -> Callable[[Check], Check]:
        """Add a check; with `of` it is tried only where the component has that method."""

        def add(check: Check) -> Check:
            self.append(Behaviour(name, check, of))
            return check

        return add


class Report(Protocol):
    """Who is told how the checks of a component go."""

    def planned(self, names: Sequence[str], /) -> None: ...

    def begin(self, name: str, /) -> None: ...

    def found(self, finding: Finding, /) -> None: ...


class _Silent:
    def planned(self, names: Sequence[str], /) -> None: ...

    def begin(self, name: str, /) -> None: ...

    def found(self, finding: Finding, /) -> None: ...


COMMON = Suite()


@COMMON.behaviour("its optional attributes have the documented types")
async def _attributes(subject: Subject) -> None:
    subject.attribute("cached", lambda value: isinstance(value, bool), "a bool")
    subject.attribute("close", callable, "a method")
    try:
        check_component(subject.kind, type(subject.component).__name__, subject.component)
    except PluginError as error:
        raise Failed(error.message) from error


@COMMON.behaviour("`fingerprint` returns a str, the same while nothing changes", of="fingerprint")
async def _fingerprint(subject: Subject) -> None:
    first, second = subject.component.fingerprint(), subject.component.fingerprint()
    expect(isinstance(first, str), f"it is a {type(first).__name__}")
    expect(first == second, f"it was {first!r}, then {second!r}")


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function` returns, called in a daemon thread: if it hangs, the process does not wait for it."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(call, function, *arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="rqa_check", daemon=True).start()
    return await asyncio.wrap_future(future)


def told(error: BaseException) -> str:
    """An exception in one line."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    hint = getattr(error, "hint", "")
    return " ".join(f"{text} {hint}".split())[:500]


def check(
    kind: str,
    component: Any,
    *,
    query: str = "What is the capital of France?",
    seconds: float = 300.0,
    close: bool = False,
    report: Report | None = None,
) -> list[Finding]:
    """Try every behaviour the host relies on in a component of `kind`, and say of each what was found.

    `query` is for retrievers: one that should find something. Each behaviour may take `seconds`. Behaviours of
    optional methods that the component lacks are left out. What the component raises becomes a finding. With `close`
    it is closed in the end, and how that went is one, too.
    Runs an event loop of its own. Raises ValueError when there is no such kind.
    """
    subject = Subject(kind, component, query)
    return asyncio.run(_try_all(_suite(kind), subject, seconds, report or _Silent(), close=close))


def assert_conforms(kind: str, component: Any, *, query: str = "What is the capital of France?") -> None:
    """Raise AssertionError, with every finding, unless the component has the behaviours of its kind."""
    findings = check(kind, component, query=query)
    if any(finding.state == "failed" for finding in findings):
        report = "\n".join(map(str, findings))
        raise AssertionError(f"{type(component).__name__} is not a {kind} as the host needs one:\n{report}")


async def _try_all(suite: Suite, subject: Subject, seconds: float, report: Report, *, close: bool) -> list[Finding]:
    report.begin(suite[0].name)
    tried = [each for each in (*suite, *COMMON) if not each.of or hasattr(subject.component, each.of)]
    closing = ["`close` ends it"] if close and hasattr(subject.component, "close") else []
    report.planned([*(behaviour.name for behaviour in tried), *closing])
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
            if behaviour is suite[0]:
                raise
            # The checks provoke none: a model, a key or the network is missing, and stays so for the rest.
            add(Finding(behaviour.name, "failed", told(error)))
            stop = f"not tried after the {error.kind}"
        if behaviour is suite[0] and findings[0].state == "failed":
            stop = "not tried, for lack of the above"
    for name in closing:
        report.begin(name)
        failure = await closed("it", subject.component, seconds)
        add(Finding(name, "failed" if failure else "passed", failure))
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
        why_not = f"nothing came within {seconds:g} seconds" if limit.expired() else told(error)
        return Finding(behaviour.name, "failed", why_not)
    return Finding(behaviour.name, "passed")


def _suite(kind: str) -> Suite:
    from . import evaluator, reader, retriever, strategy

    suites: dict[str, Suite] = {
        module.__name__.rpartition(".")[2]: module.SUITE for module in (retriever, reader, evaluator, strategy)
    }
    if kind not in suites:
        raise ValueError(f"{kind!r} is no kind of component; the kinds are {', '.join(suites)}")
    return suites[kind]

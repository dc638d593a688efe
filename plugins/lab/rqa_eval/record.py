"""The record of a run for readers of a paper: machine, models, options, thresholds, and the prompts themselves."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import RqaError
from robust_qa.batch import options_of
from robust_qa.kit import Prompt, load_prompts

if TYPE_CHECKING:
    from robust_qa.answering import Session

_DIGEST = 16  # characters


def record(session: Session, strategies: Iterable[str]) -> dict[str, Any]:
    """Return what the answers of these strategies come from, as JSON. Secrets are asterisks.

    A strategy names its prompts by digest, and their `set`: "rqa", "paper" or the user's "files". `prompts` has each
    text once.
    """
    texts: dict[str, str] = {}
    used = {name: _strategy(session, name, texts) for name in _with_handed_to(session, strategies)}
    machine = {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version()}
    found: dict[str, Any] = {"machine": machine, "strategies": used, "prompts": texts}
    for kind in ("reader", "evaluator"):
        if pipeline := session.components.default(kind):
            found[kind] = {"name": pipeline.name, "options": options_of(f"{kind}.{pipeline.name}", pipeline.options)}
    if "evaluator" in found:
        found["evaluator"]["thresholds"] = session.toolbox("evaluator").thresholds()
    built: dict[str, Any] = msgspec.to_builtins(found, enc_hook=str, str_keys=True)
    return built


def served(session: Session) -> list[str]:
    """Return the models that the server of the default reader says it answered with, with their versions."""
    pipeline = session.components.default("reader")
    return sorted(getattr(pipeline.component, "served", ())) if pipeline else []


def _with_handed_to(session: Session, names: Iterable[str]) -> list[str]:
    """Return the strategies that exist, and those that they hand questions to."""
    found: list[str] = []
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        with suppress(RqaError):  # the run leaves it out
            waiting += getattr(session.components.strategy(name), "hands_to", ())
            found.append(name)
        waiting = [other for other in waiting if other not in found]
    return found


def _strategy(session: Session, name: str, texts: dict[str, str]) -> dict[str, Any]:
    options = session.components.component("strategy", name).options
    strategy = session.components.strategy(name)
    own = {prompt.name: prompt for prompt in _prompts(vars(strategy).values())}
    if "read" in getattr(strategy, "needs", ()):
        own = load_prompts() | own
    digests = {key: hashlib.sha256(one.template.encode()).hexdigest()[:_DIGEST] for key, one in sorted(own.items())}
    texts |= {digests[key]: prompt.template for key, prompt in own.items()}
    chosen = getattr(options, "prompts", None)
    kind = "paper" if chosen == "paper" else "files" if chosen else "rqa"
    return {"options": options_of(f"strategy.{name}", options), "prompts": {"set": kind, **digests}}


def _prompts(values: Iterable[Any], depth: int = 2) -> Iterator[Prompt]:
    """Yield the prompts that a component keeps in attributes, dictionaries and the objects that ask for it."""
    for value in values:
        if isinstance(value, Prompt):
            yield value
        elif depth:
            inside = value if isinstance(value, dict) else getattr(value, "__dict__", {})
            yield from _prompts(inside.values(), depth - 1)

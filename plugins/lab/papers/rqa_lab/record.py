"""The record of a run for readers of a paper: commands, machine, code, models, options, and the prompts themselves."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

import robust_qa
from robust_qa import RqaError
from robust_qa.answering import scrubbed, split_reader
from robust_qa.kit import Prompt
from rqa_prompts import load_prompts
from rqa_rows import options_of

if TYPE_CHECKING:
    from robust_qa.answering import Session

_DIGEST = 16  # characters
_LIBRARIES = "robust-qa robust-qa-lab ctranslate2 llama-cpp-python tantivy tokenizers numpy onnxruntime httpx".split()


def record(session: Session, strategies: Iterable[str]) -> dict[str, Any]:
    """Return what the answers of these strategies come from, as JSON. Secrets are asterisks.

    `sessions` has this command, its machine, code and libraries. `readers` and `evaluators` are all that the strategies
    use, the default one first. A strategy names its prompts by digest, and their `set`: "rqa", "paper" or the user's
    "files". `prompts` has each text once.
    """
    texts: dict[str, str] = {}
    names = _with_handed_to(session, strategies)
    found: dict[str, Any] = {
        "sessions": [this_session()],
        "strategies": {name: _strategy(session, name, texts) for name in names},
        "prompts": texts,
    }
    kinds: dict[Literal["reader", "evaluator"], str] = {"reader": "read_by", "evaluator": "scored_by"}
    for kind, attribute in kinds.items():
        default = session.components.default(kind)
        own = dict.fromkeys(one for name in names for one in _used(session, name, kind, attribute))
        pipelines = [session.components.pipeline(kind, one) for one in own]
        found[f"{kind}s"] = {
            one.name: {"options": options_of(one.name, one.options)} for one in [default, *pipelines] if one
        }
    for name, told in found["evaluators"].items():
        with suppress(RqaError):
            told["thresholds"] = session.toolbox("evaluator").thresholds(name.partition(".")[2])
    built: dict[str, Any] = msgspec.to_builtins(found, enc_hook=str, str_keys=True)
    return built


def this_session() -> dict[str, Any]:
    """Return this command, and the machine and the code that run it."""
    libraries = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            libraries[name] = version(name)
    return {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [_without_secrets(argument) for argument in sys.argv],
        "machine": {
            "platform": platform.platform(),
            "processor": _processor(),
            "cpus": os.cpu_count(),
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "python": platform.python_version(),
        },
        "libraries": libraries,
        "git": {"rqa": _commit(Path(robust_qa.__file__).parent), "folder": _commit(Path.cwd())},
    }


def _without_secrets(argument: str) -> str:
    key, equals, value = argument.partition("=")
    return f"{key}={scrubbed(key, value)}" if equals else str(scrubbed("", argument))


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _commit(folder: Path) -> dict[str, Any] | None:
    """Return the commit of the folder, and whether its files are those of the commit. None without git."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder)]  # the folder's configuration may be untrusted
    try:
        commit, changes = (
            subprocess.run([*command, *asked], capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603
            for asked in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "."])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit.strip(), "clean": not changes.strip()}


def _used(session: Session, strategy: str, kind: str, attribute: str) -> Iterator[str]:
    """Yield the readers or evaluators that the strategy names."""
    if kind == "reader" and (own := split_reader(strategy)[1]):
        yield own
    yield from getattr(session.components.strategy(strategy), attribute, ())


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
    plain = split_reader(name)[0]
    options = session.components.component("strategy", plain).options
    strategy = session.components.strategy(name)
    own = {prompt.name: prompt for prompt in _prompts(vars(strategy).values())}
    if "read" in getattr(strategy, "needs", ()):
        own = load_prompts() | own
    digests = {key: hashlib.sha256(one.template.encode()).hexdigest()[:_DIGEST] for key, one in sorted(own.items())}
    texts |= {digests[key]: prompt.template for key, prompt in own.items()}
    chosen = getattr(options, "prompts", None)
    kind = "paper" if chosen == "paper" else "files" if chosen else "rqa"
    return {"options": options_of(f"strategy.{plain}", options), "prompts": {"set": kind, **digests}}


def _prompts(values: Iterable[Any], depth: int = 2) -> Iterator[Prompt]:
    """Yield the prompts that a component keeps in attributes, dictionaries and the objects that ask for it."""
    for value in values:
        if isinstance(value, Prompt):
            yield value
        elif depth:
            inside = value if isinstance(value, dict) else getattr(value, "__dict__", {})
            yield from _prompts(inside.values(), depth - 1)

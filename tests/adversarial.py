"""Every compiled regular expression of the project over texts that repeat its own words: which of them have no end.

Run as a program, since no thread can stop an expression that runs; it prints a line for each that takes too long.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

_ROOT = Path(__file__).parents[1]
_LENGTH = 500  # characters, as of the longest sentence; one more reading a repeat would already be 2 ** 40
_LONGEST = 2.0  # seconds of an expression over one text, which takes milliseconds
_SIGNS = [*" \n\taA1.,-'\"\\*#<([{", "</", "<!", "A ", "1,", "\n ", "A. ", "&#", "```", "<<<", "--- ", "<!---->"]


def _compiled(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _compiled(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _compiled(one)


def patterns() -> dict[re.Pattern[Any], str]:
    """What the modules of the project hold compiled, with a name for each."""
    packages = ["robust_qa", *(init.parent.name for init in sorted((_ROOT / "plugins").glob("*/*/__init__.py")))]
    found: dict[re.Pattern[Any], str] = {}
    for package in packages:
        path = importlib.import_module(package).__path__
        for name in [package, *(module.name for module in pkgutil.walk_packages(path, f"{package}."))]:
            if name.endswith(".__main__"):
                continue
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError:  # of an extra that is not installed
                continue
            for attribute, value in vars(module).items():
                for pattern in _compiled(value):
                    found.setdefault(pattern, f"{name}.{attribute}")
    return found


def texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """A word that the expression names, or a sign, again and again, and at the end what fits nowhere."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    for word in dict.fromkeys([*re.findall("[A-Za-z]{2,}", written), *_SIGNS]):
        for between in ("", " ", ", "):
            yield (between + word) * (_LENGTH // len(between + word)) + "\x01"


def _stop(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def _run(pattern: re.Pattern[Any], text: str) -> None:
    read: Any = text if isinstance(pattern.pattern, str) else text.encode()
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST)
    try:
        pattern.fullmatch(read)
        for _ in pattern.finditer(read):
            pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _main() -> None:
    signal.signal(signal.SIGVTALRM, _stop)
    for pattern, name in patterns().items():
        for text in texts(pattern):
            try:
                _run(pattern, text)
            except TimeoutError:
                print(f"{name} takes more than {_LONGEST:g} s over {text[:40]!r}...", flush=True)
                break


if __name__ == "__main__":
    _main()

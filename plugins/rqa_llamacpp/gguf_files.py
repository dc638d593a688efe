"""GGUF files seen from outside: whether one is one, what parts it has, and which model it is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from robust_qa import ConfigError, MissingError, RqaError

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf\Z", re.IGNORECASE)
_VERSIONS = (2, 3)
_KEY = b"general.architecture"
_ARCHITECTURE = len(_KEY).to_bytes(8, "little") + _KEY + (8).to_bytes(4, "little")  # 8: the value is a string
_HEAD = 1 << 20
_SAMPLE = 1 << 12
_SAMPLES = 64


def parts(name: str) -> list[str]:
    """The names of all parts of the split model that `name` is a part of; `name` alone when it is whole."""
    match = _PART.search(name)
    if not match:
        return [name]
    total = int(match[2])
    return [f"{name[: match.start()]}-{number:05}-of-{total:05}.gguf" for number in range(1, total + 1)]


def is_whole_or_first(name: str) -> bool:
    """Whether `name` is what to load: a model in one file, or the first of its parts."""
    match = _PART.search(name)
    return match is None or int(match[1]) == 1


def check(path: Path) -> None:
    """Raise ConfigError unless `path` begins as a GGUF file does, MissingError when it lacks parts, RqaError when
    it cannot be read.
    """
    absent = [name for name in parts(path.name) if not path.with_name(name).is_file()]
    if absent:
        raise MissingError(
            f"The model {path} is not whole: {', '.join(absent)} is not there.",
            hint="Pull it again, or copy all parts.",
        )
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise RqaError(f"Cannot read the model {path}: {error.strerror}.") from error
    if start[:4] != b"GGUF":
        raise ConfigError(
            f"{path} is not a GGUF model: it begins with {start[:4]!r}.",
            hint="It may be a web page or a Git LFS pointer. `rqa models pull` fetches models.",
        )
    version = int.from_bytes(start[4:8], "little")
    if version not in _VERSIONS:
        raise ConfigError(f"{path} is GGUF version {version}; llama.cpp reads versions 2 and 3.")


def architecture(path: Path) -> str:
    """The model family that llama.cpp has to know to load `path`, such as "qwen3"; "" if the header names none."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    _, _, value = head.partition(_ARCHITECTURE)
    return value[8 : 8 + int.from_bytes(value[:8], "little")].decode("utf-8", "replace")


def identity(path: Path) -> str:
    """A name for the contents of the model at `path`, without reading gigabytes at every start.

    A hash of each part's size, its first MiB (metadata, template, the vocabulary's beginning) and 64 blocks
    spread evenly over the rest. The blocks are needed: fine-tunes of one model, quantised alike, can agree in
    size and metadata, but training moves nearly every weight. The date is left out, so that a copy is equal.
    """
    digest = hashlib.sha256()
    for name in parts(path.name):
        part = path.with_name(name)
        size = part.stat().st_size
        digest.update(size.to_bytes(8, "little"))
        with part.open("rb") as file:
            digest.update(file.read(_HEAD))
            for offset in _spread(_HEAD, size):
                file.seek(offset)
                digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:32]


def _spread(start: int, end: int) -> Iterable[int]:
    step = max(_SAMPLE, (end - start) // _SAMPLES)
    return range(start, end, step)

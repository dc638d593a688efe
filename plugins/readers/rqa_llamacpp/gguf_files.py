"""GGUF files: validation, parts, architecture and fingerprint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from robust_qa import ConfigError, MissingError, RqaError

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf\Z", re.IGNORECASE)
_KEY = b"general.architecture"
_ARCHITECTURE = len(_KEY).to_bytes(8, "little") + _KEY + (8).to_bytes(4, "little")  # 8: the value is a string
_HEAD = 1 << 20
_SAMPLE = 1 << 12
_SAMPLES = 64


def parts(name: str) -> list[str]:
    """Return the names of all parts of the model, or only `name` if the model is not split."""
    match = _PART.search(name)
    if not match:
        return [name]
    total = int(match[2])
    return [f"{name[: match.start()]}-{number:05}-of-{total:05}.gguf" for number in range(1, total + 1)]


def is_whole_or_first(name: str) -> bool:
    """Whether `name` is a whole model, or the first part of a split one."""
    match = _PART.search(name)
    return match is None or int(match[1]) == 1


def check(path: Path) -> None:
    """Raise ConfigError if `path` is not GGUF, MissingError if parts are missing, RqaError if it cannot be read."""
    absent = [name for name in parts(path.name) if not path.with_name(name).is_file()]
    if absent:
        raise MissingError(
            f"The model {path} is incomplete. Missing: {', '.join(absent)}.",
            hint="Download it again with `rqa models pull`, or copy all parts.",
        )
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise RqaError(f"Cannot read the model {path}: {error.strerror}.") from error
    if start != b"GGUF":
        raise ConfigError(
            f"{path} is not a GGUF model. It starts with {start!r}.",
            hint="It may be a web page or a Git LFS pointer. Download models with `rqa models pull`.",
        )


def architecture(path: Path) -> str:
    """Return the model's architecture, such as "qwen3", or "" if the header has none."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    _, _, value = head.partition(_ARCHITECTURE)
    return value[8 : 8 + int.from_bytes(value[:8], "little")].decode("utf-8", "replace")


def identity(path: Path) -> str:
    """Return a hash that identifies the model, without reading the whole file.

    It covers each part's size, its first MiB and 64 blocks of the rest. Fine-tunes of a model may have the same size
    and metadata, but nearly all of their weights differ. A copy has the same hash.
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

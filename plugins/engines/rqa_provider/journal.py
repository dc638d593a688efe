"""The journal of batches: which file and batch at the provider holds which request."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from robust_qa import InputError
from robust_qa.kit import atomic_write


class _Entry(msgspec.Struct, omit_defaults=True):
    file: str
    batch: str = ""
    requests: list[str] = []


class Journal:
    """A file of JSON lines with ids only, without prompts, replies and keys.

    A request is recorded before its batch begins, so a run that is killed at any moment does not pay for it twice.
    The file is opened by the first request. `forget`: it is emptied then.
    """

    def __init__(self, path: Path, *, forget: bool = False) -> None:
        self.path = path
        self._forget = forget
        self._files: dict[str, str] = {}  # by custom id, of earlier runs
        self._batches: dict[str, str] = {}  # by file
        self._descriptor: int | None = None

    def take(self, custom_id: str) -> str:
        """Return the file in which an earlier run sent this request, once. "" if there is none."""
        self._open()
        return self._files.pop(custom_id, "")

    def batch(self, file: str) -> str:
        """Return the batch that was made of this file, "" if none is recorded."""
        return self._batches.get(file, "")

    def uploaded(self, file: str, requests: Iterable[str]) -> None:
        """Record a file and its requests. Raises InputError if the journal cannot be written."""
        self._add(_Entry(file, requests=[*requests]))

    def began(self, file: str, batch: str) -> None:
        """Record the batch of a file. Raises InputError if the journal cannot be written."""
        self._batches[file] = batch
        self._add(_Entry(file, batch))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _add(self, entry: _Entry) -> None:
        descriptor = self._open()
        try:
            os.write(descriptor, msgspec.json.encode(entry) + b"\n")
            os.fsync(descriptor)
        except OSError as error:
            raise self._unusable(error) from error

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                if self._forget or not self.path.exists():
                    with atomic_write(self.path, 0o600):
                        pass  # empty, and its name is on disk
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
                content = self.path.read_bytes()
                if content and not content.endswith(b"\n"):  # killed while it wrote
                    os.write(self._descriptor, b"\n")
            except OSError as error:
                raise self._unusable(error) from error
            self._load(content)
        return self._descriptor

    def _load(self, content: bytes) -> None:
        for line in content.splitlines():
            try:
                entry = msgspec.json.decode(line, type=_Entry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            self._files |= dict.fromkeys(entry.requests, entry.file)
            if entry.batch:
                self._batches[entry.file] = entry.batch

    def _unusable(self, error: OSError) -> InputError:
        return InputError(f"Cannot write {self.path}: {error.strerror}.")

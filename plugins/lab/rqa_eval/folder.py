"""The folder of a run.

run.json         the settings; written first
questions.jsonl  each question with its passages
answers/         a file for each strategy, in the format of `rqa batch`
scores.jsonl     every metric of every answer
metrics.json     the means; written last
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from robust_qa import BusyError, InputError, RqaError
from robust_qa.kit import atomic_write

FORMAT = 1
_SCORES = ("metrics.json", "scores.jsonl")
_FILES = (*_SCORES, "questions.jsonl", "run.json")
# The questions depend on these settings: a run cannot be continued with other values.
_FIXED = {
    "sets": "the sets",
    "sample": "--sample",
    "seed": "--seed",
    "conditions": "the conditions",
    "retrieval": "the retrieval (--retriever, -k, --docs or the documents)",
}
_NEW_RUN = "`--force` replaces the whole run."


class Folder:
    """A run on disk. Files are replaced atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.questions = path / "questions.jsonl"

    def answers(self, strategy: str) -> Path:
        """Return the path of a strategy's answers."""
        return self.path / "answers" / f"{quote(strategy, safe='')}.jsonl"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create and lock the folder. BusyError if another process has the lock, InputError if it is no folder."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileExistsError as error:
            raise self._not_a_run() from error
        except OSError as error:
            raise RqaError(f"Cannot write {self.path}: {error.strerror}.") from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BusyError(
                    f"Another process is writing {self.path}.", hint="Wait for it to end, or choose another folder."
                ) from error
            except OSError:
                pass  # the file system does not support locks
            yield
        finally:
            os.close(descriptor)

    def begin(
        self, description: Mapping[str, Any], *, resume: bool, force: bool, only_scoring: bool = False
    ) -> dict[str, Any]:
        """Start a new run or continue the existing one. Return the content of run.json.

        `only_scoring`: no question is asked, so documents may have changed.

        A continued run keeps its views and the strategies that have answers. It also keeps its baseline and metric
        unless `description` sets them. Raises InputError if the folder has a run that these settings cannot continue,
        or that neither `resume` nor `force` allows to touch.
        """
        earlier = self._description()
        if force:
            self._clear()
        elif earlier is not None and not resume:
            raise InputError(f"{self.path} already exists.", hint=f"`--resume` continues that run. {_NEW_RUN}")
        elif earlier is not None:
            changed = [
                what
                for key, what in _FIXED.items()
                if _fixed(earlier, key) != _fixed(description, key) and not (only_scoring and key == "retrieval")
            ]
            if changed:
                raise InputError(
                    f"{self.path} cannot be continued. Changed since the first run: {', '.join(changed)}.",
                    hint=f"Use the settings of the first run. {_NEW_RUN}",
                )
            self._check_answering(earlier["answering"], description["answering"])
        whole = {"format": FORMAT, **description}
        if earlier and not force:
            names = [one["name"] for one in description["strategies"]]
            kept = [one for one in earlier["strategies"] if one["name"] in names or self.answers(one["name"]).exists()]
            whole |= {key: earlier[key] for key in ("began", "retrieval")}
            whole["strategies"] = [*kept, *(one for one in description["strategies"] if one not in kept)]
            whole["views"] = list(dict.fromkeys([*earlier["views"], *description["views"]]))
            for key, value in earlier["record"].items():  # of strategies that this command does not name
                now = whole["record"].setdefault(key, value)
                if now is not value:
                    whole["record"][key] = value | now if isinstance(value, dict) else [*value, *now]
            for key in ("baseline", "metric", "over"):
                whole[key] = description[key] or earlier[key]
        self.write("run.json", json.dumps(whole, indent=2) + "\n")
        return whole

    def has_answers(self, strategies: Iterable[str]) -> bool:
        """Return whether the run has an answer of each strategy to each question."""
        try:
            files = (self.questions, *map(self.answers, strategies))
            asked, *answered = (path.read_bytes().count(b"\n") for path in files)
        except FileNotFoundError:
            return False
        return all(count == asked for count in answered)

    def note_served(self, models: Mapping[str, Iterable[str]]) -> None:
        """Add the models that the servers of readers named in their replies to run.json, by reader."""
        whole = self._description() or {}
        served = whole["record"].setdefault("served", {})
        for reader, names in models.items():
            served[reader] = sorted({*served.get(reader, ()), *names})
        self.write("run.json", json.dumps(whole, indent=2) + "\n")

    def remove_scores(self) -> None:
        """Remove the scores before the answers change."""
        for name in _SCORES:
            (self.path / name).unlink(missing_ok=True)

    def _check_answering(self, was: Mapping[str, str], now: Mapping[str, str]) -> None:
        """Raise InputError if the reader or the evaluator changed."""
        if was == now:
            return
        keys = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]
        parts = tuple(f"{key} " for key in keys)  # "reader x" follows from "reader"
        changes = [
            f"`{key}` was {was.get(key, 'not set')} and is {now.get(key, 'not set')}"
            for key in keys
            if not key.startswith(parts)
        ]
        raise InputError(
            f"{self.path} cannot be continued: {'; '.join(changes)}.",
            hint=f"All strategies of a run share a reader and evaluator. Choose another folder with -o. {_NEW_RUN}",
        )

    def write(self, name: str, content: str) -> None:
        """Write `content` to a file."""
        self.write_lines(name, [content])

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write `lines`, which include their newlines, to a file. Raises RqaError if it cannot be written."""
        path = self.path / name
        try:
            (self.path / "answers").mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                file.writelines(line.encode("utf-8", "replace") for line in lines)
        except OSError as error:
            raise RqaError(f"Cannot write {path}: {error.strerror}.") from error

    def _description(self) -> dict[str, Any] | None:
        """Return the content of run.json, or None without a run."""
        try:
            found = json.loads((self.path / "run.json").read_bytes())
        except FileNotFoundError:
            if any(self.path.iterdir()):
                raise self._not_a_run() from None
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / 'run.json'} cannot be read: {error}.") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(
                f"{self.path} was written by another version of rqa.", hint="Choose another folder with -o."
            )
        return found

    def _not_a_run(self) -> InputError:
        return InputError(f"{self.path} exists and is not a run of `rqa eval`.", hint="Choose another folder with -o.")

    def _clear(self) -> None:
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        for file in (self.path / "answers").glob("*.jsonl*"):
            file.unlink()


def _fixed(description: Mapping[str, Any], key: str) -> Any:
    value = description.get(key)
    return [(one["name"], one["sha256"], one["format"]) for one in value] if key == "sets" and value else value


_T = TypeVar("_T")
_HINT = "If the run was interrupted, continue it with `rqa eval ... --resume`."


class _Numbered(msgspec.Struct, frozen=True):
    row: int


class Lines:
    """The lines of a file by row: the line number, or the field `row` if the lines are `numbered`."""

    def __init__(self, path: Path, *, numbered: bool = False) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except FileNotFoundError as error:
            raise InputError(f"{path.parent} has no {path.name}: the run is incomplete.", hint=_HINT) from error
        self._offsets = array("q", [-1])
        try:
            self._index(numbered)
        except BaseException:  # also when interrupted
            self._file.close()
            raise

    def _index(self, numbered: bool) -> None:
        offset = 0
        for count, line in enumerate(self._file, start=1):
            row = self._decode(line, _Numbered, f"line {count}").row if numbered else count
            if row >= len(self._offsets):
                self._offsets.extend([-1] * (row + 1 - len(self._offsets)))
            self._offsets[row] = offset
            offset += len(line)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def get(self, row: int, kind: type[_T]) -> _T | None:
        if row >= len(self._offsets) or self._offsets[row] < 0:
            return None
        self._file.seek(self._offsets[row])
        return self._decode(self._file.readline(), kind, f"row {row}")

    def _decode(self, line: bytes, kind: type[_T], where: str) -> _T:
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{self._path}, {where}: {error}", hint=_HINT) from error

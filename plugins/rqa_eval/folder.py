"""The folder of a run: what was asked for, the questions, the answers of each strategy, the scores.

run.json         what is run; written before anything is asked
questions.jsonl  every question as it is put, a line each
answers/         a file for each strategy, as `rqa batch` writes it
scores.jsonl     every metric of every answer
metrics.json     the means; written last
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from robust_qa import BusyError, InputError, RqaError

FORMAT = 1
_FIGURES = ("metrics.json", "scores.jsonl")
_FILES = (*_FIGURES, "questions.jsonl", "run.json")
# What the questions depend on: a run with other values is another run.
_FIXED = {
    "sets": "the sets",
    "sample": "--sample",
    "seed": "--seed",
    "conditions": "the conditions",
    "retrieval": "where passages come from (--retriever, -k, --docs, and what these hold)",
}
_NEW_RUN = "`--force` replaces the whole run."


class Folder:
    """A run on disk. Files change in one step, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.questions = path / "questions.jsonl"

    def answers(self, strategy: str) -> Path:
        """The file of that strategy's answers."""
        return self.path / "answers" / f"{quote(strategy, safe='')}.jsonl"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of it meanwhile. BusyError when one is at it, InputError when it is no folder."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileExistsError as error:
            raise self._no_run() from error
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
                pass  # the file system has no locks
            yield
        finally:
            os.close(descriptor)

    def begin(self, description: Mapping[str, Any], *, resume: bool, force: bool) -> dict[str, Any]:
        """Make it a new run's, or see that it is the run to be continued. What is in run.json then.

        The strategies of an earlier run that have answers stay in it, before new ones, and so do its views; and its
        baseline and its metric, where the description has None. InputError when it is there already and neither is
        asked for, or when it is another run.
        """
        earlier = self._description()
        if force:
            self._clear()
        elif earlier is not None and not resume:
            raise InputError(f"{self.path} is there already.", hint=f"`--resume` continues that run. {_NEW_RUN}")
        elif earlier is not None:
            known = [(key, what) for key, what in _FIXED.items() if key in earlier]
            changed = [what for key, what in known if _fixed(earlier, key) != _fixed(description, key)]
            if changed:
                verb = "differ" if len(changed) > 1 or changed[0] in ("the sets", "the conditions") else "differs"
                raise InputError(
                    f"{self.path} cannot be continued: {', '.join(changed)} {verb} from what it was begun with.",
                    hint=f"Continue it with what it was begun with. {_NEW_RUN}",
                )
            self._check_answering(earlier.get("answering"), description["answering"])
        whole = {"format": FORMAT, **description}
        if earlier and not force:
            names = [one["name"] for one in description["strategies"]]
            kept = [one for one in earlier["strategies"] if one["name"] in names or self.answers(one["name"]).exists()]
            whole["began"] = earlier["began"]
            whole["strategies"] = [*kept, *(one for one in description["strategies"] if one not in kept)]
            whole["views"] = list(dict.fromkeys([*earlier["views"], *description["views"]]))
            for key in ("baseline", "metric"):
                whole[key] = description[key] or earlier[key]
        self.write("run.json", json.dumps(whole, indent=2) + "\n")
        return whole

    def forget_figures(self) -> None:
        """Remove what was measured of the answers, before these change: the run is not finished then."""
        for name in _FIGURES:
            (self.path / name).unlink(missing_ok=True)

    def _check_answering(self, was: Mapping[str, str] | None, now: Mapping[str, str]) -> None:
        """InputError where other strategies of the run were answered by another reader, or judged otherwise."""
        if was is None or was == now:
            return
        keys = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]
        of_others = tuple(f"{key} " for key in keys)  # whose content and options are others' too
        changes = [
            f"`{key}` was {was.get(key, 'not set')} and is {now.get(key, 'not set')}"
            for key in keys
            if not key.startswith(of_others)
        ]
        raise InputError(
            f"{self.path} cannot be continued: {'; '.join(changes)}.",
            hint=f"One reader answers for all strategies of a run: choose another folder with -o. {_NEW_RUN}",
        )

    def write(self, name: str, content: str) -> None:
        """Replace a file by `content`."""
        self.write_lines(name, [content])

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Replace a file by `lines`, which hold their ends, as they come. RqaError when it cannot be written."""
        path = self.path / name
        try:
            (self.path / "answers").mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f".{name}.draft")
            draft.unlink(missing_ok=True)  # of a process that was killed: the folder is locked by this one
            try:
                with draft.open("x", encoding="utf-8", errors="replace") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
            finally:  # also when interrupted: no draft stays behind
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise RqaError(f"Cannot write {path}: {error.strerror}.") from error

    def _description(self) -> dict[str, Any] | None:
        """What is known of the run that is here; None where there is none."""
        try:
            found = json.loads((self.path / "run.json").read_bytes())
        except FileNotFoundError:
            if self.path.exists() and not self._is_begun():
                raise self._no_run() from None
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / 'run.json'} cannot be read: {error}.") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"{self.path} is a run of another version of rqa.", hint="Choose another folder with -o.")
        return found

    def _no_run(self) -> InputError:
        return InputError(f"{self.path} is there, and it is no run of `rqa eval`.")

    def _is_begun(self) -> bool:
        """Whether it is empty, or a run that was killed before it had a description."""
        return self.path.is_dir() and all(
            file.name == "answers" or file.name.startswith(".run.json.") for file in self.path.iterdir()
        )

    def _clear(self) -> None:
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        for file in (self.path / "answers").glob("*.jsonl*"):
            file.unlink()


def _fixed(description: Mapping[str, Any], key: str) -> Any:
    value = description.get(key)
    return [(one["name"], one["sha256"], one["format"]) for one in value] if key == "sets" and value else value

"""What a question may be asked of: all documents, one folder of them, or files that were dropped on the page."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from robust_qa import ConfigError, InputError
from robust_qa.kit import single_line

from .requests import ApiError

if TYPE_CHECKING:
    from robust_qa.answering import Session

T = TypeVar("T")

_MOST_FOLDERS = 50
_LONGEST_NAME = 150  # characters


class Remote:
    """A session that lives in the event loop that runs now, as the server's loop uses it.

    So work on a long text holds only the session's own loop.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._loop = asyncio.get_running_loop()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, done in the session's loop. Cancelling this cancels it, and does not wait."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class Opening(Protocol):
    """Opens a further session with the settings of the first, over other documents or a part of them."""

    def __call__(self, *, docs: Sequence[Path] = (), filters: Mapping[str, str] | None = None) -> Session: ...


class Corpora:
    """The sessions of a server, in the event loop that runs now. Further ones are opened when they are asked first."""

    def __init__(self, session: Session, opening: Opening) -> None:
        self.all = Remote(session)
        self._opening = opening
        self._further: dict[str, Remote] = {}  # by folder
        self._dropped: Path | None = None
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def of(self, folder: str | None) -> Remote:
        """Return the session over `folder`, or over all documents. Raises ApiError if there is no such folder."""
        return await self.all.run(self._of(folder)) if folder else self.all

    async def files(self) -> set[str]:
        """Return the names of the indexed files, with the dropped ones."""
        found = {*await self.all.run(self.all.session.files())}
        if self.dropped:
            found |= {*await self.all.run(self._further[self.dropped].session.files())}
        return found

    @property
    def dropped(self) -> str:
        """The folder of the dropped files, empty if there are none."""
        folder = str(self._dropped or "")
        return folder if folder in self._further else ""

    def folders(self, names: Sequence[str]) -> list[str]:
        """Return the folders that hold some of the files `names` each, if questions can be restricted to one."""
        parts = self.all.session.components
        try:
            parts.check_filters(parts.retriever_names(), ["within"])
        except ConfigError:
            return []
        top, whole = folder_of(names)
        found = {top / path.relative_to(top).parts[0] for path in whole if path.parent != top}
        return sorted(map(str, found))[:_MOST_FOLDERS]

    async def keep(self, name: str, content: bytes) -> None:
        """Keep a dropped file until the server stops. Raises ApiError or RqaError if it cannot be read."""
        await self.all.run(self._keep(name, content))

    async def _of(self, folder: str) -> Remote:
        async with self._lock:
            if folder not in self._further:
                if folder not in self.folders([*await self.all.session.files()]):
                    raise ApiError(404, f"No indexed documents are in {folder!r}.", code="folder_not_found")
                await self._open(folder, filters={"within": folder})
            return self._further[folder]

    async def _keep(self, name: str, content: bytes) -> None:
        plain = single_line(PurePath(name.replace("\\", "/")).name).lstrip(".")[-_LONGEST_NAME:]
        if not plain:
            raise InputError(f"{name!r} is no name of a file.", hint="Give it a name with a suffix, such as notes.md.")
        async with self._lock:
            if self._dropped is None:
                self._dropped = Path(self._stack.enter_context(TemporaryDirectory(prefix="rqa-dropped-")))
            file = self._dropped / plain
            file.write_bytes(content)
            try:
                if self.dropped:
                    await asyncio.to_thread(self._further[self.dropped].session.refresh)
                else:
                    await self._open(str(self._dropped), docs=[self._dropped])
                indexed = await self._further[self.dropped].session.files()
                if str(file) not in indexed:
                    raise InputError(f"Found no text in {plain}.", hint="`rqa help` lists the formats that are read.")
            except BaseException:  # also when cancelled: what is not indexed is not kept
                file.unlink()
                raise

    async def _open(self, folder: str, **over: Any) -> None:
        session = await asyncio.to_thread(self._opening, **over)
        if "docs" in over:  # nothing of them stays behind
            for options in session.components.overrides.values():
                self._stack.callback(shutil.rmtree, options["index"], ignore_errors=True)
        await self._stack.enter_async_context(session)
        self._further[folder] = Remote(session)


def folder_of(names: Sequence[str]) -> tuple[Path, list[Path]]:
    """Return the folder that holds all files among `names`, which may be addresses, too, and these files."""
    files = [Path(name) for name in names if Path(name).is_absolute()]
    return Path(os.path.commonpath([file.parent for file in files])) if files else Path(), files

"""The session, as the event loop of the server uses it: work on a long text holds only the session's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from robust_qa.answering import Session

T = TypeVar("T")


class Remote:
    """A session that lives in the event loop that runs now."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._loop = asyncio.get_running_loop()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, done in the session's loop. Cancelling this cancels it, and does not wait."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

"""Ask about several things at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ..errors import ContextError, CutError, RefusedError, RqaError

A = TypeVar("A")
T = TypeVar("T")


async def ask_each(ask: Callable[[A], Awaitable[T]], items: Iterable[A]) -> list[T | RqaError]:
    """Call `ask` for all items concurrently. Return for each item the result or its error.

    The errors returned are CutError, RefusedError and ContextError, unless they are general. Raises the first of them
    if every item failed. Any other error cancels the rest and is raised in an exception group.
    """

    async def result_of(item: A) -> T | RqaError:
        try:
            return await ask(item)
        except (CutError, ContextError, RefusedError) as error:
            if error.general:
                raise
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(result_of(item)) for item in items]
    results = [task.result() for task in tasks]
    errors = [result for result in results if isinstance(result, RqaError)]
    if errors and len(errors) == len(results):
        raise errors[0]
    return results

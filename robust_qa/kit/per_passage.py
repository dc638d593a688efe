"""What is asked about each of several passages or texts alone, so that none takes the others along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ..errors import ContextError, CutError, RefusedError, RqaError

A = TypeVar("A")
T = TypeVar("T")


async def ask_each(ask: Callable[[A], Awaitable[T]], asked: Iterable[A]) -> list[T | RqaError]:
    """What `ask` gives of each of `asked`, all at once; or what is wrong with that one.

    That is a reply that was cut, one that the provider refuses, or a prompt that overflows the window. Raises the first
    of these where every one ended so; and, in a group, any other error.
    """
    import asyncio

    async def alone(one: A) -> T | RqaError:
        try:
            return await ask(one)
        except (CutError, ContextError, RefusedError) as error:
            if error.general:
                raise
            return error

    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(alone(one)) for one in asked]
    found = [task.result() for task in asking]
    errors = [each for each in found if isinstance(each, RqaError)]
    if errors and len(errors) == len(found):
        raise errors[0]
    return found

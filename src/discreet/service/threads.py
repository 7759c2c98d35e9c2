"""Threads for pages and lists: a few, with a bounded queue, so that nothing else ever waits for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from discreet.service.errors import ServiceProblem

THREADS = 4
"""The number of threads."""
MOST_WAITING = 64
"""The largest number of requests that are being answered or wait for a thread."""
T = TypeVar("T")


class Threads:
    """A few threads for slow work. Beyond a number of requests that wait, others are refused."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "discreet-pages")
        self._waiting = 0

    async def run(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Return the result of some work that is done in one of the threads.

        Args:
            work: The work.
            *given: Its arguments.
            **named: Its arguments by name.

        Raises:
            ServiceProblem: Too many requests are waiting.
        """
        if self._waiting >= MOST_WAITING:
            raise ServiceProblem(503, "overloaded", "too many pages and lists are waiting; try again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given, **named))
        finally:
            self._waiting -= 1

    def stop(self) -> None:
        """End the threads after what they are doing."""
        self._threads.shutdown(cancel_futures=True)

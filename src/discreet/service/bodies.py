"""Bodies of requests, bounded while they arrive: each by itself, and all that a process is reading together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from discreet.service.errors import ServiceProblem

MOST_READING = 64_000_000
"""The largest size of all bodies together that a process is reading."""
_reading = 0  # bytes of them now


@asynccontextmanager
async def body_of(request: Request, most: int, too_large: ServiceProblem) -> AsyncIterator[bytearray]:
    """Read the body of a request. Its size counts until the block ends.

    Args:
        request: The request.
        most: The largest number of bytes.
        too_large: The refusal of a larger one.

    Raises:
        ServiceProblem: It is too large, or too many large ones are being read.
    """
    global _reading  # noqa: PLW0603  (all requests of a process share what bodies may take)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            _reading += len(chunk)
            if len(body) > most:
                raise too_large
            if _reading > MOST_READING:
                raise ServiceProblem(503, "overloaded", "too many large requests at once; try again in a moment")
        yield body
    finally:
        _reading -= len(body)

"""Bodies of requests, bounded while they arrive: each by itself, and all that a process is reading together."""

from starlette.requests import ClientDisconnect, Request

from discreet.service.errors import ServiceProblem

MOST_READING = 64_000_000
"""The largest size of all bodies together that a process is reading."""
_reading = 0  # bytes of them now


async def body_of(request: Request, most: int, too_large: str, title: str = "too large") -> bytearray:
    """Return the body of a request. Its size counts while it is read.

    Args:
        request: The request.
        most: The largest number of bytes.
        too_large: The refusal of a larger one, in words.
        title: Its title.

    Raises:
        ServiceProblem: It is too large, or too many large ones are being read.
        ClientDisconnect: It ended too soon.
    """
    global _reading  # noqa: PLW0603  (all requests of a process share what bodies may take)
    body, more = bytearray(), True
    try:
        while more:  # as Request.stream does, which costs a small request more than its parsing
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk, more = message.get("body", b""), message.get("more_body", False)
            body += chunk
            _reading += len(chunk)
            if len(body) > most:
                raise ServiceProblem(413, title, too_large)
            if _reading > MOST_READING:
                raise ServiceProblem(503, "overloaded", "too many large requests at once; try again in a moment")
        return body
    finally:
        _reading -= len(body)

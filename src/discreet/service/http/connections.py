"""Connections with limits: a stranger can make the server keep a constant number of bytes, for a constant time.

The limits hold in the server itself, before a request is known: no proxy has to be in front.
"""

import asyncio
import contextlib
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES = 16_384
"""The largest head of a request: its first line and its headers."""
HEAD_SECONDS = 10.0
"""The longest time that a head may take to arrive, from the connection or from its first byte on."""
BODY_SECONDS = 30.0
"""The longest time that a body may take to arrive."""
AHEAD = 16
"""The largest number of requests that a connection may send ahead of the answer that it waits for."""
PER_ADDRESS = 256
"""The largest number of connections of one address."""
IN_ALL = 2_000
"""The largest number of connections of one process."""

_DESCRIPTORS = 512  # besides connections: the database, files, libraries
_open: Counter[str] = Counter()  # connections by address, of this process


class Connection(HttpToolsProtocol):
    """One client's connection.

    Requests that are too large or too slow, and connections beyond the limits, are answered and closed. What is
    refused here never reaches the application.
    """

    per_address = PER_ADDRESS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._address: str | None = None  # set while the connection is counted
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._in_body = False
        self._head_bytes = 0
        self._answering: list[RequestResponseCycle] = []  # requests that are not answered yet

    # ------------------------------------------------------------------ connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, or refuse it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if _open[address] >= self.per_address or _open.total() >= IN_ALL:
            self._refuse(503, "too many connections")
            return
        self._address = address
        _open[address] += 1
        self._expect(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._expect(None)
        if self._address is not None:
            _open[self._address] -= 1
            if not _open[self._address]:
                del _open[self._address]
            self._address = None
        self._give_up()
        super().connection_lost(exc)

    # ------------------------------------------------------------------ requests

    def data_received(self, data: bytes) -> None:
        """Read on: a head up to its limit, and what follows it as it comes."""
        if self.transport.is_closing():
            return
        if self._in_head:
            room = HEAD_BYTES - self._head_bytes
            head, data = data[:room], data[room:]
            self._head_bytes += len(head)
            super().data_received(head)
            if self._in_head and self._head_bytes >= HEAD_BYTES:
                self._refuse(431, f"a head has at most {HEAD_BYTES} bytes")
        if data and not self.transport.is_closing():
            super().data_received(data)
        if not (self._in_head or self._in_body):
            self._expect(None)
        elif self._timer is None and not self.transport.is_closing():
            self._expect(HEAD_SECONDS if self._in_head else BODY_SECONDS)

    def on_message_begin(self) -> None:
        """Begin a head."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """End a head. Of a connection that sends too many of them ahead nothing more is kept."""
        if len(self.pipeline) >= AHEAD:
            self._close()
        if self.transport.is_closing():
            return
        self._in_head, self._in_body, self._head_bytes = False, True, 0
        self._expect(None)
        super().on_headers_complete()
        self._answering = [one for one in self._answering if not one.response_complete]
        self._answering.append(self.cycle)

    def on_message_complete(self) -> None:
        """End a body."""
        self._in_body = False
        super().on_message_complete()

    # ------------------------------------------------------------------ limits

    def _expect(self, seconds: float | None) -> None:
        """Give what is being read so much time; None when there is nothing to wait for."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._take_too_long)

    def _take_too_long(self) -> None:
        self._timer = None
        if self._in_head:
            self._refuse(408, f"a head must arrive within {HEAD_SECONDS:g} seconds")
        else:
            self._close()

    def _refuse(self, status: int, why: str) -> None:
        """Answer in a few bytes, and close the connection."""
        if self.transport.is_closing():
            return
        lines = [b"content-type: text/plain", b"connection: close", b"content-length: %d" % len(why), b"", why.encode()]
        self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines))
        self._close()

    def _close(self) -> None:
        """Close the connection."""
        self._give_up()
        self.transport.close()

    def _give_up(self) -> None:
        """Tell requests that are not answered yet that the client has gone: else each would fail, and be logged."""
        for one in self._answering:
            one.disconnected = True
            one.message_event.set()
        self._answering.clear()


def raise_file_limit() -> None:
    """Let this process open as many files as all connections need, as far as the system allows."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  (not on Windows)

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = IN_ALL + _DESCRIPTORS
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

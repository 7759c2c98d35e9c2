"""The real service on a port of this machine, for tests of its clients."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import uvicorn

from discreet.service.experiments.control import Control
from discreet.service.http.app import make_app
from discreet.service.http.connections import Connection
from discreet.service.storage import open_database


@dataclass(frozen=True)
class Live:
    address: str
    key: str


@contextlib.contextmanager
def running(database, *, tick: float = 0.05, clock=None) -> Iterator[Live]:
    """A service on a new database, with its admin key."""
    opened = open_database(str(database), clock=clock)
    control = Control(opened)
    key = control.set_up()
    assert key is not None
    try:
        with served(make_app(control, tick=tick), log_level="warning") as (host, port):
            yield Live(f"http://{host}:{port}", key)
    finally:
        opened.close()


@contextlib.contextmanager
def served(app, **options) -> Iterator[tuple[str, int]]:
    """An application on a port of this machine, behind connections with limits, and its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, access_log=False, http=Connection, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()

"""Many clients at once: HTTP/1.1 over connections that are kept open, with as little work for each request as possible.

python -m benchmarks.load JOB ANSWER

A job is a file that says where to send what (`paths` and `bodies`, one for each request), from how many `clients`, for
how many `seconds` at most. The answer is a file that says how many requests were answered, in which time, how long they
waited, and, if the job asks for it, what was answered. Requests go out in their order. It is a process of its own, so
that the clients' work is not counted as the server's.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import uvloop


class Client(asyncio.Protocol):
    """One connection: the next request goes out when the last one was answered."""

    def __init__(self, requests, deadline, expected, keep):
        self._requests, self._deadline, self._expected, self._keep = requests, deadline, expected, keep
        self._received, self._needed, self._sent = b"", 0, 0.0
        self.waits, self.bodies = [], []
        self.finished = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self._transport = transport
        self._next()

    def data_received(self, data):
        self._received += data
        if not self._needed:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return
            at = self._received.find(b"content-length: ") + 16
            self._needed = head + 4 + int(self._received[at : self._received.find(b"\r\n", at)])
        if len(self._received) < self._needed:
            return
        self.waits.append(time.perf_counter() - self._sent)
        if self._received[9:12] != self._expected:
            self.connection_lost(RuntimeError(self._received.decode()))
            return
        if self._keep:
            self.bodies.append(self._received.partition(b"\r\n\r\n")[2].decode())
        self._received, self._needed = b"", 0
        self._next()

    def connection_lost(self, error):
        if not self.finished.done():
            self.finished.set_exception(error or RuntimeError("the server hung up"))

    def _next(self):
        self._sent = time.perf_counter()
        request = next(self._requests, None) if self._sent < self._deadline else None
        if request is None:
            self.finished.set_result(None)
            self._transport.close()
        else:
            self._transport.write(request)


def request(job, path, body):
    head = (
        f"{job['method']} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {job['key']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


async def run(job):
    requests = iter([request(job, path, body) for path, body in zip(job["paths"], job["bodies"], strict=True)])
    loop, start = asyncio.get_running_loop(), time.perf_counter()
    clients = []
    for _ in range(job["clients"]):
        _, client = await loop.create_connection(
            lambda: Client(requests, start + job["seconds"], str(job["status"]).encode(), job["keep"]),
            "127.0.0.1", job["port"],
        )  # fmt: skip
        clients.append(client)
    await asyncio.gather(*[client.finished for client in clients])
    seconds = time.perf_counter() - start
    waits = sorted(wait for client in clients for wait in client.waits)
    return {
        "requests": len(waits),
        "seconds": seconds,
        "p50": waits[len(waits) // 2],
        "p99": waits[len(waits) * 99 // 100],
        "processor": time.process_time(),
        "bodies": [body for client in clients for body in client.bodies],
    }


if __name__ == "__main__":
    job, answer = map(Path, sys.argv[1:])
    answer.write_text(json.dumps(uvloop.run(run(json.loads(job.read_text())))))

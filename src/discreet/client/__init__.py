"""Clients of a discreet service: `Client` for threads and `AsyncClient` for asyncio.

    with discreet.Client("http://127.0.0.1:8000", key="...") as client:
        banners = client.experiment("banners", fallback="blue")
        with banners.trial("visitor-17") as trial:
            if show(trial.arm):
                trial.reward = 1

The logic is written once, as coroutines:

    running                      runtimes, and the decorator that makes an operation of a coroutine
    api                          the HTTP API: address and key, requests, replies and errors
    outbox                       the queue of reports
    logic                        retries, batches, fallbacks
    service, experiment          the operations of both clients
    client, async_client         the two clients, with a runtime of threads and one of asyncio

It needs httpx and msgspec: the extra `client`.
"""

from discreet.client.async_client import AsyncClient, AsyncExperiment
from discreet.client.client import Client, Experiment
from discreet.client.experiment import Trial
from discreet.core.errors import ServiceError, UnreachableError

__all__ = ["AsyncClient", "AsyncExperiment", "Client", "Experiment", "ServiceError", "Trial", "UnreachableError"]

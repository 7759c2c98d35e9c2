"""Clients of a discreet service: `Client` for threads and `AsyncClient` for asyncio.

    with discreet.Client("http://127.0.0.1:8000", key="...") as client:
        banners = client.experiment("banners", fallback="blue")
        with banners.trial("visitor-17") as trial:
            if show(trial.arm):
                trial.reward = 1

The logic is written once, as generators that yield effects:

    effects                      the effects (send, pause, work) and the decorator of operations
    api                          the HTTP API: address and key, requests, replies and errors
    outbox                       the queue of reports
    logic                        retries, batches, fallbacks
    service, experiment          the operations of both clients
    client, async_client         the two clients, which carry out the effects

It needs httpx and msgspec: pip install 'discreet[client]'.
"""

from discreet.client.async_client import AsyncClient, AsyncExperiment
from discreet.client.client import Client, Experiment
from discreet.client.experiment import Trial
from discreet.core.errors import ServiceError, UnreachableError

__all__ = ["AsyncClient", "AsyncExperiment", "Client", "Experiment", "ServiceError", "Trial", "UnreachableError"]

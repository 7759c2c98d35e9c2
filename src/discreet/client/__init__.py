"""A discreet service from Python: `Client`, and `AsyncClient` for asyncio.

    with discreet.Client("http://127.0.0.1:8000", key="...") as client:
        banners = client.experiment("banners", fallback="blue")
        with banners.trial("visitor-17") as trial:
            if show(trial.arm):
                trial.reward = 1

The logic is written once, as generators that yield what they want done:

    effects                      what can be wanted: send, pause, work
    calls, connection            the HTTP API, and httpx
    outbox                       reports that wait
    core                         retries, batches, fallbacks
    operation                    one definition for both clients
    service, experiment          all operations
    blocking, awaiting           the two shells that carry them out

It needs httpx and msgspec: pip install 'discreet[client]'.
"""

from discreet.client.async_client import AsyncClient, AsyncExperiment
from discreet.client.client import Client, Experiment
from discreet.client.experiment import Trial
from discreet.core.errors import ServiceError, UnreachableError

__all__ = ["AsyncClient", "AsyncExperiment", "Client", "Experiment", "ServiceError", "Trial", "UnreachableError"]

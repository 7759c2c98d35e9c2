"""Counts of requests, their times and their answers. None of rewards, arms or experiments.

Where only successes are reported, the number of rewards is the number of successes. So nothing here counts them, and
the requests that carry them are counted with all others.
"""

import itertools
import threading
from bisect import bisect_left
from collections.abc import Mapping

from discreet._version import __version__

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counters of one process, as Prometheus reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, int] = {}
        self._times = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0
        self._assigned = self._closed = self._failed_closes = 0

    def answered(self, status: int, seconds: float) -> None:
        """Count a request that was answered.

        Args:
            status: The status of the answer.
            seconds: The time that it took.
        """
        with self._lock:
            family = f"{status // 100}xx"
            self._answers[family] = self._answers.get(family, 0) + 1
            self._seconds += seconds
            self._times[bisect_left(_BOUNDS, seconds)] += 1

    def assigned(self, count: int) -> None:
        """Count units that were assigned: who takes part is public."""
        with self._lock:
            self._assigned += count

    def closed(self, *, failed: bool = False) -> None:
        """Count an epoch that was closed, or could not be."""
        with self._lock:
            self._failed_closes += failed
            self._closed += not failed

    def text(self, *, failed_journal_writes: int = 0) -> str:
        """Return all counters in Prometheus' format.

        Args:
            failed_journal_writes: The journal's own counter.
        """
        with self._lock:
            answers = {f'{{code="{code}"}}': count for code, count in sorted(self._answers.items())}
            families: list[tuple[str, str, Mapping[str, int | str]]] = [
                ("info", "gauge", {f'{{version="{__version__}"}}': 1}),
                ("http_responses_total", "counter", answers),
                ("http_request_seconds", "histogram", self._histogram()),
                ("assigned_units_total", "counter", {"": self._assigned}),
                ("closed_epochs_total", "counter", {"": self._closed}),
                ("failed_closes_total", "counter", {"": self._failed_closes}),
                ("failed_journal_writes_total", "counter", {"": failed_journal_writes}),
            ]
        lines = []
        for name, kind, samples in families:
            lines += [f"# TYPE discreet_{name} {kind}"]
            lines += [f"discreet_{name}{label} {value}" for label, value in samples.items()]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> dict[str, int | str]:
        bounds = (*map(str, _BOUNDS), "+Inf")
        below = itertools.accumulate(self._times)
        buckets = {f'_bucket{{le="{bound}"}}': count for bound, count in zip(bounds, below, strict=True)}
        return {**buckets, "_sum": f"{self._seconds:.6f}", "_count": sum(self._times)}

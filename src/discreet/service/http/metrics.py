"""Counts of requests, their times and their answers. None of rewards, arms or experiments.

Where only successes are reported, the number of rewards is the number of successes. So nothing here counts them, and
the requests that carry them are counted with all others.
"""

import threading
from bisect import bisect_left

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

    def text(self) -> str:
        """Return all counters in Prometheus' format."""
        with self._lock:
            lines = [
                "# TYPE discreet_info gauge",
                f'discreet_info{{version="{__version__}"}} 1',
                "# TYPE discreet_http_responses_total counter",
                *[f'discreet_http_responses_total{{code="{code}"}} {n}' for code, n in sorted(self._answers.items())],
                "# TYPE discreet_http_request_seconds histogram",
                *self._histogram(),
                "# TYPE discreet_assigned_units_total counter",
                f"discreet_assigned_units_total {self._assigned}",
                "# TYPE discreet_closed_epochs_total counter",
                f"discreet_closed_epochs_total {self._closed}",
                "# TYPE discreet_failed_closes_total counter",
                f"discreet_failed_closes_total {self._failed_closes}",
            ]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        lines, below = [], 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._times, strict=True):
            below += count
            lines.append(f'discreet_http_request_seconds_bucket{{le="{bound}"}} {below}')
        total = sum(self._times)
        return [
            *lines,
            f"discreet_http_request_seconds_sum {self._seconds:.6f}",
            f"discreet_http_request_seconds_count {total}",
        ]

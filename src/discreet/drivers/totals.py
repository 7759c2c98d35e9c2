"""Epochs by hand: for whoever adds rewards up elsewhere."""

from collections.abc import Mapping
from typing import Any

from discreet.core.errors import FinishedError
from discreet.core.plans import Arm, Plan
from discreet.core.releases import Release
from discreet.drivers._base import Driver


class Totals(Driver):
    """Returns an algorithm's plans, and takes each planned arm's exact total.

    Args:
        algorithm: A policy or a stopping rule. The driver works on a copy.
        noise: A simulated source for studies and tests; by default private noise.

    >>> import discreet
    >>> policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> epochs = Totals(policy, noise=discreet.SimulatedNoise(7))
    >>> epochs.plan().pulls
    {'A': 1535, 'B': 1535}
    >>> rewards = {"A": policy.grid.total([1.0] * 1535), "B": policy.grid.total([0.0] * 1535)}
    >>> [release.arm for release in epochs.close(rewards)]
    ['A', 'B']
    >>> epochs.algorithm.viable
    ('A',)
    """

    kind = "totals"

    def plan(self) -> Plan | None:
        """Return what to sample next; None when nothing is left."""
        return self._plan

    def close(self, totals: Mapping[Arm, Any] | None = None) -> tuple[Release, ...]:
        """Close the open epoch.

        Args:
            totals: Each planned arm's exact total in grid steps, as `grid.total(rewards)` returns it; None for a plan
                without a query.

        Returns:
            What was released.

        Raises:
            FinishedError: There is no epoch to close.
            ArgumentError: The totals are not those of the plan. Nothing has changed.
            OSError: The file could not be written, so nothing was released.
        """
        self._check_process()
        if self._plan is None:
            algorithm = self._algorithm
            pulls = sum(algorithm.taken.values())
            raise FinishedError(f"this {algorithm.key} has finished after {pulls} pulls: there is no epoch to close")
        with self._commit():
            return self._close(self._plan, totals)

    def _open_state(self) -> dict[str, Any]:
        return {}

    def _restore_open(self, state: dict[str, Any]) -> None:
        pass

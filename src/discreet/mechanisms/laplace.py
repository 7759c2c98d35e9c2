"""The Laplace mechanism on integers."""

from __future__ import annotations

from typing import Any

from discreet.core import checks
from discreet.core.noise import Noise, Reserve, checked_noise, scale_for
from discreet.mechanisms._secret import Guarded


class LaplaceMechanism(Guarded):
    """Releases integers of a given sensitivity with discrete Laplace noise of scale sensitivity/epsilon.

    Private because for integers x, x' with |x - x'| <= d and every output y,
    Pr[x + N = y] / Pr[x' + N = y] = exp((|y - x'| - |y - x|)/s) <= exp(d/s) = exp(epsilon), s = d/epsilon.
    Each call of `release` costs epsilon for the rewards inside its value. `prepare` draws noise ahead of the
    data; the first draw is made at once.

    >>> from discreet.core.noise import SimulatedNoise
    >>> mechanism = LaplaceMechanism(sensitivity=1, epsilon=0.5, noise=SimulatedNoise(seed=1))
    >>> mechanism.scale
    2.0
    >>> mechanism.release(100)
    95
    """

    __slots__ = ("_reserve", "epsilon", "noise", "sensitivity")

    def __init__(self, sensitivity: int, epsilon: float, noise: Noise | None = None) -> None:
        self.sensitivity = checks.whole("sensitivity", sensitivity)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.noise: Noise = checked_noise(noise)
        self._reserve = Reserve(self.noise, scale_for(self.sensitivity, self.epsilon))
        self._guard()

    @property
    def scale(self) -> float:
        """The noise's scale, in the same unit as the values."""
        return self._reserve.scale

    def prepare(self, count: int) -> None:
        """Draw the noise of the next `count` releases now, before their data is known."""
        self._reserve.prepare(count)

    def release(self, value: int) -> int:
        """The value plus noise that is used for this release alone."""
        self._same_process()
        return checks.secret("value", value) + self._reserve.take()

    def _state(self) -> dict[str, Any]:
        """What a saved state keeps: the noise that is drawn and not yet used."""
        return {"ready": self._reserve.state()}

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._reserve.restore(state["ready"])

"""Two kinds of randomness that cannot be confused.

*Private* noise is OpenDP's exact discrete Laplace on the operating system's entropy. It takes no seed, and
there is no way to give it one. *Simulated* noise has the same distribution, is seeded, and marks
everything that is made with it as simulated.

The discrete Laplace of scale s puts probability proportional to exp(-|x|/s) on each integer x. Added to an
integer total of sensitivity d it is (d/s)-differentially private, exactly.
"""

import math
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import ArgumentError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_SCALE = 1e-3  # OpenDP returns the raw value for a vanishing scale; no caller may get near that
MAX_SCALE = 2.0**50  # 64-bit draws would saturate only beyond 8,000 scales
_MAX_POOLS = 64


class Noise(Protocol):
    """A source of discrete Laplace noise."""

    @property
    def simulated(self) -> bool:
        """True when a seed decides the draws, so that nothing made with them is private."""
        ...

    def draws(self, scale: float, count: int) -> Integers:
        """Return independent draws of the discrete Laplace distribution.

        Args:
            scale: The distribution's scale.
            count: The number of draws.
        """
        ...


@lru_cache(maxsize=1024)
def scale_for(sensitivity: int, epsilon: float) -> float:
    """Return the smallest float that is at least sensitivity/epsilon, so that rounding never costs privacy.

    Args:
        sensitivity: The most by which one unit moves the number.
        epsilon: The price of the release.

    Raises:
        ArgumentError: The scale would be too small or too large for the sampler.

    >>> scale_for(1, 0.1)
    10.0
    """
    exact = Fraction(sensitivity) / Fraction(epsilon)
    if exact > MAX_SCALE:
        raise ArgumentError(
            f"epsilon must be larger: {epsilon!r} at sensitivity {sensitivity} asks for a noise scale above 2**50"
        )
    if exact < MIN_SCALE:
        raise ArgumentError(
            f"epsilon must be smaller: {epsilon!r} at sensitivity {sensitivity} asks for a scale below {MIN_SCALE}"
        )
    scale = float(exact)
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


class _PooledNoise(ABC):
    """A source that serves draws from one small pool a scale: a draw leaves its pool once.

    The sequence served for one scale does not depend on how many are asked for at a time.
    """

    simulated: bool
    _block = 64

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: OrderedDict[float, Integers] = OrderedDict()
        self._process = os.getpid()

    def draws(self, scale: float, count: int) -> Integers:
        """Return independent draws of the discrete Laplace distribution.

        Args:
            scale: The distribution's scale.
            count: The number of draws.
        """
        if not MIN_SCALE <= scale <= MAX_SCALE:
            raise ArgumentError(f"noise scale must lie between 0.001 and 2**50, got {scale!r}")
        if self._process != os.getpid():
            self._forget()
        with self._lock:
            pool = self._pools.pop(scale, None)
            if pool is None:
                pool = self._fill(scale, max(count, self._block))
            elif pool.size < count:
                pool = np.concatenate([pool, self._fill(scale, max(count - pool.size, self._block))])
            served, rest = pool[:count], pool[count:]
            self._pools[scale] = rest
            if len(self._pools) > _MAX_POOLS:
                self._pools.popitem(last=False)
        return served

    @abstractmethod
    def _fill(self, scale: float, count: int) -> Integers:
        """Return `count` fresh draws."""

    def _forget(self) -> None:
        """In a forked child: simulated noise goes on as it was, since its seed is no secret."""
        self._lock = threading.Lock()
        self._process = os.getpid()


class PrivateNoise(_PooledNoise):
    """OpenDP's exact discrete Laplace on the operating system's entropy.

    Takes no seed. One instance serves the whole process: get it with `private_noise()`. A forked child
    forgets the pools it inherited, so that two processes never use the same draw.
    """

    simulated = False

    def _fill(self, scale: float, count: int) -> Integers:
        import opendp.prelude as dp  # noqa: PLC0415  (0.3 s to import: only where privacy is real)

        dp.enable_features("contrib")
        size = max(count, 256)
        space = dp.vector_domain(dp.atom_domain(T="i64"), size=size), dp.l1_distance(T="i64")
        return np.array(dp.m.make_laplace(*space, scale=scale)([0] * size), dtype=np.int64)

    def uniforms(self, count: int) -> Floats:
        """Return multiples of 2^-53 in [0, 1) from the operating system's entropy.

        Args:
            count: The number of draws.
        """
        bits = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _forget(self) -> None:
        super()._forget()
        self._pools = OrderedDict()


class SimulatedNoise(_PooledNoise):
    """Discrete Laplace noise from a seeded numpy generator: for studies and tests, never for people's data.

    >>> SimulatedNoise(seed=7).draws(scale=10.0, count=5)
    array([ -3,  -3, -31, -28,   2])
    """

    simulated = True

    def __init__(self, seed: int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None = None) -> None:
        super().__init__()
        self._generator = np.random.default_rng(seed)
        self._coins: np.random.Generator | None = None  # a child: noise is the same with and without them

    def uniforms(self, count: int) -> Floats:
        """Return numbers in [0, 1) from the seed.

        Args:
            count: The number of draws.
        """
        if self._coins is None:
            (self._coins,) = self._generator.spawn(1)
        return self._coins.random(count)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _fill(self, scale: float, count: int) -> Integers:
        # A difference of two geometric variables; drawn in pairs, so the sequence is the same for any `count`.
        pairs = self._generator.geometric(-math.expm1(-1.0 / scale), size=(count, 2))
        return np.subtract(pairs[:, 0], pairs[:, 1], dtype=np.int64)


_PRIVATE = PrivateNoise()


def private_noise() -> Noise:
    """Return the process's one source of private noise."""
    return _PRIVATE


def checked_noise(noise: Any) -> Noise:
    """Return private noise for None, and otherwise the source as given.

    >>> checked_noise(42)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: noise must be left out, or be a source such as SimulatedNoise(seed=42), got 42
    """
    if noise is None:
        return _PRIVATE
    if isinstance(noise, type) or not (hasattr(noise, "draws") and hasattr(noise, "simulated")):
        raise ArgumentError(f"noise must be left out, or be a source such as SimulatedNoise(seed=42), got {noise!r}")
    source: Noise = noise
    return source


def uniforms(noise: Noise | None, count: int) -> Floats:
    """Return independent numbers, evenly spread over [0, 1), from a source: for rewards that are rounded at random.

    Args:
        noise: A source that has them, such as `SimulatedNoise`; None for the private one.
        count: The number of draws.

    Raises:
        ArgumentError: The source has none.
    """
    source: Any = checked_noise(noise)
    if not hasattr(source, "uniforms"):
        raise ArgumentError(f"noise must have `uniforms` for rewards that are rounded at random, got {source!r}")
    drawn: Floats = source.uniforms(count)
    return drawn

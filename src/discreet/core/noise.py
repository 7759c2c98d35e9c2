"""Two kinds of randomness that cannot be confused.

*Private* noise is OpenDP's exact discrete Laplace on the operating system's entropy. It takes no seed, and
there is no way to give it one. *Simulated* noise has the same law, is seeded, and marks everything that is
made with it as simulated.

The discrete Laplace of scale s puts probability proportional to exp(-|x|/s) on each integer x. Added to an
integer total of sensitivity d it is (d/s)-differentially private, exactly.
"""

from __future__ import annotations

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

from discreet.core.errors import ArgumentError, StateError

Integers = NDArray[np.int64]

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
        """`count` independent draws of the discrete Laplace of this scale."""
        ...


@lru_cache(maxsize=1024)
def scale_for(sensitivity: int, epsilon: float) -> float:
    """The smallest float that is at least sensitivity/epsilon, so that rounding never costs privacy.

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
    """Serves draws from one small pool per scale, filled before the data that the draws will mask.

    The sequence served for one scale does not depend on how many are asked for at a time.
    """

    simulated: bool
    _block = 64

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: OrderedDict[float, Integers] = OrderedDict()
        self._process = os.getpid()

    def draws(self, scale: float, count: int) -> Integers:
        """`count` independent draws of the discrete Laplace of this scale."""
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
        """`count` fresh draws."""

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

    def _fill(self, scale: float, count: int) -> Integers:
        # A difference of two geometric variables; drawn in pairs, so the sequence is the same for any `count`.
        pairs = self._generator.geometric(-math.expm1(-1.0 / scale), size=(count, 2))
        return np.subtract(pairs[:, 0], pairs[:, 1], dtype=np.int64)


_PRIVATE = PrivateNoise()


def private_noise() -> Noise:
    """The process's one source of private noise."""
    return _PRIVATE


def checked_noise(noise: Any) -> Noise:
    """Private noise for None, and otherwise a source as given.

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


class Reserve:
    """Noise of one scale, drawn ahead of the data and used once.

    What is drawn but not yet used is part of a saved state: a restored object uses the very same draws
    and can never average noise away by drawing again.
    """

    __slots__ = ("_noise", "_ready", "scale")

    def __init__(self, noise: Noise, scale: float) -> None:
        self.scale = scale
        self._noise = noise
        self._ready: list[int] = []
        self.prepare(1)

    def prepare(self, count: int) -> None:
        """Draw until at least `count` are ready."""
        missing = count - len(self._ready)
        if missing > 0:
            self._ready += self._noise.draws(self.scale, missing).tolist()

    def take(self) -> int:
        """Use one draw, for ever."""
        self.prepare(1)
        return self._ready.pop(0)

    def take_many(self, count: int) -> Integers:
        """Use `count` draws, in the order in which `take` would have given them."""
        self.prepare(count)
        taken, self._ready = self._ready[:count], self._ready[count:]
        return np.array(taken, dtype=np.int64)

    def clear(self) -> None:
        """Erase what is left: nothing more will be released."""
        self._ready = []

    def state(self) -> list[int]:
        """The draws that are ready, for a saved state."""
        return list(self._ready)

    def restore(self, ready: list[int]) -> None:
        """Put back the draws of a saved state."""
        self._ready = [int(draw) for draw in ready]


def noise_state(noise: Noise) -> dict[str, Any]:
    """How a saved state remembers its source: private sources have nothing to remember."""
    if isinstance(noise, PrivateNoise):
        return {"source": "private"}
    if isinstance(noise, SimulatedNoise):
        if not isinstance(noise._generator.bit_generator, np.random.PCG64):
            raise StateError("only simulated noise on numpy's default generator (PCG64) can be saved")
        pools = [[scale, pool.tolist()] for scale, pool in noise._pools.items()]
        return {"source": "simulated", "generator": noise._generator.bit_generator.state, "pools": pools}
    raise StateError(f"only private and simulated noise can be saved, got {type(noise).__name__}")


def restore_noise(state: dict[str, Any]) -> Noise:
    """The source that `noise_state` described."""
    if state["source"] == "private":
        return private_noise()
    if state["source"] != "simulated":
        raise StateError(f"the state names an unknown noise source {state['source']!r}")
    noise = SimulatedNoise()
    rewind_noise(noise, state)
    return noise


def rewind_noise(noise: Noise, state: dict[str, Any]) -> None:
    """Put simulated noise back to where `noise_state` found it, so that a resumed study goes on unchanged."""
    if not isinstance(noise, SimulatedNoise):
        return
    bits = np.random.PCG64()
    bits.state = state["generator"]
    noise._generator = np.random.Generator(bits)
    noise._pools = OrderedDict((float(scale), np.array(pool, dtype=np.int64)) for scale, pool in state["pools"])

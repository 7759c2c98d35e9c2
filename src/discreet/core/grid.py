"""Fixed-point rewards, so that sums of rewards are exact integers.

Floating-point sums leak through their low bits and change with the order of addition (Mironov 2012). The private
side therefore uses integers only: a reward is rounded to a multiple of a fixed step and stored as the number of steps
above the bottom of its range.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet._display import Page, Shown, page_of
from discreet.core import checks
from discreet.core.errors import ArgumentError

if TYPE_CHECKING:
    from discreet.core.noise import Noise

BITS = 20
CHUNK = 16_384  # samples per vectorised pass: stays in the processor's cache
_EXACT = 2**53  # every whole number below this is a float
_WIDEST = 2.0**900  # sums of a great many rewards, and noise on them, are floats as well


@dataclass(frozen=True, slots=True)
class Grid(Shown):
    """A fixed-point grid for rewards in `[low, high]`.

    The step is a power of two, chosen so that the range holds at least `2**bits` steps; scaling by it is exact in
    floating point. A reward x is stored as `round(x / step) - floor`, a whole number of *steps* between 0 and `width`.
    A sum of steps is an exact integer in any order of addition. One changed reward moves it by at most `width`, which
    is therefore its exact sensitivity.

    Args:
        low: The smallest possible reward.
        high: The largest possible reward.
        bits: The resolution: the range holds at least `2**bits` steps.

    Attributes:
        step: The size of one step, a power of two.
        floor: The steps from 0 to `low`.
        width: The steps from `low` to `high`.

    Raises:
        ArgumentError: If the range is empty, not finite, or too wide or narrow for floating point.

    >>> grid = Grid(0.0, 1.0)
    >>> grid.width, grid.encode(0.25), grid.encode(1)
    (1048576, 262144, 1048576)
    >>> grid.mean(steps=262144 * 3, count=4)
    0.1875
    >>> grid.encode(1.5)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: reward must lie in [0.0, 1.0], got 1.5; widen low/high, or pass clip=True
    """

    low: float
    high: float
    bits: int = BITS
    step: float = field(init=False, repr=False)
    floor: int = field(init=False, repr=False)
    width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = checks.real("low", self.low), checks.real("high", self.high)
        if not 0 <= self.bits <= 30:
            raise ArgumentError(f"bits must lie between 0 and 30, got {self.bits!r}")
        if not low < high:
            raise ArgumentError(f"low must be below high, got low={self.low!r} and high={self.high!r}")
        if not high - low <= _WIDEST:
            raise ArgumentError(f"the range [{low}, {high}] is too wide for floating point; rescale the rewards")
        exponent = math.floor(math.log2(high - low)) - self.bits
        if exponent < -1000 or max(abs(low), abs(high)) >= math.ldexp(_EXACT // 4, exponent):
            raise ArgumentError(
                f"the range [{low}, {high}] is too narrow for its distance from 0; subtract a constant from the rewards"
            )
        step = math.ldexp(1.0, exponent)
        floor = round(low / step)
        for name, value in (
            ("low", low), ("high", high), ("step", step), ("floor", floor), ("width", round(high / step) - floor),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def rounding(self) -> float:
        """The most by which rounding moves the mean of rewards: half a step."""
        return self.step / 2

    def encode(self, reward: Any, clip: bool = False, noise: "Noise | None" = None) -> int:
        """Return one reward in steps above the floor.

        Args:
            reward: A finite number in the range, or a boolean.
            clip: Move a reward from outside of the range to its nearest end, instead of refusing it.
            noise: What a `CoinGrid` rounds with; this grid does not need it.

        Raises:
            ArgumentError: If the reward is not a finite number, or out of range without `clip`.
        """
        value = reward if type(reward) is float else checks.real("reward", unbool(reward))
        if not self.low <= value <= self.high:
            value = self._outside(value, clip)
        return round(value / self.step) - self.floor

    def check_array(self, rewards: Any, clip: bool = False) -> NDArray[np.float64]:
        """Return rewards as a flat float64 array, all finite and in range.

        Args:
            rewards: A list or array of real numbers or booleans.
            clip: Move rewards from outside of the range to its nearest end, instead of refusing them.

        Raises:
            ArgumentError: If any reward is not a finite number, or out of range without `clip`.
        """
        values = _as_floats(rewards)
        if values.size and not (values.min() >= self.low and values.max() <= self.high):  # also true for NaN
            finite = np.isfinite(values)
            if not finite.all():
                self._outside(float(values[~finite][0]), clip)
            if not clip:
                self._outside(float(values[(values < self.low) | (values > self.high)][0]), clip)
            values = np.clip(values, self.low, self.high)
        return values

    def encode_checked(self, values: NDArray[np.float64], noise: "Noise | None" = None) -> NDArray[np.float64]:
        """Return values that `check_array` has returned, in steps: whole numbers held exactly in float64.

        Args:
            values: Rewards in the range.
            noise: What a `CoinGrid` rounds with; this grid does not need it.
        """
        steps: NDArray[np.float64] = np.rint(values / self.step)
        steps -= self.floor
        return steps

    def total(self, rewards: Any, clip: bool = False, noise: "Noise | None" = None) -> int:
        """Return the exact sum of rewards in steps, the form in which an epoch is closed.

        Args:
            rewards: A list or array of real numbers or booleans.
            clip: Move rewards from outside of the range to its nearest end, instead of refusing them.
            noise: What a `CoinGrid` rounds with; this grid does not need it.

        Raises:
            ArgumentError: If any reward is not a finite number, or out of range without `clip`.

        >>> Grid(0.0, 1.0).total([0.0, 1.0, 1.0]) == 2 * 2**20
        True
        """
        values = self.check_array(rewards, clip)
        # Partial sums are whole numbers below 2**53 within a chunk, so float addition is exact here.
        return sum(int(self.encode_checked(values[i : i + CHUNK], noise).sum()) for i in range(0, values.size, CHUNK))

    def steps_of(self, total: float, count: int) -> int:
        """Return a sum of rewards, such as a query's SUM of clicks, in steps.

        The sum must lie on the grid, as sums of 0s and 1s do. A sum of other numbers was rounded on the way, so its
        sensitivity is unknown: use `total` on the rewards themselves instead.

        Args:
            total: The sum of the rewards.
            count: The number of rewards.

        Raises:
            ArgumentError: If the sum does not lie on the grid, or is impossible for `count` rewards.

        >>> Grid(0.0, 1.0).steps_of(650, count=1882) == 650 * 2**20
        True
        >>> Grid(0.0, 1.0).steps_of(0.1, count=10)
        Traceback (most recent call last):
            ...
        discreet.core.errors.ArgumentError: total must be a multiple of 9.5367431640625e-07; use grid.total(rewards)
        """
        steps = checks.real("total", total) / self.step
        if not steps.is_integer():
            raise ArgumentError(f"total must be a multiple of {self.step}; use grid.total(rewards)")
        below = checks.whole("count", count) * self.floor
        return checks.secret("total", int(steps) - below, 0, count * self.width, " grid steps above the range's floor")

    def mean(self, steps: float, count: int) -> float:
        """Return the mean reward of a (released) total.

        Args:
            steps: The total in steps above the floor.
            count: The number of rewards in it.
        """
        return (steps + count * self.floor) / count * self.step

    def _page(self) -> Page:
        return page_of(self, "low", "high", "step", "width")

    def _outside(self, value: float, clip: bool) -> float:
        if not math.isfinite(value):
            raise ArgumentError(f"reward must be a finite number in [{self.low}, {self.high}], got {value!r}")
        if not clip:
            raise ArgumentError(
                f"reward must lie in [{self.low}, {self.high}], got {value!r}; widen low/high, or pass clip=True"
            )
        return min(max(value, self.low), self.high)


def unbool(reward: Any) -> Any:
    """Return True and False as 1 and 0, since clicks are often booleans."""
    return int(reward) if isinstance(reward, bool | np.bool_) else reward


def _as_floats(rewards: Any) -> NDArray[np.float64]:
    """Return any real array or list as a flat float64 array."""
    if isinstance(rewards, np.ma.MaskedArray):
        raise ArgumentError("rewards must not be a masked array, whose mask would be lost; use rewards.compressed()")
    try:
        array = np.asarray(rewards)
    except ValueError as error:
        raise ArgumentError(f"rewards must be numbers in one flat list or array: {error}") from error
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"rewards must be real numbers, got an array of dtype {array.dtype}; try .astype(float)")
    return np.asarray(array, dtype=np.float64).ravel()

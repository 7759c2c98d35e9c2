"""Reward distributions of simulated arms."""

import math
import operator
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.coins import CoinGrid
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.lab.columns import read_column
from discreet.lab.rewards import Rewards, options_of, short

LIMIT = 1e100  # the largest size of any parameter: sums and products of a few stay finite
_DRAWS_PER_VALUE = 8  # drawing this many rewards costs about as much as one category of a multinomial
_TAIL = 30.0  # standard deviations: probabilities this far out are still ordinary floats (about 1e-197)
_FLATTEST = 100.0  # beyond this ratio of sd to range the formula for the truncated mean loses its digits


@dataclass(frozen=True, slots=True)
class Bernoulli(Rewards):
    """Pays 1 with probability `mean`, else 0. Any total is one binomial draw.

    Args:
        mean: The probability of 1.

    >>> print(Bernoulli(0.3))
    Bernoulli(0.3)
    >>> grid = Grid(0.0, 1.0)
    >>> Bernoulli(0.3).total(np.random.default_rng(1), 50_000_000, grid) // grid.encode(1)
    14998059
    """

    mean: float
    low: float = field(default=0.0, init=False, repr=False)
    high: float = field(default=1.0, init=False, repr=False)

    def __post_init__(self) -> None:
        mean = checks.real("mean", self.mean)
        if not 0 <= mean <= 1:
            raise ArgumentError(f"mean must lie in [0, 1], since a Bernoulli arm pays 0 or 1, got {self.mean!r}")
        self._set(mean=mean)

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return (rng.random(count) < self.mean).astype(np.float64)

    def _atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.array([0.0, 1.0]), np.array([1 - self.mean, self.mean])

    def totals(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], int]:
        """Return a function from a number of rewards to their sum: ones and zeros are encoded once.

        Args:
            rng: The generator.
            grid: The grid.
        """
        if isinstance(grid, CoinGrid):
            return Rewards.totals(self, rng, grid)
        self.check(grid)
        mean, zero, one = self.mean, grid.encode(0.0), grid.encode(1.0)
        # Just this one draw: results of earlier versions for the same seeds depend on it.
        return lambda count: count * zero + int(rng.binomial(count, mean)) * (one - zero)

    def one_by_one(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], NDArray[np.int64]]:
        """Return a function from a number of rewards to the next ones in steps.

        Args:
            rng: The generator.
            grid: The grid.
        """
        self.check(grid)
        mean, zero, one = self.mean, grid.encode(0.0), grid.encode(1.0)
        return lambda count: zero + rng.binomial(1, mean, size=count) * (one - zero)


@dataclass(frozen=True, slots=True)
class Discrete(Rewards):
    """Pays `values[i]` with a probability proportional to `weights[i]`. Any total is one multinomial draw.

    Args:
        values: The rewards that are possible.
        weights: Their weights, 0 or more. A value of weight 0 is never paid.

    >>> arm = Discrete(values=[0, 0.5, 1], weights=[5, 3, 2])
    >>> print(arm, arm.mean)
    Discrete(0:5, 0.5:3, 1:2) 0.35
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    low: float = field(init=False, repr=False)
    high: float = field(init=False, repr=False)
    mean: float = field(init=False, repr=False)
    _paid: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _chances: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values, weights = _numbers("values", self.values), _numbers("weights", self.weights)
        if len(values) != len(weights):
            raise ArgumentError(
                f"values and weights must be equally many, got {len(values)} values and {len(weights)} weights"
            )
        if min(weights) < 0:
            raise ArgumentError(f"weights must be 0 or more, got {min(weights)}")
        if not max(weights) > 0:
            raise ArgumentError("weights must not all be 0")
        some = np.array(weights) > 0  # a value of weight 0 is never paid, so it does not widen the range either
        paid, chances = np.array(values)[some], np.array(weights)[some] / math.fsum(weights)
        mean = math.fsum(map(operator.mul, values, weights)) / math.fsum(weights)
        low, high = float(paid.min()), float(paid.max())
        self._set(values=values, weights=weights, low=low, high=high, mean=min(max(mean, low), high))
        self._set(_paid=paid, _chances=chances)

    def __str__(self) -> str:
        pairs = (f"{short(value)}:{short(weight)}" for value, weight in zip(self.values, self.weights, strict=True))
        return f"Discrete({', '.join(pairs)})"

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return rng.choice(self._paid, size=count, p=self._chances)

    def _atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._paid, self._chances

    def _total(self, rng: np.random.Generator, grid: Grid, count: int) -> int:
        return _weighted_sum(grid, self._paid, rng.multinomial(count, self._chances))

    def one_by_one(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], NDArray[np.int64]]:
        """Return a function from a number of rewards to the next ones in steps.

        Args:
            rng: The generator.
            grid: The grid.
        """
        self.check(grid)
        steps, chances = grid.encode_checked(self._paid).astype(np.int64), self._chances
        return lambda count: rng.multinomial(1, chances, size=count) @ steps


@dataclass(frozen=True, slots=True)
class Empirical(Rewards):
    """Pays a random entry of a data column, drawn with replacement.

    Args:
        values: The column.

    >>> arm = Empirical([0, 0, 1, 0.25])
    >>> print(arm)
    Empirical(4 values in [0, 1], mean 0.3125)
    """

    values: tuple[float, ...]
    low: float = field(init=False, repr=False)
    high: float = field(init=False, repr=False)
    mean: float = field(init=False, repr=False)
    _column: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _distinct: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _chances: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = _numbers("values", self.values)
        low, high = min(values), max(values)
        mean = math.fsum(values) / len(values)
        self._set(values=values, low=low, high=high, mean=min(max(mean, low), high))
        distinct, counts = np.unique(np.array(values), return_counts=True)
        self._set(_column=np.array(values), _distinct=distinct, _chances=counts / len(values))

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], column: str) -> Self:
        """Return the arm of one column of a CSV file whose first row names the columns.

        Args:
            path: The file.
            column: The name of the column.

        Raises:
            ArgumentError: If there is no such column, or a cell holds no finite number.
        """
        return cls(tuple(read_column(path, column, limit=LIMIT)))

    def __str__(self) -> str:
        return f"Empirical({len(self.values):,} values in [{short(self.low, self.high)}], mean {self.mean:.6g})"

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return self._column[rng.integers(self._column.size, size=count)]

    def _atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._distinct, self._chances

    def _total(self, rng: np.random.Generator, grid: Grid, count: int) -> int:
        if count < _DRAWS_PER_VALUE * self._distinct.size:  # a multinomial would visit many values in vain
            return super(Empirical, self)._total(rng, grid, count)
        return _weighted_sum(grid, self._distinct, rng.multinomial(count, self._chances))


@dataclass(frozen=True, slots=True)
class Beta(Rewards):
    """The Beta(a, b) distribution, stretched from [0, 1] to `[low, high]`.

    Args:
        a: The first parameter, above 0.
        b: The second parameter, above 0.
        low: The smallest reward.
        high: The largest reward.

    >>> arm = Beta(2, 6)
    >>> print(arm, arm.mean)
    Beta(2, 6) 0.25
    """

    a: float
    b: float
    low: float = 0.0
    high: float = 1.0
    mean: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        a, b = _positive("a", self.a), _positive("b", self.b)
        low, high = _bounds(self.low, self.high)
        mean = low + (high - low) * (a / (a + b))
        self._set(a=a, b=b, low=low, high=high, mean=min(mean, high))

    def __str__(self) -> str:
        bounds = () if (self.low, self.high) == (0.0, 1.0) else (self.low, self.high)
        return f"Beta({short(self.a, self.b, *bounds)})"

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return np.clip(self.low + (self.high - self.low) * rng.beta(self.a, self.b, size=count), self.low, self.high)


@dataclass(frozen=True, slots=True)
class Uniform(Rewards):
    """Every reward between `low` and `high` is equally likely.

    Args:
        low: The smallest reward.
        high: The largest reward.

    >>> print(Uniform(0.2, 0.8))
    Uniform(0.2, 0.8)
    """

    low: float
    high: float
    mean: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = _bounds(self.low, self.high)
        self._set(low=low, high=high, mean=(low + high) / 2)

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return np.clip(rng.uniform(self.low, self.high, size=count), self.low, self.high)


@dataclass(frozen=True, slots=True)
class TruncatedNormal(Rewards):
    """The normal distribution around `centre` with standard deviation `sd`, given that it lies in `[low, high]`.

    The mean is that of the rewards, so it is not `centre` unless the range lies evenly around it.

    Args:
        centre: The mean of the normal distribution before it is cut.
        sd: Its standard deviation.
        low: The smallest reward.
        high: The largest reward.

    >>> arm = TruncatedNormal(centre=0.9, sd=0.2)
    >>> print(arm, round(arm.mean, 4))
    Normal(0.9, 0.2, 0, 1) 0.7982
    """

    centre: float
    sd: float
    low: float = 0.0
    high: float = 1.0
    mean: float = field(init=False, repr=False)
    _side: int = field(init=False, repr=False, compare=False)
    _start: float = field(init=False, repr=False, compare=False)
    _stop: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from scipy.special import ndtr  # noqa: PLC0415  (only this arm needs scipy)

        centre, sd = _limited("centre", self.centre), _positive("sd", self.sd)
        low, high = _bounds(self.low, self.high)
        if sd > _FLATTEST * (high - low):
            raise ArgumentError(
                f"sd must be at most {_FLATTEST:g} times the range [{low}, {high}], got {self.sd!r}; "
                f"use Uniform({low}, {high}), which is as flat"
            )
        # Floats are dense near 0 and not near 1, so the tail is put on the left, where probabilities are near 0.
        side = 1 if centre >= (low + high) / 2 else -1
        start, stop = sorted((side * (low - centre) / sd, side * (high - centre) / sd))
        if stop < -_TAIL:
            raise ArgumentError(
                f"centre must lie within {_TAIL:g} sd of the range [{low}, {high}], got {self.centre!r} with sd={sd}"
            )
        below_start, below_stop = float(ndtr(start)), float(ndtr(stop))
        mean_shift = (_bell(start) - _bell(stop)) / (below_stop - below_start)
        mean = min(max(centre + side * sd * mean_shift, low), high)
        self._set(centre=centre, sd=sd, low=low, high=high, mean=mean)
        self._set(_side=side, _start=below_start, _stop=below_stop)

    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        from scipy.special import ndtri  # noqa: PLC0415

        rewards: NDArray[np.float64] = ndtri(rng.uniform(self._start, self._stop, size=count))
        rewards *= self._side * self.sd
        rewards += self.centre
        return np.clip(rewards, self.low, self.high, out=rewards)


KINDS: dict[str, type[Rewards]] = {
    kind.__name__: kind for kind in (Bernoulli, Discrete, Empirical, Beta, Uniform, TruncatedNormal)
}


def to_state(arm: Rewards) -> dict[str, Any]:
    """Return an arm as JSON values.

    >>> to_state(Beta(2, 5))
    {'kind': 'Beta', 'a': 2.0, 'b': 5.0, 'low': 0.0, 'high': 1.0}
    """
    return {"kind": type(arm).__name__, **{name: getattr(arm, name) for name in options_of(arm)}}


def from_state(state: dict[str, Any]) -> Rewards:
    """Return the arm that `to_state` described."""
    return KINDS[state["kind"]](**{name: value for name, value in state.items() if name != "kind"})


def _weighted_sum(grid: Grid, values: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """Return the total of counts[i] rewards of values[i] each, in Python's integers, which do not overflow."""
    steps = grid.encode_checked(values).astype(np.int64)
    return sum(map(operator.mul, counts.tolist(), steps.tolist()))


def _bell(z: float) -> float:
    """Return the standard normal density at z."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _limited(name: str, value: Any) -> float:
    number = checks.real(name, value)
    if abs(number) > LIMIT:
        raise ArgumentError(f"{name} must lie in [-{LIMIT:g}, {LIMIT:g}], got {value!r}")
    return number


def _positive(name: str, value: Any) -> float:
    number = checks.positive(name, value)
    if not 1 / LIMIT <= number <= LIMIT:
        raise ArgumentError(f"{name} must lie in [{1 / LIMIT:g}, {LIMIT:g}], got {value!r}")
    return number


def _bounds(low: Any, high: Any) -> tuple[float, float]:
    bounds = _limited("low", low), _limited("high", high)
    if not bounds[0] < bounds[1]:
        raise ArgumentError(f"low must be below high, got low={low!r} and high={high!r}")
    return bounds


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return a list, array or column of numbers as a tuple of floats: at least one, and all finite."""
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentError(f"{name} must not be a masked array, whose mask would be lost; use .compressed()")
    try:
        array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must be numbers in one flat list or array: {error}") from error
    if array.ndim == 1 and not array.size:
        raise ArgumentError(f"{name} must hold at least one number, got none")
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ArgumentError(
            f"{name} must be numbers in one flat list or array, got shape {array.shape} of dtype {array.dtype}"
        )
    floats = array.astype(np.float64)
    bad = floats[~(np.abs(floats) <= LIMIT)]  # also true for NaN
    if bad.size:
        raise ArgumentError(f"{name} must be finite numbers in [-{LIMIT:g}, {LIMIT:g}], got {bad[0]}")
    return tuple(floats.tolist())

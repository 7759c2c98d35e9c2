"""Events that tell two neighbouring inputs apart: picked on some runs, and counted on others.

Everything that a run released is a dictionary of named facts: numbers (released totals) and words (plans, answers,
decisions). A *trait* turns the facts of a run into one number, and an event is a trait on one side of a threshold.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

Facts = dict[str, Any]
Floats = NDArray[np.float64]

DERIVED = "value: "  # numbers that repeat a release in another unit: watched, but no evidence of their own
_DECISIONS = "all decisions together"
_COLUMNS, _PAIRED, _WORDS = 24, 8, 8  # the most common ones are enough
_THRESHOLDS = 33
_CLEAR = 4.0  # standard errors between two medians that are taken for different
_RARE = 10  # runs: a decision that is rarer says nothing about its probability
_CERTAIN = 12.0  # evidence of a number without any noise


class Table:
    """The facts of many runs on one input, by column.

    Args:
        runs: The facts of each run.
    """

    def __init__(self, runs: Sequence[Facts]) -> None:
        self.runs = runs
        self._columns: dict[str, Floats] = {}

    def __len__(self) -> int:
        return len(self.runs)

    def numbers(self, column: str) -> Floats:
        """Return a column of numbers; NaN where a run has none."""
        if column not in self._columns:
            found: Iterator[Any] = (facts.get(column) for facts in self.runs)
            values = (float(value) if is_number(value) else math.nan for value in found)
            self._columns[column] = np.fromiter(values, np.float64, len(self.runs))
        return self._columns[column]

    def words(self, column: str) -> list[Hashable]:
        """Return a column of words; None where a run has none. All of them together are a column, too."""
        return self.decisions if column == _DECISIONS else [facts.get(column) for facts in self.runs]

    @cached_property
    def decisions(self) -> list[Hashable]:
        """All words of each run together."""
        return [tuple(item for item in facts.items() if not is_number(item[1])) for facts in self.runs]


def is_number(value: Any) -> bool:
    """Return True if a fact is a number; a yes or no is a word."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Trait:
    """One number for each run.

    Args:
        name: What it is, in words.
        measure: Returns the number of each run of a table.
    """

    name: str
    measure: Callable[[Table], Floats]


@dataclass(frozen=True)
class Event:
    """A trait on one side of a threshold. It does not happen in a run without the trait.

    Args:
        trait: The trait.
        threshold: The threshold.
        above: True if the trait is at least the threshold, False if it is at most that.
    """

    trait: Trait
    threshold: float
    above: bool

    def count(self, table: Table) -> int:
        """Return the number of runs in which it happened."""
        values = self.trait.measure(table)
        return int(np.count_nonzero(values >= self.threshold if self.above else values <= self.threshold))

    def __str__(self) -> str:
        if " is " in self.trait.name:
            return self.trait.name if self.above else f"not ({self.trait.name})"
        return f"{self.trait.name} {'>=' if self.above else '<='} {self.threshold:.7g}"


def pick(here: Table, there: Table, deviations: float) -> Event | None:
    """Return the event that proves most about its probability on one input over that on the other.

    Candidates are compared by Wilson's limits, which are approximate: whatever is picked, the bound is computed from
    other runs.

    Args:
        here: Runs on the input on which the event is to be likely.
        there: Runs on the input on which it is to be unlikely.
        deviations: The width of the limits, in standard deviations.

    Returns:
        The event; None if no run has shown anything.
    """
    best, found = -math.inf, None
    for trait in traits(here, there):
        one, other = trait.measure(here), trait.measure(there)
        one, other = np.sort(one[~np.isnan(one)]), np.sort(other[~np.isnan(other)])
        limits = _thresholds(np.concatenate([one, other]))
        for above in (True, False):
            if above:
                hits, others = (values.size - np.searchsorted(values, limits, "left") for values in (one, other))
            else:
                hits, others = (np.searchsorted(values, limits, "right") for values in (one, other))
            low, high = wilson(hits, len(here), -deviations), wilson(others, len(there), deviations)
            score = np.log(np.maximum(low, 1e-300) / high)
            if limits.size and score.max() > best:
                best, found = float(score.max()), Event(trait, float(limits[score.argmax()]), above)
    return found


def _thresholds(values: Floats) -> Floats:
    """Return a few of the values that occur, evenly spread."""
    different = np.unique(values)
    if different.size <= _THRESHOLDS:
        return different
    return np.unique(np.quantile(values, np.linspace(0, 1, _THRESHOLDS), method="nearest"))


def wilson(hits: Any, runs: int, deviations: float) -> Any:
    """Return Wilson's limit of a probability.

    Args:
        hits: The number of runs in which an event happened, or an array of them.
        runs: The number of runs.
        deviations: The distance in standard deviations; negative for a lower limit.
    """
    share, square = hits / runs, deviations**2 / runs
    middle = share + square / 2
    spread = np.sign(deviations) * np.sqrt(square * share * (1 - share) + square**2 / 4)
    return np.clip((middle + spread) / (1 + square), 0.0, 1.0)


# ---------------------------------------------------------------------- the traits


def traits(here: Table, there: Table) -> Iterator[Trait]:
    """Yield what may tell two inputs apart: each number, sums and differences of two, each word, and likelihoods.

    Args:
        here: Runs on one input.
        there: Runs on the other.
    """
    common = Counter(name for table in (here, there) for facts in table.runs for name in facts)
    example = {name: value for table in (there, here) for facts in table.runs for name, value in facts.items()}
    names = [name for name, _ in common.most_common()]
    numbers = [name for name in names if is_number(example[name])][:_COLUMNS]
    released = [name for name in numbers if not name.startswith(DERIVED)]
    words = [name for name in names if not is_number(example[name])][:_COLUMNS]
    for name in numbers:
        yield Trait(name, methodcaller("numbers", name))
    for one, other in combinations(released[:_PAIRED], 2):  # noise that two releases share is gone from one of them
        yield Trait(f"({one}) minus ({other})", partial(_two, one, other, -1))
        yield Trait(f"({one}) plus ({other})", partial(_two, one, other, 1))
    for name in (*words, _DECISIONS):
        for value, _ in Counter([*here.words(name), *there.words(name)]).most_common(_WORDS):
            yield Trait(f"{name} is {value}", partial(_word_is, name, value))
    by_numbers, by_words = _likelihood_of_numbers(here, there, released), _likelihood_of_words(here, there)
    yield Trait("likelihood ratio of the releases", by_numbers)
    yield Trait("likelihood ratio of the decisions", by_words)
    yield Trait("likelihood ratio of all", lambda table: by_numbers(table) + by_words(table))


def _two(one: str, other: str, sign: int, table: Table) -> Floats:
    """Return a sum or difference of two columns."""
    return table.numbers(one) + sign * table.numbers(other)


def _word_is(name: str, value: Hashable, table: Table) -> Floats:
    """Return 1 where a word is this one, and else 0."""
    return np.array([float(word == value) for word in table.words(name)])


def _likelihood_of_numbers(here: Table, there: Table, names: Sequence[str]) -> Callable[[Table], Floats]:
    """Return the log-likelihood ratio if every release had Laplace noise of its own around its median."""
    known = []
    for name in names:
        one, other = here.numbers(name), there.numbers(name)
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        if min(one.size, other.size) < _RARE:
            continue
        first, second = float(np.median(one)), float(np.median(other))
        scale = float(np.concatenate([np.abs(one - first), np.abs(other - second)]).mean())
        if abs(first - second) > _CLEAR * scale * math.sqrt(1 / one.size + 1 / other.size):
            known.append((name, first, second, max(scale, abs(first - second) / _CERTAIN)))

    def measure(table: Table) -> Floats:
        total = np.zeros(len(table))
        for name, first, second, scale in known:
            values = table.numbers(name)
            total += np.nan_to_num((np.abs(values - second) - np.abs(values - first)) / scale)
        return total

    return measure


def _likelihood_of_words(here: Table, there: Table) -> Callable[[Table], Floats]:
    """Return the log-ratio of the numbers of runs with these decisions on the two inputs."""
    one, other = Counter(here.decisions), Counter(there.decisions)
    ratio = {
        word: math.log((one[word] + 0.5) / (other[word] + 0.5))
        for word in one | other
        if one[word] + other[word] >= _RARE
    }
    return lambda table: np.array([ratio.get(word, 0.0) for word in table.decisions])

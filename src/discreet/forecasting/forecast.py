"""A forecast: how many people, and days, a question takes, by simulating the algorithm that will run."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._display import Page
from discreet._outlooks import Outlooks
from discreet._wording import rounded
from discreet.bandits import DPEvidenceBestArm, DPSharpBestArm, Policy
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.registry import make_policy
from discreet.forecasting.halting import halting_times
from discreet.forecasting.race import SEARCHES, race, worst_case
from discreet.recommend import recommend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = 3000  # of a search; a mean of people is then known to about 1 %
HALTS = 150  # of a stopping rule, which halts at one of a few moments
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Outlook:
    """The people and days that it takes at one epsilon. Numbers that were not simulated are None.

    Args:
        epsilon: The privacy parameter.
        mean: The number of people on average.
        median: What half of all runs take at most.
        high: What 95 % of all runs take at most.
        worst_case: What it promises to take at most, whatever the variance of rewards; None if nothing is promised.
        right: The share of runs that gave the right answer. Of the others some may never end, if equals are left.
        days: The days on average, at `per_day` people a day, with waiting for late rewards.
        high_days: The days that 95 % of all runs take at most.
        worst_days: The days of the worst case.
    """

    epsilon: float
    mean: float | None
    median: float | None
    high: float | None
    worst_case: int | None
    right: float | None = None
    days: float | None = None
    high_days: float | None = None
    worst_days: float | None = None


@dataclass(frozen=True)
class Forecast(Outlooks[Outlook]):
    """The number of people that a question takes at each epsilon: as text, table, JSON and picture.

    Args:
        question: What is asked, in words.
        algorithm: The key of the algorithm that answers.
        outlooks: What it takes at each epsilon.
        per_day: The number of people a day, if it was given.
        runs: The number of simulated runs; 0 if nothing could be simulated.
        notes: What to know about the figures.
    """

    question: str
    algorithm: str
    outlooks: tuple[Outlook, ...]
    per_day: float | None
    runs: int
    notes: tuple[str, ...]

    def _columns(self) -> dict[str, list[Any]]:
        shown: dict[str, list[Any]] = {
            "epsilon": [row.epsilon for row in self.outlooks],
            "people, mean": [_people(row.mean) for row in self.outlooks],
            "median": [_people(row.median) for row in self.outlooks],
            "95 % of runs": [_people(row.high) for row in self.outlooks],
            "promised at most": [_people(row.worst_case) for row in self.outlooks],
            "days, mean": [_days(row.days) for row in self.outlooks],
            "days, 95 % of runs": [_days(row.high_days) for row in self.outlooks],
        }
        if not self.runs:
            shown["days, promised at most"] = [_days(row.worst_days) for row in self.outlooks]
        return shown

    def _page(self) -> Page:
        title = f"{self.question}: {self.algorithm}"
        return Page(title, tables=[self._table()], notes=self.notes, picture=self._png, about="people against epsilon")

    def _png(self) -> bytes:
        from discreet.forecasting.picture import draw  # noqa: PLC0415  (needs matplotlib)

        return draw(self).png()

    def plot(self) -> Figure:
        """Return a picture of people against epsilon, as a figure of matplotlib."""
        from discreet.forecasting.picture import draw  # noqa: PLC0415  (needs matplotlib)

        return draw(self).show_in_notebook()


def forecast(
    rates: float | Iterable[float] | None = None,
    *,
    epsilon: float | Iterable[float],
    beta: float = 0.05,
    alpha: float | None = None,
    base_rate: float | None = None,
    lift: float | None = None,
    gap: float | None = None,
    arms: int | None = None,
    per_day: float | None = None,
    window: timedelta | None = None,
    unit: str = "reward",
    policy: str | None = None,
    seed: int = 0,
) -> Forecast:
    """Return how many people it takes to find the best of several arms, or to know a mean, at each epsilon.

    The algorithm that will run is simulated, exactly, on rewards of 0 and 1: give what you know of your rates. They
    need not be right to be useful; the promise of the answer does not depend on them.

    Args:
        rates: The rate of each arm that you expect, such as [0.030, 0.032, 0.036]; or one rate, to forecast a mean that
            is known to `alpha`.
        epsilon: The privacy parameter, or several to choose from.
        beta: The probability that the answer may be wrong.
        alpha: For one rate: the relative error of the mean.
        base_rate: Instead of rates: the rate of all arms but the best.
        lift: With base_rate: how much higher the best rate is, as a share of it; 0.2 is 20 % more.
        gap: Instead of rates: the smallest difference between the two best rates. Only the worst case follows from it.
        arms: With base_rate or gap: the number of arms, by default 2.
        per_day: The number of people a day, for a forecast in days.
        window: How long a reward is waited for; each epoch waits that long. It needs `per_day`.
        unit: Whom epsilon covers: one "reward", or a "person" who comes back.
        policy: The key of an elimination or of `dp-bai-evidence`; by default the one that `recommend` names, and for a
            gap alone, of which nothing but a promise follows, one that promises a number.
        seed: The seed of the simulation.

    Raises:
        ArgumentError: An argument is missing or wrong, or the two best rates are equal.

    >>> print(forecast([0.030, 0.036], epsilon=[0.5, 1], per_day=2_000))
    the best of 2 arms with rates 3 % and 3.6 %, wrong with probability 0.05 at most: dp-bai-evidence
      epsilon  people, mean  median  95 % of runs  days, mean  days, 95 % of runs
          0.5        43,500  40,300        92,200          22                  46
            1        40,000  36,100        88,200          20                  44
    Simulated 3,000 times at each epsilon; the right arm was found in 99.6 % of runs.
    """
    epsilons, pace = _epsilons(epsilon), _Pace(per_day, window)
    checks.fraction("beta", beta)
    given = _Question(rates, base_rate, lift, gap, arms).rates()
    if isinstance(given, float):
        return _of_mean(given, epsilons, pace, alpha=alpha, beta=beta, seed=seed)
    if alpha is not None:
        raise ArgumentError(f"alpha is for a mean, which has one rate: forecast(0.03, alpha={alpha!r}, ...)")
    count = len(given) if given is not None else arms or 2
    search = partial(_policy, count, key=policy, unit=unit, delayed=window is not None, promised=given is None)
    policies = [search(one, beta) for one in epsilons]
    if given is None:
        assert gap is not None
        return _of_gap(policies, gap, pace, beta)
    return _of_rates(policies, given, pace, beta, seed)


def _of_gap(policies: Sequence[Policy], gap: float, pace: _Pace, beta: float) -> Forecast:
    """Return what searches promise to take at most where one arm leads by a gap."""
    count = len(policies[0].arms)
    question = f"the best of {count} arms that leads by {gap:g} or more, wrong with probability {beta:g} at most"
    outlooks = tuple(_worst(one, [gap] * (count - 1), pace) for one in policies)
    return Forecast(question, policies[0].key, outlooks, pace.per_day, 0, (_WORST_ALONE,))


def _of_rates(policies: Sequence[Policy], rates: tuple[float, ...], pace: _Pace, beta: float, seed: int) -> Forecast:
    """Return what searches take on arms with these rates, by simulation."""
    with ThreadPoolExecutor(min(len(policies), os.cpu_count() or 1)) as pool:  # numpy computes outside of Python's lock
        outlooks = tuple(pool.map(partial(_search, rates=rates, pace=pace, seed=seed), policies))
    listed = f"{', '.join(map(_percent, rates[:-1]))} and {_percent(rates[-1])}"
    question = f"the best of {len(rates)} arms with rates {listed}, wrong with probability {beta:g} at most"
    right = math.floor(1000 * sum(row.right or 0.0 for row in outlooks) / len(outlooks)) / 1000
    notes: tuple[str, ...] = (
        f"Simulated {RUNS:,} times at each epsilon; the right arm was found in {_percent(right)} of runs.",
    )
    if outlooks[0].worst_case is not None:
        notes += (
            f"Promised is what it takes at most whatever the variance of rewards, with probability {1 - beta:g}; rare "
            "rewards take less.",
        )
    return Forecast(question, policies[0].key, outlooks, pace.per_day, RUNS, notes)


def _of_mean(
    rate: float, epsilons: Sequence[float], pace: _Pace, *, alpha: float | None, beta: float, seed: int
) -> Forecast:
    """Return what the recommended rules take until a mean is known, by simulation."""
    if alpha is None:
        raise ArgumentError("alpha must be given for a mean: forecast(0.03, alpha=0.1, ...) is for 10 %; got None")
    rows, keys = [], []
    for epsilon in epsilons:
        rule = recommend(goal="mean", epsilon=epsilon, alpha=alpha, beta=beta, low=0, high=1).make()
        keys.append(rule.key)
        people = halting_times(rule, rate, HALTS, seed)
        rows.append(Outlook(epsilon, *_spread(people), None, None, *pace.spread(people)))
    question = f"a mean of {_percent(rate)} to within {alpha:.3g} of itself, wrong with probability {beta:g} at most"
    note = f"Simulated {HALTS} times at each epsilon, for samples of 0 and 1."
    return Forecast(question, " or ".join(dict.fromkeys(keys)), tuple(rows), pace.per_day, HALTS, (note,))


_WORST_ALONE = (
    f"This is the worst case: rewards of 0 and 1 with rates around 50 %. Rare rewards vary less and take far fewer "
    f"people: give a base rate and a lift, or all rates, for a forecast of what it will take. "
    f"{DPEvidenceBestArm.key}, which is recommended, takes fewer on average, and promises no number."
)


@dataclass(frozen=True)
class _Question:
    """The arms, as far as they are known."""

    given: float | Iterable[float] | None
    base_rate: float | None
    lift: float | None
    gap: float | None
    arms: int | None

    def rates(self) -> tuple[float, ...] | float | None:
        """Return the rates; a number to forecast a mean; None if a gap is all that is known."""
        ways = [self.given is not None, self.base_rate is not None or self.lift is not None, self.gap is not None]
        if sum(ways) != 1:
            raise ArgumentError(
                "give rates, or base_rate and lift, or a gap; got " + ("none" if not any(ways) else "several")
            )
        if self.gap is not None:
            if not 0 < checks.real("gap", self.gap) <= 1:
                raise ArgumentError(f"gap must lie between 0 and 1, as a difference of two rates, got {self.gap!r}")
            checks.whole("arms", 2 if self.arms is None else self.arms, at_least=2)
            return None
        if self.given is not None:
            if self.arms is not None:
                raise ArgumentError(
                    f"arms is for base_rate or gap: the rates say how many there are, got {self.arms!r}"
                )
            if isinstance(self.given, int | float | np.number):
                return checks.fraction("rates", self.given)
            return self._several([checks.real("rates", rate) for rate in self.given])
        if self.base_rate is None or self.lift is None:
            missing = "base_rate" if self.base_rate is None else "lift"
            raise ArgumentError(f"base_rate and lift belong together; {missing} is missing")
        base, lift = checks.fraction("base_rate", self.base_rate), checks.real("lift", self.lift)
        if base * (1 + lift) >= 1:
            raise ArgumentError(f"lift must leave the best rate below 1, got {lift!r} on a base_rate of {base!r}")
        others = checks.whole("arms", 2 if self.arms is None else self.arms, at_least=2) - 1
        if lift < 0:
            raise ArgumentError(f"lift must be above 0: by how much the best arm is better, got {lift!r}")
        return self._several([base] * others + [base * (1 + lift)])

    @staticmethod
    def _several(rates: Sequence[float]) -> tuple[float, ...]:
        if len(rates) < 2:
            raise ArgumentError(
                f"rates must be of two arms at least (one number alone is for a mean), got {list(rates)!r}"
            )
        if not all(0 <= rate <= 1 for rate in rates):
            raise ArgumentError(f"rates must lie between 0 and 1, as 0.03 for 3 %, got {list(rates)!r}")
        first, second = sorted(rates, reverse=True)[:2]
        if first == second:
            raise ArgumentError(
                f"rates must have one best arm, got {first:g} twice: a search between equals never ends; give the "
                "smallest difference that would matter to you"
            )
        return tuple(rates)


def _epsilons(epsilon: float | Iterable[float]) -> list[float]:
    several = epsilon if isinstance(epsilon, Iterable) else [epsilon]
    found = [checks.positive("epsilon", one) for one in several]
    if not found:
        raise ArgumentError("epsilon must be a number above 0, or several, got none")
    return found


@dataclass(frozen=True)
class _Pace:
    """The pace at which people come, and the time for which a reward is waited for."""

    per_day: float | None
    window: timedelta | None

    def __post_init__(self) -> None:
        if self.per_day is not None:
            checks.positive("per_day", self.per_day)
        if self.window is None:
            return
        if self.per_day is None:
            raise ArgumentError("per_day must be given with a window: while it waits, people come in vain; got None")
        if not isinstance(self.window, timedelta) or self.window < timedelta(0):
            raise ArgumentError(f"window must be a datetime.timedelta, got {self.window!r}")

    def days(self, people: Any, epochs: Any = 0) -> Any:
        """Return the days until so many people have come, and each of the epochs has waited; None without a pace."""
        waiting = (self.window or timedelta(0)) / _DAY
        return None if self.per_day is None else people / self.per_day + epochs * waiting

    def spread(self, people: Any, epochs: Any = 0) -> tuple[float | None, float | None]:
        """Return the days on average, and what 95 % of runs take at most."""
        days = self.days(people, epochs)
        return (None, None) if days is None else (float(days.mean()), float(np.quantile(days, 0.95)))


def _spread(people: Any) -> tuple[float, float, float]:
    """Return the mean, the median and the 95 % quantile of the people that runs took."""
    return float(people.mean()), float(np.median(people)), float(np.quantile(people, 0.95))


def _policy(
    arms: int, epsilon: float, beta: float, *, key: str | None, unit: str, delayed: bool, promised: bool
) -> Policy:
    """Return the search: the one that is named, or recommended, or if a number must be promised one that does."""
    if key is None:
        advice = recommend(arms, epsilon=epsilon, goal="best-arm", beta=beta, unit=unit, delayed=delayed)
        if not promised or advice.policy != DPEvidenceBestArm.key:
            policy: Policy = advice.make()
            return policy
        key = DPSharpBestArm.key
    found: Policy = make_policy(key, range(arms), epsilon=epsilon, beta=beta)
    return found


def _search(policy: Policy, rates: tuple[float, ...], pace: _Pace, seed: int) -> Outlook:
    found, best = race(policy, rates, RUNS, seed), max(rates)
    outlook = Outlook(policy.privacy.epsilon, *[None] * 4)
    if isinstance(policy, SEARCHES):
        outlook = _worst(policy, [best - rate for rate in rates if rate != best], pace)
    mean, median, high = _spread(found.people)
    days, high_days = pace.spread(found.people, found.epochs)
    right = float(found.right.mean())
    return replace(outlook, mean=mean, median=median, high=high, right=right, days=days, high_days=high_days)


def _worst(policy: Policy, gaps: Sequence[float], pace: _Pace) -> Outlook:
    people, epochs = worst_case(policy, list(gaps))
    return Outlook(policy.privacy.epsilon, None, None, None, people, worst_days=pace.days(people, epochs))


def _people(people: float | None) -> int | None:
    return None if people is None else rounded(people)


def _days(days: float | None) -> float | None:
    return None if days is None else round(days, 1) if days < 10 else round(days)


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"

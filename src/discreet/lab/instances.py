"""Bandit instances: the paper's four, three of rare rewards, and your own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.lab.arm_texts import parse
from discreet.lab.arms import Bernoulli, Rewards

HIGH, LOW = 0.75, 0.25
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Instance:
    """Arms that pay rewards, under a name.

    Args:
        name: The name.
        rewards: The distribution of each arm's rewards. A stopping rule samples one arm, a policy two or more.
    """

    name: str
    rewards: tuple[Rewards, ...]

    def __len__(self) -> int:
        """Return the number of arms."""
        return len(self.rewards)

    @property
    def means(self) -> Floats:
        """The arms' mean rewards."""
        return np.array([arm.mean for arm in self.rewards])

    @property
    def gaps(self) -> Floats:
        """The difference between the best mean and each arm's: the regret of one pull."""
        means = self.means
        return np.asarray(means.max() - means)

    @property
    def bernoulli(self) -> bool:
        """True if every arm pays 0 or 1."""
        return all(isinstance(arm, Bernoulli) for arm in self.rewards)


def equal_gaps(arms: int) -> Floats:
    """C1: one arm of mean 0.75, all others 0.7."""
    return np.array([HIGH] + [0.7] * (arms - 1))


def linear_gaps(arms: int) -> Floats:
    """C2: from 0.75 down to 0.25 in equal steps."""
    return np.linspace(HIGH, LOW, arms)


def convex_gaps(arms: int) -> Floats:
    """C3: a (i - K)^2 + c with a > 0: most arms are far behind."""
    i = np.arange(1, arms + 1)
    return LOW + (HIGH - LOW) * ((i - arms) / (arms - 1)) ** 2


def concave_gaps(arms: int) -> Floats:
    """C4: a (i - 1)^2 + c with a < 0: most arms are close."""
    i = np.arange(1, arms + 1)
    return HIGH - (HIGH - LOW) * ((i - 1) / (arms - 1)) ** 2


def rare_equal_gaps(arms: int) -> Floats:
    """R1: clicks, one arm of 2 %, all others 1.5 %."""
    return np.array([0.02] + [0.015] * (arms - 1))


def rare_linear_gaps(arms: int) -> Floats:
    """R2: clicks, from 5 % down to 0.5 % in equal steps."""
    return np.linspace(0.05, 0.005, arms)


def rare_winner(arms: int) -> Floats:
    """R3: conversions, one winner of 3 % among arms of 1 % (50 of them unless told otherwise)."""
    return np.array([0.03] + [0.01] * (arms - 1))


PAPER = ("C1", "C2", "C3", "C4")
RARE = ("R1", "R2", "R3")
INSTANCES: dict[str, Callable[[int], Floats]] = {
    "C1": equal_gaps,
    "C2": linear_gaps,
    "C3": convex_gaps,
    "C4": concave_gaps,
    "R1": rare_equal_gaps,
    "R2": rare_linear_gaps,
    "R3": rare_winner,
}
ARMS = {"R3": 50}
"""The number of arms of an instance if nothing is said: 5 where it is not in here."""


def instance(what: str | Instance | Iterable[float | str | Rewards], arms: int | None = None) -> Instance:
    """Return a known instance, or one made of your own arms.

    >>> instance("C3").means
    array([0.75   , 0.53125, 0.375  , 0.28125, 0.25   ])
    >>> instance("C4").means
    array([0.75   , 0.71875, 0.625  , 0.46875, 0.25   ])
    >>> instance([0.3, "uniform(0, 0.8)"]).name
    'Bernoulli(0.3), Uniform(0, 0.8)'

    Args:
        what: The name of a known instance, an instance, or arms: each a `Rewards`, a text that names one, or a number,
            the mean of a Bernoulli arm.
        arms: The number of arms of a known instance, by default 5, and 50 for R3.

    Raises:
        ArgumentError: If there is no such instance or arm, or fewer than two arms.
    """
    if isinstance(what, Instance):
        return what
    if isinstance(what, str) and what in INSTANCES:
        means = INSTANCES[what](checks.whole("arms", ARMS.get(what, 5) if arms is None else arms, at_least=2))
        return Instance(what, tuple(Bernoulli(float(mean)) for mean in means))
    if isinstance(what, str) or not isinstance(what, Iterable):
        raise ArgumentError(f"instance must be {', '.join(INSTANCES)} or a list of arms, got {what!r}")
    rewards = tuple(as_rewards(arm) for arm in what)
    if len(rewards) < 2:
        raise ArgumentError(f"an instance needs at least two arms, got {len(rewards)}")
    return Instance(", ".join(map(str, rewards)), rewards)


def as_rewards(arm: float | str | Rewards) -> Rewards:
    """Return the distribution that a number (the mean of a Bernoulli arm), a text or a `Rewards` stands for."""
    if isinstance(arm, Rewards):
        return arm
    return parse(arm) if isinstance(arm, str) else Bernoulli(arm)

"""Bandit instances: the paper's four, three of rare rewards, and your own.

Arms may be given as a person writes them: `0.3`, `beta(2, 5)`, `csv(sales.csv, amount)`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet._display import Page, Shown, Table
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.lab.arms import Bernoulli, Beta, Discrete, Empirical, TruncatedNormal, Uniform
from discreet.lab.rewards import Rewards

HIGH, LOW = 0.75, 0.25
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Instance(Shown):
    """Arms that pay rewards, under a name.

    Args:
        name: The name.
        rewards: The distribution of each arm's rewards, as `instance` takes arms. A stopping rule samples one arm, a
            policy two or more.
    """

    name: str
    rewards: tuple[Rewards, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewards", tuple(as_rewards(arm) for arm in self.rewards))

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

    def _page(self) -> Page:
        rows = [(str(arm), arm.mean, gap) for arm, gap in zip(self.rewards, self.gaps.tolist(), strict=True)]
        return Page(f"instance {self.name}", {"arms": len(self)}, [Table(("rewards", "mean", "gap"), rows)])

    @property
    def bernoulli(self) -> bool:
        """True if every arm pays 0 or 1."""
        return all(isinstance(arm, Bernoulli) for arm in self.rewards)


def _one_ahead(best: float, others: float, arms: int) -> Floats:
    """Return the means of one arm and of others that are all alike."""
    return np.array([best] + [others] * (arms - 1))


def _convex_gaps(arms: int) -> Floats:
    """Return a (i - K)^2 + c with a > 0: most arms are far behind."""
    i = np.arange(1, arms + 1)
    return LOW + (HIGH - LOW) * ((i - arms) / (arms - 1)) ** 2


def _concave_gaps(arms: int) -> Floats:
    """Return a (i - 1)^2 + c with a < 0: most arms are close."""
    i = np.arange(1, arms + 1)
    return HIGH - (HIGH - LOW) * ((i - 1) / (arms - 1)) ** 2


PAPER = ("C1", "C2", "C3", "C4")
RARE = ("R1", "R2", "R3")
INSTANCES: dict[str, Callable[[int], Floats]] = {
    "C1": partial(_one_ahead, HIGH, 0.7),
    "C2": partial(np.linspace, HIGH, LOW),
    "C3": _convex_gaps,
    "C4": _concave_gaps,
    "R1": partial(_one_ahead, 0.02, 0.015),  # clicks
    "R2": partial(np.linspace, 0.05, 0.005),  # clicks
    "R3": partial(_one_ahead, 0.03, 0.01),  # conversions
}
ARMS = {"R3": 50}  # if nothing is said; 5 where an instance is not in here


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
        meant = checks.did_you_mean(what, INSTANCES)
        raise ArgumentError(f"instance must be {', '.join(INSTANCES)} or a list of arms, got {what!r}{meant}")
    rewards = tuple(as_rewards(arm) for arm in what)
    if len(rewards) < 2:
        raise ArgumentError(f"an instance needs at least two arms, got {len(rewards)}")
    return Instance(", ".join(map(str, rewards)), rewards)


def as_rewards(arm: float | str | Rewards) -> Rewards:
    """Return the distribution that a number (the mean of a Bernoulli arm), a text or a `Rewards` stands for."""
    if isinstance(arm, Rewards):
        return arm
    return parse(arm) if isinstance(arm, str) else Bernoulli(arm)


_FORMS = (
    "0.3 or bernoulli(0.3)",
    "beta(2,5) or beta(2,5,LOW,HIGH)",
    "uniform(0.2,0.8)",
    "normal(CENTRE,SD) or normal(CENTRE,SD,LOW,HIGH)",
    "discrete(VALUE:WEIGHT,VALUE:WEIGHT,...)",
    "csv(PATH,COLUMN)",
)
_NUMERIC: dict[str, tuple[Callable[..., Rewards], tuple[int, ...]]] = {  # and the possible numbers of parameters
    "bernoulli": (Bernoulli, (1,)),
    "beta": (Beta, (2, 4)),
    "uniform": (Uniform, (2,)),
    "normal": (TruncatedNormal, (2, 4)),
}


def parse(text: str) -> Rewards:
    """Return the arm that a short text names; a number alone is a Bernoulli arm's mean.

    >>> parse("0.3")
    Bernoulli(mean=0.3)
    >>> parse("beta(2, 5)")
    Beta(a=2.0, b=5.0, low=0.0, high=1.0)
    >>> parse("discrete(0:0.5, 0.5:0.3, 1:0.2)").mean
    0.35
    >>> parse("gamma(2)")
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: the arm 'gamma(2)' is of no known form; known are: 0.3 or bernoulli(0.3);
    beta(2,5) or beta(2,5,LOW,HIGH); uniform(0.2,0.8); normal(CENTRE,SD) or normal(CENTRE,SD,LOW,HIGH);
    discrete(VALUE:WEIGHT,VALUE:WEIGHT,...); csv(PATH,COLUMN)
    """
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text)
    name, inside = (match[1].lower(), match[2]) if match else ("bernoulli", text)
    try:
        if name == "csv" and "," in inside:
            path, column = inside.rsplit(",", 1)  # a path may have commas
            return Empirical.from_csv(path.strip(), column.strip())
        if name == "discrete":
            pairs = [[float(number) for number in pair.split(":")] for pair in inside.split(",")]
            if all(len(pair) == 2 for pair in pairs):
                return Discrete(*zip(*pairs, strict=True))
        if name in _NUMERIC:
            build, sizes = _NUMERIC[name]
            numbers = [float(number) for number in inside.split(",")]
            if len(numbers) in sizes:
                return build(*numbers)
    except ArgumentError as error:
        raise ArgumentError(f"the arm {text!r}: {error}") from error
    except ValueError:  # what should be a number is none
        pass
    raise ArgumentError(f"the arm {text!r} is of no known form; known are: {'; '.join(_FORMS)}")

"""The four bandit instances of the paper's evaluation, for any number of arms; all arms are Bernoulli."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet import checks

HIGH, LOW = 0.75, 0.25


def equal_gaps(arms: int) -> NDArray[np.float64]:
    """C1: one arm of mean 0.75, all others 0.7."""
    return np.array([HIGH] + [0.7] * (arms - 1))


def linear_gaps(arms: int) -> NDArray[np.float64]:
    """C2: from 0.75 down to 0.25 in equal steps."""
    return np.linspace(HIGH, LOW, arms)


def convex_gaps(arms: int) -> NDArray[np.float64]:
    """C3: a (i - K)^2 + c with a > 0: most arms are far behind."""
    i = np.arange(1, arms + 1)
    return LOW + (HIGH - LOW) * ((i - arms) / (arms - 1)) ** 2


def concave_gaps(arms: int) -> NDArray[np.float64]:
    """C4: a (i - 1)^2 + c with a < 0: most arms are close."""
    i = np.arange(1, arms + 1)
    return HIGH - (HIGH - LOW) * ((i - 1) / (arms - 1)) ** 2


INSTANCES = {"C1": equal_gaps, "C2": linear_gaps, "C3": convex_gaps, "C4": concave_gaps}


def instance(name: str, arms: int = 5) -> NDArray[np.float64]:
    """The means of an instance, best arm first.

    >>> instance("C3")
    array([0.75   , 0.53125, 0.375  , 0.28125, 0.25   ])
    >>> instance("C4")
    array([0.75   , 0.71875, 0.625  , 0.46875, 0.25   ])
    """
    checks.choice("instance", name, tuple(INSTANCES))
    return INSTANCES[name](checks.whole("arms", arms, at_least=2))

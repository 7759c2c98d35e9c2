"""Clopper-Pearson limits of a probability, and a lower bound on epsilon from two of them.

A binomial tail is summed term by term, so there is no library of distributions to trust.
"""

import math

_CAUTION = 1e-6  # relative: far above the rounding errors of a tail, far below anything that matters
_HALVINGS = 60


def binomial_tail(hits: int, runs: int, chance: float) -> float:
    """Return the probability of at least some number of successes.

    Args:
        hits: The number of successes.
        runs: The number of runs.
        chance: The probability of success in each run, at most hits/runs.

    >>> round(binomial_tail(8, 10, 0.5), 6)
    0.054688
    """
    if hits == 0:
        return 1.0
    if chance == 0:
        return 0.0
    ways = math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(runs - hits + 1)
    rest = (runs - hits) * math.log1p(-chance) if runs > hits else 0.0
    odds = chance / (1 - chance) if chance < 1 else 0.0
    total = term = 1.0
    for more in range(hits + 1, runs + 1):
        term *= (runs - more + 1) / more * odds
        total += term
        if term < total * 1e-17:  # terms only get smaller, since the chance is below hits/runs
            break
    return math.exp(ways + hits * math.log(chance) + rest) * total


def lower_limit(hits: int, runs: int, error: float) -> float:
    """Return a lower confidence limit of a probability.

    Args:
        hits: The number of runs in which an event happened.
        runs: The number of runs.
        error: The largest chance that the true probability is below the limit.

    >>> round(lower_limit(50, 100, 0.025), 4), lower_limit(0, 100, 0.025)
    (0.3983, 0.0)
    """
    low, high = 0.0, hits / runs
    for _ in range(_HALVINGS if hits else 0):
        middle = (low + high) / 2
        if binomial_tail(hits, runs, middle) <= error * (1 - _CAUTION):
            low = middle
        else:
            high = middle
    return low


def upper_limit(hits: int, runs: int, error: float) -> float:
    """Return an upper confidence limit of a probability.

    Args:
        hits: The number of runs in which an event happened.
        runs: The number of runs.
        error: The largest chance that the true probability is above the limit.
    """
    return 1 - lower_limit(runs - hits, runs, error)


def epsilon_limit(hits: int, other_hits: int, runs: int, error: float) -> float:
    """Return a lower bound on epsilon from one event, counted on two neighbouring inputs.

    An epsilon-private algorithm has p <= exp(epsilon) q, so epsilon is at least ln(p/q): p from below, q from above.

    Args:
        hits: The number of runs on one input in which it happened.
        other_hits: The number of runs on the other input.
        runs: The number of runs on each input.
        error: The largest chance that the bound is too high.

    >>> round(epsilon_limit(9_000, 1_000, 10_000, error=1e-6), 3)  # at the counts themselves ln(9) = 2.197
    2.037
    """
    low, high = lower_limit(hits, runs, error / 2), upper_limit(other_hits, runs, error / 2)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0

"""The noise of binary trees over T items (Dwork et al. 2010; Chan, Shi, Song 2010), as DP-UCB uses them.

Each node carries Laplace noise of scale m/epsilon, m being the number of levels, and a running total adds up one node
for each 1 among the binary digits of the number of items.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, fraction, privacy, require, vectorised, whole

MOST_ITEMS = 2**53
"""Beyond it floats do not count one by one."""


@vectorised
def tree_levels(horizon: ArrayLike) -> Any:
    """Return floor(log2 T) + 1, the number of nodes that the first of T items lies in.

    The paper has log2(T) levels and noise of scale log2(T)/epsilon, so its trees lose `tree_levels`/log2(T) times
    epsilon: one level too few, and log2(T) itself is no whole number unless T is a power of 2.

    >>> tree_levels([1, 2, 1023, 1024, 5e7])
    array([ 1,  2, 10, 11, 26])
    """
    _, exponent = np.frexp(_items("horizon", horizon))
    return exponent.astype(np.int64)


@vectorised
def tree_variance(horizon: ArrayLike, epsilon: ArrayLike, items: ArrayLike | None = None) -> Any:
    """Return the variance of a running total's noise: 2 (m/epsilon)^2 for each of its nodes.

    Its largest value over all times is 2 m^3/epsilon^2, of the order log(T)^3/epsilon^2 that the paper has for every
    time. On average it is about half as large, and after 1, 2, 4, 8, ... items it is 2 (m/epsilon)^2.

    Args:
        horizon: The largest number of items, T.
        epsilon: The privacy parameter; infinity for no privacy.
        items: The number of items in the total; by default the largest variance for up to T items is returned, as if
            all m levels had a node in it.

    >>> tree_variance(1024, 1.0), tree_variance(1024, 1.0, [512, 1023, 1024])
    (2662.0, array([ 242., 2420.,  242.]))
    """
    levels = tree_levels(horizon)
    nodes = levels if items is None else _ones(items, horizon)
    return 2 * nodes * (levels / privacy(epsilon)) ** 2


@vectorised
def tree_union_bound(horizon: ArrayLike, epsilon: ArrayLike, beta: ArrayLike, trees: ArrayLike = 1) -> Any:
    """Return sqrt(8) m^1.5 log(2 K T/beta)/epsilon, a bound on the noise of all totals of K trees at once.

    This is the bound of Chan, Shi and Song (2010) with a union over all times: the log(T)^2.5/epsilon of the paper, for
    a beta of order 1/T. It holds with probability 1 - beta; `tree_error_bound` is smaller.

    Args:
        horizon: The largest number of items of a tree, T.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.
        trees: The number of trees, K.

    >>> round(tree_union_bound(5e7, 1.0, 1 / 5e7, trees=5))
    14158
    """
    return np.sqrt(8) * tree_levels(horizon) ** 1.5 * _log(horizon, beta, trees) / privacy(epsilon)


@vectorised
def tree_error_bound(horizon: ArrayLike, epsilon: ArrayLike, beta: ArrayLike, trees: ArrayLike = 1) -> Any:
    """Return a smaller bound on the noise of all totals of K trees at once: of order log(T)^2/epsilon.

    Chernoff's bound on a sum of m Laplace variables (`core.tails.laplace_sum_radius`), and a union over all times: with
    l = log(2 K T/beta) it is (m/epsilon)(sqrt(2) l + 1.06 m), or (m/epsilon) sqrt(6 l m) where l <= 0.75 m. So the
    square root of log T that separates log(T)^2.5 from log(T)^2 is owed to the analysis and not to the tree. It holds
    with probability 1 - beta.

    Args:
        horizon: The largest number of items of a tree, T.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.
        trees: The number of trees, K.

    >>> round(tree_error_bound(5e7, 1.0, 1 / 5e7, trees=5))
    2105
    """
    levels, log = tree_levels(horizon), _log(horizon, beta, trees)
    s = np.minimum(np.sqrt(log / (1.5 * levels)), np.sqrt(0.5))
    return levels / privacy(epsilon) * (log / s + 1.5 * s * levels)


def _items(name: str, value: Any) -> Floats:
    array = whole(name, value)
    return require(name, array, array <= MOST_ITEMS, "at most 2^53")


def _log(horizon: Any, beta: Any, trees: Any) -> Floats:
    logs: Floats = np.log(2 * whole("trees", trees) * _items("horizon", horizon)) - np.log(fraction("beta", beta))
    return logs


def _ones(items: Any, horizon: Any) -> Any:
    """Return the number of ones among the binary digits of each number of items."""
    count, horizon = _items("items", items), _items("horizon", horizon)
    require("items", count, count <= horizon, "at most the horizon")
    digits = count.astype(np.int64)[..., None] >> np.arange(54)
    return (digits & 1).sum(axis=-1)

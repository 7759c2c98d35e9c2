"""Bounds of the theory against what was simulated: how much of each bound the runs of a reproduction take."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from discreet import theory
from discreet.lab.results import Simulation
from discreet.lab.setting import SEED
from discreet.reproduction.parts import Reproduced
from discreet.reproduction.studies.stopping import ENDS, StoppingFindings

COVERED = ("event-level", "mishra-thakurta-2015")
"""Forms of DP-UCB whose index is UCB's and a relaxation that covers the noise of the trees."""
ITEMS, TREES, BETA = 2**12 - 1, 200, 0.05
"""Of the trees that are simulated here: items, number, and the probability of failure of their bounds."""


class BoundRow(NamedTuple):
    """A bound, and the parts of it that were measured.

    Attributes:
        bound: Its function in `discreet.theory`.
        source: Its theorem.
        measured: What was measured.
        at_most: Whether it is an upper bound.
        settings: In how many settings.
        least: The least part of the bound that a setting takes.
        most: The largest part.
    """

    bound: str
    source: str
    measured: str
    at_most: bool
    settings: int
    least: float
    most: float

    @property
    def holds(self) -> bool:
        """True if no setting contradicts it."""
        return self.most <= 1 if self.at_most else self.least >= 1


Key = tuple[str, str, str, bool]
Share = tuple[Key, float]


def bound_rows(found: Reproduced) -> list[BoundRow]:
    """Return a row for each bound that something in a reproduction can be compared with."""
    shares: dict[Key, list[float]] = {}
    for key, share in _shares(found):
        shares.setdefault(key, []).append(share)
    return [BoundRow(*key, len(parts), min(parts), max(parts)) for key, parts in shares.items()]


def _shares(found: Reproduced) -> Iterator[Share]:
    for one in found.paper.results:
        for function, source, bound in _regret_bounds(one):
            yield (function.__name__, source, f"mean regret of {one.setting.algorithm}", True), one.mean / bound
    if found.stopping:
        yield from _stopping_shares(found.stopping)
    yield from _tree_shares()


def _regret_bounds(one: Simulation) -> Iterator[tuple[Callable[..., Any], str, float]]:
    """Yield the upper bounds on a policy's expected regret, with their values."""
    setting: Any = one.setting  # of a policy: it has an instance and a horizon
    means, horizon, epsilon = setting.instance.means, setting.horizon, setting.epsilon
    if setting.algorithm == "dp-se":
        for function, source in (
            (theory.dp_se_sure_regret, "Lemma 4.2's proof"),
            (theory.dp_se_regret_bound, "Theorem 4.3"),
        ):
            yield function, source, function(means, horizon, epsilon)
        yield theory.dp_se_minimax_bound, "Theorem 4.4", theory.dp_se_minimax_bound(len(means), horizon, epsilon)
    elif setting.algorithm == "dp-ucb":
        policy: Any = setting.build()
        noise = theory.tree_error_bound(horizon, policy.tree_epsilon, 1 / horizon, len(means))
        if policy.preset in COVERED and policy.effective_relaxation >= noise:
            given = policy.tree_epsilon, policy.effective_relaxation
            bound = theory.dp_ucb_regret_bound(means, horizon, *given)
            yield theory.dp_ucb_regret_bound, "after Auer et al. 2002", bound
    elif setting.algorithm == "ucb":
        yield theory.ucb_regret_bound, "Auer et al. 2002", theory.ucb_regret_bound(means, horizon)
        yield theory.ucb_minimax_bound, "after Auer et al. 2002", theory.ucb_minimax_bound(len(means), horizon)
    elif setting.algorithm == "se":
        yield theory.se_regret_bound, "after Even-Dar et al. 2002", theory.se_regret_bound(means, horizon)


def _stopping_shares(found: StoppingFindings) -> Iterator[Share]:
    """Yield the parts of the bounds that stopping rules take, on all problems of the sweeps."""
    for kind in ENDS:
        for problem in found.study.problems(kind):
            nas, exponential = (found.of(rule, problem).samples for rule in ("nas", "dp-exp-nas"))
            bound = theory.nas_upper_bound(*problem.given[:3], **problem.range)
            yield ("nas_upper_bound", "after Domingo et al. 2002", "most samples of nas", True), nas.max() / bound
            key = "stopping_upper_bound", "Theorem 3.3, corrected", "most samples of dp-exp-nas", True
            yield key, exponential.max() / problem.upper_bound()
            if kind == "signs":  # the distributions of the theorem
                bound = theory.private_stopping_lower_bound(*problem.given, **problem.range)
                upper = float(np.quantile(exponential, 0.75))
                key = "private_stopping_lower_bound", "Theorem 3.4", "samples of dp-exp-nas, upper quartile", False
                yield key, upper / bound


@cache
def _tree_shares() -> tuple[Share, ...]:
    """Return the parts of the trees' bounds that simulated trees take; their noise is that of epsilon = 1."""
    noise = tree_noises(ITEMS, TREES, np.random.default_rng(SEED))
    largest = float(np.quantile(np.abs(noise).max(axis=1), 1 - BETA))
    bounds = {theory.tree_union_bound: "Chan et al. 2010", theory.tree_error_bound: "Chernoff's bound"}
    return tuple(
        ((bound.__name__, source, "largest error of a tree, 95 % quantile", True), largest / bound(ITEMS, 1.0, BETA))
        for bound, source in bounds.items()
    )


def tree_noises(items: int, trees: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the noise of every running total of binary trees with epsilon = 1, a row for each tree.

    Args:
        items: The number of items of a tree.
        trees: The number of trees.
        rng: A generator of random numbers.
    """
    levels, time = int(theory.tree_levels(items)), np.arange(1, items + 1)
    total = np.zeros((trees, items))
    for level in range(levels):
        node = time >> level  # the last whole node of this level, and in the total if it is odd
        nodes = rng.laplace(scale=levels, size=(trees, int(node[-1]) + 1))
        total += np.where(node & 1, nodes[:, node], 0.0)
    return total

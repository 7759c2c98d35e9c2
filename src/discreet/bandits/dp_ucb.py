"""DP-UCB: UCB on noisy running totals from binary trees (Mishra and Thakurta 2015), in its four known forms."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from discreet.bandits._counter_policy import CounterPolicy
from discreet.core.options import Count, NotNegative, OneOf, Probability
from discreet.core.plans import CounterQuery, Query, StepsQuery
from discreet.core.privacy import Privacy, Theorem, Unit, share
from discreet.core.registry import register
from discreet.core.releases import Release

PUBLISHED, THESIS, STEPPED = "mishra-thakurta-2015", "thesis", "all-trees"
PRESETS = ("event-level", PUBLISHED, THESIS, STEPPED)
"""The forms of DP-UCB."""


@register
@dataclass(kw_only=True)
class DPUCB(CounterPolicy):
    """Pulls the arm with the highest noisy mean + exploration + relaxation / n.

    Each arm has a binary tree over T leaves. The mean is its noisy total over the n pulls. Presets (K arms, horizon T,
    `gamma` = 1/T unless given):

    ====================== ============ ======================= ====================================
    preset                 trees at     exploration             relaxation
    ====================== ============ ======================= ====================================
    "event-level"          epsilon      sqrt(2 ln t / n)        ln(T)^2 ln(K T ln T/gamma) / epsilon
    "mishra-thakurta-2015" epsilon / K  sqrt(2 ln t / n)        K ln(T)^2 ln(K T ln T/gamma) / epsilon
    "thesis"               epsilon      sqrt(2 ln(2/gamma) / n) sqrt(8) ln(T)^1.5 ln(2/gamma) / epsilon
    "all-trees"            epsilon      sqrt(2 ln t / n)        0
    ====================== ============ ======================= ====================================

    The default fits the paper's claims and its words (tree nodes of noise log2(T)/epsilon). Mishra and Thakurta hide
    the whole row of potential rewards of a step, hence K trees at epsilon/K each. If only the observed reward is to be
    hidden, one tree is touched and epsilon suffices, without their leading K. The third is the index in A. Azize's
    thesis. In the fourth, found in public code, trees are over time steps: an arm that is not pulled adds a 0 to its
    tree, so its noise is drawn anew, and no early noise can hold an arm back for ever. It needs no relaxation. Nothing
    is proved of its regret.

    Private because a reward enters the tree of its own arm only, in at most one node of each level, and the nodes'
    shares of epsilon add up to epsilon. With "mishra-thakurta-2015" a row enters K trees, at epsilon/K each. With
    "all-trees" the other arms' items of a step are 0 whatever the reward is (`docs/proofs/stepped-trees.md`).

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward (or row), above 0.
        horizon: The number of pulls in all, T.
        preset: The form, as in the table.
        gamma: The probability of failure in the formulas, by default 1/T.
        relaxation: Replaces the preset's constant. Privacy does not depend on it, but with a small one early noise may
            make the policy pull a wrong arm for ever.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPUCB(["A", "B"], epsilon=1.0, horizon=1000)
    >>> round(policy.effective_relaxation, 1)
    784.5
    >>> policy.plan().pulls
    {'A': 1}
    """

    key = "dp-ucb"
    reason = "a reward touches one tree, in at most one node of each level"
    theorem = Theorem.TREES
    kernel = "dp_ucb"

    horizon: Count = field()
    preset: Annotated[str, OneOf(PRESETS)] = PRESETS[0]
    gamma: Probability | None = None
    relaxation: NotNegative | None = None

    @cached_property
    def privacy(self) -> Privacy:
        """The promise: for one reward, or (Mishra and Thakurta) for a time step's row of potential rewards."""
        if self.preset == STEPPED:
            return Privacy(self.epsilon, Unit.REWARD, self.reason, theorem=Theorem.BY_HAND)
        if self.preset != PUBLISHED:
            return super().privacy
        reason = "a row of K rewards touches K trees at epsilon/K each"
        return Privacy(self.epsilon, Unit.ROW, reason, theorem=Theorem.ROWS)

    @cached_property
    def tree_epsilon(self) -> float:
        """The epsilon of each tree; a row's K of them add up to epsilon at most."""
        return share(self.epsilon, len(self.arms)) if self.preset == PUBLISHED else self.epsilon

    @cached_property
    def effective_gamma(self) -> float:
        """`gamma` as given, or 1/T."""
        return 1 / self.horizon if self.gamma is None else self.gamma

    @cached_property
    def effective_relaxation(self) -> float:
        """`relaxation` as given, or the preset's."""
        if self.relaxation is not None:
            return self.relaxation
        if self.preset == STEPPED:
            return 0.0
        arms, horizon, gamma = len(self.arms), self.horizon, self.effective_gamma
        log = math.log(horizon)
        if self.preset == THESIS:
            return math.sqrt(8 * log**3) * math.log(2 / gamma) / self.epsilon
        one_tree = log**2 * math.log(arms * horizon * log / gamma) / self.epsilon
        return arms * one_tree if self.preset == PUBLISHED else one_tree

    def index(self, arm: int, time: int) -> float:
        """Return noisy mean, exploration and relaxation, added up.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        pulls = self.pulls[arm]
        log = math.log(2 / self.effective_gamma) if self.preset == THESIS else math.log(time)
        return self.mean(arm) + math.sqrt(2 * log / pulls) + self.effective_relaxation / pulls

    @cached_property
    def _query(self) -> Query:
        if self.preset == STEPPED:
            return StepsQuery(self.epsilon, self.horizon)
        return CounterQuery(self.tree_epsilon, self.horizon)

    def _level(self, node: Release) -> int:
        if self.preset != STEPPED:
            return super()._level(node)
        return (self.time & -self.time).bit_length() - 1  # the items of its tree are time steps

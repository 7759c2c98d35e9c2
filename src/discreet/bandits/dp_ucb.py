"""DP-UCB: UCB on noisy running totals from binary trees (Mishra and Thakurta 2015), in its three known forms."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._counted import CountedPolicy
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Arm, Neighbours, Privacy, Unit
from discreet.mechanisms.binary_tree import BinaryTreeCounter

PRESETS = ("event-level", "mishra-thakurta-2015", "thesis")


class DPUCB(CountedPolicy):
    """Pulls the arm with the highest noisy mean + exploration + relaxation / n.

    Each arm has a binary-tree counter over T leaves; the mean is its noisy total over the n pulls.
    Presets (K arms, horizon T, `gamma` = 1/T unless given):

    ====================== ============ ======================= ====================================
    preset                 trees at     exploration             relaxation
    ====================== ============ ======================= ====================================
    "event-level"          epsilon      sqrt(2 ln t / n)        ln(T)^2 ln(K T ln T/gamma) / epsilon
    "mishra-thakurta-2015" epsilon / K  sqrt(2 ln t / n)        K ln(T)^2 ln(K T ln T/gamma) / epsilon
    "thesis"               epsilon      sqrt(2 ln(2/gamma) / n) sqrt(8) ln(T)^1.5 ln(2/gamma) / epsilon
    ====================== ============ ======================= ====================================

    The default fits the paper's claims and its words (tree nodes of noise log2(T)/epsilon). Mishra and
    Thakurta hide the whole row of potential rewards of a step, hence K trees at epsilon/K each; when only
    the observed reward is to be hidden, one tree is touched and epsilon suffices, without their leading K.
    The third is the index in A. Azize's thesis. `relaxation` overrides the preset's constant: privacy does
    not depend on it, but a small one lets early noise lock the policy on to a wrong arm for ever.

    Private because a reward enters the tree of its own arm only, and that tree is private by itself.

    >>> from discreet import SimulatedNoise
    >>> policy = DPUCB(["A", "B"], epsilon=1.0, horizon=1000, noise=SimulatedNoise(seed=1))
    >>> round(policy.relaxation, 1)
    784.5
    >>> policy.plan().pulls
    {'A': 1}
    """

    key = "dp-ucb"
    privacy_reason = "a reward touches one tree, in at most one node of each level"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int,
        preset: str = "event-level",
        gamma: float | None = None,
        relaxation: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=checks.whole("horizon", horizon))
        assert self.horizon is not None
        self.epsilon = checks.positive("epsilon", epsilon)
        self.preset = checks.choice("preset", preset, PRESETS)
        self.gamma = 1 / self.horizon if gamma is None else checks.fraction("gamma", gamma)
        self.relaxation = self._preset_relaxation() if relaxation is None else checks.real("relaxation", relaxation)
        if self.relaxation < 0:
            raise ArgumentError(f"relaxation must not be negative, got {relaxation!r}")
        per_tree = self.epsilon / len(self.arms) if preset == "mishra-thakurta-2015" else self.epsilon
        self._counters = [BinaryTreeCounter(self.horizon, self.grid.width, per_tree, noise) for _ in self.arms]
        self.noise = self._counters[0].noise

    def index(self, number: int, time: int) -> float:
        """Noisy mean, exploration and relaxation."""
        pulls = self._pulls[number]
        log = math.log(2 / self.gamma) if self.preset == "thesis" else math.log(time)
        return self.mean(number) + math.sqrt(2 * log / pulls) + self.relaxation / pulls

    def _preset_relaxation(self) -> float:
        arms, horizon, gamma = len(self.arms), self.horizon or 1, self.gamma
        log = math.log(horizon)
        if self.preset == "thesis":
            return math.sqrt(8 * log**3) * math.log(2 / gamma) / self.epsilon
        one_tree = log**2 * math.log(arms * horizon * log / gamma) / self.epsilon
        return arms * one_tree if self.preset == "mishra-thakurta-2015" else one_tree

    @property
    def privacy(self) -> Privacy:
        """Pure epsilon, for one reward or (Mishra and Thakurta) for a step's whole row of potential rewards."""
        if self.preset != "mishra-thakurta-2015":
            return super().privacy
        reason = "a row of K rewards touches K trees at epsilon/K each"
        return Privacy(self.epsilon, Unit.REWARD, Neighbours.ONE_ROW, reason, self.simulated)

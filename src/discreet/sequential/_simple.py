"""Plans of tests between two means from exact laws: blocks, scores, and thresholds that spend both errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from discreet.core.errors import ArgumentError
from discreet.core.noise import Integers, scale_for
from discreet.core.probability.divergences import kl, private_kl
from discreet.core.probability.evidence import Numbers
from discreet.sequential._designs import MeanDesign
from discreet.sequential._laws import Law, noise_law, total_law

STEP = 0.02
"""Scores are log likelihood ratios in units of this."""
SCHEDULES = (1.23, 1.23), (1.0, 1.0), (0.6, 0.3)
"""Sizes of the first block and of later ones that are tried, in units of the lower bound."""
_RARE = 1e-11  # the chance of a total, below which its score is that of its neighbour
_LOOKS = 400  # the most looks that a plan follows
_REST = 1e-8  # the chance of going on, below which it is not followed
_OPEN = 1e-3  # the chance of going on after the last look that is followed, at most, in parts of either error
_RAISES = 60  # of thresholds, one by one
_DOUBLINGS = 24  # of blocks, if the plans of smaller ones go on for too long


def lower_bound(design: MeanDesign) -> float:
    """Return a number of samples that every private test takes on average, under the hypothesis that is quicker told.

    It is kl(1 - alpha, beta)/d_epsilon, for the direction of d_epsilon in which it is larger.
    """
    return kl(1 - design.alpha, design.beta) / min(_told(design))


def _told(design: MeanDesign) -> tuple[float, float]:
    """Return how much a private sample tells at most under each hypothesis, the null one first."""
    low, high, epsilon = design.null, design.alternative, design.epsilon
    return max(private_kl(low, high, epsilon), 1e-300), max(private_kl(1 - high, 1 - low, epsilon), 1e-300)


class Block(NamedTuple):
    """The scores of one block's released total.

    Attributes:
        rewards: The number of rewards.
        first: The total of the first score.
        scores: The score of each total; those beyond have the score of the nearest one.
        null: The law of the score under the null hypothesis.
        alternative: Its law under the alternative.
    """

    rewards: int
    first: int
    scores: Integers
    null: Law
    alternative: Law

    def score(self, total: int) -> int:
        """Return the score of a released total."""
        return int(self.scores[min(max(total - self.first, 0), len(self.scores) - 1)])


def block_of(count: int, null: float, alternative: float, noise: Law) -> Block:
    """Return the scores of a block: rounded log likelihood ratios of its released total, which never decrease.

    Args:
        count: The number of rewards.
        null: The mean under the null hypothesis, the smaller one.
        alternative: The mean under the alternative.
        noise: The law of the noise.
    """
    laws = [total_law(count, mean, noise) for mean in (null, alternative)]
    first = min(law.first for law in laws)
    last = max(law.first + len(law.chances) for law in laws)
    chances = np.zeros((2, last - first))
    for row, law in zip(chances, laws, strict=True):
        row[law.first - first : law.first - first + len(law.chances)] = law.chances / law.chances.sum()
    known = np.flatnonzero((chances > _RARE).all(axis=0))
    if len(known):
        ratios = np.log(chances[1, known] / chances[0, known])
        logs = np.interp(np.arange(last - first), known, ratios)
    else:  # no total is likely under both: they are told apart at once
        logs = np.where(chances[1] > chances[0], math.log(1 / _RARE), -math.log(1 / _RARE))
    scores = np.rint(np.maximum.accumulate(logs) / STEP).astype(np.int64)
    least = int(scores.min())
    under = [Law(least, np.bincount(scores - least, row).astype(float)) for row in chances]
    return Block(count, first, scores, *under)


class Course(NamedTuple):
    """The course of a test under one hypothesis.

    Attributes:
        above: The chance, by look, that it ends for the alternative there.
        below: The chance, by look, that it ends for the null hypothesis there.
    """

    above: Numbers
    below: Numbers

    @property
    def open(self) -> float:
        """The chance that it goes on after the last look that is followed."""
        return max(0.0, 1.0 - float(self.above.sum() + self.below.sum()))


@dataclass(frozen=True, eq=False)
class SimplePlan:
    """A test between two means: blocks, and thresholds of the summed score.

    Args:
        first: The first block.
        later: All later blocks.
        upper: The score from which on it decides for the alternative.
        lower: It decides for the null hypothesis from minus this score downwards.
    """

    first: Block
    later: Block
    upper: int
    lower: int

    def block(self, look: int) -> Block:
        """Return the block of a look, from 0."""
        return self.later if look else self.first

    def rewards(self, looks: int) -> int:
        """Return the number of rewards up to a look, from 1."""
        return self.first.rewards + (looks - 1) * self.later.rewards

    def course(self, *, alternative: bool) -> Course:
        """Return the chances of all ends under a hypothesis.

        Args:
            alternative: True for the alternative, False for the null hypothesis.
        """
        first, later = (block.alternative if alternative else block.null for block in (self.first, self.later))
        open_, above, below = Law(0, np.ones(1)), [], []
        for look in range(_LOOKS):
            scores = open_ + (later if look else first)
            above.append(scores.at_least(self.upper))
            below.append(scores.up_to(-self.lower))
            open_ = scores.between(1 - self.lower, self.upper)
            if open_.chances.sum() < _REST:
                break
        return Course(np.array(above), np.array(below))

    @cached_property
    def under_null(self) -> Course:
        """The course under the null hypothesis."""
        return self.course(alternative=False)

    @cached_property
    def under_alternative(self) -> Course:
        """The course under the alternative."""
        return self.course(alternative=True)

    @property
    def alpha(self) -> float:
        """The chance of deciding for the alternative if the null hypothesis is true, with all that is left open."""
        return float(self.under_null.above.sum()) + self.under_null.open

    @property
    def beta(self) -> float:
        """The chance of deciding for the null hypothesis if the alternative is true, with all that is left open."""
        return float(self.under_alternative.below.sum()) + self.under_alternative.open

    @property
    def open(self) -> float:
        """The chance that it goes on after the last look that is followed, under the hypothesis where it is larger."""
        return max(self.under_null.open, self.under_alternative.open)

    def chance_beyond(self, look: int, score: int) -> float:
        """Return the chance, under the null hypothesis, to end for the alternative before a look or to be so far at it.

        Args:
            look: The look's number, from 1.
            score: The summed score there.
        """
        open_, chance = Law(0, np.ones(1)), 0.0
        for number in range(look):
            scores = open_ + self.block(number).null
            if number == look - 1:
                return min(1.0, chance + scores.at_least(score))
            chance += scores.at_least(self.upper)
            open_ = scores.between(1 - self.lower, self.upper)
        return 1.0

    def mean_rewards(self, *, alternative: bool) -> float:
        """Return the number of rewards that it takes on average.

        Args:
            alternative: True for the alternative, False for the null hypothesis.
        """
        course = self.under_alternative if alternative else self.under_null
        ends = course.above + course.below
        return float(ends @ (self.first.rewards + self.later.rewards * np.arange(len(ends))) / ends.sum())


@lru_cache(maxsize=64)
def simple_plan(design: MeanDesign) -> SimplePlan:
    """Return the plan of a few schedules that keeps both errors and is nearest to the lower bounds.

    If none of them ends in time, blocks are doubled.

    Raises:
        ArgumentError: No size of blocks will do.
    """
    noise = noise_law(design.width, scale_for(design.width, design.epsilon))
    bound = lower_bound(design)
    for doubling in range(_DOUBLINGS):
        found = []
        for sizes in SCHEDULES:
            counts = [max(1, round(size * bound * 2**doubling)) for size in sizes]
            first, later = (block_of(count, design.null, design.alternative, noise) for count in counts)
            plan = _with_thresholds(first, later, design)
            found.extend([] if plan is None else [plan])
        if found:
            return min(found, key=lambda plan: _over_the_bound(plan, design))
    raise ArgumentError("alpha and beta must be closer to each other: no plan of a test ends soon enough with these")


def _over_the_bound(plan: SimplePlan, design: MeanDesign) -> float:
    """Return how many times as many samples a plan takes as every private test, under the worse hypothesis.

    Args:
        plan: The plan.
        design: The test.
    """
    alpha, beta = design.alpha, design.beta
    least = kl(1 - alpha, beta), kl(1 - beta, alpha)
    sides = zip((False, True), least, _told(design), strict=True)
    return max(plan.mean_rewards(alternative=side) * told / each for side, each, told in sides)


def _with_thresholds(first: Block, later: Block, design: MeanDesign) -> SimplePlan | None:
    """Return the plan with the least thresholds that keep both errors: first the upper one, then the lower one.

    None if it might go on beyond the looks that are followed, where no end can be counted to an error.
    """
    alpha, beta = design.alpha, design.beta
    most = [math.ceil(1.3 * -math.log(level) / STEP) for level in (alpha, beta)]
    upper, lower = (math.ceil(-math.log(level) / STEP) for level in (alpha, beta))

    def keeps_alpha(upper: int) -> bool:
        return bool(SimplePlan(first, later, upper, lower).under_null.above.sum() <= alpha)

    def keeps_beta(lower: int) -> bool:
        return bool(SimplePlan(first, later, upper, lower).under_alternative.below.sum() <= beta)

    for _ in range(2):
        upper = _least(keeps_alpha, most[0])
        lower = _least(keeps_beta, most[1])
    for _ in range(_RAISES):
        plan = SimplePlan(first, later, upper, lower)
        if plan.open > max(_REST, _OPEN * min(alpha, beta)):
            return None
        if plan.alpha <= alpha and plan.beta <= beta:
            return plan
        upper, lower = upper + (plan.alpha > alpha), lower + (plan.beta > beta)
    return None


def _least(keeps: Callable[[int], bool], most: int) -> int:
    """Return the least whole number from 1 that keeps an error which falls with it."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(middle):
            high = middle
        else:
            low = middle
    return high

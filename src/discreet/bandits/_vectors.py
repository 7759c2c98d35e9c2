"""The base class of eliminations by sparse vectors that share rewards: roads that the paper does not take."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from discreet.bandits._elimination import Elimination
from discreet.core.noise import scale_for
from discreet.core.options import Positive
from discreet.core.plans import Arm, Measure, Query, Vector, VectorsQuery
from discreet.core.privacy import Theorem, share, split
from discreet.core.releases import Release

ROAD = "a road that the paper describes and does not take: it is here to be compared with DP-SE, whose regret is less"
"""Why these are not to be relied on."""


@dataclass(kw_only=True)
class VectorElimination(Elimination):
    """Sums that go on from the first pull to the last, and sparse vectors that ask who lies behind.

    All viable arms are pulled in rounds. After r = 2, 4, 8, ... rounds (test k = 1, 2, 3, ...) each vector tests
    whether its measure of the arms' sums reaches lead(r, k) + s ln(4n/beta) + s ln(8n k^2/beta) + B + A. At a yes it
    releases noisy totals, and an arm goes.

    Private because each vector is a sparse vector over sums of sensitivity 1, which a reward pays e for, and a reward
    is in `most` vectors at most, with e = epsilon/most. Of e the tests take a share t (both noises of scale
    s = 3/(t e)), the totals the rest (noise of scale z = 1/((1 - t) e)).

    The best arm stays with probability 1 - beta: the sum of another arm is ahead of its sum by more than
    x = sqrt(r ln(4K k^2/beta)) at some test with probability 0.42 beta at most (Hoeffding for 2r rewards; the sum of
    1/k^2 is below 1.65). n bounds the vectors in which it could be lost. Their noises B lie below -s ln(4n/beta), or
    the A of their tests below -s ln(8n k^2/beta), or two noises of totals beyond y = z ln(8n/beta), with probability
    0.36 beta at most. Otherwise nobody goes who is ahead by `lead`, which each road derives from x and y. Half a grid
    step a reward, and one for each noise, are added for rounding.

    A subclass writes `most`, `lead` and `_vectors`, and what differs of `losing` and `_behind`.
    """

    theorem = Theorem.REWARDS
    keeps_secrets = True
    experimental = ROAD
    measure: ClassVar[Measure] = Measure.SPREAD
    test_share: ClassVar[float] = 0.5
    """The tests' share of what a vector may spend."""

    epsilon: Positive
    _tests: int = field(init=False, repr=False, default=0)
    _halts: int = field(init=False, repr=False, default=0)  # tests at which some vector has halted
    _halted_at: int = field(init=False, repr=False, default=0)  # the number of the last of them

    def _start(self) -> None:
        super()._start()
        _ = self.test_scale, self.total_scale  # refuses an epsilon that no noise is large or small enough for

    # ------------------------------------------------------------------ the formulas

    @property
    @abstractmethod
    def most(self) -> int:
        """The most vectors that a reward is in."""

    @property
    def losing(self) -> int:
        """The number n of vectors in which the best arm could be lost."""
        return len(self.arms)

    @abstractmethod
    def lead(self, rounds: int, test: int) -> float:
        """Return what a vector's measure must exceed whatever the noises of tests are.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """

    @cached_property
    def prices(self) -> tuple[float, float]:
        """The price of a reward for the tests of one vector, and for its totals."""
        return split(share(self.epsilon, self.most), self.test_share)

    @cached_property
    def test_scale(self) -> float:
        """The scale s of the noises of tests."""
        return scale_for(3 * self.grid.width, self.prices[0]) / self.grid.width

    @cached_property
    def total_scale(self) -> float:
        """The scale z of the noises of totals."""
        return scale_for(self.grid.width, self.prices[1]) / self.grid.width

    def sampling_radius(self, rounds: int, test: int) -> float:
        """Return x: by how much the sum of another arm can be ahead of the best arm's.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """
        return math.sqrt(rounds * self._log(4 * len(self.arms) * test**2))

    @property
    def total_radius(self) -> float:
        """y: what the noise of a total can be."""
        return self.total_scale * self._log(8 * self.losing)

    def halting_threshold(self, rounds: int, test: int) -> float:
        """Return what a vector's measure must reach, apart from the noises B + A.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """
        noises = self._log(4 * self.losing) + self._log(8 * self.losing * test**2)
        return self.lead(rounds, test) + self.test_scale * noises

    # ------------------------------------------------------------------ the tests

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each viable arm before the next test. Tests are after 2, 4, 8, ... rounds.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        return max(2, self._played)

    @property
    def _played(self) -> int:
        return self.pulls[self._viable[0]]

    @abstractmethod
    def _vectors(self) -> tuple[Vector, ...]:
        """Return the vectors of the next test."""

    def _behind(self, vector: Vector, scores: dict[int, int]) -> int:
        """Return the index of the arm that goes when a vector has halted: the one of the lowest total.

        Args:
            vector: The vector.
            scores: The noisy totals of its arms, by index.
        """
        return min(scores, key=scores.__getitem__)

    def _query(self) -> Query:
        rounds, test = self._played + self.rounds(self.epoch + 1, len(self._viable)), self._tests + 1
        limit = math.ceil(self.halting_threshold(rounds, test) * self.grid.width) + rounds + 4
        return VectorsQuery(rounds, limit, *self.prices, self._vectors(), self.most, self.measure)

    def _decide(self, releases: Sequence[Release]) -> None:
        tests, *totals = releases
        halted = Vector.halted(self._vectors(), totals) if totals else {}
        self._tests = tests.tests
        if tests.above:
            self._halts, self._halted_at = self._halts + 1, tests.tests
        for vector, own in halted.items():
            scores = self._scores(own)
            behind = self._behind(vector, scores)
            if behind in self._viable and len(self._viable) > 1:
                self._viable.remove(behind)
            ahead = [index for index in self._viable if index in scores] or self._viable
            self._leader = max(ahead, key=lambda index: scores.get(index, 0))

    def _named(self, indices: Sequence[int]) -> tuple[Arm, ...]:
        return tuple(self.arms[index] for index in indices)

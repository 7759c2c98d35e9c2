"""One run of an algorithm object against simulated arms, an epoch at a time.

Within an epoch the pulls are fixed in advance, so an arm needs only the sum of its rewards: a run of 5e7 pulls costs as
much as its few epochs.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bandits import Policy
from discreet.bandits._policy import cut_short
from discreet.core.grid import CHUNK
from discreet.core.noise import Noise, SimulatedNoise
from discreet.core.plans import Arm, Plan
from discreet.core.statistics import Statistic
from discreet.lab import instances
from discreet.lab.instances import Instance
from discreet.lab.results import NEVER
from discreet.lab.rewards import Rewards
from discreet.lab.setting import Setting
from discreet.mechanisms.curator import Curator
from discreet.stopping import StoppingRule

_FIRST_TESTS = 256  # samples of a rule that tests each, and twice as many each time: few are drawn in vain


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated run of a policy.

    Args:
        pulls: The pulls of each arm at the end.
        counts: The pulls by checkpoint and arm.
        dropped: The number of pulls when each arm was dropped; NEVER for those that were not.
        best_arm: The arm that the policy prefers at the end.
    """

    pulls: Any
    counts: Any
    dropped: tuple[int, ...]
    best_arm: Arm


def play(
    policy: Policy,
    on: Instance | Iterable[Any],
    rng: np.random.Generator,
    horizon: int | None = None,
    checkpoints: Sequence[int] = (),
    *,
    noise: Noise | None = None,
) -> Run:
    """Play a policy object up to a horizon.

    Within an epoch the arms take turns. A policy that finishes early goes on with the arm that it prefers, or if it
    has released nothing with all arms in turn.

    Each arm pays from a generator of its own. So its rewards do not depend on when and how often the others are
    pulled, nor on the noise, and policies that start from the same seed share them as far as their epochs allow. Where
    an arm's epochs are equally long, as those of step-wise policies are, it pays the very same.

    >>> from discreet import DPSuccessiveElimination, SimulatedNoise
    >>> from discreet.lab import instance
    >>> policy = DPSuccessiveElimination(range(5), epsilon=0.25, horizon=5e7)
    >>> run = play(policy, instance("C2"), np.random.default_rng(1), noise=SimulatedNoise(seed=1))
    >>> float(run.pulls @ instance("C2").gaps), run.dropped
    (4829.625, (-1, 36129, 13715, 13715, 13715))

    Args:
        policy: The policy. It learns.
        on: The instance, or a list of arms.
        rng: The parent of each arm's own generator.
        horizon: The number of pulls, by default the policy's own; without any, until it finishes.
        checkpoints: Times at which pulls are recorded, sorted.
        noise: The source of noise, by default simulated from another child of the generator.
    """
    on, own, grid = instances.instance(on), policy.horizon, policy.grid
    end = horizon if horizon is not None else (math.inf if own is None else own)
    children = zip(policy.arms, on.rewards, rng.spawn(len(policy.arms)), strict=True)
    draw = {arm: rewards.totals(child, grid) for arm, rewards, child in children}
    curator = Curator.of(policy, noise or SimulatedNoise(*rng.spawn(1)))
    track = Track(policy.arms, checkpoints)
    while track.time < end and (plan := policy.plan()):
        pulls, size = plan.pulls, plan.size
        if size > end - track.time:
            track.pull(pulls, int(end - track.time))
            break
        totals = None if plan.query is None else {arm: draw[arm](count) for arm, count in pulls.items()}
        policy.learn(curator.release(plan, totals))
        track.pull(pulls, size)
        track.note_dropped(policy.viable)
    if track.time < end < math.inf:
        rest = int(end) - track.time
        preferred = policy.arms if policy.best_arm is None else (policy.best_arm,)
        track.pull(dict.fromkeys(preferred, rest), rest)
    return Run(np.array(track.pulls, np.int64), track.counts, tuple(track.dropped), policy.best_arm)


class Track:
    """Counts of pulls, recorded at checkpoints without keeping the steps between them.

    Args:
        arms: The arms.
        checkpoints: The times, sorted.
    """

    def __init__(self, arms: Sequence[Arm], checkpoints: Sequence[int]) -> None:
        self.time = 0
        self._indices = {arm: index for index, arm in enumerate(arms)}
        self._checkpoints = checkpoints
        self._next = 0
        self.pulls = [0] * len(arms)
        self._viable = len(arms)
        self.dropped = [NEVER] * len(arms)  # the time at which each arm was dropped
        self.counts = np.zeros((len(checkpoints), len(arms)), np.int64)

    def pull(self, epoch: Mapping[Arm, int], size: int) -> None:
        """Count the first pulls of an epoch in which arms take turns.

        Args:
            epoch: The pulls of each arm in the whole epoch.
            size: The number of pulls to count.
        """
        start = self.time
        self.time += size
        until = bisect_right(self._checkpoints, self.time, self._next)
        if until > self._next:
            times = np.array(self._checkpoints[self._next : until]) - start
            self.counts[self._next : until] = self.pulls
            self._note(epoch, times, slice(self._next, until))
            self._next = until
        self._add(self.pulls, epoch if size == sum(epoch.values()) else cut_short(epoch, size))

    def _note(self, epoch: Mapping[Arm, int], times: Any, rows: slice) -> None:
        """Add the pulls of the epoch by these times, counted from its start, to the rows."""
        if len(set(epoch.values())) == 1:  # nearly always: all arms equally often
            rounds, rest = np.divmod(times, len(epoch))
            for turn, arm in enumerate(epoch):
                self.counts[rows, self._indices[arm]] += rounds + (turn < rest)
            return
        for row, moment in zip(self.counts[rows], times.tolist(), strict=True):
            self._add(row, cut_short(epoch, moment))

    def _add(self, counts: Any, pulls: Mapping[Arm, int]) -> None:
        for arm, count in pulls.items():
            counts[self._indices[arm]] += count

    def note_dropped(self, viable: Sequence[Arm]) -> None:
        """Record the time for each arm that is not viable any more."""
        if len(viable) < self._viable:
            self._viable = len(viable)
            for arm, index in self._indices.items():
                if arm not in viable and self.dropped[index] == NEVER:
                    self.dropped[index] = self.time


def play_rule(
    rule: StoppingRule, distribution: Rewards, rng: np.random.Generator, noise: Noise | None = None
) -> StoppingRule:
    """Play a stopping rule object until it finishes, and return it.

    Args:
        rule: The rule. It learns.
        distribution: The distribution of the samples.
        rng: The generator that samples are drawn from.
        noise: The source of noise, by default simulated from a child of the generator.
    """
    grid, draw = rule.grid, distribution.totals(rng, rule.grid)
    source = noise or SimulatedNoise(*rng.spawn(1))
    curator, coins = Curator.of(rule, source), distribution.coins(rng, grid)
    size = _FIRST_TESTS
    while (plan := rule.plan()) is not None:
        if plan.many_tests:
            plan = plan.until(min(size, plan.tests_within(plan.size)))  # it may halt soon
            size *= 2
            if plan.spaced:
                statistic: Any = _between_tests(plan, coins if plan.statistic is Statistic.COINS else draw)
            else:
                statistic = grid.encode_checked(distribution.sample(rng, plan.size)).astype(np.int64)
        elif plan.statistic is Statistic.TOTAL:
            statistic = draw(plan.size)
        else:
            sums = plan.statistic.accumulator(grid.width)
            for start in range(0, plan.size, CHUNK):
                sums.add(grid.encode_checked(distribution.sample(rng, min(CHUNK, plan.size - start)), source))
            statistic = sums.values
        rule.learn(curator.release(plan, {None: statistic}))
    return rule


def _between_tests(plan: Plan, draw: Callable[[int], int]) -> NDArray[np.int64]:
    """Return totals of fresh samples between tests."""
    counts = plan.query.counts  # type: ignore[union-attr]
    return np.array([draw(gap) for gap in np.diff(counts, prepend=counts[-1] - plan.size).tolist()], np.int64)


def seeded(setting: Setting, index: int) -> tuple[Any, np.random.Generator, np.random.SeedSequence]:
    """Return the algorithm of a run, with the seed of its own draws; the generator of rewards; and the seed of noise.

    Args:
        setting: The setting.
        index: The index of the run.
    """
    rewards, noise, own = setting.run_seed(index).spawn(3)
    algorithm = setting.build(int(own.generate_state(1, np.uint64)[0]) >> 1)
    return algorithm, np.random.default_rng(rewards), noise


def one_run(setting: Setting, index: int) -> Any:
    """Play one run of a setting as the object. Rewards, noise and the algorithm's own draws have a seed each.

    Args:
        setting: The setting.
        index: The index of the run.

    Returns:
        A policy's `Run`, or the rule at its end.
    """
    algorithm, rng, noise = seeded(setting, index)
    source = SimulatedNoise(noise)
    if setting.is_rule:
        return play_rule(algorithm, setting.distribution, rng, source)
    return play(algorithm, setting.instance, rng, setting.horizon, setting.checkpoints, noise=source)

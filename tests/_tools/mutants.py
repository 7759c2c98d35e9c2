"""Planted privacy bugs, each with the detectors that must catch it: one list for all tests.

Those that were read in public code come first. A mutant is a small patch of the real classes while a test runs, and
names

- the exact cases (tests/_tools/exact_cases.py) that then lose more than epsilon, by exact probabilities,
- the subjects whose audit (`discreet audit`) then refutes their claim, by real noise,
- the algorithms whose noise scales (tests/_tools/noise_scales.py) then differ from the proof.

Bugs of algorithms, which can only *ask* for too much, are refused by the curator. To be caught otherwise they are
planted together with a curator that does not charge.

An algorithm of your own needs a mutant here that its case catches.
"""

import math
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

import discreet
from discreet.bandits._batched import BatchedPolicy
from discreet.bandits._elimination import Elimination
from discreet.bandits._vectors import VectorElimination
from discreet.core.noise import PrivateNoise, scale_for
from discreet.core.plans import TotalsQuery
from discreet.core.privacy import split
from discreet.core.statistics import PairsAccumulator
from discreet.drivers._base import Driver
from discreet.drivers.open_epoch import OPEN, TOLD, OpenEpoch
from discreet.mechanisms import Curator, HybridCounter, NoisyTotals, SharedVectors, SparseVector, Trees
from discreet.mechanisms._mechanism import Mechanism

BATCHED = (
    "adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "dp-chernoff-imed", "dp-bai-evidence",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A bug to plant, and what catches it."""

    plant: Callable[[pytest.MonkeyPatch], None]
    exact: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    asks: bool = False

    @property
    def name(self):
        return self.plant.__name__.replace("_", " ")


MUTANTS: list[Mutant] = []


def mutant(exact=(), audit=(), scales=(), asks=False):
    """Put a bug on the list."""

    def enlist(plant):
        MUTANTS.append(Mutant(plant, tuple(exact), tuple(audit), tuple(scales), asks))
        return plant

    return enlist


@contextmanager
def planted(one, charged=False):
    """Have the bug for a while; with `charged`, the curator charges for what is asked as it should."""
    with pytest.MonkeyPatch.context() as patch:
        one.plant(patch)
        if one.asks and not charged:
            patch.setattr(Curator, "_charge", lambda self, query: None)
        yield


def changed_draws(patch, change, *kinds):
    """Have mechanisms draw by `change(self, honest, sensitivity, epsilon, count)`; `honest` draws as it should."""
    for kind in kinds or (Mechanism,):
        honest = kind._draw

        def draw(self, sensitivity, epsilon, count, honest=honest):
            return change(self, partial(honest, self), sensitivity, epsilon, count)

        patch.setattr(kind, "_draw", draw)


def changed_start(patch, change):
    """Have `change(sparse vector)` at the start of each sparse vector."""
    honest = SparseVector.__init__

    def init(self, query, arms, grid, noise):
        honest(self, query, arms, grid, noise)
        change(self)

    patch.setattr(SparseVector, "__init__", init)


def bare_answers(patch, kind, is_bare):
    """Have a mechanism answer without noise where `is_bare(self, plan)`."""
    honest = kind.answer

    def answer(self, plan, totals, taken):
        noise = self.noise
        self.noise = None if is_bare(self, plan) else noise
        try:
            return honest(self, plan, totals, taken)
        finally:
            self.noise = noise

    patch.setattr(kind, "answer", answer)


# ---------------------------------------------------------------------- read in public code


@mutant(
    exact=[
        "dp-nas-released, first block", "dp-bernstein, first block", "dp-se", "dp-bai", "binary-tree",
        "adap-ucb, first batch", "dp-klucb, second batch", "dp-imed, second batch", "dp-chernoff-imed, first batch",
        "lazy-ucb, first block", "dp-se-sharp", "prefix-above-threshold, after a no", "dp-ucb, all trees, first step",
        "dp-ab, first of two looks", "dp-ab-open, second of two looks",
    ],
    audit=["dp-se", "dp-se-sharp", "dp-imed", "lazy-ucb"],
)  # fmt: skip
def one_noise_for_all_arms(patch):
    """One Laplace scalar is added to all totals, so that their differences are exact."""

    def draw(self, honest, sensitivity, epsilon, count):
        if not hasattr(self, "kept"):
            self.kept = honest(sensitivity, epsilon, 1)
        noises, scale = self.kept
        return noises * count, scale

    changed_draws(patch, draw)
    honest_tests = SparseVector._test_noise

    def test_noise(self, count):
        if self._threshold_noise is None:
            return honest_tests(self, count)
        if not hasattr(self, "kept_test"):
            self.kept_test = honest_tests(self, 1)
        return np.repeat(self.kept_test, count)

    patch.setattr(SparseVector, "_test_noise", test_noise)


@mutant(
    exact=[*(f"{name}, first batch" for name in BATCHED), "dp-bai-budget, first round", "dp-bai-budget, one round"],
    audit=["adap-ucb", "dp-chernoff-imed", "dp-bai-budget"],
)
def first_batch_bare(patch):
    """The first total of every arm is released without noise."""
    bare_answers(patch, NoisyTotals, lambda self, plan: plan.epoch == 1)


@mutant(exact=["binary-tree", "dp-ucb", "guess-and-double"], audit=["binary-tree", "dp-ucb"])
def first_pull_bare(patch):
    """The first reward of every arm is released without noise."""
    bare_answers(patch, Trees, lambda self, plan: not any(self._counters[arm].count for arm in plan.pulls))


@mutant(
    exact=["laplace", "dp-se", "dp-bai", "lazy-dp-ts, first block", "dp-nas, second sample"],
    audit=["laplace", "dp-bai", "dp-paired-imed", "lazy-dp-ts"],
)
def first_release_bare(patch):
    """The first release of each mechanism has no noise."""

    def draw(self, honest, sensitivity, epsilon, count):
        noises, scale = honest(sensitivity, epsilon, count)
        if not hasattr(self, "begun"):
            self.begun, noises = True, [0, *noises[1:]]
        return noises, scale

    changed_draws(patch, draw)


@mutant(exact=["binary-tree"])
def noise_drawn_again(patch):
    """Instead of a node the total is released, with fresh noise for all of its nodes, which averages out."""
    honest = Trees.answer

    def answer(self, plan, totals, taken):
        noise, self.noise = self.noise, None
        (release,) = honest(self, plan, totals, taken)
        self.noise = noise
        self.exact = getattr(self, "exact", 0) + totals[release.arm]
        nodes = self._counters[release.arm].count.bit_count()
        noises, scale = self._draw(plan.query.horizon.bit_length() * self.width, plan.query.epsilon, nodes)
        return (release._replace(steps=self.exact + sum(noises), scale=scale),)

    patch.setattr(Trees, "answer", answer)


@mutant(exact=["binary-tree"], scales=["dp-ucb"])
def natural_logarithm(patch):
    """ln T levels instead of log2 T."""
    changed_draws(patch, lambda self, honest, sensitivity, *rest: honest(sensitivity * math.log(2), *rest), Trees)


@mutant(exact=["hybrid-counter", "dp-ucb-hybrid"], audit=["hybrid-counter"], scales=["dp-ucb-hybrid"])
def hybrid_spends_twice(patch):
    """Epsilon for each part of the hybrid counter."""

    def draw(self, honest, sensitivity, epsilon, count):
        hybrid = isinstance(next(iter(self._counters.values())), HybridCounter)
        return honest(sensitivity, 2 * epsilon if hybrid else epsilon, count)

    changed_draws(patch, draw, Trees)


@mutant(exact=["hybrid-counter", "dp-ucb-hybrid"], audit=["hybrid-counter", "dp-ucb-hybrid"])
def bare_between_powers_of_two(patch):
    """Noise is added at powers of two only, and the nodes in between are released as they are."""

    def is_bare(self, plan):
        counts = [self._counters[arm].count for arm in plan.pulls]
        return all(count & (count + 1) for count in counts)

    bare_answers(patch, Trees, is_bare)


@mutant(exact=["dp-se, a tie"], audit=["dp-se", "dp-bai"])
def decides_by_exact_totals(patch):
    """Noisy totals are shown, but the driver hands over exact ones, which decide who goes and who leads."""
    leaked = leak(patch)
    honest = Elimination._keep

    def keep(self, scores, stays):
        honest(self, {self._index[arm]: total for arm, total in leaked.items()}, stays)

    patch.setattr(Elimination, "_keep", keep)


def leak(patch):
    """Have drivers hand the totals of the epoch that they close to whoever looks, and return them as a mapping."""
    leaked, honest = {}, Driver._close

    def close(self, plan, totals):
        leaked.clear()
        leaked.update(totals or {})
        return honest(self, plan, totals)

    patch.setattr(Driver, "_close", close)
    return leaked


@mutant(exact=["above-threshold, long"], audit=["above-threshold"])
def no_threshold_noise(patch):
    """Measures are compared with the bare limit."""

    def start(self):
        self._threshold_noise = None if self._one_sided else 0

    changed_start(patch, start)


@mutant(exact=["above-threshold", "dp-se", "dp-exp-nas", "prefix-above-threshold, after a no"], audit=["dp-exp-nas"])
def no_query_noise(patch):
    """A sparse vector perturbs the threshold only, and totals are bare."""
    honest = SparseVector._test_noise

    def test_noise(self, count):
        return honest(self, count) if self._threshold_noise is None else np.zeros(count, np.int64)

    patch.setattr(SparseVector, "_test_noise", test_noise)
    changed_draws(patch, lambda self, honest, s, e, count: ([0] * count, scale_for(s, e)))


@mutant(exact=["dp-nas, second sample"])
def one_query_noise_for_many(patch):
    """One noise for all tests of a batch."""
    honest = SparseVector._test_noise
    patch.setattr(SparseVector, "_test_noise", lambda self, count: np.full(count, honest(self, count)[0]))


@mutant(exact=["above-threshold, back and forth"], scales=["dp-nas", "dp-se-svt"])
def forgotten_factor_two(patch):
    """The tests' noise pays for one move of the measure instead of two: scales of 2d/epsilon."""

    def start(self):
        self.scale *= 1 if self._one_sided else 2 / 3

    changed_start(patch, start)


@mutant(exact=["above-threshold, no and yes"])
def goes_on_after_halting(patch):
    """Tests go on after the first yes, against the same noisy limit."""
    honest = SparseVector._finish

    def finish(self, epoch, query, spans):
        kept = self._sums, self._threshold_noise
        released = honest(self, epoch, query, spans)
        (self._sums, self._threshold_noise), self._halted = kept, False
        return released

    patch.setattr(SparseVector, "_finish", finish)


@mutant(exact=["above-threshold, long"])
def tells_the_noisy_query(patch):
    """At the yes the noisy measure is told, with the noise that was tested."""
    measured, test_noise, answer = SparseVector._measured, SparseVector._test_noise, SparseVector.answer

    def keep_measure(self, *rest):
        self.told = measured(self, *rest)
        return self.told

    def keep_noise(self, count):
        self.noises = test_noise(self, count)
        return self.noises

    def tell(self, *rest):
        tests, *totals = answer(self, *rest)
        return tests._replace(steps=self.told - int(self.noises[0]) if tests.above else None), *totals

    for name, method in {"_measured": keep_measure, "_test_noise": keep_noise, "answer": tell}.items():
        patch.setattr(SparseVector, name, method)


# ---------------------------------------------------------------------- what else can go wrong


@mutant(
    exact=[
        "laplace", "laplace, pairs", "laplace, held", "above-threshold", "binary-tree", "dp-se", "dp-bai", "dp-ucb",
        "dp-se-modified", "dp-se-svt", "dp-exp-nas", "dp-nas", "dp-nas-released, second block", "dp-bernstein, halting",
        "dp-se-sharp", "dp-bai-sharp", "prefix-above-threshold, no yes", "prefix-above-threshold, first test",
        "dp-nas-one-sided", "dp-se-difference", "dp-se-pairs", "dp-se-one-vector", "dp-ab", "dp-ab-open", "dp-test",
    ],
    audit=["laplace", "binary-tree", "hybrid-counter", "dp-imed", "dp-nas-released"],
    scales=["dp-nas", "dp-exp-nas", "dp-se", "dp-se-svt", "dp-ucb", "dp-ucb-hybrid", "lazy-ucb", "guess-and-double"],
)  # fmt: skip
def halved_sensitivity(patch):
    """The scale is computed for half of what one reward can change."""
    for module in ("_mechanism", "sparse_vector"):
        patch.setattr(f"discreet.mechanisms.{module}.scale_for", lambda d, epsilon: scale_for(d, epsilon) / 2)


@mutant(
    audit=["laplace", "dp-se", "lazy-ucb", "dp-exp-nas", "dp-nas-released"],
    scales=["dp-nas", "dp-se", "dp-imed", "lazy-dp-ts", "dp-bernstein"],
)
def sensitivity_of_one_step(patch):
    """Noise for totals in rewards is added to totals in grid steps: a millionth of what is needed."""
    changed_draws(patch, lambda self, honest, sensitivity, *rest: honest(1, *rest))


@mutant(
    exact=[
        "laplace", "adap-ucb, second batch", "adap-klucb, first batch", "dp-klucb, first batch", "dp-imed, first batch",
        "dp-chernoff-imed, second batch", "dp-paired-imed", "dp-se", "dp-bai", "dp-nas", "dp-exp-nas", "dp-se-svt",
        "dp-se-modified", "dp-nas-released, halting", "dp-bernstein, second block",
        "lazy-ucb, a block of several epochs", "lazy-dp-ts, second block", "guess-and-double, batches",
        "dp-se-sharp, second of two epochs", "dp-nas-one-sided",
    ],
    audit=["laplace", "adap-klucb", "lazy-ucb"],
    scales=["dp-nas", "dp-se-svt", "dp-bai"],
)  # fmt: skip
def release_at_full_epsilon(patch):
    """The totals of a composition spend epsilon instead of epsilon/2; alone they spend 2 epsilon."""
    changed_draws(patch, lambda self, honest, d, epsilon, n: honest(d, 2 * epsilon, n), NoisyTotals, SparseVector)


@mutant(scales=["dp-nas", "dp-exp-nas", "dp-se-svt", "dp-se-modified"])
def sparse_vector_at_full_epsilon(patch):
    """The tests spend epsilon instead of epsilon/2.

    Prefix sums move together, so on tiny inputs this costs less than epsilon; its scale shows.
    """

    def start(self):
        self.scale /= 2

    changed_start(patch, start)


@mutant(
    exact=["above-threshold, across zero", "above-threshold, back and forth"],
    audit=["above-threshold"],
    scales=["dp-nas", "dp-exp-nas", "dp-se-svt", "dp-se-modified"],
)
def a_third_of_the_noise_of_tests(patch):
    """The noise of one-sided tests is used for measures that may move up at one test and down at another."""

    def start(self):
        self.scale /= 1 if self._one_sided else 3

    changed_start(patch, start)


@mutant(exact=["laplace, reloaded"], audit=["dp-se", "dp-imed"])
def noise_again_after_a_reload(patch):
    """A saved state has the noise in it that was used last, and a reloaded mechanism uses it again."""

    def draw(self, honest, sensitivity, epsilon, count):
        noises, scale = honest(sensitivity, epsilon, count)
        stored = self.__dict__.pop("stored", [])
        self.used = [*stored, *noises][:count]
        return self.used, scale

    def restore(self, state):
        self._held = {arm: (total, count) for arm, total, count in state["held"]}
        self.stored = state["used"]

    def state(self):
        used = getattr(self, "stored", getattr(self, "used", []))
        return {"held": [[arm, *sums] for arm, sums in self._held.items()], "used": used}

    changed_draws(patch, draw, NoisyTotals)
    patch.setattr(NoisyTotals, "state", state)
    patch.setattr(NoisyTotals, "restore", restore)


@mutant(audit=["laplace", "dp-se", "dp-exp-nas", "dp-ucb"])
def pool_served_twice(patch):
    """The pool of draws is never used up, so that all runs have the same noise."""
    honest, pools = PrivateNoise.draws, {}

    def draws(self, scale, count):
        if scale not in pools:
            pools[scale] = honest(self, scale, 64)
        return np.resize(pools[scale], count)

    patch.setattr(PrivateNoise, "draws", draws)


@mutant(exact=["dp-imed, by tickets"], audit=["dp-imed", "dp-paired-imed", "dp-chernoff-imed"])
def mean_over_answers(patch):
    """Tickets that expire count as the mean of the arm's answers, so that one answer moves a total by many."""

    def expire(self, tickets=None):
        epoch = self._epoch
        answers = Counter(arm for arm, status in zip(epoch.arms, epoch.status, strict=True) if status == TOLD)
        missing = [
            (epoch.first + place, arm)
            for place, (arm, status) in enumerate(zip(epoch.arms, epoch.status, strict=True))
            if status == OPEN
        ]
        mean = {arm: round(epoch.sums[arm] / answers[arm]) if answers[arm] else 0 for _, arm in missing}
        return len(self._count_all([(number, mean[arm]) for number, arm in missing]))

    patch.setattr(discreet.Bandit, "expire", expire)


@mutant(exact=["dp-imed, by tickets in a window"])
def mean_over_answers_in_time(patch):
    """Rewards that are late count as the mean of those that are not, so that one answer moves a total by many."""
    honest = OpenEpoch.totals

    def totals(self, default=0):
        answers = self.status.count(TOLD)
        return honest(self, round(sum(self.sums) / answers) if answers else 0)

    patch.setattr(OpenEpoch, "totals", totals)


@mutant(exact=["dp-imed, all answered in a window"])
def close_when_all_have_answered(patch):
    """An epoch with a window closes as soon as an arm's rewards are all in."""
    honest = OpenEpoch.closes_at

    def closes_at(self):
        answered = self.deadlines is not None and self.handed_out == self.size and self.missing <= self.size // 2
        return 0 if answered else honest.fget(self)

    patch.setattr(OpenEpoch, "closes_at", property(closes_at))


def unchecked_totals(patch):
    """Have mechanisms take any total."""
    patch.setattr(Mechanism, "_check_total", lambda self, arm, total, largest: total)


@mutant(exact=[*(f"{name}, first batch" for name in BATCHED), "dp-bai-budget, first round"], audit=["dp-imed"])
def totals_so_far(patch):
    """The curator has every batch released with all batches before it."""
    honest = Curator.release
    unchecked_totals(patch)

    def release(self, plan, totals=None):
        past = self.__dict__.setdefault("past", Counter())
        past.update(totals or {})
        return honest(self, plan, totals and {arm: past[arm] for arm in totals})

    patch.setattr(Curator, "release", release)


@mutant(exact=["dp-bernstein, first block", "dp-nas-released, first block"], audit=["dp-nas-released"])
def running_total(patch):
    """The driver adds each block to what it has added up before."""
    honest = discreet.Stream._open
    unchecked_totals(patch)

    def begin(self):
        before = getattr(self, "_sums", None)
        honest(self)
        if before is not None:
            self._sums.restore([0, *before.state()[1:]])

    patch.setattr(discreet.Stream, "_open", begin)


@mutant(exact=["lazy-ucb, first block", "lazy-dp-ts, first block"], audit=["lazy-ucb"])
def remembered_block(patch):
    """A block's rewards are held on after its release, and stay in the next one's total."""
    honest = NoisyTotals.answer

    def answer(self, plan, totals, taken):
        before = {arm: total for arm, (total, _) in self._held.items()}
        releases = honest(self, plan, totals, taken)
        for release in releases:
            self._held[release.arm] = before.get(release.arm, 0) + totals[release.arm], 0
        return releases

    patch.setattr(NoisyTotals, "answer", answer)


@mutant(exact=["dp-bernstein, first block", "dp-bernstein, second block"])
def overlapping_pairs(patch):
    """Differences of all neighbours in a block: each sample is in two squares."""
    honest = PairsAccumulator.add

    def add(self, steps):
        before, whole = self._squares, np.asarray(steps, dtype=np.int64)
        honest(self, steps)
        self._squares = before + int((np.diff(whole) ** 2).sum()) + int((whole[0] - whole[-1]) ** 2)

    unchecked_totals(patch)
    patch.setattr(PairsAccumulator, "add", add)


@mutant(exact=["dp-bernstein, first block", "dp-bernstein, halting"], scales=["dp-bernstein"], asks=True)
def squares_for_nothing(patch):
    """The total takes all of epsilon, and the squares their share on top."""
    epsilons = property(lambda self: (self.epsilon * self.epsilon_share, self.epsilon))
    patch.setattr(discreet.DPBernstein, "epsilons", epsilons)


@mutant(exact=["dp-mean", "dp-mean, a look and a test"], scales=["dp-mean"], asks=True)
def look_in_full(patch):
    """Each part of a look takes all of epsilon."""
    patch.setattr(discreet.DPMean, "look_epsilons", property(lambda self: (self.epsilon, self.epsilon)))


@mutant(exact=["dp-mean, a look and a test"])
def look_counted_again(patch):
    """The sums of the rule that a look chooses begin with the samples of the look."""
    honest = discreet.Stream._open
    unchecked_totals(patch)
    patch.setattr(SparseVector, "_check_increments", lambda self, plan, query, totals: totals[None])

    def begin(self):
        before = getattr(self, "_sums", None)
        honest(self)
        if isinstance(before, PairsAccumulator) and self._many_tests:
            self._sums.restore([0, before.values[1]])

    patch.setattr(discreet.Stream, "_open", begin)


@mutant(exact=["dp-mean, the rule that was chosen"])
def chooses_by_exact_totals(patch):
    """A look goes by exact statistics that the driver hands over, and only what is published has noise."""
    leaked = leak(patch)
    honest = discreet.DPMean._look

    def look(self):
        noisy, ((count, *_),) = self._seen, self._seen[-1:]
        self._seen = [*noisy[:-1], [count, *leaked[None]]]
        honest(self)
        self._seen = noisy if self.chosen is None else self._seen

    patch.setattr(discreet.DPMean, "_look", look)


@mutant(exact=["dp-inverse", "dp-inverse, halting", "dp-mean, the rule that was chosen"])
def estimate_by_the_exact_sum(patch):
    """The answer of inverse sampling is the exact mean at the test that halts, which nobody has paid for."""
    leaked = leak(patch)
    honest = discreet.InverseSampling._learn

    def learn(self, plan, releases):
        honest(self, plan, releases)
        if self.halted:
            self.estimate = float(np.sum(leaked[None])) / self.samples

    patch.setattr(discreet.InverseSampling, "_learn", learn)


@mutant(exact=["guess-and-double, batches"], asks=True)
def phases_double_epsilon(patch):
    """Each phase doubles epsilon along with its guess."""
    honest = discreet.GuessAndDouble._learn

    def learn(self, plan, releases):
        before = self.phase
        honest(self, plan, releases)
        if self.phase > before:
            self._inner = replace(self._inner, epsilon=self.policy.epsilon * 2**self.phase)

    patch.setattr(discreet.GuessAndDouble, "_learn", learn)


@mutant(exact=["dp-se, first of two epochs", "dp-se-sharp, first of two epochs"], audit=["dp-se"])
def elimination_never_forgets(patch):
    """The mechanism has all epochs before in an epoch's total."""
    honest = NoisyTotals.answer

    def answer(self, plan, totals, taken):
        past = self.__dict__.setdefault("past", Counter())
        releases = honest(self, plan, totals, taken)
        told = tuple(release._replace(steps=release.steps + past[release.arm]) for release in releases)
        past.update(totals)
        return told

    patch.setattr(NoisyTotals, "answer", answer)


@mutant(exact=["dp-se-sharp, first of two epochs", "dp-se-sharp, second of two epochs"], audit=["dp-se"])
def noise_of_an_arm_for_ever(patch):
    """An arm keeps its first noise, so that the difference of two of its releases is exact."""

    def draw(self, honest, sensitivity, epsilon, count):
        if not hasattr(self, "kept"):
            self.kept = honest(sensitivity, epsilon, count)
        noises, scale = self.kept
        return noises[:count], scale

    changed_draws(patch, draw, NoisyTotals)


@mutant(exact=["dp-se-sharp"], audit=["dp-se-sharp"])
def drops_by_exact_totals(patch):
    """The test looks at exact totals that the driver hands over, and only what is published has noise."""
    leaked = leak(patch)
    honest = discreet.DPSharpElimination._decide

    def decide(self, releases):
        honest(self, releases)
        totals = {self._index[arm]: total for arm, total in leaked.items()}
        best = max(totals.values())
        self._viable = [arm for arm, total in totals.items() if not self.is_behind(self.epoch, best - total, total)]

    patch.setattr(discreet.DPSharpElimination, "_decide", decide)


@mutant(exact=["dp-bai-evidence, the leader"], audit=["dp-bai-evidence"])
def leads_by_exact_totals(patch):
    """The leader is who has the most exact total of an epoch, and only what is published has noise."""
    leaked = leak(patch)
    honest = discreet.DPEvidenceBestArm._decide

    def decide(self, releases):
        honest(self, releases)
        if len(leaked) > 1:
            leader = self._index[max(leaked, key=leaked.__getitem__)]
            if leader != self._leader:
                self._leader, self._challenger = leader, self._leader

    patch.setattr(discreet.DPEvidenceBestArm, "_decide", decide)


@mutant(exact=["dp-bai-budget, who is kept"])
def keeps_arms_by_exact_totals(patch):
    """The arms that stay are those of the most exact totals, and only what is published has noise."""
    leaked = leak(patch)
    honest = discreet.DPBudgetBestArm._decide

    def decide(self, releases):
        before = self._left
        honest(self, releases)
        if self._left != before:
            exact = {self._index[arm]: total for arm, total in leaked.items()}
            self._left = sorted(sorted(exact, key=exact.__getitem__, reverse=True)[: len(self._left)])

    patch.setattr(discreet.DPBudgetBestArm, "_decide", decide)


@mutant(
    exact=["dp-se", "dp-se-sharp", "adap-ucb, first batch", "dp-imed, second batch"],
    audit=["dp-se"],
    scales=["dp-se", "dp-imed"],
    asks=True,
)
def asks_for_twice_its_epsilon(patch):
    """An algorithm asks for releases at twice its epsilon."""
    patch.setattr(Elimination, "_query", lambda self: TotalsQuery((2 * self.epsilon,)))
    patch.setattr(BatchedPolicy, "_query", property(lambda self: TotalsQuery((2 * self.epsilon,))))


# ---------------------------------------------------------------------- people who take part in every epoch

PERSON = ("dp-se-person", "dp-se-sharp-person")
PERSON_KINDS = (discreet.DPPersonElimination, discreet.DPSharpPersonElimination)


@mutant(exact=[f"{name}, two epochs" for name in PERSON], audit=PERSON[:1], scales=PERSON, asks=True)
def epsilon_in_every_epoch(patch):
    """The trap: what is private for a reward is taken for a person, who then pays epsilon in each epoch."""
    for kind in PERSON_KINDS:
        patch.setattr(kind, "epoch_epsilon", lambda self, epoch: self.epsilon)


@mutant(exact=["dp-se-person, two epochs", "dp-se-sharp-person, three epochs"], scales=PERSON, asks=True)
def scale_of_the_epoch_before(patch):
    """Epochs are counted from 0 where the query is made, and from 1 where it is accounted for."""
    for kind in PERSON_KINDS:
        kept = 1 / 2 if kind is PERSON_KINDS[0] else 2 / 3

        def query(self, kept=kept):
            return TotalsQuery((self.epoch_epsilon(self.epoch + 1) / kept,))

        patch.setattr(kind, "_query", query)


@mutant(exact=["dp-se-person, three epochs"], scales=PERSON, asks=True)
def scale_of_the_first_epoch(patch):
    """The price of the first epoch serves for all: two halves are still epsilon, and three are not."""
    for kind in PERSON_KINDS:
        patch.setattr(kind, "_query", lambda self: TotalsQuery((self.epoch_epsilon(1),)))


# ---------------------------------------------------------------------- sparse vectors that share rewards


@mutant(exact=["dp-se-arms"])
def first_test_of_all_vectors_bare(patch):
    """Sparse vectors that share rewards draw their noises after the first test."""
    bare_answers(patch, SharedVectors, lambda self, plan: not self._counts)


@mutant(scales=["dp-se-arms"], asks=True)
def each_vector_at_the_price_of_all(patch):
    """The trap: every sparse vector is private at epsilon, and a reward is in many of them."""
    prices = property(lambda self: split(self.epsilon, self.test_share))
    patch.setattr(VectorElimination, "prices", prices)


# ---------------------------------------------------------------------- sums of one stream, tested from one side


@mutant(
    exact=[
        "prefix-above-threshold, no yes", "prefix-above-threshold, first test", "prefix-above-threshold, second test",
        "dp-nas-one-sided", "dp-nas-one-sided, second test", "dp-inverse", "dp-mean, the rule that was chosen",
    ],
    scales=["dp-nas-one-sided", "dp-inverse"],
)  # fmt: skip
def prefix_noise_a_fifth_smaller(patch):
    """The noises of one-sided tests are 0.8 times what the proof asks for."""

    def start(self):
        self.scale *= 0.8 if self._one_sided else 1

    changed_start(patch, start)


@mutant(exact=["prefix-above-threshold, long", "dp-nas-one-sided, at the limit"])
def no_prefix_threshold_noise(patch):
    """Sums are compared with the bare limit."""

    def start(self):
        self._threshold_noise = 0 if self._one_sided else None

    changed_start(patch, start)


@mutant(
    exact=["prefix-above-threshold, no yes", "prefix-above-threshold, second test", "prefix-above-threshold, long"],
    audit=["prefix-above-threshold"],
    scales=["dp-nas-one-sided"],
)
def a_third_of_the_noise_of_prefix_sums(patch):
    """A third is taken off the noise of tests once more where they are one-sided."""

    def start(self):
        self.scale /= 3 if self._one_sided else 1

    changed_start(patch, start)


@mutant(
    exact=["prefix-above-threshold, first test", "prefix-above-threshold, second test", "above-threshold"],
    audit=["prefix-above-threshold"],
)
def totals_that_nobody_pays_for(patch):
    """A sparse vector of tests alone releases totals at the end all the same, at the tests' price."""
    honest = SparseVector._finish

    def finish(self, epoch, query, spans):
        paid = query if query.release_epsilon is not None else query._replace(release_epsilon=query.epsilon)
        return honest(self, epoch, paid, spans)

    patch.setattr(SparseVector, "_finish", finish)


@mutant(exact=["prefix-above-threshold, second test"])
def two_sided_prefix_sums(patch):
    """Tests how far the sum is from two a test, on either side: so does |sum| where items may be negative."""
    honest = SparseVector._measured

    def measured(self, measure):
        exact = honest(self, measure)
        return abs(exact - 2 * (self._tests - 1)) if self._one_sided else exact

    patch.setattr(SparseVector, "_measured", measured)

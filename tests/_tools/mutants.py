"""Planted privacy bugs, each with the detectors that must catch it: one list for all tests.

Those that were read in public code come first. A mutant is a small patch of the real classes while a test runs, and
names

- the exact cases (tests/testing/test_exact_privacy.py) that then lose more than epsilon, by exact probabilities,
- the subjects whose audit (`discreet audit`) then refutes their claim, by real noise,
- the algorithms whose noise scales then differ from the proof.

An algorithm of your own needs a mutant here that its case catches.
"""

import math
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from discreet.bandits._noisy_elimination import NoisyElimination
from discreet.bandits._person_level import PersonLevel
from discreet.mechanisms.binary_tree import trailing_zeros
from discreet.mechanisms.counters import Node

import discreet
from discreet import AboveThreshold, Bandit, BinaryTreeCounter, DPSuccessiveElimination, HybridCounter, LaplaceMechanism
from discreet.bandits._batched import BatchedPolicy
from discreet.bandits._lazy import LazyPolicy
from discreet.core.noise import PrivateNoise, Reserve, scale_for
from discreet.drivers.ask_tell import _OPEN, _TOLD
from discreet.stopping._released import ReleasedRule

BATCHED = ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "dp-chernoff-imed")


@dataclass(frozen=True)
class Mutant:
    """A bug to plant, and what catches it."""

    plant: Callable[[pytest.MonkeyPatch], None]
    exact: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    @property
    def name(self):
        return self.plant.__name__.replace("_", " ")


MUTANTS: list[Mutant] = []


def mutant(exact=(), audit=(), scales=()):
    """Put a bug on the list."""

    def enlist(plant):
        MUTANTS.append(Mutant(plant, tuple(exact), tuple(audit), tuple(scales)))
        return plant

    return enlist


@contextmanager
def planted(one):
    """While this lasts the bug is there."""
    with pytest.MonkeyPatch.context() as patch:
        one.plant(patch)
        yield


# ---------------------------------------------------------------------- read in public code


@mutant(
    exact=[
        "dp-nas-released, first block", "dp-bernstein, first block", "dp-se", "dp-bai", "binary-tree",
        "adap-ucb, first batch", "dp-klucb, second batch", "dp-imed, second batch", "dp-chernoff-imed, first batch",
        "lazy-ucb, first block", "dp-se-sharp", "prefix-above-threshold, after a no",
    ],
    audit=["dp-se", "dp-se-sharp", "dp-imed", "lazy-ucb"],
)  # fmt: skip
def one_noise_for_all_arms(patch):
    """One Laplace scalar is added to all totals, so that their differences are exact."""

    def take(self):
        self.prepare(1)
        return self._ready[0]

    patch.setattr(Reserve, "take", take)


@mutant(exact=[f"{name}, first batch" for name in BATCHED], audit=["adap-ucb", "dp-chernoff-imed"])
def first_batch_bare(patch):
    """The first total of every arm is used without noise."""
    honest = BatchedPolicy._close

    def close(self, totals):
        if not self._batches[0]:
            self._laplace._reserve._ready = [0] * len(totals)
        honest(self, totals)

    patch.setattr(BatchedPolicy, "_close", close)


@mutant(exact=["binary-tree", "dp-ucb", "guess-and-double"], audit=["binary-tree", "dp-ucb"])
def first_pull_bare(patch):
    """The first reward of every arm is used without noise."""
    honest = BinaryTreeCounter._add

    def add(self, item):
        if self.count == 0:
            self._reserve.prepare(1)
            self._reserve._ready[0] = 0
        return honest(self, item)

    patch.setattr(BinaryTreeCounter, "_add", add)


@mutant(
    exact=["laplace", "dp-se", "dp-bai", "lazy-dp-ts, first block", "dp-nas, second sample"],
    audit=["laplace", "dp-bai", "dp-paired-imed", "lazy-dp-ts"],
)
def first_release_bare(patch):
    """The first release of each mechanism has no noise."""
    honest = LaplaceMechanism.__init__

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, epsilon, noise)
        self._reserve._ready[0] = 0

    patch.setattr(LaplaceMechanism, "__init__", init)


@mutant(exact=["binary-tree"])
def noise_drawn_again(patch):
    """Every total is published with fresh noise for all of its nodes, which averages out."""

    def add(self, item):
        self.count += 1
        level = trailing_zeros(self.count)
        for lower in range(level):
            item += self._exact[lower]
            self._exact[lower] = 0
        self._exact[level] = item
        self._total = sum(self._exact) + sum(self._reserve.take() for _ in range(self.count.bit_count()))
        return Node(1, self.count, self._total, self.scale, self.epsilon / self.levels)

    patch.setattr(BinaryTreeCounter, "_add", add)


@mutant(exact=["binary-tree"], scales=["dp-ucb"])
def natural_logarithm(patch):
    """ln T levels instead of log2 T."""
    honest = BinaryTreeCounter.__init__

    def init(self, horizon, sensitivity, epsilon, noise=None):
        honest(self, horizon, sensitivity, epsilon, noise)
        self._reserve = Reserve(self.noise, self.scale * math.log(2))

    patch.setattr(BinaryTreeCounter, "__init__", init)


@mutant(exact=["hybrid-counter", "dp-ucb-hybrid"], audit=["hybrid-counter"], scales=["dp-ucb-hybrid"])
def hybrid_spends_twice(patch):
    """Epsilon for each part of the hybrid counter."""
    honest = HybridCounter.__init__

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, 2 * epsilon, noise)

    patch.setattr(HybridCounter, "__init__", init)


@mutant(exact=["hybrid-counter", "dp-ucb-hybrid"], audit=["hybrid-counter", "dp-ucb-hybrid"])
def bare_between_powers_of_two(patch):
    """Noise is added at powers of two only, and the items in between are added as they are."""
    honest = HybridCounter._add

    def add(self, item):
        if not self.count & (self.count + 1):
            return honest(self, item)
        self.count += 1
        self._block += item
        self._total = self._released + self._block
        return Node(self.count, self.count, item, self._reserve.scale, self.epsilon / 2)

    patch.setattr(HybridCounter, "_add", add)


@mutant(exact=["dp-se, a tie"], audit=["dp-se", "dp-bai"])
def decides_by_exact_totals(patch):
    """Noisy totals are shown, but exact ones decide who goes and who leads."""
    honest = DPSuccessiveElimination._close

    def close(self, totals):
        self._drop = lambda scores, threshold: type(self)._drop(self, dict(totals), threshold)
        honest(self, totals)
        del self._drop

    patch.setattr(DPSuccessiveElimination, "_close", close)


@mutant(exact=["above-threshold, long"], audit=["above-threshold"])
def no_threshold_noise(patch):
    """AboveThreshold compares with the bare threshold."""
    honest = AboveThreshold.__init__

    def init(self, sensitivity, epsilon, *rest):
        honest(self, sensitivity, epsilon, *rest)
        self._threshold_noise = 0

    patch.setattr(AboveThreshold, "__init__", init)


@mutant(exact=["above-threshold", "dp-se", "dp-exp-nas", "prefix-above-threshold, after a no"], audit=["dp-exp-nas"])
def no_query_noise(patch):
    """AboveThreshold perturbs the threshold only, and releases are bare."""
    patch.setattr(Reserve, "take", lambda self: 0)


@mutant(exact=["dp-nas, second sample"])
def one_query_noise_for_many(patch):
    """One noise for all tests of a batch."""
    honest = Reserve.take_many
    patch.setattr(Reserve, "take_many", lambda self, count: np.full(count, honest(self, count)[0]))


@mutant(exact=["above-threshold, back and forth"], scales=["dp-nas", "dp-se-svt"])
def forgotten_factor_two(patch):
    """The query noise pays for one move of the query instead of two: scales of 2d/epsilon."""
    honest = AboveThreshold.__init__

    def init(self, sensitivity, epsilon, *rest):
        honest(self, sensitivity, 1.5 * epsilon, *rest)

    patch.setattr(AboveThreshold, "__init__", init)


@mutant(exact=["above-threshold, no and yes"])
def goes_on_after_halting(patch):
    """Tests go on after the first yes, against the same noisy threshold."""

    def test(self, query, threshold):
        self.tests += 1
        return query - math.ceil(threshold) >= self._threshold_noise + self._query_noise.take()

    patch.setattr(AboveThreshold, "test", test)


@mutant(exact=["above-threshold, long"])
def tells_the_noisy_query(patch):
    """At the yes the noisy query is told, with the noise that was tested."""

    def test(self, query, threshold):
        self._open()
        noisy = query - int(self._query_noise.take())
        if noisy < math.ceil(threshold) + self._threshold_noise:
            return False
        self._halt()
        return noisy

    patch.setattr(AboveThreshold, "test", test)


# ---------------------------------------------------------------------- what else can go wrong


@mutant(
    exact=[
        "laplace", "above-threshold", "binary-tree", "dp-se", "dp-bai", "dp-ucb", "dp-se-modified", "dp-se-svt",
        "dp-exp-nas", "dp-nas", "dp-nas-released, second block", "dp-bernstein, halting", "dp-se-sharp", "dp-bai-sharp",
        "prefix-above-threshold, no yes", "prefix-above-threshold, first test", "dp-nas-one-sided",
    ],
    audit=["laplace", "binary-tree", "hybrid-counter", "dp-imed", "dp-nas-released"],
    scales=["dp-nas", "dp-exp-nas", "dp-se", "dp-se-svt", "dp-ucb", "dp-ucb-hybrid", "lazy-ucb", "guess-and-double"],
)  # fmt: skip
def halved_sensitivity(patch):
    """The scale is computed for half of what one reward can change."""
    for module in ("laplace", "above_threshold", "prefix_above_threshold", "binary_tree", "hybrid"):
        patch.setattr(f"discreet.mechanisms.{module}.scale_for", lambda d, epsilon: scale_for(d, epsilon) / 2)


@mutant(
    audit=["laplace", "dp-se", "lazy-ucb", "dp-exp-nas", "dp-nas-released"],
    scales=["dp-nas", "dp-se", "dp-imed", "lazy-dp-ts", "dp-bernstein"],
)
def sensitivity_of_one_step(patch):
    """Noise for totals in rewards is added to totals in grid units: a millionth of what is needed."""
    honest = LaplaceMechanism.__init__
    patch.setattr(LaplaceMechanism, "__init__", lambda self, _, epsilon, noise=None: honest(self, 1, epsilon, noise))


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
    """The Laplace half of a composition spends epsilon instead of epsilon/2; alone it spends 2 epsilon."""
    honest = LaplaceMechanism.__init__

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, 2 * epsilon, noise)

    patch.setattr(LaplaceMechanism, "__init__", init)


@mutant(scales=["dp-nas", "dp-exp-nas", "dp-se-svt", "dp-se-modified"])
def sparse_vector_at_full_epsilon(patch):
    """The tests spend epsilon instead of epsilon/2.

    Prefix sums move together, so on tiny inputs this costs less than epsilon; its scale shows.
    """
    honest = AboveThreshold.__init__
    patch.setattr(AboveThreshold, "__init__", lambda self, d, epsilon, *rest: honest(self, d, 2 * epsilon, *rest))


@mutant(exact=["laplace, reloaded"], audit=["dp-se", "dp-imed"])
def noise_again_after_a_reload(patch):
    """A saved state has the noise in it that was used last, and a reloaded object uses it again."""

    class Remembering(list):
        used = None

    def take(self):
        self.prepare(1)
        rest = Remembering(self._ready[1:])
        rest.used, self._ready = self._ready[0], rest
        return rest.used

    def state(self):
        used = getattr(self._ready, "used", None)
        return [*([] if used is None else [used]), *self._ready]

    patch.setattr(Reserve, "take", take)
    patch.setattr(Reserve, "state", state)


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
        answers = Counter(arm for arm, status in zip(self._arms, self._status, strict=True) if status == _TOLD)
        missing = [
            (self._start + place, arm)
            for place, (arm, status) in enumerate(zip(self._arms, self._status, strict=True))
            if status == _OPEN
        ]
        mean = {arm: round(self._sums[arm] / answers[arm]) if answers[arm] else 0 for _, arm in missing}
        return len(self._count_all([(number, mean[arm]) for number, arm in missing]))

    patch.setattr(Bandit, "expire", expire)


@mutant(exact=[f"{name}, first batch" for name in BATCHED], audit=["dp-imed"])
def totals_so_far(patch):
    """Every batch is released with all batches before it."""
    honest = BatchedPolicy._close

    def close(self, totals):
        past = self.__dict__.setdefault("_past", Counter())
        past.update(totals)
        honest(self, {number: past[number] for number in totals})

    patch.setattr(BatchedPolicy, "_close", close)


@mutant(exact=["dp-bernstein, first block", "dp-nas-released, first block"], audit=["dp-nas-released"])
def running_total(patch):
    """Each release has all samples so far in it."""
    honest = ReleasedRule._release

    def release(self):
        total = self._sum
        honest(self)
        self._sum = total

    patch.setattr(ReleasedRule, "_release", release)


@mutant(exact=["lazy-ucb, first block", "lazy-dp-ts, first block"], audit=["lazy-ucb"])
def remembered_block(patch):
    """A block's rewards stay in the next one's total."""
    honest = LazyPolicy._release

    def release(self, number):
        total = self._partial[number]
        honest(self, number)
        self._partial[number] = total

    patch.setattr(LazyPolicy, "_release", release)


@mutant(exact=["dp-bernstein, first block", "dp-bernstein, second block"])
def overlapping_pairs(patch):
    """Differences of all neighbours in a block: each sample is in two squares."""

    def fill(self, units):
        whole = units.astype(np.int64)
        self._square_sum += int((np.diff(whole) ** 2).sum()) + int((whole[0] - whole[-1]) ** 2)
        ReleasedRule._take(self, int(units.sum()), units.size)

    patch.setattr(discreet.DPBernstein, "_fill", fill)


@mutant(exact=["dp-bernstein, first block", "dp-bernstein, halting"], scales=["dp-bernstein"])
def squares_for_nothing(patch):
    """The total takes all of epsilon, and the squares their share on top."""
    patch.setattr(discreet.DPBernstein, "mean_epsilon", property(lambda self: self.epsilon))


@mutant(exact=["guess-and-double, batches"])
def phases_double_epsilon(patch):
    """Each phase doubles epsilon along with its guess."""
    honest = discreet.GuessAndDouble._start_phase

    def start(self):
        options = self._inner_options
        self._inner_options = {**options, "epsilon": options["epsilon"] * self.guess / self.first_guess}
        honest(self)
        self._inner_options = options

    patch.setattr(discreet.GuessAndDouble, "_start_phase", start)


@mutant(exact=["dp-se, first of two epochs", "dp-se-sharp, first of two epochs"], audit=["dp-se"])
def elimination_never_forgets(patch):
    """An epoch's total has all epochs before in it."""
    for kind in (DPSuccessiveElimination, discreet.DPSharpElimination):

        def close(self, totals, honest=kind._close):
            past = self.__dict__.setdefault("_past", Counter())
            past.update(totals)
            honest(self, {number: past[number] for number in totals})

        patch.setattr(kind, "_close", close)


@mutant(exact=["dp-se-sharp, first of two epochs", "dp-se-sharp, second of two epochs"], audit=["dp-se"])
def noise_of_an_arm_for_ever(patch):
    """An arm keeps its first noise, so that the difference of two of its releases is exact."""

    def take(self):
        self.prepare(2)  # two arms take turns
        self._ready.append(self._ready.pop(0))
        return self._ready[-1]

    patch.setattr(Reserve, "take", take)


@mutant(exact=["dp-se-sharp"], audit=["dp-se-sharp"])
def drops_by_exact_totals(patch):
    """The test looks at the exact totals, and only what is published has noise."""
    honest = discreet.DPSharpElimination._close

    def close(self, totals):
        honest(self, totals)
        best = max(totals.values())
        self._viable = [arm for arm, total in totals.items() if not self.is_behind(self.epoch, best - total, total)]

    patch.setattr(discreet.DPSharpElimination, "_close", close)


# ---------------------------------------------------------------------- people who take part in every epoch

PERSON = ("dp-se-person", "dp-se-sharp-person")


@mutant(exact=[f"{name}, two epochs" for name in PERSON], audit=PERSON[:1], scales=PERSON)
def epsilon_in_every_epoch(patch):
    """The trap: what is private for a reward is taken for a person, who then pays epsilon in each epoch."""
    for kind in (discreet.DPPersonElimination, discreet.DPSharpPersonElimination):
        patch.setattr(kind, "epoch_epsilon", lambda self, epoch: self.epsilon)


@mutant(exact=["dp-se-person, two epochs", "dp-se-sharp-person, three epochs"], scales=PERSON)
def scale_of_the_epoch_before(patch):
    """Epochs are counted from 0 where the noise is made, and from 1 where it is accounted for."""
    honest = PersonLevel._mechanism
    patch.setattr(PersonLevel, "_mechanism", lambda self, epoch: honest(self, epoch - 1))


@mutant(exact=["dp-se-person, three epochs"], scales=PERSON)
def scale_of_the_first_epoch(patch):
    """The noise of the first epoch serves for all: two halves are still epsilon, and three are not."""
    patch.setattr(PersonLevel, "_draw_ahead", NoisyElimination._draw_ahead)


# ---------------------------------------------------------------------- sums of one stream, tested from one side


@mutant(
    exact=[
        "prefix-above-threshold, no yes", "prefix-above-threshold, first test", "prefix-above-threshold, second test",
        "dp-nas-one-sided", "dp-nas-one-sided, second test",
    ],
    scales=["dp-nas-one-sided"],
)  # fmt: skip
def prefix_noise_a_fifth_smaller(patch):
    """The noises of the test of prefix sums are 0.8 times what the proof asks for."""
    patch.setattr("discreet.mechanisms.prefix_above_threshold.scale_for", lambda d, e: 0.8 * scale_for(d, e))


@mutant(exact=["prefix-above-threshold, long", "dp-nas-one-sided, at the limit"])
def no_prefix_threshold_noise(patch):
    """Prefix sums are compared with the bare threshold."""
    honest = discreet.PrefixSumAboveThreshold.__init__

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, epsilon, noise)
        self._threshold_noise = 0

    patch.setattr(discreet.PrefixSumAboveThreshold, "__init__", init)


@mutant(exact=["prefix-above-threshold, second test"])
def two_sided_prefix_sums(patch):
    """Tests how far the sum is from two a test, on either side: so does |sum| where items may be negative."""
    honest = discreet.PrefixSumAboveThreshold.test

    def test(self, threshold):
        exact, drift = self._sum, 2 * self.tests
        self._sum = abs(exact - drift)
        try:
            return honest(self, threshold)
        finally:
            self._sum = exact

    patch.setattr(discreet.PrefixSumAboveThreshold, "test", test)

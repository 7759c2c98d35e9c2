"""How long statements about a ledger take, against one evaluation of their evidence."""

import time

import numpy as np

import discreet
from benchmarks.rows import Row
from discreet import Grid, Ledger, Release
from discreet.inference._exact import exact_interval
from discreet.inference._one_arm import OneArm, interval
from discreet.inference._two_arms import TwoArms

REPEATS = 15


def best_of(work):
    """The shortest of a few times of the processor, in milliseconds: other programs do not count."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def ledger(releases, epsilons, ratio=None):
    """Two arms of rewards that are 0 or 1: blocks of some hundred rewards, or with ends that grow by a factor."""
    rng, width = np.random.default_rng(0), 2**20
    found, ends = Ledger(["A", "B"], Grid(0.0, 1.0), fixed_blocks=True), {"A": 0, "B": 0}
    for epoch in range(releases // 2):
        epsilon = epsilons[epoch % len(epsilons)]
        count = int(rng.integers(100, 4000)) if ratio is None else int(100 * ratio**epoch)
        row = []
        for arm, rate in (("A", 0.10), ("B", 0.105)):
            noise = round(rng.laplace() * width / epsilon)
            span = (arm, ends[arm] + 1, ends[arm] + count)
            total = int(rng.binomial(count, rate)) * width + noise
            row.append(Release(epoch + 1, "total", (span,), total, width / epsilon, epsilon, True))
            ends[arm] += count
        found.close_epoch(row)
    return found


def statements():
    """An interval, an exact one, a lift and a summary, each from a thousand releases or from looks that grow."""
    rows = []
    for name, epsilons in (("one epsilon", [1.0]), ("three epsilons", [0.3, 1.0, 2.0])):
        seen = discreet.inference.summary(ledger(2000, epsilons), control="A")
        blocks, others = seen.blocks("A"), seen.blocks("B")
        assert len(blocks) == 1000
        evidence = OneArm(blocks)
        once = best_of(lambda evidence=evidence: evidence.log_evidence(np.array([0.1])))
        taken = best_of(lambda blocks=blocks: interval(blocks, 0.05))
        what = "one evaluation"
        rows.append(Row(f"interval, 1,000 releases, {name}", taken, "ms", "< 5", taken < 5, what, taken / once))
        pair = TwoArms(blocks, others, drifting=False)
        point = (np.array([0.1]), np.array([0.1]), np.array([1.0]))
        once = best_of(lambda pair=pair, point=point: pair.log_evidence(*point))

        def lift(seen=seen):
            seen._pairs.clear()
            return seen.lift("B").interval

        taken = best_of(lift)
        rows.append(Row(f"lift, 1,000 releases, {name}", taken, "ms", "< 10", taken < 10, what, taken / once))
    for epsilon in (0.1, 1.0):
        looks = discreet.inference.summary(ledger(28, [epsilon], ratio=2.0)).blocks("A")
        taken = best_of(lambda looks=looks: exact_interval(looks, 0.05))
        reference = best_of(lambda looks=looks: interval(looks, 0.05))
        what = f"exact interval, {looks.rewards:,} rewards, epsilon {epsilon:g}"
        rows.append(Row(what, taken, "ms", "< 50", taken < 50, "any schedule", taken / reference))
    return rows

"""Sequential tests: samples next to the installed `dpsprt`, how long a plan takes, and many simulated tests."""

import math
import time

import numpy as np

import discreet
from benchmarks.rows import Row
from discreet.core.probability.divergences import kl, private_kl
from discreet.sequential._designs import LeadDesign, MeanDesign
from discreet.sequential._planned_looks import _limits, looks_plan
from discreet.sequential._simple import simple_plan
from discreet.sequential._two_sample_runs import runs_of

CELLS = (0.3, 0.7, 1.0), (0.45, 0.55, 1.0), (0.1, 0.15, 1.0), (0.3, 0.7, 0.1)
"""Both means and epsilon."""
OURS, THEIRS = 400, 100
WIDTH = 2**20
LIMIT = 2_000_000


def samples_next_to_the_peer():
    """Mean samples under the alternative, at alpha = beta = 0.05, of `dp-test` and of dpsprt 1.2.0 in the same run."""
    rows = []
    for null, alternative, epsilon in CELLS:
        test = discreet.DPSequentialTest(null=null, alternative=alternative, epsilon=epsilon)
        taken = []
        for run in range(OURS):
            driver, rng = discreet.Totals(test, discreet.SimulatedNoise(run)), np.random.default_rng(run)
            while (plan := driver.plan()) is not None:
                driver.close_steps({None: int(rng.binomial(plan.size, alternative)) * WIDTH})
            taken.append(driver.algorithm.samples)
        bound = kl(0.95, 0.05) / private_kl(1 - alternative, 1 - null, epsilon)
        mean, ratio = float(np.mean(taken)), math.nan
        try:
            ratio = peer(null, alternative, epsilon, THEIRS) / mean
        except ModuleNotFoundError:
            print("dpsprt is not installed: its samples are left out")
        name = f"dp-test, {null:g} against {alternative:g}, eps {epsilon:g}"
        good = mean <= 2.0 * bound and not ratio < 8
        rows.append(Row(name, mean, "samples", "8 x fewer", good, "dpsprt's samples", ratio))
    return rows


def peer(null, alternative, epsilon, runs):
    """The mean samples of dpsprt's pure variant under the alternative."""
    from dpsprt import DPSPRT  # noqa: PLC0415  (a peer may be missing)

    taken = []
    for run in range(runs):
        test = DPSPRT(mu0=null, mu1=alternative, alpha=0.05, beta=0.05, epsilon=epsilon, random_seed=run)
        rng = np.random.default_rng([7, run])
        for number, sample in enumerate(rng.random(LIMIT) < alternative, 1):
            if test.add_sample(int(sample))[0]:
                taken.append(number)
                break
    return float(np.mean(taken))


def plans_and_runs():
    """The processor time of a plan, and of 10,000 simulated A/B tests of some 10^4 people."""
    design, mean = LeadDesign(0.03, 0.006, 0.0, 0.05, 0.2, 1.0, WIDTH), MeanDesign(0.03, 0.04, 0.05, 0.05, 0.3, WIDTH)
    plan = looks_plan(design)
    rows = []
    for name, work, goal in (
        ("plan of dp-ab", lambda: looks_plan.__wrapped__(design), 0.5),
        ("plan of dp-test", lambda: simple_plan.__wrapped__(mean), 0.5),
        ("10,000 simulated A/B tests", lambda: runs_of(plan, (0.03, 0.036), 10_000, np.random.default_rng(0)), 5.0),
    ):
        _limits.cache_clear()
        start = time.process_time()
        work()
        seconds = time.process_time() - start
        rows.append(Row(name, seconds, "s", f"< {goal:g}", seconds < goal, "-", math.nan))
    return rows


def sequential():
    """Return all rows."""
    return [*samples_next_to_the_peer(), *plans_and_runs()]


if __name__ == "__main__":
    for row in sequential():
        print(row)

"""Measures what must be fast, each next to a reference in the same run, and says whether the goal is met.

make bench                  a table
make bench BENCH=--json     the same for machines
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet
from discreet.lab import instance, play
from discreet.lab.kernels import dp_ucb, ucb
from discreet.lab.kernels.randomness import fresh_state
from discreet.noise import private_noise


@dataclass
class Row:
    what: str
    measured: float
    unit: str
    goal: str
    met: bool
    reference: str
    ratio: float


def best_of(repeats, work):
    """The shortest of a few wall-clock times: the one least disturbed by a busy machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def stopping_rule():
    """DP exponential NAS over a numpy stream that is too hard to halt on, against one bare numpy mean."""
    stream = np.random.default_rng(0).random(20_000_000) * 0.02
    options = {"epsilon": 0.5, "alpha": 0.01, "beta": 0.05, "low": 0.0, "high": 1.0}

    def feed():
        assert not discreet.DPExponentialNAS(**options).run(stream).reached

    seconds, reference = best_of(3, feed), best_of(3, stream.mean)
    rate = stream.size / seconds
    return Row(
        "DP exponential NAS, numpy stream", rate, "samples/s", ">= 2e7", rate >= 2e7, "numpy mean", seconds / reference
    )


def private_per_sample():
    """DP-NAS draws one private noise a sample: the price of testing every time."""
    stream = np.random.default_rng(0).random(20_000) * 0.02
    options = {"alpha": 0.01, "beta": 0.05, "low": 0.0, "high": 1.0}
    private = best_of(2, lambda: discreet.DPNAS(epsilon=0.5, **options).run(stream))
    plain = best_of(2, lambda: discreet.NAS(**options).run(stream))
    rate = stream.size / private
    return Row("DP-NAS, private noise", rate, "samples/s", "-", True, "NAS without noise", private / plain)


def ask_tell(pairs=100_000):
    """Pairs of ask and tell on DP-SE, against the smallest loop that could do an A/B/n test."""
    policy = discreet.DPSuccessiveElimination(list("ABCDE"), epsilon=0.5, horizon=5e7)
    bandit = discreet.Bandit(policy)

    def work():
        for _ in range(pairs):
            ticket = bandit.ask()
            bandit.tell(ticket, 1.0 if ticket.arm == "A" else 0.0)

    def bare():
        sums, counts, arms = dict.fromkeys("ABCDE", 0.0), dict.fromkeys("ABCDE", 0), "ABCDE"
        for i in range(pairs):
            arm = arms[i % 5]
            sums[arm] += 1.0 if arm == "A" else 0.0
            counts[arm] += 1

    seconds, reference = best_of(3, work), best_of(3, bare)
    rate = pairs / seconds
    return Row("ask + tell, DP-SE", rate, "pairs/s", ">= 1e5", rate >= 1e5, "two dictionaries", seconds / reference)


def simulated_run(runs=200):
    """A whole DP-SE run at T = 5e7 through the policy object, against drawing its binomials alone."""
    means = instance("C2")

    def work():
        for run in range(runs):
            noise = discreet.SimulatedNoise(run)
            policy = discreet.DPSuccessiveElimination(range(5), epsilon=0.25, horizon=5e7, noise=noise)
            play(policy, means, np.random.default_rng(run))

    def bare():
        for run in range(runs):
            generator = np.random.default_rng(run)
            for length, arms in ((2743, 5), (11676, 3), (48362, 2)):
                for arm in range(arms):
                    generator.binomial(length, means[arm])

    milliseconds = best_of(3, work) / runs * 1e3
    reference = best_of(3, bare) / runs * 1e3
    return Row(
        "DP-SE, T = 5e7, simulated",
        milliseconds,
        "ms/run",
        "< 1",
        milliseconds < 1,
        "its binomials alone",
        milliseconds / reference,
    )


def noise_source():
    """Private draws from the pool, against seeded numpy draws of the same law."""
    count = 20_000
    private = best_of(2, lambda: private_noise().draws(1e6 + np.random.default_rng().random(), count))
    simulated = best_of(2, lambda: discreet.SimulatedNoise(0).draws(1e6, count))
    rate = count / private
    return Row("exact private noise", rate, "draws/s", "-", True, "simulated noise", private / simulated)


def step_by_step():
    """DP-UCB through the policy object, one decision a pull, against UCB."""

    def run(name, **options):
        policy = discreet.make_policy(name, range(5), horizon=20_000, **options)
        play(policy, instance("C2"), np.random.default_rng(0))

    dp = best_of(2, lambda: run("dp-ucb", epsilon=1.0, noise=discreet.SimulatedNoise(0)))
    ucb = best_of(2, lambda: run("ucb"))
    return Row("DP-UCB, policy object, simulated", 20_000 / dp, "pulls/s", "-", True, "UCB, policy object", dp / ucb)


def kernels():
    """The compiled kernels on one core, each against its own reference kernel in the same run."""
    horizon, short = 50_000_000, 1_000_000
    rows = []
    for arms, goal in ((5, 3e9), (20, 4e8)):
        means, points = instance("C2", arms), np.array([horizon])

        def timed(kernel, steps, *constants, means=means, points=points):
            kernel(means, 1000, fresh_state(0), points, *constants)  # compiled before it is timed
            return best_of(3, lambda: kernel(means, steps, fresh_state(1), points, *constants)) / steps

        slow = timed(ucb.reference, short)
        for name, kernel, wanted in (("lazy", ucb.lazy, None), ("skip-ahead", ucb.skip_ahead, goal)):
            rate = 1 / timed(kernel, horizon)
            goal_text = f">= {wanted:.0e}" if wanted else "-"
            met = wanted is None or rate >= wanted
            rows.append(
                Row(f"UCB {name}, C2, K = {arms}", rate, "pulls/s", goal_text, met, "reference", 1 / rate / slow)
            )
        policy = discreet.DPUCB(range(arms), epsilon=0.25, horizon=horizon, noise=discreet.SimulatedNoise(0))
        constants = dp_ucb.constants(policy)
        slow, rate = timed(dp_ucb.reference, short, *constants), 1 / timed(dp_ucb.skip_ahead, horizon, *constants)
        met = rate * slow >= 30 or arms > 5
        goal_text = "30 x reference" if arms == 5 else "-"
        rows.append(
            Row(f"DP-UCB skip-ahead, C2, K = {arms}", rate, "pulls/s", goal_text, met, "reference", 1 / rate / slow)
        )
    return rows


def main():
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [task() for task in (stopping_rule, ask_tell, simulated_run, noise_source, private_per_sample, step_by_step)]
    rows += kernels()
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        table = Table("what", "measured", "goal", "met", "time over reference", title="discreet: what must be fast")
        for row in rows:
            ratio = f"{row.ratio:.2g} x {row.reference}"
            table.add_row(row.what, f"{row.measured:,.3g} {row.unit}", row.goal, "yes" if row.met else "NO", ratio)
        Console(width=130).print(table)
    sys.exit(not all(row.met for row in rows))


main()

"""Step-wise policies on arms that are no coins, and by ask and tell: microseconds a pull, next to other libraries."""

import random
import time

import numpy as np
from river import bandit as river_bandit

import discreet
from benchmarks.rows import Row
from discreet.lab import Beta, Setting, Uniform
from discreet.lab.simulate import run_setting

ARMS = (Beta(2, 4), Beta(4, 2), Uniform(0, 0.8), Uniform(0.2, 1), 0.5)
POLICIES = (
    *(("ucb", {}), ("kl-ucb", {}), ("imed", {}), ("ts", {})),
    *(("dp-ucb", {"epsilon": 1.0, "preset": preset}) for preset in ("event-level", "all-trees")),
    ("dp-ucb-hybrid", {"epsilon": 1.0}),
)


def river_on_general_arms(pulls):
    """The processor time of a pull of river's UCB on the same arms, with rewards that were drawn before."""
    rng = np.random.default_rng(1)
    arms = discreet.lab.instance(ARMS).rewards
    rewards = [iter(arm.sample(rng, pulls).tolist()) for arm in arms]
    policy, names = river_bandit.UCB(delta=1, seed=1), list(range(len(arms)))
    start = time.process_time()
    for _ in range(pulls):
        arm = policy.pull(names)
        policy.update(arm, next(rewards[arm]))
    return (time.process_time() - start) / pulls * 1e6


def general_arms(pulls=300_000):
    """Every step-wise policy in the lab, at most 5 microseconds a pull, next to river's UCB."""
    peer = min(river_on_general_arms(20_000) for _ in range(3))
    rows = []
    for key, options in POLICIES:
        setting = Setting.of(key, ARMS, horizon=pulls, runs=1, **options)
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            run_setting(setting)
            best = min(best, (time.process_time() - start) / pulls * 1e6)
        what = f"{' '.join((key, options.get('preset', '')))} on beta and uniform arms"
        rows.append(Row(what, best, "us/pull", "<= 5", best <= 5, "river's UCB", best / peer))
    return rows


def asked(pulls=4_000):
    """Policies by ask and tell, next to the `pull` and `update` of river's UCB: one that plans epochs, two that do not.

    A step of UCB and DP-UCB is an epoch: a plan, a charge, a release and an entry of the ledger.
    """
    private = {"epsilon": 1.0, "horizon": 1_000_000}
    policies = {
        "UCB": discreet.UCB(range(5)),
        "DP-SE": discreet.DPSuccessiveElimination(range(5), **private),
        "DP-UCB": discreet.DPUCB(range(5), **private),
    }

    def ours(policy):
        bandit, uniform = discreet.Bandit(policy), random.Random(1).random
        start = time.process_time()
        for _ in range(pulls):
            bandit.tell(bandit.ask(), float(uniform() < 0.5))
        return (time.process_time() - start) / pulls * 1e6

    def theirs():
        policy, names, uniform = river_bandit.UCB(delta=1, seed=1), list(range(5)), random.Random(1).random
        start = time.process_time()
        for _ in range(pulls):
            policy.update(policy.pull(names), float(uniform() < 0.5))
        return (time.process_time() - start) / pulls * 1e6

    rounds = [(theirs(), *map(ours, policies.values())) for _ in range(15)]  # in turns
    peer, *best = (min(times) for times in zip(*rounds, strict=True))
    return [
        Row(f"{name} by ask and tell", one, "us/pull", "-", True, "river's UCB", one / peer)
        for name, one in zip(policies, best, strict=True)
    ]

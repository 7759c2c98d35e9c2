"""The policy that compares arms within shared epochs."""

import numpy as np

import discreet
from discreet import DPPairedIMED, SimulatedNoise
from tests._tools.driving import Coins, close, drive


def share_of_the_best(policy, noise, means, jump, moment):
    """Play against rewards whose means all jump at some moment; the share of pulls of the first arm."""
    driver = drive(policy, (), noise, 0)
    rng = np.random.default_rng([policy.batch_size(0), int(1000 * jump)])
    while (plan := driver.plan()) is not None:
        shift = jump * (driver.algorithm.time + np.arange(plan.size) >= moment)
        totals, turn = {}, len(plan.pulls)
        for place, (arm, count) in enumerate(plan.pulls.items()):
            mine = shift[place::turn][:count]
            totals[arm] = int((rng.random(count) < means[arm] + mine).sum()) * policy.grid.width
        driver.close_steps(totals if plan.learns else None)
    return driver.algorithm.pulls[0] / driver.algorithm.time


def test_pairs_find_the_best_arm_where_single_batches_mistake_the_time_for_the_arm():
    found = {"dp-paired-imed": [], "dp-chernoff-imed": []}
    for name, shares in found.items():
        for run in range(20):
            policy = discreet.make_policy(name, range(3), epsilon=0.5, horizon=300_000)
            jump = 0.5 + 0.001 * run
            shares.append(share_of_the_best(policy, SimulatedNoise(run), (0.2, 0.14, 0.1), jump, moment=400))
    assert min(found["dp-paired-imed"]) > 0.5
    assert np.mean(np.array(found["dp-chernoff-imed"]) < 0.5) >= 0.2


def test_pairs_learn_only_from_epochs_that_two_arms_share():
    driver = drive(DPPairedIMED(range(3), epsilon=1.0, horizon=50_000), (), SimulatedNoise(3), 0)
    rewards, covered = Coins((0.5, 0.6, 0.7), 4), dict.fromkeys(range(3), 0)
    while (plan := driver.plan()) is not None:
        before, best = len(driver.ledger), driver.algorithm.best_arm
        if plan.learns:
            assert len(set(plan.pulls.values())) == 1
            assert best is None or best in plan.pulls
        close(driver, rewards)
        released, pulls = driver.ledger[before:], driver.algorithm.pulls
        assert len(released) == (len(plan.pulls) if plan.learns else 0)
        for release in released:
            assert release.rewards == plan.pulls[release.arm]
            assert release.spans[0][2] == pulls[release.arm]
            covered[release.arm] += plan.pulls[release.arm]
    assert driver.algorithm.best_arm == 2
    assert covered[2] < driver.algorithm.pulls[2]  # most of the leader's rewards were never collected

"""Successive elimination against a program that decides a round at a time."""

import numpy as np
import pytest

from discreet import SuccessiveElimination
from tests._tools import references
from tests._tools.driving import Recorded, close, drive


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 6.0), (10.0, 10.5)])
@pytest.mark.parametrize("paid", ["zeros and ones", "uniform", "fixed"])
@pytest.mark.parametrize("arms", [2, 3, 5, 8])
def test_it_drops_the_arms_that_it_would_drop_a_round_at_a_time(arms, paid, low, high):
    """Its epochs have many rounds; none of them may pass over the round in which an arm falls behind."""
    dropped_in_all = 0
    for seed in range(4):
        horizon, beta = 2000 * arms, (0.1, 0.9)[seed % 2]
        rng = np.random.default_rng([seed, arms])
        means = rng.permutation(np.linspace(0.2, 0.8, arms))[:, None]
        table = rng.random((arms, horizon))
        if paid == "zeros and ones":
            table = (table < means).astype(float)
        elif paid == "uniform":
            table = np.rint((table * np.minimum(2 * means, 1)) * 1024) / 1024  # on the grid of every range here
        else:
            table = np.broadcast_to(np.rint(means * 1024) / 1024, table.shape)
        rewards = Recorded(table)
        pulls, rounds = references.successive_elimination(rewards.next, arms, horizon, beta)
        policy = SuccessiveElimination(range(arms), horizon=horizon, beta=beta, low=low, high=high)
        driver, found = drive(policy, rewards, closes=0), {}
        while close(driver, rewards):
            now = driver.algorithm
            for arm in set(now.arms) - set(now.viable):
                found.setdefault(arm, now.pulls[arm])
        assert found == rounds
        assert driver.algorithm.pulls == pulls
        dropped_in_all += len(found)
    assert dropped_in_all >= 4

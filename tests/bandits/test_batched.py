"""The batched index policies: their choices and batches step by step, and their defaults."""

import math

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, SimulatedNoise, theory
from discreet.core.probability.tails import tail_exponent
from tests._tools.driving import Coins, close, drive

# ---------------------------------------------------------------------- programs written from the formulas


def imed(totals, counts, noises, epsilon, time):
    means = np.clip(totals / counts, 0, 1)
    return np.argmin(counts * theory.private_divergence(means, means.max(), epsilon) + np.log(counts))


def klucb(totals, counts, noises, epsilon, time):
    grid = np.linspace(0, 1, 200_001)
    means = np.clip(totals / counts, 0, 1)
    upper = [
        grid[(grid >= mean) & (count * theory.private_divergence(mean, grid, epsilon) <= math.log(time))].max(
            initial=mean
        )
        for mean, count in zip(means, counts, strict=True)
    ]
    return min(range(3), key=lambda arm: (-upper[arm], counts[arm]))


def chernoff(totals, counts, noises, epsilon, time):
    best, s = np.clip(totals / counts, 0, 1).max(), np.linspace(0, epsilon, 20_001)[:-1]
    exponents = [
        np.max(-s * total - count * np.log(1 - best + best * np.exp(-s)) + noise * np.log(1 - (s / epsilon) ** 2))
        for total, count, noise in zip(totals, counts, noises, strict=True)
    ]
    return np.argmin(np.maximum(exponents, 0) + np.log(counts))


def adap(totals, counts, noises, epsilon, time):
    rate = 3.1 * math.log(time) / counts
    return np.argmax(totals / counts + np.sqrt(rate / 2) + rate / epsilon)


@pytest.mark.parametrize(
    ("name", "choose", "forgets"),
    [
        ("dp-imed", imed, False),
        ("dp-klucb", klucb, False),
        ("dp-chernoff-imed", chernoff, False),
        ("adap-ucb", adap, True),
    ],
)
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_choices_and_batches_are_those_of_a_program_written_from_the_formulas(name, choose, forgets, epsilon):
    policy, rewards = discreet.make_policy(name, range(3), epsilon=epsilon), Coins((0.3, 0.5, 0.45), 5)
    driver, first, width = drive(policy, (), SimulatedNoise(6), 0), policy.batch_size(0), policy.grid.width
    assert driver.plan().pulls == dict.fromkeys(range(3), first)
    pulls, totals, counts, noises = np.zeros(3, int), np.zeros(3), np.zeros(3), np.zeros(3)
    for epoch in range(12 if name in ("dp-chernoff-imed", "dp-klucb") else 25):
        plan, before = driver.plan().pulls, len(driver.ledger)
        if epoch:
            (arm,) = plan
            assert arm == choose(totals, counts, noises, epsilon, pulls.sum() + 1)
            assert plan[arm] == max(1, math.ceil((policy.ratio - 1) * pulls[arm]))
        close(driver, rewards)
        for release in driver.ledger[before:]:
            arm = release.arm
            if forgets:
                totals[arm] = counts[arm] = noises[arm] = 0
            pulls[arm] += plan[arm]
            totals[arm] += release.steps / width
            counts[arm] += plan[arm]
            noises[arm] += 1
            assert release.spans == ((arm, pulls[arm] - plan[arm] + 1, pulls[arm]),)
    assert max(pulls) >= 4 * first


def test_adap_forgets_all_but_the_last_episode_which_doubles_the_pulls():
    driver = drive(discreet.AdaPKLUCB(["A", "B"], epsilon=1e6), (1.0, 1.0), SimulatedNoise(1), closes=1)
    for _ in range(6):
        ((arm, count),) = driver.plan().pulls.items()
        assert count == driver.algorithm.taken[arm]
        close(driver, (0.25, 0.25))
        assert driver.algorithm.estimate("AB".index(arm)) == pytest.approx(0.25, abs=1e-4)


def test_a_sure_arm_and_a_large_epsilon_are_played_to_the_end():
    for epsilon in (40.0, 2000.0):
        policy = discreet.DPChernoffIMED(["A", "B"], epsilon=epsilon, horizon=20_000)
        after = drive(policy, Coins((1.0, 0.5), 1, "AB"), SimulatedNoise(1)).algorithm
        assert after.best_arm == "A"
        assert after.pulls[0] > 19_000


def test_the_first_batch_of_the_recommended_policy_is_what_any_policy_needs():
    for horizon, epsilon in ((10**6, 0.1), (5 * 10**7, 1.0)):
        first = discreet.DPChernoffIMED(range(5), epsilon=epsilon, horizon=horizon).batch_size(0)
        assert first == math.ceil(2 * math.log(horizon) / epsilon)
        # The lower bound on the pulls of an arm with a gap of 1/2.
        for best in (0.5, 0.75, 1.0):
            assert first <= math.log(horizon) / theory.private_divergence(best - 0.5, best, epsilon) + 1
    short = discreet.DPChernoffIMED(range(5), epsilon=0.01, horizon=1000)
    assert short.batch_size(0) == 40  # a fifth of the horizon
    assert discreet.DPChernoffIMED(range(5), epsilon=1.0).batch_size(0) == 28
    assert discreet.DPChernoffIMED(range(5), epsilon=1.0, first_batch=7).batch_size(0) == 7


@pytest.mark.parametrize("name", ["dp-imed", "dp-klucb", "dp-chernoff-imed", "dp-paired-imed"])
def test_batches_must_grow(name):
    with pytest.raises(ArgumentError, match=r"ratio must be above 1, since batches must grow, got 1.0"):
        discreet.make_policy(name, ["A", "B"], epsilon=1.0, ratio=1.0)
    with pytest.raises(ArgumentError, match="first_batch"):
        discreet.make_policy(name, ["A", "B"], epsilon=1.0, first_batch=0)


def test_many_arms_make_the_recommended_policy_cautious_and_few_do_not():
    assert [discreet.DPChernoffIMED(range(arms), epsilon=1.0).effective_caution for arms in (2, 5)] == [0.0, 0.0]
    policy = discreet.DPChernoffIMED(range(20), epsilon=1.0, horizon=10**6)
    assert policy.effective_caution == pytest.approx(math.log(4))
    driver = drive(policy, [arm / 20 for arm in range(20)], SimulatedNoise(1), closes=1)
    for release in driver.ledger:
        exponent = tail_exponent(release.steps / policy.grid.width, policy.batch_size(0), 1, 0.95, 1.0)
        found = driver.algorithm.evidence(release.arm, 0.95)
        assert found == pytest.approx(max(0.0, exponent - math.log(4)))
    for bad in (-0.1, "much"):
        with pytest.raises(ArgumentError, match="caution"):
            discreet.DPChernoffIMED(range(3), epsilon=1.0, caution=bad)

"""The roads that the paper does not take: they are what their docstrings say, keep the best arm, and pay for K."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import ArgumentError, PrivacyError, SimulatedNoise, Totals
from discreet.lab import simulate
from discreet.mechanisms import Curator, SharedVectors, SparseVector
from discreet.testing import Change, Recording, check_algorithm
from tests._tools import examples, references
from tests._tools.driving import Recorded, close, drive
from tests._tools.mutants import MUTANTS, planted
from tests._tools.noise_scales import Asked
from tests._tools.scripted import NoiseByScale

WIDTH = 2**20
KINDS = {"pairs": "dp-se-pairs", "arms": "dp-se-arms", "one": "dp-se-one-vector"}
ROADS = tuple(KINDS.values())


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10**6),
    means=st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=2, max_size=4),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_a_road_is_what_its_docstring_says(seed, means, kind):
    horizon, arms, epsilon = 20_000, len(means), 3.0
    # One sequence for each scale, since the two programs may draw tests and totals in different orders.
    source, rewards = NoiseByScale(["varied", seed]), Recorded.coins(seed, means, horizon)
    expected = references.road(
        kind, rewards.next, arms, horizon, epsilon, 1 / horizon,
        lambda scale: source.draws(scale * WIDTH, 1)[0] / WIDTH,
    )  # fmt: skip
    policy = discreet.make_policy(KINDS[kind], range(arms), epsilon=epsilon, horizon=horizon)
    assert drive(policy, rewards, NoiseByScale(["varied", seed])).algorithm.pulls == expected


@pytest.mark.parametrize("name", [*ROADS, "dp-se-difference"])
def test_the_best_arm_stays_and_the_others_go(name):
    means = (0.8, 0.3) if name in examples.TWO_ARMS else (0.3, 0.8, 0.3, 0.3)
    result = simulate(name, means, horizon=10**6, runs=50, epsilon=1.0, beta=0.2)
    best = means.index(0.8)
    assert (result.pulls.argmax(axis=1) == best).all()
    assert (np.delete(result.pulls, best, axis=1) < 50_000).all()


def gone(kind):
    """In how many of 40 runs with two equal arms one of them goes."""
    count = 0
    for seed in range(40):
        rewards = Recorded.coins(seed, (0.5, 0.5), 4000)
        policy = kind(range(2), epsilon=5.0, horizon=8000, beta=0.5)
        count += drive(policy, rewards, SimulatedNoise(seed)).algorithm.settled
    return count


@pytest.mark.parametrize("name", [*ROADS, "dp-se-difference"])
def test_equal_arms_stay_and_without_the_margins_they_would_not(name):
    kind = discreet.POLICIES[name]
    assert gone(kind) <= 2
    bare = type(kind.__name__, (kind,), {"halting_threshold": lambda self, rounds, test: 0.5 * math.sqrt(rounds)})
    assert gone(bare) > 20


def test_the_union_bounds_of_the_docstring_add_up_to_less_than_beta():
    """x, B, A and totals, in the order of the docstring, for one best arm among K and n vectors that could lose it."""
    squares = math.pi**2 / 6
    for arms, vectors in ((2, 1), (2, 2), (64, 1), (64, 64)):
        sampling = (arms - 1) / (4 * arms) * squares
        thresholds, tests, totals = vectors / 2 / (4 * vectors), vectors / 2 / (8 * vectors) * squares, 1 / 8
        assert sampling <= 0.42
        assert thresholds + tests + totals <= 0.36
        assert sampling + thresholds + tests + totals < 1


@pytest.mark.parametrize(("name", "scales"), [("dp-se-pairs", (6, 2)), ("dp-se-one-vector", (6, 2))])
@pytest.mark.parametrize("arms", [3, 5])
def test_noises_grow_with_the_number_of_arms(name, scales, arms):
    assert asked(name, arms) == {round(scale * (arms - 1), 5) for scale in scales}
    assert asked("dp-se-arms", arms) == {round(3 / 0.9 * arms, 5), 10 * arms}


def asked(name, arms):
    """The scales that a road asks for until one arm is left, times epsilon and in rewards."""
    policy, noise = discreet.make_policy(name, range(arms), epsilon=0.5, beta=0.1), Asked()
    driver = Totals(policy, noise)
    while not driver.algorithm.settled:
        driver.close_steps({arm: count * WIDTH * (arm == 0) for arm, count in driver.plan().pulls.items()})
    return {round(scale * 0.5 / WIDTH, 5) for scale in noise.scales}


# ---------------------------------------------------------------------- privacy, where a reward is in many vectors


def recording(name, arms=5):
    """A run in which the first arm is the best one."""
    rng = np.random.default_rng(1)
    means = [0.9, *[0.1] * (arms - 1)]
    rewards = {arm: (rng.random(30_000) < mean).astype(float) for arm, mean in enumerate(means)}
    policy = discreet.make_policy(name, range(arms), epsilon=1.0, beta=0.1)
    return Recording(lambda: Totals(policy, SimulatedNoise(1)), rewards), rewards


@pytest.mark.parametrize("name", ROADS)
def test_a_reward_of_the_leader_costs_at_most_epsilon_in_all_vectors_together(name):
    made, rewards = recording(name)
    reports = [made.replay([Change(0, pull, 1 - rewards[0][pull])]) for pull in (0, 1, 100, 2000)]
    assert all(report.private for report in reports), reports
    assert max(report.loss for report in reports) > 0.25
    assert discreet.spent(made.ledger) <= 1.0


@pytest.mark.parametrize("name", ROADS)
def test_noises_of_one_vector_are_not_enough_for_all(name, monkeypatch):
    """The trap planted in the mechanism: each vector is private at epsilon, and the leader's reward is in four."""
    honest, draw = SparseVector.__init__, SharedVectors._draw

    def init(self, query, *rest):
        honest(self, query, *rest)
        self.scale /= query.most

    monkeypatch.setattr(SparseVector, "__init__", init)
    monkeypatch.setattr(SharedVectors, "_draw", lambda self, width, *rest: draw(self, width // 5, *rest))
    made, rewards = recording(name)
    reports = [made.replay([Change(0, pull, 1 - rewards[0][pull])]) for pull in (0, 1, 100)]
    assert not all(report.private for report in reports)


@pytest.mark.parametrize("name", ROADS)
def test_the_price_of_every_vector_is_charged(name):
    bug = next(one for one in MUTANTS if one.plant.__name__ == "each_vector_at_the_price_of_all")
    with planted(bug, charged=True):
        policy = discreet.make_policy(name, range(3), epsilon=1.0, horizon=10_000)
        curator = Curator.of(policy, SimulatedNoise(1))
        with pytest.raises(PrivacyError, match=r"a release would cost [23]\.0, beyond the promised 1\.0"):
            curator.release(policy.plan(), dict.fromkeys(policy.plan().pulls, 0))


# ---------------------------------------------------------------------- the rest


@pytest.mark.parametrize("name", ROADS)
def test_a_road_of_many_arms_is_a_public_value_to_the_end(name):
    policy = discreet.make_policy(name, range(5), epsilon=20.0, horizon=20_000)
    driver = Totals(policy, SimulatedNoise(3))
    while not driver.algorithm.finished:
        close(driver, (0.9, 0.1, 0.5, 0.7, 0.3))
        check_algorithm(driver.algorithm)
    assert driver.algorithm.settled
    assert discreet.spent(driver.ledger) <= 20.0


@pytest.mark.parametrize("name", ROADS)
def test_noises_that_lose_every_arm_leave_one(name):
    class Low:
        """Threshold noises that let every test say yes."""

        simulated = True

        def draws(self, scale, count):
            return np.full(count, -(2**40))

    driver = Totals(discreet.make_policy(name, range(4), epsilon=1.0, horizon=10_000), Low())
    while not driver.algorithm.settled:
        driver.close_steps(dict.fromkeys(driver.plan().pulls, 0))
    assert driver.algorithm.best_arm in range(4)
    assert driver.algorithm.viable == (driver.algorithm.best_arm,)
    check_algorithm(driver.algorithm)


def test_one_vector_tests_a_round_after_it_has_halted():
    policy = discreet.make_policy("dp-se-one-vector", range(4), epsilon=50.0, horizon=10_000)
    driver = drive(policy, (0.9, 0.1, 0.1, 0.1))
    *_, first, second, third, last = driver.algorithm.pulls
    assert {first, second, third, last} == {*range(min(second, third, last), max(second, third, last) + 1), first}


def test_a_difference_is_of_two_arms():
    with pytest.raises(ArgumentError, match="arms must be two for dp-se-difference, got 3; use dp-se for more"):
        discreet.make_policy("dp-se-difference", range(3), epsilon=1.0, horizon=100)


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), means=st.sampled_from([(0.2, 0.8), (0.9, 0.1), (0.5, 0.4)]))
def test_a_difference_is_dp_exponential_nas_on_differences(seed, means):
    """Written by its docstring, round by round."""
    horizon, epsilon, alpha, beta = 20_000, 2.0, 0.5, 1 / 20_000
    rewards, noise = Recorded.coins(seed, means, horizon), NoiseByScale(["varied", seed])

    def draw(scale):
        return noise.draws(scale * WIDTH, 1)[0] / WIDTH

    threshold, total, t, k = draw(6 / epsilon), [0.0, 0.0], 0, 0
    while 2 * 2 ** (k + 1) <= horizon:
        k += 1
        while t < 2**k:
            t += 1
            for arm in (0, 1):
                total[arm] += rewards.next(arm)
        h = math.sqrt(math.log(16 * k**2 / beta) / t)
        c = 6 / epsilon * (math.log(4 / beta) + math.log(8 * k**2 / beta))
        c += 2 / alpha * 2 / epsilon * math.log(8 / beta)
        if abs(total[0] - total[1]) >= h * (1 + 1 / alpha) * t + c + threshold + draw(6 / epsilon):
            break
    else:
        t = horizon // 2
    policy = discreet.make_policy("dp-se-difference", range(2), epsilon=epsilon, horizon=horizon)
    assert min(drive(policy, rewards, NoiseByScale(["varied", seed])).algorithm.pulls) == t

"""The lazy policies against programs that decide at every step, and their blocks."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, Bandit, SimulatedNoise
from discreet.bandits._seeds import epoch_rng
from discreet.lab import instance
from discreet.mechanisms import NoisyTotals
from discreet.testing import ScriptedNoise
from tests._tools.driving import Coins, Recorded, close, drive

WIDTH = 2**20
NAMES = ("lazy-ucb", "lazy-dp-ts")
MANY = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
CLEAR = 50.0  # an epsilon at which indices alone decide, so that leads change within blocks


def make(name, arms, **options):
    seed = {"seed": 5} if name == "lazy-dp-ts" else {}
    return discreet.make_policy(name, range(arms), **{"epsilon": 1.0, **seed, **options})


@cache
def payments(seed, means, pulls):
    """Rewards of 0 and 1, fixed by arm and pull."""
    return Recorded.coins(seed, means, pulls)


def start(policy, noise):
    return drive(policy, (), noise, 0)


def play_epoch(driver, rewards):
    """The open plan, closed, and what it released."""
    plan, before = driver.plan(), len(driver.ledger)
    close(driver, rewards)
    return plan, driver.ledger[before:]


# ---------------------------------------------------------------------- step by step


def step_by_step(table, horizon, noises, choose):
    """The arms pulled one after the other, and each release as (step, arm, rewards in it, steps)."""
    arms = len(table)
    pulls, block, total = [0] * arms, [0] * arms, [0] * arms
    n, mean = [0] * arms, [0.0] * arms
    noises, sequence, releases = iter(noises), [], []
    for t in range(1, horizon + 1):
        arm = t - 1 if t <= arms else choose(t, n, mean)
        sequence.append(arm)
        total[arm] += int(table[arm, pulls[arm]])
        pulls[arm] += 1
        block[arm] += 1
        if block[arm] == max(1, 2 * n[arm]):
            number = total[arm] * WIDTH + next(noises)
            n[arm], mean[arm] = block[arm], number / (block[arm] * WIDTH)
            block[arm] = total[arm] = 0
            releases.append((t, arm, n[arm], number))
    return sequence, releases


def by_index(epsilon):
    def choose(t, n, mean):
        log = math.log(t)
        index = [m + math.sqrt(3 * log / k) + 3 * log / (epsilon * k) for m, k in zip(mean, n, strict=True)]
        return index.index(max(index))

    return choose


def by_draws(epsilon, draws):
    """The largest draw; all draws of a plan come from one generator, of the seed and the epochs before it."""

    def choose(t, n, mean):
        mu = [min(1.0, max(0.0, m + 3 * math.log(t) / (epsilon * k))) for m, k in zip(mean, n, strict=True)]
        found = [draws().beta(m * k + 1, (1 - m) * k + 1) for m, k in zip(mu, n, strict=True)]
        return found.index(max(found))

    return choose


def compare_with_steps(name, means):
    several = 0
    for seed, epsilon in enumerate((0.05, 5.0, CLEAR, CLEAR)):
        horizon, arms = 8000 + 17 * seed, len(means)
        noises = SimulatedNoise(seed).draws(WIDTH / epsilon, 200).tolist()
        rewards = payments(seed, means, horizon)
        driver = start(make(name, arms, epsilon=epsilon, horizon=horizon), ScriptedNoise(list(noises)))
        ends, found = [], []
        while driver.plan():
            began = driver.algorithm.time
            plan, released = play_epoch(driver, rewards)
            time = driver.algorithm.time
            assert plan.learns == bool(released)
            ends.append((began, time, plan.pulls))
            found += [(time, release.arm, release.rewards, release.steps) for release in released]
            several += began > 0 and len(plan.pulls) > 1
        sequence, releases = step_by_step(rewards.table, horizon, noises, choices(name, epsilon, ends))
        for began, time, pulls in ends:
            assert dict(Counter(sequence[began:time])) == dict(pulls)
        assert [release[1:] for release in found] == [release[1:] for release in releases]
        assert found[arms:] == releases[arms:]  # the first ones are made together
    assert several > 2


def choices(name, epsilon, ends):
    """The program's choice at each step; for draws it must know where plans began, since each has its generator."""
    if name == "lazy-ucb":
        return by_index(epsilon)
    starts = {began + 1: epoch for epoch, (began, _, _) in enumerate(ends)}
    now = {}

    def choose(t, n, mean):
        if t in starts:
            now["rng"] = epoch_rng(5, starts[t])
        return by_draws(epsilon, lambda: now["rng"])(t, n, mean)

    return choose


@pytest.mark.parametrize("means", [(0.95, 0.05), (0.9, 0.1, 0.5), MANY])
@pytest.mark.parametrize("name", NAMES)
def test_plans_are_the_steps_of_a_program_that_decides_at_each(name, means):
    compare_with_steps(name, means)


def test_a_planted_error_in_the_plan_is_noticed(monkeypatch):
    """Commits itself to a block, as AdaP-UCB does."""
    monkeypatch.setattr(discreet.AnytimeLazyUCB, "_until_overtaken", lambda self, leader, steps: len(steps))
    with pytest.raises(AssertionError):
        compare_with_steps("lazy-ucb", MANY)


def test_plans_are_found_without_a_walk(monkeypatch):
    """Five arms and 5e7 pulls: some hundred plans, and few looks at an index."""
    looks, honest = Counter(), discreet.AnytimeLazyUCB.index

    def index(self, arm, time):
        looks[arm] += 1
        return honest(self, arm, time)

    monkeypatch.setattr(discreet.AnytimeLazyUCB, "index", index)
    after = drive(make("lazy-ucb", 5, horizon=50_000_000), Coins(instance("C2").means, 1), SimulatedNoise(1)).algorithm
    assert after.time == 50_000_000
    assert after.epoch < 200
    assert looks.total() < 20_000


@pytest.mark.parametrize("name", NAMES)
def test_without_a_horizon_it_goes_on_in_the_same_way(name):
    rewards = payments(3, (0.4, 0.6, 0.5), 20_000)
    endless = start(make(name, 3), SimulatedNoise(3))
    ending = start(make(name, 3, horizon=50_000), SimulatedNoise(3))
    for _ in range(25):
        assert play_epoch(endless, rewards) == play_epoch(ending, rewards)


# ---------------------------------------------------------------------- blocks


def check_blocks(name):
    """Without noise a release is the exact total of the rewards that its spans name, and each is in one."""
    rewards, in_parts = payments(4, MANY, 150_000), 0
    driver = start(make(name, 9, epsilon=CLEAR), ScriptedNoise([]))
    for _ in range(90 if name == "lazy-ucb" else 32):
        before = driver.algorithm.unreleased
        _, released = play_epoch(driver, rewards)
        in_parts += any(before[release.arm] for release in released)
    assert in_parts > 2  # blocks that were filled in several epochs
    policy = driver.algorithm
    past, size = dict.fromkeys(policy.arms, 0), dict.fromkeys(policy.arms, 1)
    for release in driver.ledger:
        ((arm, first, last),) = release.spans
        assert (first, last) == (past[arm] + 1, past[arm] + size[arm])
        assert release.steps == int(rewards.table[arm, first - 1 : last].sum()) * WIDTH
        assert release.epsilon == policy.epsilon
        past[arm], size[arm] = last, 2 * size[arm]
    assert policy.unreleased == {arm: policy.pulls[arm] - past[arm] for arm in policy.arms}


@pytest.mark.parametrize("name", NAMES)
def test_each_block_is_released_once_and_its_entry_names_its_rewards(name):
    check_blocks(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bug", ["remembered", "forgotten"])
def test_planted_errors_in_the_blocks_are_noticed(monkeypatch, name, bug):
    """Rewards that stay for the next block; rewards of earlier epochs lost."""
    honest = NoisyTotals._without_held

    def remembering(self, exact, held):
        kept = dict(self._held)
        released = honest(self, exact, held)
        self._held |= {arm: (kept[arm][0], 0) for arm in released if arm in kept}
        return released

    def forgetting(self, exact, held):
        self._held = {arm: (0, count) for arm, (_, count) in self._held.items()}
        return honest(self, exact, held)

    monkeypatch.setattr(NoisyTotals, "_without_held", remembering if bug == "remembered" else forgetting)
    with pytest.raises(AssertionError):
        check_blocks(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_driver_counts_a_block_over_epochs_and_a_reload(name, tmp_path):
    noise = SimulatedNoise(8)
    straight, bandit = Bandit(make(name, 2), SimulatedNoise(8), seed=1), Bandit(make(name, 2), noise, seed=1)
    bandit.save(tmp_path / "bandit.json")
    for step in range(400):
        for one in (straight, bandit):
            ticket = one.ask()
            one.tell(ticket, float(ticket.arm == 1))
        if step % 57 == 56:
            bandit.detach()
            bandit = Bandit.load(tmp_path / "bandit.json", noise)
    assert bandit.policy == straight.policy
    assert bandit.ledger == straight.ledger
    assert len(bandit.ledger) > 8


@pytest.mark.parametrize("name", NAMES)
def test_what_the_horizon_cuts_short_is_not_released(name):
    rewards, cuts = payments(9, (0.95, 0.05), 3000), 0
    for horizon in range(2, 3000, 97):
        driver = start(make(name, 2, horizon=horizon, epsilon=CLEAR), SimulatedNoise(1))
        while plan := driver.plan():
            if not plan.learns:
                assert driver.algorithm.time + plan.size == horizon
                cuts += 1
            _, released = play_epoch(driver, rewards)
            assert plan.learns or not released
        assert driver.algorithm.time == horizon
    assert cuts > 25


def test_lazy_ucb_breaks_ties_for_the_first_arm_and_shows_its_index():
    driver = drive(make("lazy-ucb", 3, epsilon=0.5), (1, 1, 1), ScriptedNoise([]), closes=1)
    assert driver.algorithm.index(1, 4) == pytest.approx(1 + math.sqrt(3 * math.log(4)) + 6 * math.log(4))
    assert driver.plan().pulls == {0: 2}
    driver.close_steps({0: 0})
    assert driver.algorithm.estimate(0) == 0.0
    assert driver.algorithm.index(0, 6) == pytest.approx(math.sqrt(1.5 * math.log(6)) + 3 * math.log(6))


def test_lazy_dp_ts_takes_draws_and_not_noise_from_its_seed():
    rewards = payments(10, (0.4, 0.6), 3000)

    def plays(seed, noise):
        driver = start(make("lazy-dp-ts", 2, seed=seed), SimulatedNoise(noise))
        return [play_epoch(driver, rewards) for _ in range(12)]

    def noises(played):
        return [release.steps % WIDTH for _, released in played for release in released]

    assert plays(1, 1) == plays(1, 1)
    assert plays(1, 1) != plays(2, 1)
    assert noises(plays(1, 1)) == noises(plays(2, 1))  # in the order of the releases
    assert plays(None, 1) != plays(None, 1)
    assert make("lazy-dp-ts", 2).options()["seed"] == 5
    with pytest.raises(ArgumentError, match="seed must be at least 0, got -1"):
        make("lazy-dp-ts", 2, seed=-1)


def test_lazy_dp_ts_plans_a_long_block_in_parts():
    policy = make("lazy-dp-ts", 2)
    counts, pulls = [2**17, 2**10], [2**18 - 1, 2**11 - 1]
    totals = [2**17 * WIDTH * 9 // 10, 2**10 * WIDTH // 10]
    policy.resume({**policy.snapshot(), "_totals": totals, "_counts": counts, "pulls": pulls, "time": sum(pulls)})
    for _ in range(3):
        plan = policy.plan()
        assert plan.size == 2**16
        assert plan.learns
        assert not plan.releases
        assert plan.query.held == set(plan.pulls)
        policy.learn(())
    while not policy.plan().releases:
        policy.learn(())
    assert policy.plan().query.held <= {1}
    assert policy.pulls[0] + policy.plan().pulls[0] == 2**19 - 1


def test_optimism_is_clipped():
    noise = ScriptedNoise([-40 * WIDTH, 5 * WIDTH, 0])
    policy = drive(make("lazy-dp-ts", 3, epsilon=10.0), (0, 0, 0.5), noise, closes=1).algorithm
    mu = policy.optimistic(np.array([4, 10**9]))
    assert mu[0].tolist() == pytest.approx([0.0, 1.0, 0.5 + 0.3 * math.log(4)])
    assert mu[1].tolist() == [0.0, 1.0, 1.0]

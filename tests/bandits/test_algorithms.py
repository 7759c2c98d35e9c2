"""The bandits against line-by-line transcriptions, and against the numbers known for the paper's settings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import DPUCB, Bandit, DPSuccessiveElimination, SimulatedNoise
from discreet.lab import instance, play, simulate
from discreet.testing import ScriptedNoise
from tests._tools import references

T = 50_000_000


class Recorded:
    """Rewards fixed by arm and pull number, so that two programs can be fed the same ones."""

    def __init__(self, seed, means, size):
        self.table = np.random.default_rng(seed).random((len(means), size)) < np.array(means)[:, None]
        self.place = [0] * len(means)

    def __call__(self, arm):
        self.place[arm] += 1
        return float(self.table[arm, self.place[arm] - 1])


def drive(policy, rewards):
    """Pull by pull, through the ask/tell driver."""
    bandit = Bandit(policy, seed=0)
    while not bandit.finished:
        ticket = bandit.ask()
        bandit.tell(ticket, rewards(ticket.arm))
    return list(bandit.pulls.values())


@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    means=st.lists(st.sampled_from([0.1, 0.5, 0.55, 0.9]), min_size=2, max_size=4),
    epsilon=st.sampled_from([0.05, 0.5, 2.0]),
)
def test_dp_se_is_algorithm_3(seed, means, epsilon):
    horizon, arms, width = 60_000, len(means), 2**20
    draws = SimulatedNoise(seed).draws(width / epsilon, 200).tolist()
    policy = DPSuccessiveElimination(range(arms), epsilon=epsilon, horizon=horizon, noise=ScriptedNoise(list(draws)))
    queue = iter(draws)

    def noises(scale):
        rounds = 1 / (epsilon * scale)
        return next(queue) / width / rounds

    expected = references.algorithm_3(Recorded(seed, means, horizon), arms, horizon, epsilon, 1 / horizon, noises)
    assert drive(policy, Recorded(seed, means, horizon)) == expected


@settings(max_examples=5)
@given(
    seed=st.integers(0, 10**6),
    means=st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=2, max_size=3),
    modified=st.booleans(),
)
def test_the_withdrawn_variants_are_what_was_withdrawn(seed, means, modified):
    horizon, arms, width, epsilon = 30_000, len(means), 2**20, 1.0
    # One source for each scale, since the two programs draw in different orders.
    kind = discreet.ModifiedDPSuccessiveElimination if modified else discreet.DPSparseVectorElimination
    policy = kind(range(arms), epsilon=epsilon, horizon=horizon, noise=ByScale(seed))
    source = ByScale(seed)
    expected = references.withdrawn(
        Recorded(seed, means, horizon), arms, horizon, epsilon, 1 / horizon,
        lambda scale: source.draws(scale * width, 1)[0] / width, modified,
    )  # fmt: skip
    assert drive(policy, Recorded(seed, means, horizon)) == expected


class ByScale:
    """Simulated noise whose sequence for one scale does not depend on the draws of other scales."""

    simulated = True

    def __init__(self, seed):
        self.seed, self.sources = seed, {}

    def draws(self, scale, count):
        key = round(scale)
        source = self.sources.setdefault(key, SimulatedNoise([self.seed, key]))
        return source.draws(float(key), count)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 6.0), (10.0, 10.5)])
@pytest.mark.parametrize("paid", ["zeros and ones", "uniform", "fixed"])
@pytest.mark.parametrize("arms", [2, 3, 5, 8])
def test_successive_elimination_drops_the_arms_that_it_would_drop_a_round_at_a_time(arms, paid, low, high):
    """Its epochs have many rounds; none of them may pass over the round in which an arm falls behind."""
    dropped_in_all = 0
    for seed in range(4):
        horizon, beta = 2000 * arms, (0.1, 0.9)[seed % 2]
        generator = np.random.default_rng([seed, arms])
        means = generator.permutation(np.linspace(0.2, 0.8, arms))[:, None]
        table = generator.random((arms, horizon))
        if paid == "zeros and ones":
            table = (table < means).astype(float)
        elif paid == "uniform":
            table = np.rint((table * np.minimum(2 * means, 1)) * 1024) / 1024  # on the grid of every range here
        else:
            table = np.broadcast_to(np.rint(means * 1024) / 1024, table.shape)
        place = [0] * arms

        def reward(arm, table=table, place=place):
            place[arm] += 1
            return float(table[arm, place[arm] - 1])

        pulls, rounds = references.successive_elimination(reward, arms, horizon, beta)
        policy = discreet.SuccessiveElimination(range(arms), horizon=horizon, beta=beta, low=low, high=high)
        found = {}
        while plan := policy.plan():
            past = policy.pulls
            paid_now = {arm: table[arm, past[arm] : past[arm] + count] for arm, count in plan.pulls.items()}
            totals = {arm: policy.grid.total(low + (high - low) * shares) for arm, shares in paid_now.items()}
            policy.close(totals if plan.learns else None)
            for arm in set(policy.arms) - set(policy.viable):
                found.setdefault(arm, policy.pulls[arm])
        assert found == rounds
        assert list(policy.pulls.values()) == pulls
        dropped_in_all += len(found)
    assert dropped_in_all >= 4


# ---------------------------------------------------------------------- the paper's settings

LENGTHS = {0.1: [3317, 11676, 48362, 198158, 807251], 0.25: [2743, 11676, 48362, 198158, 807251]}
THRESHOLDS = {
    0.1: [0.2386, 0.1004, 0.0407, 0.0180],
    0.25: [0.1854, 0.0776, 0.0350, 0.0166],
    0.5: [0.1552, 0.0701, 0.0331, 0.0161],
    1.0: [0.1401, 0.0663, 0.0322, 0.0159],
}


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 1.0])
def test_the_epoch_table_of_the_papers_default_setting(epsilon):
    policy = DPSuccessiveElimination(range(5), epsilon=epsilon, horizon=T, noise=SimulatedNoise(0))
    lengths = [math.ceil(policy.epoch_length(epoch, 5)) for epoch in range(1, 6)]
    assert lengths == LENGTHS[max(0.1, min(epsilon, 0.25))]
    thresholds = [round(policy.threshold(epoch, 5), 4) for epoch in range(1, 5)]
    assert thresholds == THRESHOLDS[epsilon]


def test_the_plan_follows_the_table_while_nobody_is_eliminated():
    policy = DPSuccessiveElimination(range(5), epsilon=0.1, horizon=T, noise=SimulatedNoise(0))
    for length in LENGTHS[0.1]:
        plan = policy.plan()
        assert set(plan.pulls.values()) == {length}
        policy.close(dict.fromkeys(plan.pulls, length * policy.grid.width // 2))


@pytest.mark.parametrize(
    ("name", "epsilon", "regret"),
    [
        ("C1", 0.1, 12671), ("C1", 0.25, 12556), ("C1", 0.5, 12556),
        ("C2", 0.25, 4830), ("C2", 0.5, 4830),
        ("C3", 0.25, 4286), ("C3", 0.5, 4286), ("C3", 1.0, 4286),
        ("C4", 0.1, 12304),
    ],
)  # fmt: skip
def test_dp_se_has_the_known_nearly_deterministic_regret(name, epsilon, regret):
    regrets = simulate("dp-se", name, horizon=T, runs=30, seed=1, epsilon=epsilon).final
    assert np.median(regrets) == pytest.approx(regret, abs=0.5)
    assert abs(np.mean(regrets) - regret) < 0.02 * regret


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("C1", [0.75, 0.7, 0.7, 0.7, 0.7]),
        ("C2", [0.75, 0.625, 0.5, 0.375, 0.25]),
        ("C3", [0.75, 0.53125, 0.375, 0.28125, 0.25]),
        ("C4", [0.75, 0.71875, 0.625, 0.46875, 0.25]),
    ],
)
def test_the_instances_are_the_papers(name, means):
    assert instance(name).means.tolist() == pytest.approx(means)


def test_an_epoch_cut_by_the_horizon_releases_nothing_and_pulls_in_turn():
    policy = DPSuccessiveElimination(["A", "B", "C"], epsilon=1.0, horizon=100, noise=SimulatedNoise(0))
    plan = policy.plan()
    assert not plan.learns
    assert plan.pulls == {"A": 34, "B": 33, "C": 33}
    assert policy.close() == ()
    assert policy.ledger == ()
    assert policy.finished
    assert policy.best_arm is None


def test_elimination_is_strict_and_uses_the_number_of_arms_at_the_start():
    policy = DPSuccessiveElimination(["A", "B", "C"], epsilon=1.0, horizon=10**6, noise=ScriptedNoise([]))
    rounds = policy.plan().pulls["A"]
    allowed = math.floor(policy.threshold(1, 3) * rounds * policy.grid.width)
    top = 10**8 + allowed
    policy.close({"A": top, "B": top - allowed, "C": top - allowed - 1})
    assert policy.viable == ("A", "B")
    assert policy.plan().pulls["A"] == math.ceil(policy.epoch_length(2, 2))


# ---------------------------------------------------------------------- DP-UCB


@pytest.mark.parametrize(
    ("preset", "relaxation", "tree_epsilon"),
    [
        ("event-level", math.log(1000) ** 2 * math.log(4 * 1000 * math.log(1000) * 1000) / 0.5, 0.5),
        ("mishra-thakurta-2015", 4 * math.log(1000) ** 2 * math.log(4 * 1000 * math.log(1000) * 1000) / 0.5, 0.125),
        ("thesis", math.sqrt(8) * math.log(1000) ** 1.5 * math.log(2000) / 0.5, 0.5),
    ],
)
def test_dp_ucb_presets(preset, relaxation, tree_epsilon):
    policy = DPUCB(range(4), epsilon=0.5, horizon=1000, preset=preset, noise=ScriptedNoise([]))
    assert policy.relaxation == pytest.approx(relaxation)
    assert {counter.epsilon for counter in policy._counters} == {tree_epsilon}
    assert {counter.levels for counter in policy._counters} == {10}
    assert policy.privacy.epsilon == 0.5
    for arm in range(4):
        policy.close({arm: policy.grid.width if arm == 2 else 0})
    exploration = math.sqrt(2 * math.log(2000)) if preset == "thesis" else math.sqrt(2 * math.log(5))
    assert policy.index(2, 5) == pytest.approx(1 + exploration + relaxation)
    assert policy.plan().pulls == {2: 1}


def test_dp_ucb_without_noise_and_relaxation_is_ucb():
    seed, means, horizon = 4, [0.3, 0.5, 0.6], 3000
    quiet = DPUCB(range(3), epsilon=1.0, horizon=horizon, relaxation=0.0, noise=ScriptedNoise([]))
    plain = discreet.UCB(range(3), horizon=horizon)
    assert drive(quiet, Recorded(seed, means, horizon)) == drive(plain, Recorded(seed, means, horizon))


def test_dp_ucb_at_the_papers_scale_would_have_the_known_relaxation():
    # ln(T)^2 ln(K T ln T * T) / epsilon: with K = 5, T = 5e7 and epsilon = 1 about 12,550 rewards.
    policy = DPUCB(range(5), epsilon=1.0, horizon=T, noise=SimulatedNoise(0))
    assert policy.relaxation == pytest.approx(12_555, rel=1e-3)
    assert policy._counters[0].levels == 26


# ---------------------------------------------------------------------- best arm, guess and double


def test_the_best_arm_is_wrong_in_at_most_a_beta_share_of_runs():
    wrong = 0
    for run in range(300):
        search = discreet.DPBestArm(range(3), epsilon=0.5, beta=0.1, noise=SimulatedNoise(run))
        play(search, [0.5, 0.6, 0.55], np.random.default_rng([run, 1]))
        assert search.settled
        wrong += search.best_arm != 1
    assert wrong <= 30


def test_equal_arms_end_at_the_cap_undecided():
    search = discreet.DPBestArm(["A", "B"], epsilon=1.0, beta=0.1, max_pulls=50_000, noise=SimulatedNoise(1))
    while plan := search.plan():
        search.close({arm: count * search.grid.width // 2 for arm, count in plan.pulls.items()})
    assert search.finished
    assert not search.settled
    assert search.time <= 50_000


def test_guess_and_double_doubles_at_half_of_the_guess():
    policy = discreet.GuessAndDouble(["A", "B"], policy="dp-se", epsilon=1.0, first_guess=1000, noise=SimulatedNoise(0))
    ends = []
    while policy.time < 20_000:
        plan = policy.plan()
        guess = policy.guess
        policy.close(dict.fromkeys(plan.pulls, 0) if plan.learns else None)
        if policy.time == guess // 2:
            ends.append(policy.time)
    assert ends == [500, 1000, 2000, 4000, 8000, 16000, 32000][: len(ends)]
    assert len(ends) >= 6


@pytest.mark.parametrize("inner", ["dp-ucb", "dp-se-modified", "se", "ucb"])
def test_guess_and_double_wraps_any_policy_with_a_horizon(inner):
    options = {} if inner in ("se", "ucb") else {"epsilon": 5.0, "noise": SimulatedNoise(3)}
    policy = discreet.GuessAndDouble(["A", "B"], policy=inner, first_guess=256, **options)
    generator = np.random.default_rng(3)
    while policy.time < 3000:
        plan = policy.plan()
        totals = {
            arm: int(generator.binomial(n, 0.9 if arm == "A" else 0.1)) * policy.grid.width
            for arm, n in plan.pulls.items()
        }
        policy.close(totals if plan.learns else None)
    assert policy.best_arm == "A"
    for entry in policy.ledger:
        for arm, _, last in entry.spans:
            assert last <= policy.pulls[arm]


def test_guess_and_double_refuses_what_it_cannot_wrap():
    for options in ({"policy": "dp-bai", "beta": 0.1}, {"policy": "guess-and-double"}, {"policy": "nope"}):
        with pytest.raises(discreet.ArgumentError):
            discreet.GuessAndDouble(["A", "B"], epsilon=1.0, **options)
    with pytest.raises(discreet.ArgumentError, match="horizon"):
        discreet.GuessAndDouble(["A", "B"], policy="dp-se", epsilon=1.0, horizon=100)

"""A search with a budget: who gets how many pulls, what is said at the end, and fewer errors than equal shares make."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet import DPBudgetBestArm, SimulatedNoise
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.lab import play
from tests._tools.driving import Coins, drive


def shares_of(arms, left, epsilon):
    """The share of the pulls that a round takes and that of its arms that stay at most; None for the last round."""
    noise = 2 * arms / (left * epsilon**2)
    if arms == 2 or (arms < 9 and noise > (arms - 2) ** 2 / 2000):
        return None
    return (0.55, 0.6) if noise <= 0.003 else (0.75, 0.25)


@pytest.mark.parametrize(
    ("arms", "epsilon", "horizon", "rounds"),
    [
        (2, 10.0, 10**6, 1), (2, 0.1, 51, 1), (3, 1.0, 11_900, 1), (3, 1.0, 12_100, 2), (3, 0.1, 1_250_001, 2),
        (8, 1.0, 880, 1), (8, 1.0, 901, 2), (9, 0.01, 9, 1), (9, 0.01, 12, 2), (20, 0.1, 107, 2), (13, 1.0, 100_003, 4),
        (40, 1.0, 10**6, 7),
    ],
)  # fmt: skip
def test_a_search_is_that_of_a_program_written_from_the_page(arms, epsilon, horizon, rounds):
    policy = DPBudgetBestArm(range(arms), epsilon=epsilon, horizon=horizon)
    driver, width, rng = drive(policy, (), SimulatedNoise(arms), 0), policy.grid.width, np.random.default_rng(arms)
    chances = 0.4 + 0.1 * rng.random(arms) if horizon < 10**6 else np.linspace(0.4, 0.41, arms)
    totals, pulls, noises, arms_left, left, seen = (
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms),
        range(arms),
        horizon,
        0,
    )
    while left:
        k, shares = len(arms_left), shares_of(len(arms_left), left, epsilon)
        each = math.floor(shares[0] * left / k) if shares else 0
        more = 0 if each else left % k
        wanted = {arm: (each or left // k) + (place < more) for place, arm in enumerate(arms_left)}
        assert driver.plan().pulls == wanted
        paid = {arm: int(rng.binomial(count, chances[arm])) * width for arm, count in wanted.items()}
        for release in driver.close_steps(paid):
            totals[release.arm] += release.steps / width
            pulls[release.arm] += release.rewards
            noises[release.arm] += 1
        left, seen, means = left - sum(wanted.values()), seen + 1, totals / pulls
        if left:
            p = np.clip(means, 0.01, 0.99)
            spread = np.sqrt(p * (1 - p) / pulls + 2 * noises / (pulls * epsilon) ** 2)
            ranked = sorted(arms_left, key=lambda arm: -means[arm])
            best = ranked[0]
            near = sum(means[best] - means[arm] <= 2 * math.hypot(spread[best], spread[arm]) for arm in ranked)
            arms_left = sorted(ranked[: max(2, min(near, math.ceil(shares[1] * k)))])
        now = driver.algorithm
        assert now.viable == tuple(arms_left)
        assert now.best_arm == max(arms_left, key=lambda arm: means[arm])
    assert now.finished
    assert now.time == horizon == sum(release.rewards for release in now.ledger)
    assert seen == rounds
    own = totals[now.best_arm], pulls[now.best_arm], int(noises[now.best_arm])
    found = [
        lead_evidence(*own, totals[arm], pulls[arm], int(noises[arm]), epsilon)
        for arm in range(arms)
        if arm != now.best_arm
    ]
    assert now.doubt == pytest.approx(min(1, (arms - 1) * math.exp(-min(found))))


def test_nothing_is_trusted_before_the_first_release():
    assert DPBudgetBestArm(["A", "B"], epsilon=1.0, horizon=10).doubt == 1.0


def test_a_clear_winner_leaves_little_doubt():
    policy = DPBudgetBestArm(list("ABCDEFGHIJ"), epsilon=1.0, horizon=20_000)
    after = drive(policy, Coins((0.3,) * 4 + (0.5,) + (0.3,) * 5, 1, "ABCDEFGHIJ"), SimulatedNoise(1)).algorithm
    assert after.best_arm == "E"
    assert after.doubt < 0.001
    assert "E" in after.viable
    assert len(after.viable) < 5


def searched(policy, means, seed):
    """A copy of the policy at the end of a search."""
    found = policy.copy()
    play(found, means, np.random.default_rng([seed, 1]), noise=SimulatedNoise([seed, 2]))
    return found


def wrong_answers(policy, means, runs, seed, equal=False):
    """How often the answer is wrong: many searches at once, or equal shares that are released once."""
    rng, chances, epsilon = np.random.default_rng(seed), np.array(means), policy.epsilon
    shape = runs, len(means)
    totals, pulls, noises, open_ = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool)
    left = np.full(runs, policy.horizon)
    while (going := left > 0).any():
        arms = open_.sum(axis=1)
        noise = 2 * arms / (np.maximum(left, 1) * epsilon**2)
        small = noise <= 0.003
        each = np.floor(np.where(small, 0.55, 0.75) * left / arms).astype(np.int64)
        more = (arms > 2) & ((arms >= 9) | (noise <= (arms - 2) ** 2 / 2000)) & (each > 0) & (not equal)
        each = np.where(more, each, left // arms)
        now = open_ & going[:, None]
        count = each[:, None] * now
        drawn = rng.geometric(-np.expm1(-epsilon), (2, *shape))
        totals += now * (rng.binomial(count, chances) + drawn[0] - drawn[1] + rng.uniform(0, 1e-6, shape))  # no ties
        pulls, noises = pulls + count, noises + now
        left = np.where(more, left - each * arms, 0)
        found = np.where(open_, totals / pulls, -np.inf)
        p = np.clip(found, 0.01, 0.99)
        spread = np.sqrt(p * (1 - p) / pulls + 2 * noises / (pulls * epsilon) ** 2)
        best = found.argmax(axis=1)[:, None]
        behind = np.take_along_axis(found, best, 1) - found
        near = (behind <= 2 * np.hypot(np.take_along_axis(spread, best, 1), spread)).sum(axis=1)
        stay = np.maximum(2, np.minimum(near, np.ceil(np.where(small, 0.6, 0.25) * arms)))
        places = np.argsort(np.argsort(-found, axis=1), axis=1)
        open_ &= (places < stay[:, None]) | ~more[:, None]
    return int((np.where(open_, totals / pulls, -np.inf).argmax(axis=1) != chances.argmax()).sum())


def test_the_program_of_the_study_is_the_object():
    policy, means, runs = DPBudgetBestArm(range(9), epsilon=1.0, horizon=9000), [0.5] + [0.46] * 8, 300
    objects = sum(searched(policy, means, run).best_arm != 0 for run in range(runs))
    share = wrong_answers(policy, means, 20_000, 5) / 20_000
    assert 0.1 < share < 0.5
    assert stats.binomtest(objects, runs, share).pvalue > 1e-6


# How far the others are from the best arm, in parts of `gap_of`.
SHAPES = {
    "all others equal": lambda arms: np.full(arms - 1, 0.7),
    "one near": lambda arms: np.concatenate([[0.3], np.ones(arms - 2)]),
    "a ladder": lambda arms: np.arange(1, arms) / 2,
}
CELLS = [
    (arms, epsilon, rate, pulls)
    for arms in (3, 4, 6, 8, 9, 12, 20)
    for epsilon in (0.1, 1.0)
    for rate, pulls in ((0.03, 8000), (0.1, 2000), (0.5, 1000))
]


def gap_of(arms, epsilon, rate, horizon):
    """Three deviations of the difference of two equal shares, but not below a rate of a tenth of the best one."""
    pulls = horizon / arms
    return min(3 * math.sqrt(2 * rate * (1 - rate) / pulls + 4 / (pulls * epsilon) ** 2), 0.9 * rate)


@pytest.mark.study
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_wrong_less_often_than_equal_shares(shape, page):
    runs, found = 40_000, {}
    for index, (arms, epsilon, rate, pulls) in enumerate(CELLS):
        policy = DPBudgetBestArm(range(arms), epsilon=epsilon, horizon=round(arms * pulls / min(1, epsilon**1.5)))
        far = np.minimum(SHAPES[shape](arms) * gap_of(arms, epsilon, rate, policy.horizon), 0.9 * rate)
        means = [rate, *(rate - far)]
        ours, theirs = (wrong_answers(policy, means, runs, [index, equal], bool(equal)) for equal in (0, 1))
        name = f"{arms} arms, epsilon {epsilon:g}, the best one {100 * rate:g} %, {shape}, {policy.horizon:,} pulls"
        rounds = "several" if policy.shares(policy.horizon) else "one"
        page("Best arm in a budget", search=name, searches=runs, rounds=rounds, wrong=f"{ours / runs:.4f}",
             equal_shares=f"{theirs / runs:.4f}")  # fmt: skip
        found[arms, epsilon, rate] = ours, theirs
        print(arms, epsilon, rate, policy.horizon, policy.shares(policy.horizon), ours / runs, theirs / runs)
        slack = 4 * math.sqrt(ours + theirs + 1)
        assert ours <= theirs + slack
        if policy.shares(policy.horizon) is None:
            assert abs(ours - theirs) <= slack
    logs = [math.log((ours + 1) / (theirs + 1)) for (arms, *_), (ours, theirs) in found.items() if arms >= 9]
    print(shape, math.exp(np.mean(logs)))
    assert np.mean(logs) < math.log(0.65)


@pytest.mark.study
@pytest.mark.parametrize(("horizon", "arms"), [(1000, 3), (3000, 9)])
def test_the_doubt_of_a_budget_is_honest(horizon, arms, page):
    """Of all runs, those that are wrong with a doubt of q or less are at most a share q."""
    means, runs = [0.5, 0.47] + [0.45] * (arms - 2), 1000
    policy = DPBudgetBestArm(range(arms), epsilon=1.0, horizon=horizon)
    found = [searched(policy, means, run) for run in range(runs)]
    wrong = np.array([one.doubt if one.best_arm else np.inf for one in found])
    shares = {q: float((wrong <= q).mean()) for q in (0.01, 0.05, 0.2, 0.5)}
    page("Best arm in a budget: doubt", search=f"{arms} arms, {horizon:,} pulls", searches=runs,
         wrong=f"{np.isfinite(wrong).mean():.4f}", wrong_with_a_doubt_up_to_a_fifth=f"{shares[0.2]:.4f}")  # fmt: skip
    print(horizon, np.isfinite(wrong).mean(), shares)
    assert all(share <= q + 4 * np.sqrt(q * (1 - q) / runs) for q, share in shares.items())

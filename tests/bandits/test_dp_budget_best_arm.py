"""A search with a budget: who gets how many pulls, what is said at the end, and fewer errors than equal shares make."""

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import DPBudgetBestArm, SimulatedNoise
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.lab import play
from tests._tools.driving import Coins, drive


def rounds_of(arms, epsilon, horizon):
    """The pulls of each arm in the first round, the arms that are kept, and their pulls in the second."""
    kept = max(2, math.ceil(arms / 4))
    later = math.floor(horizon / 4 / kept)
    if (arms < 9 and 2 * arms / (horizon * epsilon**2) > (arms - 2) ** 2 / 2000) or not later:
        kept = later = 0
    first = horizon - kept * later
    return [first // arms + (arm < first % arms) for arm in range(arms)], kept, later


@pytest.mark.parametrize(
    ("arms", "epsilon", "horizon", "kept"),
    [
        (2, 10.0, 10**6, 0), (2, 0.1, 50, 0), (3, 1.0, 11_900, 0), (3, 1.0, 12_100, 2), (3, 0.1, 1_250_001, 2),
        (8, 1.0, 880, 0), (8, 1.0, 901, 2), (9, 0.01, 9, 0), (9, 0.01, 12, 3), (20, 0.1, 107, 5), (13, 1.0, 999, 4),
    ],
)  # fmt: skip
def test_it_pulls_as_a_program_written_from_the_page(arms, epsilon, horizon, kept):
    policy = DPBudgetBestArm(range(arms), epsilon=epsilon, horizon=horizon)
    first, expected, later = rounds_of(arms, epsilon, horizon)
    assert policy.kept == kept == expected
    driver, width = drive(policy, (), SimulatedNoise(arms), 0), policy.grid.width
    assert driver.plan().pulls == dict(enumerate(first))
    rewards = np.random.default_rng(arms).binomial(first, 0.4)
    releases = driver.close_steps({arm: int(total) * width for arm, total in enumerate(rewards)})
    means = {release.arm: release.steps / release.rewards for release in releases}
    totals = {release.arm: release.steps / width for release in releases}
    if kept:
        best = sorted(sorted(means, key=means.get)[-kept:])
        assert driver.algorithm.viable == tuple(best)
        assert driver.algorithm.best_arm == max(means, key=means.get)
        assert driver.plan().pulls == dict.fromkeys(best, later)
        for release in driver.close_steps({arm: int(0.4 * later) * width for arm in best}):
            totals[release.arm] += release.steps / width
        means = {arm: totals[arm] / (first[arm] + later) for arm in best}
    now = driver.algorithm
    assert now.finished
    assert now.time == horizon == sum(release.rewards for release in now.ledger)
    assert now.best_arm == max(means, key=means.get)
    found = [
        lead_evidence(*parts(now.best_arm, totals, now, kept), *parts(arm, totals, now, kept), epsilon)
        for arm in range(arms)
        if arm != now.best_arm
    ]
    assert now.doubt == pytest.approx(min(1, (arms - 1) * math.exp(-min(found))))


def parts(arm, totals, policy, kept):
    return totals[arm], float(policy.pulls[arm]), 1 + bool(kept and arm in policy.viable)


def test_nothing_is_trusted_before_the_first_release():
    assert DPBudgetBestArm(["A", "B"], epsilon=1.0, horizon=10).doubt == 1.0


def test_a_clear_winner_leaves_little_doubt():
    policy = DPBudgetBestArm(list("ABCDEFGHIJ"), epsilon=1.0, horizon=20_000)
    after = drive(policy, Coins((0.3,) * 4 + (0.5,) + (0.3,) * 5, 1, "ABCDEFGHIJ"), SimulatedNoise(1)).algorithm
    assert after.best_arm == "E"
    assert after.doubt < 0.001
    assert "E" in after.viable
    assert len(after.viable) == 3


def test_its_ledger_allows_exact_looks():
    policy = DPBudgetBestArm(range(9), epsilon=1.0, horizon=5000)
    after = drive(policy, Coins((0.1,) * 8 + (0.5,), 1, range(9)), SimulatedNoise(1)).algorithm
    seen = discreet.inference.summary(after.ledger, level=0.95)
    assert seen.interval(8).lower > 0.3


def searched(policy, means, seed):
    """A copy of the policy at the end of a search."""
    found = policy.copy()
    play(found, means, np.random.default_rng([seed, 1]), noise=SimulatedNoise([seed, 2]))
    return found


def wrong_answers(policy, means, runs, seed, equal=False):
    """How often the answer is wrong: by the sizes of the policy, or by equal shares that are released once."""
    rng, arms, chances = np.random.default_rng(seed), len(means), np.array(means)
    later = int(policy.horizon / 4 / policy.kept) if policy.kept and not equal else 0

    def totals(pulls):
        noise = rng.geometric(-np.expm1(-policy.epsilon), (2, runs, arms))
        return rng.binomial(pulls, chances, (runs, arms)) + (noise[0] - noise[1])

    first = (policy.horizon - policy.kept * later) // arms
    found = totals(first) + rng.uniform(0, 1e-6, (runs, arms))  # ties are nobody's
    if later:
        left = np.argsort(-found, axis=1)[:, : policy.kept]
        second = np.take_along_axis(found + totals(later), left, 1)
        answers = np.take_along_axis(left, second.argmax(axis=1)[:, None], 1)[:, 0]
    else:
        answers = found.argmax(axis=1)
    return int((answers != chances.argmax()).sum())


def test_the_program_of_the_study_is_the_object():
    policy, means, runs = DPBudgetBestArm(range(9), epsilon=1.0, horizon=900), [0.5] + [0.4] * 8, 300
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
        page("Best arm in a budget", search=name, searches=runs, rounds="two" if policy.kept else "one",
             wrong=f"{ours / runs:.4f}", equal_shares=f"{theirs / runs:.4f}")  # fmt: skip
        found[arms, epsilon, rate] = ours, theirs
        print(arms, epsilon, rate, policy.horizon, policy.kept, ours / runs, theirs / runs)
        slack = 4 * math.sqrt(ours + theirs + 1)
        assert ours <= theirs + slack
        if not policy.kept:
            assert abs(ours - theirs) <= slack
    logs = [math.log((ours + 1) / (theirs + 1)) for (arms, *_), (ours, theirs) in found.items() if arms >= 9]
    print(shape, math.exp(np.mean(logs)))
    assert np.mean(logs) < math.log(0.7)


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

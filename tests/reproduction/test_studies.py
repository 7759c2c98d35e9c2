"""Slow statistical studies, for `make verify`: they print what they measured."""

import numpy as np
import pytest
from scipy import stats
from tests._tools import examples
from tests._tools.promises import DISTRIBUTIONS, discrete_laplace_p_value, rule_failures, sharp_searches
from tests._tools.rules import run_on_coins

import discreet
from discreet import SimulatedNoise
from discreet.core.noise import private_noise
from discreet.lab import instance, play, simulate, simulate_all
from discreet.reproduction.studies.distributions import DistributionGrid
from discreet.theory import dp_se_pull_bound, regret_lower_bound, sharp_pulls

pytestmark = pytest.mark.study
RUNS = 1000
RECOMMENDED = "dp-chernoff-imed, 5e7 pulls: stuck on a wrong arm"
RARE = "dp-chernoff-imed, 5e7 pulls of rare rewards: stuck"


@pytest.fixture
def promise(page):
    """Puts a study on the page: how many of its runs broke the promise, and how many may on average."""
    return lambda study, **figures: page("Statistical studies", study=study, **figures)


def uniform_samples(mean, seed):
    """Endless samples of a uniform distribution of width 1."""
    rng = np.random.default_rng([seed, 1])
    while True:
        yield rng.random(2**16) + (mean - 0.5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize(("alpha", "mean"), [(0.1, 0.3), (0.1, -0.1), (0.5, 0.02)])
@pytest.mark.parametrize("distribution", ["two-point", "uniform"])
def test_dp_exponential_nas_keeps_its_promise_at_a_small_beta(distribution, alpha, mean, epsilon, promise):
    """1,000 runs of Algorithm 2 at beta = 0.05, fed with exact totals or single samples, on [-1, 1]."""
    beta, broken, unfinished, samples = 0.05, 0, 0, []
    rule = discreet.DPExponentialNAS(epsilon=epsilon, alpha=alpha, beta=beta, radius=1.0, max_samples=2**40)
    for run in range(RUNS):
        if distribution == "two-point":
            result = run_on_coins(rule, mean, run)
        else:
            result = rule.run(uniform_samples(mean, run), noise=SimulatedNoise([run, 2]))
        unfinished += result.estimate is None
        samples.append(result.samples)
        broken += result.estimate is not None and abs(result.estimate - mean) > alpha * abs(mean)
    limit = stats.binom.ppf(1 - 1e-6, RUNS, beta)
    print(
        f"{distribution}, mean {mean}, alpha {alpha}, epsilon {epsilon}: {broken} of {RUNS} broke the promise "
        f"(beta {beta}), {unfinished} unfinished, samples median {np.median(samples):,.0f} max {max(samples):,}"
    )
    promise("DP exponential NAS at beta = 0.05", runs=RUNS, broken=broken, allowed=round(RUNS * beta))
    assert unfinished == 0
    assert broken <= limit


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("mean", [0.5, 0.1, 0.01])
def test_the_one_sided_rule_keeps_its_promise_with_fewer_samples(mean, alpha, epsilon, promise):
    """Against DP exponential NAS on the same clicks, at beta = 0.05."""
    given = {"alpha": alpha, "beta": 0.05, "epsilon": epsilon}
    found = simulate("dp-nas-one-sided", mean, runs=10_000, **given)
    other = simulate("dp-exp-nas", mean, runs=RUNS, **given)
    broken, median, before = int(found.failed.sum()), np.median(found.samples), np.median(other.samples)
    print(
        f"mean {mean}, alpha {alpha}, epsilon {epsilon}: {broken} of 10,000 broke the promise (beta 0.05); "
        f"samples median {median:,.0f} against {before:,.0f}, {before / median:.1f} times fewer, and "
        f"{other.samples.mean() / found.samples.mean():.2f} times in the mean"
    )
    promise("the one-sided rule at beta = 0.05", runs=10_000, broken=broken, allowed=500)
    assert found.reached.all()
    assert broken <= stats.binom.ppf(1e-6, 10_000, 0.05)
    assert median <= before


@pytest.mark.parametrize("mean", [0.5, 0.1, 0.01])
def test_the_one_sided_rule_where_broken_promises_are_likeliest(mean, promise):
    """A large alpha and beta, and noise that may halt at the first tests: 100,000 runs."""
    found = simulate("dp-nas-one-sided", mean, runs=100_000, alpha=0.9, beta=0.4, epsilon=0.001)
    broken = int(found.failed.sum())
    print(f"mean {mean}: {broken} of 100,000 broke the promise (beta 0.4)")
    promise("the one-sided rule at beta = 0.4, epsilon = 0.001", runs=100_000, broken=broken, allowed=40_000)
    assert found.failed.sum() <= stats.binom.ppf(1e-6, 100_000, 0.4)


NEAR_BETA = {"inverse", "dp-inverse", "dp-mean"}
"""Rules whose levels use beta up: no evidence against their promise. Of all others: evidence for it."""


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", sorted(discreet.RULES.keys() - examples.TESTS))
def test_the_promise_of_every_rule_in_figures(name, distribution, promise):
    """What `make test` checks in 250 runs: 1,000 at alpha = 0.5, beta = 0.2."""
    broken, unfinished = rule_failures(name, distribution, RUNS)
    print(f"{name}, {distribution}: {broken} of 1000 broke the promise, {unfinished} unfinished (beta 0.2)")
    promise("every stopping rule at beta = 0.2", runs=1000, broken=int(broken), allowed=200)
    assert unfinished == 0
    surely = stats.binom.isf if name in NEAR_BETA else stats.binom.ppf
    assert broken <= surely(1e-6, 1000, 0.2)


def test_a_million_private_draws_have_the_exact_distribution(promise):
    draws = private_noise().draws(5.0, 1_000_000)
    p = discrete_laplace_p_value(draws, 5.0)
    print(f"chi-square p = {p:.3f}")
    promise("private draws have the exact distribution", runs=draws.size, broken=f"p = {p:.2f}", allowed="1e-6")
    assert p > 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_dp_se_keeps_the_best_arm_and_its_pull_bound(epsilon, promise):
    """Lemma 4.2: with probability 1 - beta the best arm stays, and no arm exceeds its bound of pulls."""
    beta, means = 0.1, np.array([0.7, 0.6, 0.5, 0.3])
    gaps = means.max() - means
    lost = over = 0
    for run in range(RUNS):
        policy = discreet.DPBestArm(range(4), epsilon=epsilon, beta=beta)
        result = play(policy, means, np.random.default_rng([run, 4]), noise=SimulatedNoise([run, 3]))
        lost += result.best_arm != 0
        over += (result.pulls[1:] > dp_se_pull_bound(gaps[1:], 4, epsilon, beta)).any()
    print(f"epsilon {epsilon}: best arm lost in {lost}, bound exceeded in {over} of {RUNS} runs (beta {beta})")
    promise(
        "DP-SE: the best arm, and the bound of pulls", runs=RUNS, broken=max(lost, over), allowed=round(RUNS * beta)
    )
    assert max(lost, over) <= stats.binom.ppf(1 - 1e-6, RUNS, beta)


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4", "rare"])
def test_sharp_constants_find_the_best_arm_in_a_third_of_the_pulls(name, epsilon, promise):
    """2,000 searches at beta = 0.05: wrong within beta, no arm beyond its bound, and 3 times fewer pulls than DP-SE."""
    beta, runs = 0.05, 2000
    means = np.array([0.05, 0.04, 0.03]) if name == "rare" else instance(name).means
    pulls, found = sharp_searches(means, epsilon, beta, runs)
    bound = sharp_pulls(means[0] - means[1:], means.size, epsilon, beta)
    paper = []
    for run in range(200):
        policy = discreet.DPBestArm(range(means.size), epsilon=epsilon, beta=beta)
        paper.append(play(policy, means, np.random.default_rng([run, 6]), noise=SimulatedNoise([run, 5])).pulls.sum())
    wrong, late = (found != 0).sum(), (pulls[:, 1:] > bound).any(axis=1).sum()
    taken = pulls.sum(axis=1)
    print(
        f"{name}, epsilon {epsilon}: {taken.mean():,.0f} pulls on average (99 % quantile "
        f"{np.quantile(taken, 0.99):,.0f}; promised {means.size * bound.max():,.0f}), DP-SE {np.mean(paper):,.0f}: "
        f"{np.mean(paper) / taken.mean():.1f} times as many; wrong in {wrong}, an arm beyond its bound in {late} of "
        f"{runs} runs (beta {beta})"
    )
    broken = int(((found != 0) | (pulls[:, 1:] > bound).any(axis=1)).sum())
    promise(
        "sharp elimination: the same, in a third of the pulls", runs=runs, broken=broken, allowed=round(runs * beta)
    )
    assert broken <= stats.binom.ppf(1 - 1e-6, runs, beta)
    assert np.mean(paper) >= 3 * taken.mean()


@pytest.mark.parametrize(("arms", "limit"), [(5, 1.5), (3, 2.0), (10, 2.0), (20, 2.0)])
def test_the_recommended_policy_at_the_papers_horizon(arms, limit, promise):
    """1,000 runs of each of 16 settings: near the lower bound, far below DP-SE, and none stuck."""
    over, to_dp_se, worst, stuck = [], [], [], 0
    for name in ("C1", "C2", "C3", "C4"):
        for epsilon in (0.1, 0.25, 0.5, 1.0):
            found = simulate("dp-chernoff-imed", name, arms=arms, runs=RUNS, epsilon=epsilon)
            bound = regret_lower_bound(found.setting.instance.means, 5e7, epsilon)
            over.append(found.mean / bound)
            worst.append(found.final.max() / bound)
            to_dp_se.append(found.mean / simulate("dp-se", name, arms=arms, runs=30, epsilon=epsilon).mean)
            stuck += int(found.failed.sum())
    print(
        f"K = {arms}: mean regret over the lower bound {min(over):.2f} to {max(over):.2f} (mean {np.mean(over):.2f}), "
        f"the worst run {max(worst):.0f} times the bound; 1/{1 / max(to_dp_se):.1f} of DP-SE's or less, on average "
        f"1/{1 / np.mean(to_dp_se):.1f}; {stuck} of {16 * RUNS:,} runs stuck"
    )
    promise(RECOMMENDED, runs=16 * RUNS, broken=stuck, allowed=0, times_the_bound=float(max(over)))
    assert max(over) <= limit
    assert stuck == 0
    if arms == 5:
        assert max(to_dp_se) <= 1 / 5
        assert np.mean(to_dp_se) <= 1 / 15


@pytest.mark.parametrize("name", ["R1", "R2", "R3"])
def test_the_recommended_policy_on_rare_rewards(name, promise):
    """At epsilon = 1: at most a tenth of DP-SE's regret."""
    found = simulate("dp-chernoff-imed", name, runs=RUNS, epsilon=1.0)
    dp_se = simulate("dp-se", name, runs=30, epsilon=1.0)
    bound = regret_lower_bound(found.setting.instance.means, 5e7, 1.0)
    print(
        f"{name}: {found.mean:,.0f}, {found.mean / bound:.2f} times the bound, 1/{dp_se.mean / found.mean:.0f} of "
        f"DP-SE's, {int(found.failed.sum())} of {RUNS:,} runs stuck"
    )
    promise(RARE, runs=RUNS, broken=int(found.failed.sum()), allowed=0, times_the_bound=float(found.mean / bound))
    assert found.mean <= dp_se.mean / 10
    assert not found.failed.any()


def test_the_released_rules_on_many_distributions(promise):
    """200 runs in each cell: promises hold, and DP-Bernstein takes far fewer samples than the paper's rule."""
    grid = DistributionGrid(runs=200, seed=6)
    found = dict(zip(grid.settings(), simulate_all(grid.settings()), strict=True))
    rows = grid.rows(found.__getitem__)
    most = stats.binom.ppf(1 - 1e-6, grid.runs, 0.05)
    for row in rows:
        cells = ", ".join(
            f"{rule} {row['medians'][rule]:,.0f} (1/{row['fewer'][rule]:.1f}, {row['failures'][rule]} failed)"
            for rule in row["medians"]
        )
        bound = row["over_bound"]["dp-bernstein"]
        over = f"; DP-Bernstein {bound:.1f} times the bound" if bound else ""
        print(f"{row['distribution']}, alpha {row['alpha']}, epsilon {row['epsilon']}: {cells}{over}")
        broken = row["failures"]
        runs = grid.runs * len(broken)
        promise(
            "private rules on eight distributions", runs=runs, broken=sum(broken.values()), allowed=round(0.05 * runs)
        )
        assert max(broken.values()) <= most
        assert not any(row["unfinished"].values())
        assert row["fewer"]["dp-bernstein"] >= 1 / 1.1
    at = {(row["distribution"], row["alpha"], row["epsilon"]): row for row in rows}
    assert at["coin 1 %", 0.1, 1.0]["fewer"]["dp-bernstein"] >= 100
    assert at["coin 10 %", 0.1, 1.0]["fewer"]["dp-bernstein"] >= 10
    assert at["coin 1 %", 0.1, 1.0]["over_bound"]["dp-bernstein"] <= 12

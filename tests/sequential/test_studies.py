"""Tests in very many runs: both errors, samples over the lower bound, and A/B tests against the usual size."""

import math

import numpy as np
import pytest

from discreet import DPOpenEndedTest
from discreet.core.probability.divergences import kl, private_kl
from discreet.reproduction.studies.sequential import without_noise
from discreet.sequential._chernoff import chernoff_plan
from discreet.sequential._designs import LeadDesign, MeanDesign
from discreet.sequential._planned_looks import fixed_size, looks_plan
from discreet.sequential._simple import simple_plan
from discreet.sequential._simulated import course_of
from discreet.sequential._two_sample_runs import open_runs_of, runs_of

pytestmark = pytest.mark.study

WIDTH = 2**20
PAIRS = [(0.3, 0.7), (0.45, 0.55), (0.03, 0.04), (0.1, 0.15), (0.5, 0.6)]
CLOSE = PAIRS[1:]
CELLS = [(null, alternative, epsilon) for null, alternative in PAIRS for epsilon in (0.01, 0.1, 1.0)]
AB = [(0.03, 0.1), (0.03, 0.2), (0.3, 0.1), (0.3, 0.2)]
TOLD, LEADS = "Sequential tests", "A/B tests"


def fresh_pairs(seed, count=20):
    """Pairs and epsilons that nothing was tuned on."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        null = float(np.exp(rng.uniform(math.log(0.005), math.log(0.6))))
        alternative = null * float(rng.uniform(1.1, 2.5))
        if alternative < 0.95:
            found.append(
                (
                    round(null, 5),
                    round(alternative, 5),
                    round(float(np.exp(rng.uniform(math.log(0.02), math.log(3)))), 4),
                )
            )
    return found


def bounds(null, alternative, epsilon):
    """What every private test takes on average under either hypothesis."""
    steps = private_kl(null, alternative, epsilon), private_kl(1 - alternative, 1 - null, epsilon)
    return [kl(0.95, 0.05) / step for step in steps]


def exact_runs(plan, mean, epsilon, runs, rng):
    """Runs of a test from released totals: how many end for the alternative, and the mean number of samples."""
    scores, taken, going, above = np.zeros(runs, np.int64), np.zeros(runs), np.arange(runs), 0
    for look in range(1000):
        block = plan.block(look)
        totals = rng.binomial(block.rewards, mean, len(going)) + np.rint(
            rng.laplace(scale=1 / epsilon, size=len(going))
        )
        scores[going] += block.scores[np.clip(totals.astype(np.int64) - block.first, 0, len(block.scores) - 1)]
        taken[going] += block.rewards
        above += int((scores[going] >= plan.upper).sum())
        going = going[(scores[going] < plan.upper) & (scores[going] > -plan.lower)]
        if not len(going):
            return above, float(taken.mean())
    raise AssertionError("a test without an end")


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_both_errors_of_exact_tests_and_what_they_take(cell, page):
    null, alternative, epsilon = cell
    runs, rng = 100_000, np.random.default_rng([31, CELLS.index(cell)])
    plan = simple_plan(MeanDesign(null, alternative, 0.05, 0.05, epsilon, WIDTH))
    false, took_null = exact_runs(plan, null, epsilon, runs, rng)
    found, took = exact_runs(plan, alternative, epsilon, runs, rng)
    ratios = [size / bound for size, bound in zip((took_null, took), bounds(*cell), strict=True)]
    page(
        TOLD, test=f"{null:g} against {alternative:g}, epsilon {epsilon:g}", runs=2 * runs, alpha=false / runs,
        beta=1 - found / runs, over_the_bound=round(max(ratios), 2),
    )  # fmt: skip
    slack = 4 * math.sqrt(0.05 * 0.95 / runs)
    assert false / runs <= min(0.05, plan.alpha) + slack
    assert 1 - found / runs <= min(0.05, plan.beta) + slack
    assert max(ratios) <= (1.4 if (null, alternative) in CLOSE and epsilon == 1 else 2.0)


@pytest.mark.parametrize("seed", [20_261_119, 20_261_120])
def test_twenty_fresh_pairs_take_at_most_twice_the_bound(seed, page):
    """The schedules were chosen by the pairs of seeds 20261118, 7 and 11, of which one takes 1.94 times the bound."""
    worst = []
    for null, alternative, epsilon in fresh_pairs(seed):
        plan = simple_plan(MeanDesign(null, alternative, 0.05, 0.05, epsilon, WIDTH))
        took = [plan.mean_rewards(alternative=side) for side in (False, True)]
        worst.append(max(one / bound for one, bound in zip(took, bounds(null, alternative, epsilon), strict=True)))
        assert plan.alpha <= 0.05
        assert plan.beta <= 0.05
    page(
        TOLD, test=f"20 pairs that nothing was tuned on (seed {seed}), by exact laws", runs=0, alpha=0.05, beta=0.05,
        over_the_bound=round(max(worst), 2),
    )  # fmt: skip
    assert max(worst) <= 2.0
    assert np.mean(worst) <= 1.7


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_tests_by_evidence_and_what_they_take(cell, page):
    null, alternative, epsilon = cell
    runs = 20_000
    plan = chernoff_plan(MeanDesign(null, alternative, 0.05, 0.05, epsilon, WIDTH))
    ratios, errors = [], []
    for mean, bound in zip((null, alternative), bounds(*cell), strict=True):
        course = course_of(plan, mean, runs)
        ends = course.above + course.below
        took = float(ends @ [plan.rewards(number) for number in range(1, len(ends) + 1)] / ends.sum())
        ratios.append(took / bound)
        errors.append(float((course.above if mean == null else course.below).sum()))
    page(
        TOLD, test=f"{null:g} against {alternative:g}, epsilon {epsilon:g}: any law", runs=2 * runs, alpha=errors[0],
        beta=errors[1], over_the_bound=round(max(ratios), 2),
    )  # fmt: skip
    assert max(errors) <= 0.05
    assert max(ratios) <= (2.2 if (null, alternative) in CLOSE and epsilon == 1 else 3.0)


@pytest.mark.parametrize(("base", "lift"), AB)
def test_a_private_test_against_the_usual_one_without_privacy(base, lift, page):
    runs, effect = 20_000, base * lift
    plan, usual = looks_plan(LeadDesign(base, effect, 0.0, 0.05, 0.2, 1.0, WIDTH)), fixed_size(base, effect, 0.05, 0.2)
    rng = np.random.default_rng([47, AB.index((base, lift))])
    better, equal = (runs_of(plan, (base, rate), runs, rng) for rate in (base + effect, base))
    wrong = runs_of(plan, (1.3 * base, 1.3 * base), runs, rng)  # the rate is misjudged
    took, took_not = (float(one.people.mean()) / 2 / usual for one in (better, equal))
    most = plan.block * plan.looks / usual
    power, false = float(better.shown.mean()), float(max(equal.shown.mean(), wrong.shown.mean()))
    page(
        LEADS, test=f"planned, {100 * base:g} % and a lift of {100 * lift:g} %", runs=3 * runs,
        if_better=round(took, 2), if_not=round(took_not, 2), at_most=round(most, 2),
        power=round(power, 3), alpha=round(false, 3),
    )  # fmt: skip
    assert took <= 0.95
    assert took_not <= 0.85
    assert most <= 1.3
    assert power >= 0.8 - 4 * math.sqrt(0.16 / runs)
    assert false <= 0.05


@pytest.mark.parametrize(("base", "lift"), AB)
def test_a_test_without_an_end(base, lift, page):
    runs, effect = 4000, base * lift
    usual, rng = fixed_size(base, effect, 0.05, 0.2), np.random.default_rng([53, AB.index((base, lift))])
    given = {"epsilon": 1.0, "base_rate": base, "effect": effect}
    never = DPOpenEndedTest(["A", "B"], **given, beta=None).rule
    better = open_runs_of(never, (base, base + effect), runs, rng)
    twin = open_runs_of(without_noise(never), (base, base + effect), runs, np.random.default_rng([53, 7]))
    gives_up = DPOpenEndedTest(["A", "B"], **given).rule
    found, equal = (open_runs_of(gives_up, (base, rate), runs, rng) for rate in (base + effect, base))
    took, over_twin = (float(better.people.mean() / each) for each in (2 * usual, twin.people.mean()))
    page(
        "A/B tests and their twins", test=f"{100 * base:g} % and a lift of {100 * lift:g} %", runs=2 * runs,
        people=round(took, 2), over_the_twin=round(over_twin, 2),
    )  # fmt: skip
    page(
        LEADS, test=f"without an end, {100 * base:g} % and a lift of {100 * lift:g} %", runs=3 * runs,
        if_better=round(took, 2), if_not=round(float(equal.people.mean()) / 2 / usual, 2), at_most="-",
        power=round(float(found.shown.mean()), 3), alpha=round(float(equal.shown.mean()), 3),
    )  # fmt: skip
    assert better.shown.all()
    assert twin.shown.all()
    assert took <= 1.45
    assert over_twin <= 1.15
    assert equal.shown.mean() <= 0.05
    assert found.given_up.mean() <= 0.2


@pytest.mark.parametrize("better", [0, 1, 2])
def test_false_alarms_of_several_arms_in_many_runs(better, page):
    """An arm that passes leaves its part of alpha to the others, which makes false alarms of these likelier."""
    runs = 50_000
    plan = looks_plan(LeadDesign(0.1, 0.03, 0.0, 0.05 / 3, 0.2, 1.0, WIDTH))
    rates = [0.1, *[0.14] * better, *[0.1] * (3 - better)]
    false = runs_of(plan, rates, runs, np.random.default_rng([59, better])).shown[:, better:].any(axis=1).mean()
    page(
        LEADS, test=f"three arms, {better} of them better and the others equal to the control", runs=runs,
        if_better="-", if_not="-", at_most="-", power="-", alpha=round(float(false), 3),
    )  # fmt: skip
    assert false <= 0.05


@pytest.mark.parametrize("arms", [2, 3])
def test_several_arms_that_are_better_help_each_other(arms, page):
    runs = 20_000
    plan = looks_plan(LeadDesign(0.1, 0.02, 0.0, 0.05 / arms, 0.2, 1.0, WIDTH))
    shown = runs_of(plan, [0.1, *[0.12] * arms], runs, np.random.default_rng([61, arms])).shown
    alone = runs_of(plan, [0.1, 0.12], runs, np.random.default_rng([61, 0])).shown.mean()
    page(
        "A/B tests of several arms, all better", arms=arms, runs=runs, each_is_shown=round(float(shown.mean()), 3),
        all_are_shown=round(float(shown.all(axis=1).mean()), 3), with_their_own_part_alone=round(float(alone), 3),
    )  # fmt: skip
    assert shown.mean() > alone + 0.03

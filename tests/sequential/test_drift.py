"""What tests promise where means ramp, jump and wave by half, as docs/tests.md says it.

Of planned A/B tests nothing is proved there; the study shows what was measured.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet import DPOpenEndedTest, DPSequentialTest, DPTwoSampleTest, SimulatedNoise
from discreet.sequential._chernoff import chernoff_plan
from discreet.sequential._designs import MeanDesign
from discreet.sequential._simple import simple_plan
from discreet.sequential._two_sample_runs import open_runs_of, runs_of
from tests._tools.coverage import Path, allowed
from tests._tools.driving import drive

WIDTH, LOOKS, ALPHA, BETA = 2**20, 40, 0.05, 0.2
SHAPES = ("ramp", "jump", "wave")
RUNS, MANY = 600, 20_000
SECTION = "Tests of means that drift"


def moving(shape, base, looks=LOOKS):
    """Means that go up and down by half, a block each."""
    return Path.of(shape, base, looks).means


def catching_up(base, by, looks=LOOKS):
    """Means that wave around a base, whose average so far falls behind it, comes back, and is never above."""
    return base + by * -np.sin(4 * np.pi * (np.arange(looks) + 0.5) / looks)


def open_test(epsilon, base, effect, **more):
    return DPOpenEndedTest(["A", "B"], epsilon=epsilon, base_rate=base, effect=effect, drifting=True, **more).rule


def leads(shape, base, effect):
    """Rates of A and B, block by block, when B is not better on average so far."""
    control = moving(shape if shape != "catching up" else "wave", base)
    arm = control + (catching_up(0.0, 2 * effect) if shape == "catching up" else 0.0)
    assert (np.cumsum(arm - control) <= 1e-12).all()
    return np.column_stack([control, arm])


def false_alarms(rule, rates, runs, seed=1):
    return int(open_runs_of(rule, rates, runs, np.random.default_rng(seed), looks=LOOKS).shown.sum())


def means_runs(kind, design, means, runs, rng):
    """Runs of `dp-test` whose blocks have these means: how many end for the alternative and for the null hypothesis."""
    plan = simple_plan(design) if kind == "exact" else chernoff_plan(design)
    up, down, ended = np.zeros(runs), np.zeros(runs), np.zeros(2, int)
    for look, mean in enumerate(means):
        count = plan.rewards(look + 1) - (plan.rewards(look) if look else 0)
        totals = rng.binomial(count, mean, len(up)) + rng.laplace(scale=1 / design.epsilon, size=len(up))
        if kind == "exact":
            block = plan.block(look)
            places = np.clip(np.rint(totals).astype(np.int64) - block.first, 0, len(block.scores) - 1)
            up = up + block.scores[places]
            above, below = up >= plan.upper, up <= -plan.lower
        else:
            up, down = up + plan.up_factor(totals, count), down + plan.down_factor(totals, count)
            above = up >= -math.log(design.alpha)
            below = (down >= -math.log(design.beta)) & ~above
        ended += [above.sum(), below.sum()]
        up, down = up[~above & ~below], down[~above & ~below]
    return ended


def wrong_verdicts(kind, path, null, alternative, epsilon, runs, seed=1):
    """Runs that end for the alternative where it is not so, by the promise of the kind."""
    design = MeanDesign(null, alternative, ALPHA, BETA, epsilon, WIDTH)
    if kind == "exact":
        means = null - np.abs(moving(path, null) - null)  # the mean is never above the null hypothesis
    else:
        means = catching_up(null, null / 2) if path == "wave" else moving(path, null)
        assert (np.cumsum(means - null) <= 1e-9).all()  # nor is its average so far
    return int(means_runs(kind, design, means, runs, np.random.default_rng(seed))[0])


@pytest.mark.parametrize("shape", [*SHAPES, "catching up"])
def test_the_open_form_for_drift_keeps_alpha(shape):
    rule, rates = replace(open_test(0.1, 0.2, 0.04, beta=None), block=200), leads(shape, 0.2, 0.04)
    assert false_alarms(rule, rates, RUNS) <= allowed(RUNS, ALPHA)


@pytest.mark.parametrize("shape", SHAPES)
def test_more_noise_than_the_open_form_knows_of_is_noticed(shape):
    rule = replace(open_test(1.0, 0.2, 0.04, beta=None), block=200)
    rng, totals, passed = np.random.default_rng(2), np.zeros((RUNS, 2)), np.zeros(RUNS, dtype=bool)
    for look, rates in enumerate(leads(shape, 0.2, 0.04), 1):
        totals += rng.binomial(rule.block, rates, (RUNS, 2)) + rng.laplace(scale=1 / 0.1, size=(RUNS, 2))
        passed |= rule.log_evidence(totals[:, 1], totals[:, 0], look) >= -math.log(rule.alpha)
    assert passed.sum() > allowed(RUNS, ALPHA)


def test_an_arm_with_the_effect_is_seldom_given_up_where_both_drift():
    control = moving("wave", 0.2)
    rates = np.column_stack([control, control + 0.04])
    found = open_runs_of(open_test(1.0, 0.2, 0.04), rates, RUNS, np.random.default_rng(3), looks=LOOKS)
    assert found.given_up.sum() <= allowed(RUNS, BETA)
    assert found.shown.mean() > 0.7


@pytest.mark.parametrize("kind", ["exact", "any law"])
@pytest.mark.parametrize("path", SHAPES)
def test_a_test_of_a_mean_keeps_alpha(kind, path):
    assert wrong_verdicts(kind, path, 0.2, 0.25, 0.5, RUNS) <= allowed(RUNS, ALPHA)


def test_a_mean_that_rises_above_the_null_hypothesis_is_found():
    """The runs of this file can tell: a mean that ramps from the null hypothesis to far above it."""
    design = MeanDesign(0.2, 0.25, ALPHA, BETA, 0.5, WIDTH)
    for kind in ("exact", "any law"):
        above, _ = means_runs(kind, design, np.linspace(0.22, 0.4, LOOKS), RUNS, np.random.default_rng(1))
        assert above > allowed(RUNS, ALPHA)


def test_what_needs_steady_means_says_so():
    for kind in (DPTwoSampleTest, DPSequentialTest, DPOpenEndedTest):
        assert "drift" in kind.__doc__, kind.key


@pytest.mark.parametrize("drifting", [False, True])
def test_a_verdict_says_that_it_is_about_averages(drifting):
    test = DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.2, effect=0.2, drifting=drifting)
    claim = drive(test, (0.2, 0.6), SimulatedNoise(1)).algorithm.claim
    assert claim.startswith("B is better than A on average so far (" if drifting else "B is better than A (")


# ---------------------------------------------------------------------- studies

STUDIED = [(0.1, 0.02, 1.0), (0.1, 0.02, 0.1), (0.03, 0.006, 1.0), (0.3, 0.06, 0.5)]


@pytest.mark.study
@pytest.mark.parametrize("shape", [*SHAPES, "catching up"])
@pytest.mark.parametrize(("base", "effect", "epsilon"), STUDIED)
def test_open_tests_in_many_runs(base, effect, epsilon, shape, page):
    runs = MANY // 4
    false = false_alarms(open_test(epsilon, base, effect, beta=None), leads(shape, base, effect), runs, 5)
    name = f"dp-ab-open, drifting=True: rates near {base:g}, epsilon {epsilon:g}, {shape}"
    page(SECTION, test=name, runs=runs, false_alarms=f"{false / runs:.4f}", promised=f"{ALPHA:g}")
    assert false <= allowed(runs, ALPHA)


@pytest.mark.study
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("base", "effect", "epsilon"), STUDIED)
def test_planned_tests_in_many_runs(base, effect, epsilon, shape, page):
    """Nothing is promised of them: this says what was measured."""
    plan = DPTwoSampleTest(["A", "B"], epsilon=epsilon, base_rate=base, effect=effect).schedule
    rates = np.column_stack([moving(shape, base, plan.looks)] * 2)
    false = runs_of(plan, rates, MANY, np.random.default_rng(6)).shown.mean()
    name = f"dp-ab: rates near {base:g}, epsilon {epsilon:g}, {shape}"
    page(SECTION, test=name, runs=MANY, false_alarms=f"{false:.4f}", promised="nothing")
    assert false <= ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / MANY)


@pytest.mark.study
@pytest.mark.parametrize("path", SHAPES)
@pytest.mark.parametrize("kind", ["exact", "any law"])
@pytest.mark.parametrize(("null", "alternative", "epsilon"), [(0.1, 0.15, 1.0), (0.03, 0.04, 0.1), (0.45, 0.55, 0.1)])
def test_tests_of_a_mean_in_many_runs(null, alternative, epsilon, kind, path, page):
    false = wrong_verdicts(kind, path, null, alternative, epsilon, MANY, 7)
    what = "the mean is never above" if kind == "exact" else "the average so far is never above"
    name = f"dp-test, {kind}: {null:g} against {alternative:g}, epsilon {epsilon:g}, {path}, {what}"
    page(SECTION, test=name, runs=MANY, false_alarms=f"{false / MANY:.4f}", promised=f"{ALPHA:g}")
    assert false <= allowed(MANY, ALPHA)

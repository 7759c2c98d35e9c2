"""The test between two means: exact laws, both errors, p-values, and errors that are planted."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import ArgumentError, DPSequentialTest, SimulatedNoise, Stream
from discreet.core.noise import scale_for
from discreet.core.probability.whole_noise import whole, whole_noise
from discreet.lab import Discrete, simulate
from discreet.sequential import _chernoff, _simple
from discreet.sequential._chernoff import chernoff_plan
from discreet.sequential._designs import MeanDesign
from discreet.sequential._laws import count_law, difference_law, noise_law, total_law
from discreet.sequential._simple import lower_bound, simple_plan
from tests._tools.coverage import allowed

WIDTH = 2**20
CLOSE = MeanDesign(0.3, 0.4, 0.05, 0.05, 1.0, WIDTH)
RUNS = 20_000


# ---------------------------------------------------------------------- laws


def test_laws_of_counts_are_binomial():
    law = count_law(50, 0.3)
    assert law.chances == pytest.approx(stats.binom.pmf(np.arange(51), 50, 0.3)[law.first :], abs=1e-15)
    assert count_law(7, 0.0).at_least(1) == 0.0
    assert count_law(7, 1.0).at_least(7) == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_law_of_rounded_noise_is_that_of_the_draws(epsilon):
    scale = scale_for(WIDTH, epsilon)
    draws = SimulatedNoise(1).draws(scale, 200_000)
    rounded = np.array([whole(int(draw), WIDTH) for draw in draws])
    law = noise_law(WIDTH, scale)
    assert law.chances.sum() == pytest.approx(1.0, abs=1e-12)
    for value in (-3, -1, 0, 1, 2, 5):
        seen = int((rounded >= value).sum())
        assert stats.binomtest(seen, len(rounded), min(1.0, law.at_least(value))).pvalue > 1e-6
    assert law.mean == pytest.approx(0.0, abs=1e-5)


def test_noise_on_whole_steps_is_discrete_laplace():
    law = whole_noise(1, 2.0, 128)
    ratio = math.exp(-0.5)
    assert law[:20] == pytest.approx((1 - ratio) / (1 + ratio) * ratio ** np.arange(20))


def test_sums_and_differences_of_laws():
    noise, both = noise_law(WIDTH, WIDTH), noise_law(WIDTH, WIDTH, 2)
    one, other = total_law(30, 0.2, noise), total_law(30, 0.5, noise)
    whole_sum = one + other
    assert whole_sum.mean == pytest.approx(21.0, abs=1e-4)
    assert (-one).mean == pytest.approx(-6.0, abs=1e-4)
    assert difference_law(30, 0.2, 0.5, both).mean == pytest.approx(9.0, abs=1e-4)
    assert difference_law(30, 0.2, 0.5, both).up_to(3) == pytest.approx((other + -one).up_to(3), abs=1e-6)
    value = one.quantile_from_above(0.05)
    assert one.at_least(value) <= 0.05 < one.at_least(value - 1)
    value = one.quantile_from_below(0.05)
    assert one.up_to(value) <= 0.05 < one.up_to(value + 1)
    assert one.between(3, 8).chances.sum() == pytest.approx(one.at_least(3) - one.at_least(8))


# ---------------------------------------------------------------------- both errors


def ends(plan, mean, seed, runs=RUNS):
    """Simulate tests from scores: the shares that end above and below, and the rewards they take."""
    rng = np.random.default_rng(seed)
    scores, taken, above = np.zeros(runs, dtype=np.int64), np.zeros(runs), np.zeros(runs, dtype=bool)
    going = np.arange(runs)
    for look in range(500):
        block = plan.block(look)
        totals = rng.binomial(block.rewards, mean, len(going)) + np.rint(rng.laplace(size=len(going)))
        places = np.clip(totals.astype(np.int64) - block.first, 0, len(block.scores) - 1)
        scores[going] += block.scores[places]
        taken[going] += block.rewards
        above[going] = scores[going] >= plan.upper
        going = going[(scores[going] < plan.upper) & (scores[going] > -plan.lower)]
        if not len(going):
            return int(above.sum()), int((~above).sum()), float(taken.mean())
    raise AssertionError("a test without an end")


def test_both_errors_and_the_mean_number_of_samples_are_those_that_were_computed():
    plan = simple_plan(CLOSE)
    assert 0.04 < plan.alpha <= 0.05
    assert 0.04 < plan.beta <= 0.05
    for mean, alternative in ((0.3, False), (0.4, True)):
        above, below, taken = ends(plan, mean, 1)
        assert (below if alternative else above) <= allowed(RUNS, plan.beta if alternative else plan.alpha)
        assert taken == pytest.approx(plan.mean_rewards(alternative=alternative), rel=0.03)
    assert ends(plan, 0.25, 2)[0] <= allowed(RUNS, plan.alpha)  # composite hypotheses
    assert ends(plan, 0.45, 3)[1] <= allowed(RUNS, plan.beta)


def test_runs_that_go_on_beyond_the_looks_that_are_followed_count_as_errors():
    block = simple_plan(CLOSE).later
    still = _simple.SimplePlan(block, block, upper=100_000, lower=100_000)
    assert still.alpha > 0.99 > still.under_null.above.sum()
    assert still.beta > 0.99 > still.under_alternative.below.sum()


@pytest.mark.parametrize(
    "design",
    [
        MeanDesign(0.03, 0.04, 1e-6, 0.9, 1.0, WIDTH),  # one threshold is far, the other near
        MeanDesign(0.03, 0.04, 0.499, 0.5, 0.1, WIDTH),  # blocks of the least size say nothing at all
    ],
    ids=str,
)
def test_blocks_are_so_large_that_the_test_ends(design):
    plan = simple_plan(design)
    assert plan.open <= max(1e-8, 1e-3 * min(design.alpha, design.beta))
    assert plan.alpha <= design.alpha
    assert plan.beta <= design.beta


def test_levels_that_no_plan_keeps_are_refused(monkeypatch):
    monkeypatch.setattr(_simple, "_with_thresholds", lambda first, later, design: None)
    monkeypatch.setattr(_simple, "_DOUBLINGS", 2)
    with pytest.raises(ArgumentError, match="no plan of a test ends soon enough"):
        simple_plan.__wrapped__(CLOSE)


def test_scores_of_totals_that_are_never_likely_under_both_have_the_sign_of_the_likelier_mean():
    noise = noise_law(WIDTH, scale_for(WIDTH, 8.0))
    block = _simple.block_of(4000, 0.2, 0.8, noise)
    assert [np.sign(block.score(total)) for total in (700, 800, 900, 3100, 3200, 3300)] == [-1, -1, -1, 1, 1, 1]


def test_planted_errors_break_the_level(monkeypatch):
    plan = simple_plan(CLOSE)
    lax = _simple.SimplePlan(plan.first, plan.later, plan.upper // 2, plan.lower)
    assert ends(lax, 0.3, 1)[0] > allowed(RUNS, 0.05)
    monkeypatch.setattr(_simple, "noise_law", lambda width, scale: noise_law(width, scale / 20))
    deaf = simple_plan.__wrapped__(MeanDesign(0.3, 0.7, 0.05, 0.05, 0.5, WIDTH))  # believes in less noise
    assert ends(deaf, 0.3, 1)[0] > allowed(RUNS, 0.05)


def test_scores_never_decrease():
    for design in (CLOSE, MeanDesign(0.03, 0.04, 0.05, 0.05, 0.1, WIDTH), MeanDesign(0.01, 0.9, 0.05, 0.05, 3, WIDTH)):
        plan = simple_plan(design)
        assert all((np.diff(block.scores) >= 0).all() for block in (plan.first, plan.later))


@pytest.mark.parametrize(
    ("null", "alternative", "epsilon", "most"),
    [
        (0.3, 0.7, 1.0, 2.0),
        (0.45, 0.55, 1.0, 1.4),
        (0.03, 0.04, 1.0, 1.4),
        (0.03, 0.04, 0.1, 2.0),
        (0.5, 0.6, 0.01, 2.0),
    ],
)
def test_it_takes_few_times_the_samples_that_every_private_test_takes(null, alternative, epsilon, most):
    design = MeanDesign(null, alternative, 0.05, 0.05, epsilon, WIDTH)
    bound, plan = lower_bound(design), simple_plan(design)
    assert max(plan.mean_rewards(alternative=side) for side in (False, True)) <= most * bound


def test_evidence_for_any_law_keeps_both_errors():
    design = CLOSE
    plan, rng, runs = chernoff_plan(design), np.random.default_rng(5), 5000
    three = np.array([0.0, 0.5, 1.0])

    def false(chances, factor, level):
        logs, ever = np.zeros(runs), np.zeros(runs, dtype=bool)
        for look in range(12):
            count = plan.later if look else plan.first
            totals = rng.multinomial(count, chances, runs) @ three + rng.laplace(size=runs)
            logs += factor(totals, count)
            ever |= logs >= -math.log(level)
        return int(ever.sum())

    assert false([0.6, 0.2, 0.2], plan.up_factor, 0.05) <= allowed(runs, 0.05)  # a mean of 0.3
    assert false([0.5, 0.2, 0.3], plan.down_factor, 0.05) <= allowed(runs, 0.05)  # a mean of 0.4
    assert false([0.5, 0.2, 0.3], plan.up_factor, 0.05) > 0.8 * runs  # it finds what is there
    assert plan.up_factor(plan.later * 0.4, plan.later) > 0
    assert _chernoff._best(0.4, 0.3, plan.first, design)[1] > 3.0


@pytest.mark.parametrize("apart", [1e-5, 1e-3, 0.1])
def test_the_best_stake_is_the_difference_over_the_variance_however_small_that_is(apart):
    design = CLOSE._replace(null=0.5, alternative=0.5 + apart)
    stake, growth = _chernoff._best(0.5 + apart, 0.5, 1e3 / apart**2, design)
    assert stake == pytest.approx(apart / 0.25, rel=0.05)
    assert growth > 0


# ---------------------------------------------------------------------- the object


def run(mean, seed=1, size=20_000, **options):
    samples = (np.random.default_rng(seed).random(size) < mean).astype(float)
    stream = Stream(
        DPSequentialTest(**{"null": 0.3, "alternative": 0.4, "epsilon": 1.0, **options}), SimulatedNoise(seed)
    )
    stream.feed(samples)
    return stream.algorithm


@pytest.mark.parametrize("seed", range(20))
def test_a_p_value_is_at_most_alpha_exactly_if_it_decides_for_the_alternative(seed):
    test = run(0.35, seed)
    assert (test.p_value <= 0.05) == (test.verdict == "alternative")
    assert test.estimate == {"alternative": 0.4, "null": 0.3}[test.verdict]


def test_p_values_are_seldom_small_under_the_null_hypothesis():
    values = [run(0.3, seed).p_value for seed in range(200)]
    for chance in (0.05, 0.2, 0.5):
        assert sum(value <= chance for value in values) <= allowed(200, chance)


def test_a_falling_alternative_is_the_same_turned_over():
    rising = run(0.4)
    samples = (np.random.default_rng(1).random(20_000) < 0.4).astype(float)
    stream = Stream(DPSequentialTest(null=0.7, alternative=0.6, epsilon=1.0), SimulatedNoise(2))
    stream.feed(1 - samples)
    falling = stream.algorithm
    one, other = falling.schedule, rising.schedule
    assert (one.first.rewards, one.later.rewards) == (other.first.rewards, other.later.rewards)
    assert (one.upper, one.lower) == (other.upper, other.lower)
    assert falling.verdict == "alternative"
    assert falling.claim.startswith("the mean is below 0.7: decided for 0.6 against 0.7")


def test_evidence_is_shown_for_samples_of_any_law():
    test = run(0.5, binary=False)
    assert test.verdict == "alternative"
    assert test.e_value >= 20
    assert test.p_value <= 0.05
    assert run(0.5).e_value is None
    fresh = DPSequentialTest(null=0.3, alternative=0.4, epsilon=1.0, binary=False)
    assert (fresh.e_value, fresh.p_value, fresh.claim) == (1.0, 1.0, None)


def test_it_ends_without_a_verdict_at_its_cap():
    test = run(0.35, max_samples=30)
    assert (test.samples, test.verdict, test.p_value) == (30, None, None)
    result = DPSequentialTest(null=0.3, alternative=0.4, epsilon=1.0, max_samples=30).run(np.ones(50))
    assert not result.reached
    assert str(result).startswith("not reached after 30 samples")


def test_looks_and_forecast_agree_with_runs():
    test = DPSequentialTest(null=0.3, alternative=0.4, epsilon=1.0)
    found = test.forecast(per_day=100)
    assert found[0].days == found[0].mean / 100
    assert found[0].shown <= 0.05
    assert found[1].shown >= 0.95
    looks = test.looks
    assert [look.samples for look in looks[:2]] == [test.schedule.rewards(1), test.schedule.rewards(2)]
    assert all(one.ended_if_null < two.ended_if_null for one, two in pairwise(looks))
    evidence = DPSequentialTest(null=0.3, alternative=0.4, epsilon=1.0, binary=False).forecast()
    assert found[1].mean < evidence[1].mean < 3 * found[1].mean


def test_the_lab_counts_wrong_verdicts():
    given = {"null": 0.3, "alternative": 0.4, "epsilon": 1.0, "alpha": 0.1, "beta": 0.1, "seed": 3}
    for mean in (0.3, 0.4):
        found = simulate("dp-test", mean, runs=300, **given)
        assert found.reached.all()
        assert 0 < found.failed.sum() <= allowed(300, 0.1)
    assert simulate("dp-test", 0.35, runs=50, **given).failed.sum() == 0  # nothing is promised in between
    thirds = simulate("dp-test", Discrete([0.0, 0.5, 1.0], [3, 2, 1]), runs=20, binary=False, **given)
    assert thirds.reached.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": 0.4}, "alternative must differ from null, got 0.4 for both"),
        ({"null": 0.0}, "null must lie between 0 and 1, got 0.0"),
        ({"alternative": 2}, "alternative must lie between 0 and 1, got 2.0"),
        ({"binary": "yes"}, "binary must be True or False, got 'yes'"),
        ({"beta": 1e-12}, "beta must be at least 1e-06 for a test"),
        ({"alpha": 0.5, "beta": 0.5}, "alpha and beta must add up to less than 1"),
    ],
)
def test_bad_options_are_refused_with_a_sentence(options, message):
    with pytest.raises(ArgumentError, match=message):
        DPSequentialTest(**{"null": 0.3, "alternative": 0.4, "epsilon": 1.0, **options})


def test_what_it_learned_is_in_its_ledger():
    test = run(0.4)
    assert discreet.inference.summary(test.ledger).interval(None).lower > 0.2
    assert type(test).from_options(test.options()).replay(test.ledger.by_epoch()) == test

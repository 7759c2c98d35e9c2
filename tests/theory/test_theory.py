"""The theory: every function against its definition, against the objects it speaks of, and outside of its domain."""

import ast
import inspect
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import rel_entr

import discreet
from discreet import ArgumentError, SimulatedNoise, theory
from discreet.lab import instance, play
from discreet.theory import divergence, private_divergence, regret_lower_bound

EPSILONS = (0.1, 0.25, 0.5, 1.0, math.inf)
BOUNDS = {
    "C1": (876, 554, 554, 554, 554),
    "C2": (739, 317, 184, 137, 126),
    "C3": (729, 305, 166, 105, 89),
    "C4": (811, 459, 361, 328, 320),
}
MEANS = st.floats(0.001, 0.999)
SIZES = st.floats(0.01, 20)


# ---------------------------------------------------------------------- regret


@pytest.mark.parametrize("name", BOUNDS)
def test_the_bounds_of_the_papers_settings(name):
    means = instance(name).means
    assert tuple(round(regret_lower_bound(means, 5e7, epsilon)) for epsilon in EPSILONS) == BOUNDS[name]
    assert regret_lower_bound(means, 5e7) == theory.lai_robbins_bound(means, 5e7)


def test_the_bound_does_not_depend_on_the_order_of_the_arms_and_equal_best_arms_are_free():
    means = [0.75, 0.625, 0.5]
    assert regret_lower_bound(means[::-1], 1e6, 0.5) == pytest.approx(regret_lower_bound(means, 1e6, 0.5))
    assert regret_lower_bound([*means, 0.75], 1e6, 0.5) == pytest.approx(regret_lower_bound(means, 1e6, 0.5))
    assert regret_lower_bound([0.5, 0.5], 1e6, 0.5) == 0
    assert regret_lower_bound([1.0, 0.5], 1e6) == 0  # one 0 tells them apart
    assert regret_lower_bound([1.0, 0.5], 1e6, 1.0) == pytest.approx(math.log(1e6))


def minimised(x, y, epsilon):
    """The definition: epsilon |z - x| + kl(z, y) is convex in z, so its smallest value is found by thirds."""

    def cost(z):
        return epsilon * abs(z - x) + rel_entr(z, y) + rel_entr(1 - z, 1 - y)

    low, high = 0.0, 1.0
    for _ in range(100):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if cost(left) < cost(right) else (left, high)
    return min(map(cost, (low, high, x, y)))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("y", [0.02, 0.3, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("x", [0.0, 0.05, 0.3, 0.7, 0.9, 1.0])
def test_the_divergence_is_what_its_definition_says(x, y, epsilon):
    assert private_divergence(x, y, epsilon) == pytest.approx(minimised(x, y, epsilon), abs=1e-9)


@given(x=MEANS, y=MEANS, epsilon=SIZES)
def test_the_divergence_is_what_its_definition_says_anywhere(x, y, epsilon):
    assert private_divergence(x, y, epsilon) == pytest.approx(minimised(x, y, epsilon), abs=1e-9)


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 1000.0])
def test_the_divergence_from_a_sure_coin_is_finite_with_privacy(epsilon):
    assert private_divergence(0.0, 1.0, epsilon) == pytest.approx(epsilon)
    assert private_divergence([0.25, 1.0], [1.0, 0.0], epsilon) == pytest.approx([0.75 * epsilon, epsilon])


@pytest.mark.parametrize("x", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("difference", [1e-3, 1e-6, 1e-9])
def test_close_coins_lose_no_digits(x, difference):
    gap = (x + x * difference) - x
    expected = gap**2 / (2 * x * (1 - x)) - gap**3 * (1 / x**2 - 1 / (1 - x) ** 2) / 3
    assert divergence(x, x + gap) == pytest.approx(expected, rel=1e-5)
    assert theory.two_point_lower_bound(0.1, difference, 0.05) * difference**2 == pytest.approx(
        0.9 * math.log(19) / (0.2**2 / (2 * 0.09)), rel=0.01
    )


def test_both_branches_of_the_formula_are_met_above():
    assert private_divergence(0.7, 0.75, 1.0) == divergence(0.7, 0.75)
    assert private_divergence(0.05, 0.75, 1.0) < 0.6 * divergence(0.05, 0.75)


@given(x=MEANS, y=MEANS, epsilon=SIZES)
def test_the_divergence_does_not_change_when_zeros_and_ones_are_exchanged(x, y, epsilon):
    mirrored = private_divergence(1 - x, 1 - y, epsilon)
    assert private_divergence(x, y, epsilon) == pytest.approx(mirrored, rel=1e-6, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilons=st.tuples(SIZES, SIZES))
def test_the_divergence_grows_with_epsilon_up_to_kl(x, y, epsilons):
    small, large = (private_divergence(x, y, epsilon) for epsilon in sorted(epsilons))
    assert small <= large + 1e-12
    assert large <= private_divergence(x, y, math.inf) + 1e-12
    assert small <= min(epsilons) * abs(x - y) + 1e-12  # z = y is one choice


@given(x=MEANS, y=MEANS)
def test_the_divergence_tends_to_kl(x, y):
    kl = float(stats.entropy([x, 1 - x], [y, 1 - y]))
    assert private_divergence(x, y, math.inf) == pytest.approx(kl, rel=1e-6, abs=1e-9)
    for large in (30.0, 1e4):  # the second would overflow as e^epsilon
        assert private_divergence(x, y, large) == pytest.approx(kl, rel=1e-6, abs=1e-9)


@given(x=st.floats(0, 1), epsilon=st.one_of(SIZES, st.just(math.inf)))
def test_the_divergence_of_equal_means_is_nothing(x, epsilon):
    assert private_divergence(x, x, epsilon) == pytest.approx(0, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilon=SIZES)
def test_the_divergence_of_different_means_is_positive(x, y, epsilon):
    if abs(x - y) > 1e-4:
        assert private_divergence(x, y, epsilon) > 0


# ---------------------------------------------------------------------- stopping rules: at most

PROBLEMS = st.fixed_dictionaries(
    {
        "mean": st.floats(-9, math.log10(2)).map(lambda size: 10**size),
        "alpha": st.floats(1e-6, 0.999999),
        "beta": st.floats(-300, math.log10(0.08)).map(lambda size: 10**size),
        "epsilon": st.floats(-9, 9).map(lambda size: 10**size),
    }
)


@given(PROBLEMS)
def test_theorem_3_3_covers_what_the_thresholds_guarantee(problem):
    sure = theory.sure_samples("dp-exp-nas", **problem, low=0, high=2)
    if math.isfinite(sure):
        assert sure <= theory.stopping_upper_bound(**problem, low=0, high=2)


def test_theorem_3_3_as_printed_fails_where_its_inner_logarithm_is_small():
    mean, alpha, beta, epsilon = 1.0, 0.95, 0.05, 1e6
    log = math.log(math.log(1 / (alpha * mean)) / beta)
    printed = 2000 * (
        log / (alpha * mean) ** 2 + log / (epsilon * mean) + math.log(1 / beta) / (epsilon * alpha * mean)
    )
    rule = discreet.DPExponentialNAS(epsilon=epsilon, alpha=alpha, beta=beta, radius=1.0)
    assert rule.threshold(64) > 64 > printed  # a sum of 64 samples in [-1, 1] cannot reach it, and the noise is tiny
    assert rule.run(np.ones(1000), noise=SimulatedNoise(1)).samples == 128
    assert theory.stopping_upper_bound(mean, alpha, beta, epsilon, low=-1, high=1) > 128


def test_the_parts_of_theorem_3_3_are_as_printed_elsewhere():
    mean, alpha, beta, epsilon, radius = 0.03, 0.2, 0.01, 0.3, 2.0
    log = math.log(math.log(radius / (alpha * mean)) / beta)
    expected = (
        radius**2 * log / (alpha * mean) ** 2,
        radius * log / (epsilon * mean),
        radius * math.log(1 / beta) / (epsilon * alpha * mean),
    )
    parts = theory.stopping_upper_bound_parts(mean, alpha, beta, epsilon, low=-radius, high=radius)
    assert tuple(parts) == pytest.approx(expected)
    assert theory.stopping_upper_bound(-mean, alpha, beta, epsilon, low=-radius, high=radius) == pytest.approx(
        2000 * sum(expected)
    )


RULES = {"nas": discreet.NAS, "dp-nas": discreet.DPNAS, "dp-exp-nas": discreet.DPExponentialNAS}


@pytest.mark.parametrize("epsilon", [0.03, 1.0])
@pytest.mark.parametrize("radius", [0.5, 3.0])
@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_needs_is_read_off_its_own_thresholds(name, radius, epsilon):
    mean, alpha, beta = 0.4, 0.5, 0.05
    private = {} if name == "nas" else {"epsilon": epsilon}
    rule = RULES[name](alpha=alpha, beta=beta, radius=radius, **private)
    times = 2.0 ** np.arange(1, 24) if name == "dp-exp-nas" else np.arange(1.0, 4e5)
    needed = np.array(rule.threshold(times))
    assert theory.typical_samples(name, mean, alpha, beta, epsilon, low=-radius, high=radius) == first(
        mean * times, needed, times
    )
    needed += times * rule.hoeffding_radius(times)
    if name != "nas":
        tests = rule.test_number(times)
        needed += rule.sigma1 * (np.log(4 / beta) + np.log(8 * tests**2 / beta))
    assert theory.sure_samples(name, mean, alpha, beta, epsilon, low=-radius, high=radius) == first(
        mean * times, needed, times
    )


def first(sums, needed, times):
    return times[np.argmax(sums >= needed)]


def test_a_hopeless_mean_takes_for_ever():
    assert theory.sure_samples("nas", 1e-5, 0.1, 0.05) > 1e13  # above what a float counts one by one, a search must end
    assert theory.sure_samples("dp-nas", [1e-7, 1e-8], 0.1, 0.05, 1.0).tolist() == [math.inf, math.inf]
    assert theory.sure_samples("nas", 1e-12, 0.1, 0.05) == math.inf
    assert theory.sure_samples("dp-exp-nas", [0.1, 1e-12], 0.1, 0.05, 1.0)[1] == math.inf


# ---------------------------------------------------------------------- stopping rules: at least


@pytest.mark.parametrize("low", [-1.0, 0.0])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 10.0, math.inf])
@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("mean", [0.001, 0.1, 0.5, 0.99])
def test_the_lower_bound_is_below_what_rules_take_and_above_the_papers(mean, alpha, epsilon, low):
    beta = 0.05
    bound = theory.two_point_lower_bound(mean, alpha, beta, epsilon, low=low, high=1.0)
    for rule in RULES if math.isinf(epsilon) else ("dp-nas", "dp-exp-nas"):
        assert bound < theory.typical_samples(rule, mean, alpha, beta, epsilon, low=low, high=1.0)
    assert bound > theory.private_stopping_lower_bound(mean, alpha, beta, epsilon, low=low, high=1.0)
    assert bound >= theory.two_point_lower_bound(mean, alpha, beta, low=low, high=1.0) * (1 - 1e-9)


def test_the_lower_bound_by_hand():
    # Bernoulli samples of mean 0.3, alpha = 0.5: the rivals are 0.1 and 0.9.
    worth = 0.9 * math.log(0.9 / 0.1) + 0.1 * math.log(0.1 / 0.9)
    expected = worth / min(divergence(0.3, 0.1), divergence(0.3, 0.9))
    assert theory.two_point_lower_bound(0.3, 0.5, 0.1, low=0, high=1) == pytest.approx(expected)
    # A mean of 0.6 has one rival: the other one would be 1.8.
    assert theory.two_point_lower_bound(0.6, 0.5, 0.1, low=0, high=1) == pytest.approx(worth / divergence(0.6, 0.2))
    # Without a rival in the range nothing needs to be learned.
    assert theory.two_point_lower_bound(0.55, 0.5, 0.1, low=0.5, high=0.6) == 0
    # A mean below 0 is a mean above 0, mirrored.
    assert theory.two_point_lower_bound(-0.3, 0.5, 0.1, 0.5, low=-1) == pytest.approx(
        theory.two_point_lower_bound(0.3, 0.5, 0.1, 0.5, low=-1)
    )


def test_the_papers_lower_bounds():
    assert theory.private_stopping_lower_bound(0.2, 0.1, 0.01, 0.5, low=-3, high=3) == pytest.approx(
        3 * math.log(100) / (12 * 0.1 * 0.2 * 0.5)
    )
    plain = theory.nonprivate_stopping_lower_bound(0.2, 0.1, 0.01, low=-3, high=3)
    assert plain == pytest.approx((9 - 0.04) / (0.1 * 0.2) ** 2 * math.log(100))
    quiet = theory.nonprivate_stopping_lower_bound(0.2, 0.1, 0.01, low=-3, high=3, variance=0.0)
    assert quiet == pytest.approx(3 * 0.1 * 0.2 / (0.1 * 0.2) ** 2 * math.log(100))
    both = theory.stopping_lower_bound(0.2, 0.1, 0.01, 0.5, low=-3, high=3)
    assert both == pytest.approx(plain + theory.private_stopping_lower_bound(0.2, 0.1, 0.01, 0.5, low=-3, high=3))


# ---------------------------------------------------------------------- elimination


@pytest.mark.parametrize("beta", [0.9, 0.1, 1e-8, 1e-200])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("viable", [2, 3, 20])
def test_the_schedule_is_that_of_the_policy_object(viable, epsilon, beta):
    policy = discreet.DPSuccessiveElimination(range(20), epsilon=epsilon, beta=beta)
    for epoch in range(1, 25):
        length = theory.dp_se_epoch_length(epoch, viable, epsilon, beta)
        assert math.ceil(length) == math.ceil(policy.epoch_length(epoch, viable))
        assert theory.dp_se_threshold(epoch, viable, epsilon, beta) == pytest.approx(
            policy.threshold(epoch, viable), rel=1e-12
        )


@pytest.mark.parametrize(
    ("arms", "epsilon", "gap", "beta"), [(4, 0.5, 0.05, 0.05), (2, 0.01, 0.2, 0.1), (20, 5, 0.3, 1e-6)]
)
def test_the_plan_is_what_the_policy_does_on_arms_that_it_cannot_tell_apart(arms, epsilon, gap, beta):
    plan = theory.plan_elimination(arms, epsilon, gap, beta)
    policy = discreet.DPSuccessiveElimination(range(arms), epsilon=epsilon, beta=beta)
    epochs = discreet.Totals(policy, SimulatedNoise(2))
    played, rewards = [], np.random.default_rng(3)
    for _ in range(plan.epochs):
        wanted = epochs.plan().pulls
        played.append(set(wanted.values()))
        epochs.close_steps(
            {arm: int(rewards.binomial(count, 0.5)) * policy.grid.width for arm, count in wanted.items()}
        )
    assert played == [{count} for count in plan.pulls_per_arm]
    assert epochs.algorithm.time == plan.total == arms * theory.dp_se_pulls(gap, arms, epsilon, beta)
    assert theory.resolvable_gap([plan.total - 1, plan.total], arms, epsilon, beta).tolist() == [
        plan.target_gaps[-2] if plan.epochs > 1 else math.inf,
        plan.target_gaps[-1],
    ]


@pytest.mark.parametrize(("gap", "epochs"), [(1.0, 1), (0.5, 1), (0.499, 2), (0.25, 2), (0.2499, 3), (2.0**-40, 40)])
def test_a_gap_is_resolved_by_the_first_epoch_that_targets_it(gap, epochs):
    assert theory.dp_se_last_epoch(gap) == epochs
    assert 2.0**-epochs <= gap
    assert epochs == 1 or 2.0 ** -(epochs - 1) > gap


def test_privacy_sets_the_length_of_epochs_only_where_epsilon_is_small():
    private = theory.plan_elimination(4, 0.01, 0.05, 0.05)
    assert private.by_privacy.tolist() == [True] * 4 + [False]
    assert private.price_of_privacy > 0
    assert theory.plan_elimination(4, 10.0, 0.05, 0.05).price_of_privacy == 0
    assert theory.plan_elimination(4, math.inf, 0.05, 0.05).price_of_privacy == 0


@given(
    gap=st.floats(1e-9, 1.0),
    arms=st.integers(2, 10**6),
    epsilon=st.floats(-9, 9).map(lambda size: 10**size),
    beta=st.one_of(st.floats(1e-300, 0.9), st.floats(0.01, 0.9)),
)
def test_lemma_4_2_covers_the_epochs_of_the_worst_case(gap, arms, epsilon, beta):
    assert theory.dp_se_pulls(gap, arms, epsilon, beta) <= theory.dp_se_pull_bound(gap, arms, epsilon, beta)


@pytest.mark.parametrize("epsilon", [0.02, 0.2, 2.0])
def test_dp_se_keeps_the_lemmas_bounds_in_runs(epsilon):
    beta, means, runs = 0.2, np.array([0.8, 0.6, 0.55, 0.3]), 300
    gaps = means.max() - means[1:]
    over = over_the_sharp_one = 0
    for run in range(runs):
        policy = discreet.DPBestArm(range(4), epsilon=epsilon, beta=beta)
        pulls = play(policy, means, np.random.default_rng([run, 2]), noise=SimulatedNoise([run, 1])).pulls[1:]
        over += (pulls > theory.dp_se_pull_bound(gaps, 4, epsilon, beta)).any()
        over_the_sharp_one += (pulls > theory.dp_se_pulls(gaps, 4, epsilon, beta)).any()
    assert over <= over_the_sharp_one <= stats.binom.ppf(1 - 1e-6, runs, beta)


def test_the_regret_bounds_of_dp_se():
    means, horizon, epsilon = np.array([0.75, 0.7, 0.5, 0.75]), 5e7, 0.25
    expected = 1 + sum(gap * theory.dp_se_pull_bound(gap, 4, epsilon, 1 / horizon) for gap in (0.05, 0.25))
    assert theory.dp_se_regret_bound(means, horizon, epsilon) == pytest.approx(expected)
    assert theory.dp_se_regret_bound(means, 100, epsilon) == 0.25 * 100  # no policy can do worse
    sure = 1 + sum(gap * theory.dp_se_pulls(gap, 4, epsilon, 1 / horizon) for gap in (0.05, 0.25))
    assert theory.dp_se_sure_regret(means, horizon, epsilon) == pytest.approx(sure)
    # The minimax bound's gap balances both kinds of regret, and it grows like the root of T.
    bound = theory.dp_se_minimax_bound(4, 1e12, epsilon)
    gap = (bound - 2) / (1e12 * (2 - 1 / 4))
    log = math.log(4 * 1e12 * math.log(2e12))
    assert gap * 1e12 / 4 == pytest.approx(log * (1024 / gap + 96 / epsilon))
    assert bound / theory.dp_se_minimax_bound(4, 1e10, epsilon) == pytest.approx(10, rel=0.12)
    assert theory.dp_se_minimax_bound(4, 1000, epsilon) == 1000
    assert theory.minimax_lower_bound(4, 1e12, epsilon) < bound


# ---------------------------------------------------------------------- all of them

FUNCTIONS = {
    "divergence": (0.3, 0.4),
    "private_divergence": (0.3, 0.9, 0.5),
    "lai_robbins_bound": ([0.3, 0.5], 1e6),
    "regret_lower_bound": ([0.3, 0.5], 1e6, 0.5),
    "private_regret_order": (4, 1e6, 0.5),
    "minimax_lower_bound": (4, 1e6, 0.5),
    "stopping_upper_bound": (0.3, 0.1, 0.05, 0.5),
    "nonprivate_stopping_lower_bound": (0.3, 0.1, 0.05),
    "private_stopping_lower_bound": (0.3, 0.1, 0.05, 0.5),
    "stopping_lower_bound": (0.3, 0.1, 0.05, 0.5),
    "two_point_lower_bound": (0.3, 0.1, 0.05, 0.5),
    "dp_se_epoch_length": (3, 4, 0.5, 0.05),
    "dp_se_threshold": (3, 4, 0.5, 0.05),
    "dp_se_last_epoch": (0.1,),
    "dp_se_pulls": (0.1, 4, 0.5, 0.05),
    "dp_se_pull_bound": (0.1, 4, 0.5, 0.05),
    "dp_se_regret_bound": ([0.3, 0.5], 1e9, 0.5),
    "dp_se_sure_regret": ([0.3, 0.5], 1e9, 0.5),
    "dp_se_minimax_bound": (4, 1e9, 0.5),
    "resolvable_gap": (1e6, 4, 0.5, 0.05),
    "sharp_pulls": (0.1, 4, 0.5, 0.05),
    "sharp_sure_regret": ([0.3, 0.5], 1e9, 0.5),
    "product_privacy_loss": (10, 0.1, 0.5),
    "karwa_vadhan_loss": (10, 0.1, 0.5),
    "nas_upper_bound": (0.3, 0.1, 0.05),
    "doubling_nas_upper_bound": (0.3, 0.1, 0.05),
    "least_level": (0.1, 0.05, 0.5),
    "stopping_excess": (0.003, 0.1, 0.05),
    "tree_levels": (1000,),
    "tree_variance": (1000, 0.5),
    "tree_union_bound": (1000, 0.5, 0.05, 4),
    "tree_error_bound": (1000, 0.5, 0.05, 4),
    "ucb_regret_bound": ([0.3, 0.5], 1e9),
    "ucb_minimax_bound": (4, 1e9),
    "dp_ucb_regret_bound": ([0.3, 0.5], 1e9, 0.5),
    "dp_ucb_regret_order": (4, 1e9, 0.5, 2.5),
    "se_pull_bound": (0.1, 4, 0.05),
    "se_regret_bound": ([0.3, 0.5], 1e9),
}


def test_every_function_is_covered_here():
    others = {"Bracket", "EliminationPlan", "PersonSchedule", "SharpSchedule", "log_bracket", "loglog_bracket",
              "plan_elimination", "stopping_upper_bound_parts", "sure_samples", "typical_samples"}  # fmt: skip
    assert set(theory.__all__) == others | set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_give_arrays_with_the_same_numbers(name):
    function, arguments = getattr(theory, name), FUNCTIONS[name]
    one = function(*arguments)
    assert isinstance(one, float | int)
    for place, argument in enumerate(arguments):
        many = np.stack([np.asarray(argument)] * 6).reshape(2, 3, *np.shape(argument))
        found = function(*arguments[:place], many, *arguments[place + 1 :])
        assert found.shape == (2, 3)
        assert found == pytest.approx(np.full((2, 3), one), rel=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nonsense_is_refused_wherever_it_stands(name):
    function, arguments = getattr(theory, name), FUNCTIONS[name]
    for place, argument in enumerate(arguments):
        for bad in (math.nan, "much", -math.inf, True, None):
            wrong = [argument[0], bad] if isinstance(argument, list) and bad is not True else bad
            with pytest.raises(ArgumentError, match=r" must be "):
                function(*arguments[:place], wrong, *arguments[place + 1 :])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: divergence(1.5, 0.5), r"x must be in \[0, 1\], got 1.5"),
        (lambda: private_divergence(0.5, 0.5, 0), r"epsilon must be above 0 \(infinity for no privacy\), got 0.0"),
        (
            lambda: theory.stopping_upper_bound(0.1, 0.1, 0.09, 1),
            "beta must be at most 0.08 for this theorem, got 0.09",
        ),
        (
            lambda: theory.private_stopping_lower_bound(10, 0.5, 0.05, 0.1, low=9, high=11),
            "mean must be such that",
        ),
        (lambda: theory.dp_se_pull_bound(0.1, 4, 1.0, 0.98), "beta must be at most 0.9 for this lemma, got 0.98"),
        (lambda: theory.private_stopping_lower_bound(0.1, 0.1, 0.25, 1), "beta must be below 1/4 for this theorem"),
        (lambda: theory.stopping_upper_bound(0, 0.1, 0.05, 1), "mean must be not 0, got 0.0"),
        (lambda: theory.stopping_upper_bound(1.5, 0.1, 0.05, 1), r"mean must be in \[0, 1\], got 1.5"),
        (lambda: theory.sure_samples("nas", -0.5, 0.1, 0.05), r"mean must be in \[0, 1\], got -0.5"),
        (lambda: theory.typical_samples("nas", [0.5, 2], 0.1, 0.05), r"mean must be in \[0, 1\], got 2.0"),
        (lambda: theory.nas_upper_bound(1.5, 0.1, 0.05), r"mean must be in \[0, 1\], got 1.5"),
        (
            lambda: theory.private_stopping_lower_bound(2.0, 0.1, 0.05, 1, low=-3, high=1),
            r"mean must be in \[-3, 1\], got 2.0",
        ),
        (
            lambda: theory.karwa_vadhan_loss(1, 0.1, 3.0),
            "epsilon must be at most 2.918 for this lemma, got 3.0",
        ),
        (lambda: theory.product_privacy_loss(1, 1.1, 3.0), r"distance must be in \[0, 1\], got 1.1"),
        (lambda: theory.loglog_bracket(1.0, 0.01), "a must be a finite number above 1, got 1.0"),
        (lambda: theory.log_bracket(2.0, 0.0626), "b must be above 0 and at most 1/16, got 0.0626"),
        (lambda: theory.tree_variance(100, 1.0, 101), "items must be at most the horizon, got 101.0"),
        (lambda: theory.tree_levels(2.0**60), r"horizon must be at most 2\^53"),
        (lambda: theory.dp_ucb_regret_bound([0.5, 0.4], 1e6, 1.0, 10), "relaxation must be at least tree_error_bound"),
        (lambda: theory.se_pull_bound(1.5, 4, 0.05), r"gap must be in \(0, 1\], a difference of two means, got 1.5"),
        (lambda: theory.stopping_upper_bound(0.1, 1, 0.05, 1), "alpha must be strictly between 0 and 1, got 1.0"),
        (lambda: theory.two_point_lower_bound(1.0, 0.1, 0.05), "mean must be strictly between 0 and 1, and not 0"),
        (lambda: theory.two_point_lower_bound(0.1, 0.1, 0.5), "beta must be strictly between 0 and 0.5"),
        (lambda: theory.two_point_lower_bound(0.1, 0.1, 0.05, low=1, high=0), "low must be below high"),
        (lambda: theory.nonprivate_stopping_lower_bound(2, 0.1, 0.05), r"mean must be in \[0, 1\], got 2.0"),
        (lambda: theory.nonprivate_stopping_lower_bound(0.1, 0.1, 0.05, variance=2), "variance must be between 0 and"),
        (
            lambda: theory.sure_samples("ebstop", 0.1, 0.1, 0.05),
            "rule must be one of nas, dp-nas, dp-exp-nas, got 'ebs",
        ),
        (lambda: theory.dp_se_last_epoch([0.5, 1.5]), r"gap must be in \(0, 1\], a difference of two means, got 1.5"),
        (lambda: theory.dp_se_pulls(0.1, 1, 1.0, 0.05), "arms must be a whole number of at least 2, got 1.0"),
        (lambda: theory.dp_se_epoch_length(1.5, 2, 1.0, 0.05), "epoch must be a whole number of at least 1, got 1.5"),
        (lambda: theory.plan_elimination(4, [0.5, 1], 0.1, 0.05), "epsilon must be one number for a plan"),
        (lambda: regret_lower_bound(0.5, 1e6), "means must be a list of the means of two arms or more, got 0.5"),
        (lambda: regret_lower_bound([0.5, 0.4], 0.5), "horizon must be a number of pulls of at least 1, got 0.5"),
        (lambda: theory.minimax_lower_bound(20, 100, 0.001), "horizon must be larger for this theorem"),
        (lambda: theory.plan_elimination(4, 0.5, 1e-9, 0.05), "gap must allow fewer than 2.62 pulls, got gap=1e-09"),
        (lambda: theory.plan_elimination(4, 1e-18, 0.5, 0.05), "gap must allow fewer than 2.62 pulls, got gap=0.5"),
    ],
)
def test_errors_name_the_argument_its_value_and_what_would_be_right(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


EXTREMES = {
    "mean": (1e-300, 1.0), "alpha": (1e-12, 1 - 1e-12), "beta": (1e-300, 0.08), "epsilon": (1e-100, 1e100, math.inf),
    "horizon": (2, 2**53), "arms": (2, 10**9), "gap": (1e-50, 1.0), "trees": (1, 10**9), "items": (1, 2),
    "viable": (1, 10**9), "epoch": (1, 900), "pulls": (1, 1e18), "samples": (1, 2**60), "distance": (0.0, 1.0),
    "power": (0.1, 50.0), "x": (0.0, 1.0), "y": (0.0, 1.0), "means": ([0.0, 1.0], [0.5, 0.5 + 1e-9]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_ends_of_the_domain_give_numbers_without_a_warning(name):
    function = getattr(theory, name)
    wanted = [one for one in inspect.signature(function).parameters if one in EXTREMES]
    for arguments in itertools.product(*map(EXTREMES.get, wanted)):
        try:
            found = function(**dict(zip(wanted, arguments, strict=True)))  # a warning would be an error here
        except ArgumentError:
            continue
        assert found >= 0


def test_the_theory_imports_nothing_of_the_rest_but_errors_and_tails():
    for path in Path(theory.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                if module.startswith("discreet"):
                    assert module in ("discreet.core.errors", "discreet.core.probability.tails") or module.startswith(
                        "discreet.theory"
                    )
                else:
                    assert module.split(".")[0] in {
                        "__future__",
                        "collections",
                        "dataclasses",
                        "fractions",
                        "functools",
                        "math",
                        "numpy",
                        "typing",
                    }

"""Elimination with sharp constants: a program written from the formulas agrees, and the promise is kept.

The formulas are those of docs/proofs/sharp-elimination.md.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import discreet
from discreet import ArgumentError, SimulatedNoise, theory
from discreet.core.tails import clearly_behind, largest_variance, lead_exponent, tail_exponent
from discreet.lab import Beta, instance, play, simulate
from discreet.lab.kernels import sharp_elimination as kernel
from discreet.lab.kernels.randomness import fresh_state
from discreet.theory import SharpSchedule, sharp_pulls

SCHEDULES = st.builds(
    SharpSchedule,
    arms=st.integers(2, 30),
    epsilon=st.floats(-2, 1).map(lambda size: 10**size),
    beta=st.floats(-9, -0.1).map(lambda size: 10**size),
    growth=st.floats(1.05, 4.0),
    window=st.integers(1, 10),
)

# ---------------------------------------------------------------------- a program written from the formulas


def least(function, epsilon):
    """The least value of a function of s in (0, epsilon), on a fine grid and then by a search around the best place."""
    s = epsilon * np.concatenate([np.geomspace(1e-8, 0.5, 4000), 1 - np.geomspace(1e-9, 0.5, 4000)[::-1]])
    values = function(s)
    place = int(values.argmin())
    ends = s[max(0, place - 1)], s[min(s.size - 1, place + 1)]
    found = optimize.minimize_scalar(function, bounds=ends, method="bounded", options={"xatol": 1e-13 * epsilon})
    return min(float(values[place]), float(found.fun))


def noise_cost(s, noises, epsilon):
    return -noises * np.log(1 - (s / epsilon) ** 2)


def weight(k):
    return 5 / ((k + 4) * (k + 5))


def level(k, arms, beta):
    return math.log((arms - 1) / (beta * 0.89 * weight(k)))


def radius(n, noises, epsilon, at):
    """Hoeffding's: n rewards of each of two arms, s^2/8 each."""
    return least(lambda s: (2 * n * s**2 / 8 + noise_cost(s, noises, epsilon) + at) / s, epsilon)


def ends(arms, epsilon, beta, growth, epochs):
    first = 4 * least(lambda s: (noise_cost(s, 2, epsilon) + level(1, arms, beta)) / s, epsilon)
    first = max(first, 2 / (growth - 1))
    return [0] + [math.ceil(first * growth ** (k - 1) * (1 - 1e-9)) for k in range(1, epochs + 1)]


def upper_mean(total, n, m, epsilon, at):
    """The largest mean whose lower tail of this total is not below exp(-at), by halving."""
    s, low, high = epsilon * np.linspace(0, 1, 20_001)[:-1], 0.0, 1.0
    for _ in range(40):
        mean = (low + high) / 2
        exponent = (-s * total - n * np.log(1 - mean + mean * np.exp(-s)) - noise_cost(s, m, epsilon)).max()
        low, high = (mean, high) if exponent <= at else (low, mean)
    return high


def drops(lead, total, n, m, k, arms, epsilon, beta):
    """Whether an arm goes; None where the program is too coarse to say."""
    doubt = math.log(2 / (beta * 0.1 * weight(k)))
    high, low = upper_mean(total, n, m, epsilon, doubt), 1 - upper_mean(n - total, n, m, epsilon, doubt)
    means = np.linspace(low, max(low, high), 101)
    variance = (means * (1 - means)).max()
    exponent = -least(
        lambda s: -s * lead + n * np.log(1 + 2 * variance * (np.cosh(s) - 1)) + noise_cost(s, 2 * m, epsilon), epsilon
    )
    return None if abs(exponent - level(k, arms, beta)) < 0.02 else exponent > level(k, arms, beta)


@pytest.mark.parametrize(
    ("arms", "epsilon", "beta", "growth"), [(2, 1.0, 0.05, 1.5), (5, 0.1, 1e-6, 1.3), (9, 4, 0.5, 3)]
)
def test_the_schedule_is_that_of_a_program_written_from_the_formulas(arms, epsilon, beta, growth):
    schedule, last = SharpSchedule(arms, epsilon, beta, growth, window=3), ends(arms, epsilon, beta, growth, 12)
    assert [schedule.pulls_by(k) for k in range(13)] == last
    gaps = []
    for k in range(1, 13):
        m = min(k, 3)
        n = last[k] - last[k - m]
        assert (schedule.tested(k), schedule.noises(k)) == (n, m)
        assert schedule.level(k) == pytest.approx(level(k, arms, beta))
        x = radius(n, 2 * m, epsilon, level(k, arms, beta))
        y = radius(n, 2 * m, epsilon, math.log((arms - 1) / (0.01 * beta)))
        assert schedule.clear_lead(k) == pytest.approx(x, rel=1e-6)
        assert schedule.target_gap(k) == pytest.approx((x + y) / n, rel=1e-6)
        gaps.append((x + y) / n)
    for k, gap in enumerate(gaps, 1):
        if gap <= 1:
            first = next(place for place, other in enumerate(gaps, 1) if other <= gap)
            assert schedule.deadline(gap * (1 + 1e-5)) == first <= k
            assert schedule.pulls_for(gap * (1 + 1e-5)) == last[first]


@pytest.mark.parametrize(
    ("epsilon", "means"), [(0.3, (0.3, 0.6, 0.7)), (2.0, (0.02, 0.03, 0.06)), (1.0, (0.9, 0.99, 0.95))]
)
def test_tests_are_those_of_a_program_written_from_the_formulas(epsilon, means):
    beta, generator, asked = 0.2, np.random.default_rng(1), 0
    policy = discreet.DPSharpBestArm(range(3), epsilon=epsilon, beta=beta, window=4, noise=SimulatedNoise(2))
    last, viable, released = ends(3, epsilon, beta, 1.5, 40), [0, 1, 2], {arm: [] for arm in range(3)}
    while len(viable) > 1:
        plan = policy.plan()
        k = plan.epoch
        assert plan.pulls == dict.fromkeys(viable, last[k] - last[k - 1])
        entries = policy.close(
            {arm: int(generator.binomial(n, means[arm])) * policy.grid.width for arm, n in plan.pulls.items()}
        )
        for arm, entry in zip(viable, entries, strict=True):
            assert entry.spans == ((arm, last[k - 1] + 1, last[k]),)
            released[arm].append(entry.units / policy.grid.width)
        m = min(k, 4)
        totals = {arm: sum(released[arm][-m:]) for arm in viable}
        best = max(totals.values())
        for arm in viable:
            gone = drops(best - totals[arm], totals[arm], last[k] - last[k - m], m, k, 3, epsilon, beta)
            assert gone in (None, arm not in policy.viable)
            asked += gone is not None
        assert policy.best_arm == max(totals, key=totals.get)
        viable = list(policy.viable)
    assert asked > 8
    assert viable == [int(np.argmax(means))]
    assert policy.finished


# ---------------------------------------------------------------------- what the proof rests on


@given(schedule=SCHEDULES)
def test_beta_is_spent_once(schedule):
    """Intervals, tests and late arms together: the sums of the proof, with the tail of the weights in closed form."""
    epochs = range(1, 2000)
    rest = 5 / (2000 + 4)  # what the weights of all later epochs add up to
    assert sum(map(schedule.weight, epochs)) + rest == pytest.approx(1)
    intervals = sum(2 * math.exp(-schedule.doubt(k)) for k in epochs)
    tests = sum((schedule.arms - 1) * math.exp(-schedule.level(k)) for k in epochs)
    assert intervals == pytest.approx(0.1 * schedule.beta * (1 - rest))
    assert tests == pytest.approx(0.89 * schedule.beta * (1 - rest))
    late = schedule.beta - (intervals + tests) / (1 - rest)
    assert late == pytest.approx(0.01 * schedule.beta, rel=1e-6)


@given(schedule=SCHEDULES)
def test_epochs_grow_and_are_never_empty(schedule):
    lengths = np.diff([schedule.pulls_by(epoch) for epoch in range(30)])
    assert lengths.min() >= 1
    assert lengths[-1] > lengths[1]


@given(schedule=SCHEDULES, epoch=st.integers(1, 40), share=st.floats(-0.05, 1.0))
def test_no_arm_stays_that_is_behind_by_more_than_a_clear_lead(schedule, epoch, share):
    """Step 4 of the proof: Hoeffding's threshold is above the one of the test, whatever the total."""
    lead, n, m = schedule.clear_lead(epoch) * 1.000001, schedule.tested(epoch), schedule.noises(epoch)
    assert clearly_behind(lead, share * n, n, m, schedule.epsilon, schedule.level(epoch), schedule.doubt(epoch))


@given(total=st.floats(-5, 205), noises=st.integers(1, 6), epsilon=st.floats(0.05, 5), lead=st.floats(0, 150),
       level=st.floats(1, 20))  # fmt: skip
def test_the_test_is_the_exponent_at_the_largest_variance(total, noises, epsilon, lead, level):
    variance = largest_variance(total, 200, noises, epsilon, level)
    exponent = lead_exponent(lead, 200, 2 * noises, variance, epsilon)
    if abs(exponent - level) > 1e-6:
        assert clearly_behind(lead, total, 200, noises, epsilon, level, level) == (exponent > level)
    for mean in np.linspace(0, 1, 21):  # a mean of a larger variance is contradicted
        if mean * (1 - mean) > variance + 1e-9:
            below = tail_exponent(total, 200, noises, mean, epsilon)
            above = tail_exponent(200 - total, 200, noises, 1 - mean, epsilon)
            assert max(below, above) > level * (1 - 1e-6)


def test_an_exponent_keeps_its_digits_where_pulls_are_many():
    """cosh s - 1 computed as such has none left at s = 1e-8."""
    pulls = 1e17
    lead = math.sqrt(10 * pulls)  # n s^2/4 against s lead: an exponent of lead^2/n = 10
    assert lead_exponent(lead, pulls, 2, 0.25, 1.0) == pytest.approx(10, rel=1e-4)


# ---------------------------------------------------------------------- the policies


def test_a_window_of_one_starts_from_nothing_and_a_long_one_takes_all():
    for window in (1, 100):
        policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, beta=0.1, window=window, noise=SimulatedNoise(1))
        for _ in range(8):
            policy.close({arm: n * policy.grid.width // 2 for arm, n in policy.plan().pulls.items()})
        assert len(policy._recent[0]) == min(8, window)
        assert policy.schedule.tested(8) == policy.pulls["A"] - (policy.schedule.pulls_by(7) if window == 1 else 0)


def test_a_search_gives_up_at_its_limit_and_an_equal_arm_is_never_dropped_for_sure():
    policy = discreet.DPSharpBestArm(["A", "B"], epsilon=1.0, beta=0.01, max_pulls=5000, noise=SimulatedNoise(1))
    assert play(policy, [0.5, 0.5], np.random.default_rng(1)).pulls.sum() == policy.time <= 5000
    assert policy.finished
    assert not policy.settled
    assert policy.best_arm in "AB"
    assert policy.time + 2 * policy.epoch_length(policy.epoch + 1) > 5000


def test_it_takes_rewards_of_any_kind():
    for run in range(5):
        policy = discreet.DPSharpBestArm(range(3), epsilon=0.5, beta=0.05, noise=SimulatedNoise(run))
        result = play(policy, [Beta(2, 4), Beta(4, 4), Beta(5, 4)], np.random.default_rng(run))
        assert result.best_arm == 2


def test_the_pulls_of_a_plan_are_those_of_the_schedule_and_a_fraction_of_the_papers():
    found = sharp_pulls([0.5, 0.1, 0.02], 5, 0.5, 0.05)
    assert found.tolist() == [SharpSchedule(5, 0.5, 0.05).pulls_for(gap) for gap in (0.5, 0.1, 0.02)]
    assert (found * 2 < theory.dp_se_pulls([0.5, 0.1, 0.02], 5, 0.5, 0.05)).all()
    assert sharp_pulls(0.1, [2, 5], 0.5, 0.05).shape == (2,)
    assert (np.diff(sharp_pulls([0.3, 0.1, 0.03, 0.01], 5, 0.5, 0.05)) > 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 1.0, 0.1), "gap must be a finite number above 0"),
        ((1.5, 5, 1.0, 0.1), "gap must be in"),
        ((0.1, 1, 1.0, 0.1), "arms must be a whole number of at least 2"),
        ((0.1, 5, math.inf, 0.1), "epsilon must be a finite number above 0"),
        ((0.1, 5, 1.0, 1.0), "beta must be strictly between 0 and 1"),
    ],
)
def test_what_lies_outside_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        sharp_pulls(*arguments)


def test_a_gap_that_nobody_can_resolve():
    assert sharp_pulls(1e-12, 5, 1.0, 0.1) == math.inf
    with pytest.raises(ArgumentError, match=r"gap must allow fewer than 2\^62 pulls, got 1e-12"):
        SharpSchedule(5, 1.0, 0.1).pulls_for(1e-12)


def test_the_guaranteed_regret_is_the_sum_over_arms_and_above_what_is_measured():
    for name, epsilon in (("C2", 0.25), ("C4", 1.0)):
        on, schedule = instance(name), SharpSchedule(5, epsilon, 1 / 5e7)
        bound = theory.sharp_sure_regret(on.means, 5e7, epsilon)
        assert bound == pytest.approx(1 + sum(gap * schedule.pulls_for(gap) for gap in on.gaps if gap))
        assert simulate("dp-se-sharp", name, runs=20, epsilon=epsilon).final.max() < bound
        assert bound < theory.dp_se_sure_regret(on.means, 5e7, epsilon)
    assert theory.sharp_sure_regret([0.5, 0.5 - 1e-9], 10**6, 1.0) == pytest.approx(1e-3, rel=1e-6)


# ---------------------------------------------------------------------- the kernel


def by_object(on, horizon, runs, **options):
    """Pulls of each arm, and when each was dropped, of so many runs."""
    found = []
    for run in range(runs):
        policy = discreet.DPSharpElimination(range(len(on)), horizon=horizon, noise=SimulatedNoise([run, 1]), **options)
        result = play(policy, on, np.random.default_rng([run, 2]))
        found.append([*result.pulls, *result.dropped])
    return np.array(found)


def by_kernel(on, horizon, runs, **options):
    policy = discreet.DPSharpElimination(range(len(on)), horizon=horizon, noise=SimulatedNoise(0), **options)
    rule, marks = kernel.rule_of(policy), np.array([horizon])
    played = [kernel.play(rule, on.means, horizon, fresh_state([run, 3]), marks) for run in range(runs)]
    return np.array([[*counts[-1], *dropped] for counts, dropped in played])


def p_value(first, second):
    """Of the most telling column, by how often each of its values comes."""
    found = []
    for one, other in zip(first.T, second.T, strict=True):
        values = np.unique(np.concatenate([one, other]))
        table = np.array([[(side == value).sum() for value in values] for side in (one, other)])
        common = table.sum(axis=0) >= 20
        table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] > 1:
            found.append(stats.chi2_contingency(table).pvalue)
    return min(found)


@pytest.mark.parametrize(
    ("epsilon", "wrong"),
    [
        (0.3, {"epsilon": 0.2}),
        (0.3, {"window": 3}),
        (3.0, {"means": (0.6, 0.5, 0.25)}),
        (3.0, {"beta": 0.02}),
    ],
)
def test_the_kernel_has_the_law_of_the_object(epsilon, wrong):
    on, horizon, runs = instance([0.6, 0.5, 0.2]), 6000, 400
    objects = by_object(on, horizon, runs, epsilon=epsilon, beta=0.05)
    assert p_value(objects, by_kernel(on, horizon, runs, epsilon=epsilon, beta=0.05)) > 1e-4
    wrong = {"means": (0.6, 0.5, 0.2), "epsilon": epsilon, "beta": 0.05, **wrong}
    other = by_kernel(instance(wrong.pop("means")), horizon, 4 * runs, **wrong)
    assert p_value(objects, other) < 1e-4


def test_the_kernel_decides_as_the_object_does():
    policy = discreet.DPSharpElimination(range(4), epsilon=0.5, beta=0.1, noise=SimulatedNoise(0))
    rule, generator, gone = kernel.rule_of(policy), np.random.default_rng(3), 0
    for _ in range(300):
        epoch = int(generator.integers(1, 16))
        n = policy.schedule.tested(epoch)
        totals = n * np.clip(generator.normal(generator.random(), 3 / math.sqrt(n), 4), -0.01, 1.01)
        viable = np.full(4, True)
        assert kernel.drop(rule, epoch, totals, viable) == totals.argmax()
        assert viable.tolist() == [not policy.is_behind(epoch, totals.max() - total, total) for total in totals]
        gone += 4 - viable.sum()
    assert 100 < gone < 900


def test_the_kernel_counts_at_every_checkpoint_and_plays_in_turn():
    on, horizon = instance([0.9, 0.5, 0.2]), 997
    policy = discreet.DPSharpElimination(range(3), epsilon=1.0, horizon=horizon, noise=SimulatedNoise(0))
    rule, every = kernel.rule_of(policy), np.arange(1, horizon + 1)
    counts, dropped = kernel.play(rule, on.means, horizon, fresh_state(5), every)
    assert (counts.sum(axis=1) == every).all()
    assert (np.diff(counts, axis=0) >= 0).all()
    some = np.array([1, 5, 100, 500, 997])
    assert (kernel.play(rule, on.means, horizon, fresh_state(5), some)[0] == counts[some - 1]).all()
    for arm in (1, 2):
        assert (counts[dropped[arm] - 1 :, arm] == counts[-1, arm]).all()
    assert counts[3].tolist() == [2, 1, 1]
    short = discreet.DPSharpElimination(range(3), epsilon=0.01, horizon=20, noise=SimulatedNoise(0))
    assert kernel.play(kernel.rule_of(short), on.means, 20, fresh_state(5), np.array([20]))[0].tolist() == [[7, 7, 6]]


def test_the_kernel_gives_a_search_up_where_the_object_does():
    on, options = instance([0.5, 0.5, 0.5]), {"epsilon": 1.0, "beta": 1e-6, "max_pulls": 700}
    policy = discreet.DPSharpBestArm(range(3), noise=SimulatedNoise(0), **options)
    pulls, found = kernel.search(kernel.rule_of(policy), on.means, fresh_state(1))
    assert found == kernel.NEVER
    assert list(pulls) == list(play(policy, on, np.random.default_rng(1)).pulls)
    by_kernel = simulate("dp-bai-sharp", on, horizon=1000, runs=5, **options)
    assert by_kernel.method == "kernel"
    assert (by_kernel.pulls.sum(axis=1) == 1000).all()
    assert (np.sort(by_kernel.pulls, axis=1) == sorted([pulls[0], pulls[0], 1000 - 2 * pulls[0]])).all()


def test_regret_at_a_fixed_seed_does_not_change():
    on, horizon = instance("C4"), 10**6
    policy = discreet.DPSharpElimination(range(5), epsilon=0.5, horizon=horizon, noise=SimulatedNoise(3))
    counts, dropped = kernel.play(kernel.rule_of(policy), on.means, horizon, fresh_state(11), np.array([horizon]))
    assert counts[-1].tolist() == [973814, 23529, 2066, 409, 182]
    assert dropped.tolist() == [-1, 49715, 6789, 1818, 910]
    run = play(policy, [Beta(5, 2), 0.6, 0.3, 0.2, 0.1], np.random.default_rng(4))
    assert run.pulls.tolist() == [996355, 3099, 182, 182, 182]


def test_the_lab_takes_the_kernel_where_arms_are_coins_and_says_when_arms_went():
    found = simulate("dp-se-sharp", "C4", runs=5, epsilon=0.5)
    other = simulate("dp-se-sharp", [0.5, Beta(2, 4)], horizon=100_000, runs=5, epsilon=0.5)
    assert (found.method, other.method) == ("kernel", "object")
    for one in (found, other):
        assert (one.dropped[:, 1:] > 0).all()
        assert (one.dropped[:, 0] == -1).all()


def test_regret_is_a_fraction_of_the_papers():
    for name, epsilon in (("C1", 1.0), ("C2", 0.25), ("C3", 0.1), ("R1", 1.0)):
        sharp = simulate("dp-se-sharp", name, runs=30, epsilon=epsilon)
        assert sharp.mean < simulate("dp-se", name, runs=5, epsilon=epsilon).mean / 3
        assert not sharp.failed.any()


# ---------------------------------------------------------------------- the promise


def searches(means, epsilon, beta, runs, **options):
    """Pulls of each arm, and the arm found, of so many searches by the kernel."""
    means = np.array(means, dtype=float)
    policy = discreet.DPSharpBestArm(range(means.size), epsilon=epsilon, beta=beta, noise=SimulatedNoise(0), **options)
    rule = kernel.rule_of(policy)
    found = [kernel.search(rule, means, fresh_state([run, 7])) for run in range(runs)]
    return np.array([pulls for pulls, _ in found]), np.array([arm for _, arm in found])


@pytest.mark.parametrize("means", [(0.7, 0.6, 0.5, 0.3), (0.05, 0.04, 0.03), (0.99, 0.95)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_best_arm_stays_and_every_other_goes_in_time(means, epsilon):
    """At a beta of 1/2 a promise that was broken by construction would show."""
    beta, runs = 0.5, 400
    pulls, found = searches(means, epsilon, beta, runs)
    bound = sharp_pulls(means[0] - np.array(means[1:]), len(means), epsilon, beta)
    broken = (found != 0) | (pulls[:, 1:] > bound).any(axis=1)
    assert broken.sum() <= stats.binom.ppf(1 - 1e-6, runs, beta)
    assert broken.mean() <= 0.2  # as measured: the bounds are not tight


@pytest.mark.parametrize(
    ("wrong", "kept"),
    [
        (lambda rule: rule, True),
        (lambda rule: rule._replace(levels=rule.levels / 5), False),  # leads that are not unlikely
        (lambda rule: rule._replace(scale=3 * rule.scale), False),  # more noise than the tests know of
    ],
)
def test_one_of_two_equal_arms_is_seldom_dropped(wrong, kept, monkeypatch):
    """Where the promise is under most strain, since every drop is an error: each arm has a chance of beta at most."""
    runs, beta, honest = 500, 0.2, kernel.rule_of
    monkeypatch.setattr(kernel, "rule_of", lambda policy: wrong(honest(policy)))
    for mean in (0.5, 0.02):
        _, found = searches((mean, mean), 0.1, beta, runs, max_pulls=10**6)
        dropped = (found != kernel.NEVER).sum()
        assert (dropped <= stats.binom.ppf(1 - 1e-6, runs, 2 * beta)) == kept


def test_a_search_takes_a_third_of_the_papers_pulls():
    for means, epsilon in ((instance("C2").means, 0.25), (instance("C3").means, 1.0), ((0.05, 0.04, 0.03), 1.0)):
        pulls, found = searches(means, epsilon, 0.05, 100)
        policy = discreet.DPBestArm(range(len(means)), epsilon=epsilon, beta=0.05, noise=SimulatedNoise(1))
        paper = play(policy, means, np.random.default_rng(1)).pulls.sum()
        assert (found == 0).mean() >= 0.9
        assert pulls.sum(axis=1).mean() < paper / 3

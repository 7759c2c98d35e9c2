"""The batched index policies: their formulas against the theory, their choices step by step, and their regret."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import discreet
from discreet import ArgumentError, SimulatedNoise, theory
from discreet.core.divergences import kl, kl_upper, private_kl, private_kl_upper
from discreet.core.tails import paired_exponent, tail_exponent
from discreet.lab import Uniform, instance, play, simulate
from discreet.lab.kernels import batched
from discreet.lab.kernels import formulas as kernel_coins
from discreet.lab.kernels.randomness import fresh_state

MEANS = st.floats(0.0, 1.0, allow_subnormal=False)
INNER = st.floats(0.001, 0.999)
EPSILONS = st.floats(-3, 2).map(lambda size: 10**size)

# ---------------------------------------------------------------------- coins


@given(x=MEANS, y=MEANS)
def test_kl_is_the_theorys(x, y):
    assert kl(x, y) == pytest.approx(theory.divergence(x, y), rel=1e-9, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilon=EPSILONS)
def test_private_kl_is_the_theorys_for_larger_means(x, y, epsilon):
    expected = theory.private_divergence(x, y, epsilon) if y > x else 0.0
    assert private_kl(x, y, epsilon) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(x=MEANS, budget=st.floats(-9, 2).map(lambda size: 10**size))
def test_kl_upper_is_the_largest_mean_within_the_budget(x, budget):
    y = kl_upper(x, budget)
    assert x <= y <= 1
    assert y == 1 or kl(x, y) == pytest.approx(budget, rel=1e-6 if y < 1 - 1e-9 else 1e-3)
    assert y < 1 or kl(x, 1 - 1e-12) <= budget
    assert kl_upper(x, 0.0) == x


@given(x=MEANS, budget=st.floats(-6, 2).map(lambda size: 10**size), epsilon=EPSILONS)
def test_private_kl_upper_is_the_largest_mean_within_the_budget(x, budget, epsilon):
    y = private_kl_upper(x, budget, epsilon)
    assert x <= y <= 1
    assert y == 1 or private_kl(x, y, epsilon) == pytest.approx(budget, rel=1e-5, abs=1e-9)
    assert y < 1 or private_kl(x, 1.0, epsilon) <= budget * (1 + 1e-6) or kl(x, 1 - 1e-12) <= budget


@given(share=st.floats(-0.5, 1.0), count=st.integers(1, 10**7), noises=st.integers(1, 30), mean=INNER, epsilon=EPSILONS)
def test_the_tail_exponent_is_the_best_that_chernoff_gives(share, count, noises, mean, epsilon):
    total = count * mean * (1 - share) if share > 0 else count * mean * (1 + share) - 3 / epsilon

    def minus(s):
        noise = noises * math.log1p(-((s / epsilon) ** 2))
        return s * total + count * math.log1p(mean * math.expm1(-s)) - noise

    limits, fine = (0, epsilon * (1 - 1e-12)), {"xatol": 1e-6 * epsilon}  # the default step is too long for small ones
    best = -optimize.minimize_scalar(minus, bounds=limits, method="bounded", options=fine).fun
    found = tail_exponent(total, count, noises, mean, epsilon)
    assert found == pytest.approx(max(best, 0.0), rel=1e-3, abs=1e-5)
    if total >= 0:
        assert tail_exponent(total, count, 0, mean, epsilon) >= found * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 40.0, 2000.0, 1e6])
@pytest.mark.parametrize("mean", [1.0, 1 - 1e-12, 1e-12])
def test_the_tail_exponent_at_the_ends(mean, epsilon):
    for total, count, noises in ((10, 20, 1), (-3, 1, 5), (19.999, 20, 40), (0, 10**12, 3)):
        for found in (tail_exponent, kernel_coins.tail_exponent):
            value = found(float(total), float(count), noises, mean, epsilon)
            assert value >= 0
            if mean == 1 and count < 100:  # the best of s missing + noises ln(1 - s^2/epsilon^2), in closed form
                missing = count - total
                s = min((math.hypot(noises, missing * epsilon) - noises) / missing, epsilon * (1 - 1e-9))
                best = s * missing + noises * math.log1p(-((s / epsilon) ** 2))
                assert value == pytest.approx(best, rel=1e-3, abs=1e-4)


def test_a_sure_arm_and_a_large_epsilon_are_played_to_the_end():
    for epsilon in (40.0, 2000.0):
        policy = discreet.DPChernoffIMED(["A", "B"], epsilon=epsilon, horizon=20_000, noise=SimulatedNoise(1))
        play(policy, [1.0, 0.5], np.random.default_rng(1))
        assert policy.best_arm == "A"
        assert policy.pulls["A"] > 19_000


def exact_tail(total, count, noises, mean, epsilon):
    """Pr[Binomial + noises <= total], for Laplace noises: their sum by a fine grid's convolution."""
    step, reach = 0.02 / epsilon, 60 / epsilon
    grid = np.arange(-reach, reach + step, step)
    density = np.exp(-np.abs(grid) * epsilon)
    density /= density.sum()
    one, summed = density, density
    for _ in range(noises - 1):
        summed = np.convolve(summed, one, mode="same")
    below = np.cumsum(summed)
    ones = np.arange(count + 1)
    place = np.searchsorted(grid, total - ones, side="right") - 1
    chances = np.where(place < 0, 0.0, below[np.clip(place, 0, grid.size - 1)])
    return float(stats.binom.pmf(ones, count, mean) @ chances)


@pytest.mark.parametrize("noises", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_tail_exponent_bounds_the_tail_and_one_noise_does_not(noises, epsilon):
    count, mean, broken = 60, 0.6, 0
    for total in np.linspace(-15 / epsilon, 30, 30):
        chance = exact_tail(total, count, noises, mean, epsilon)
        assert chance <= math.exp(-tail_exponent(total, count, noises, mean, epsilon)) * 1.01
        estimate = min(1.0, max(0.0, total / count))
        broken += chance > 1.01 * math.exp(-count * private_kl(estimate, mean, epsilon))
    assert (broken > 0) == (noises > 1)  # what DP-IMED leaves out


# ---------------------------------------------------------------------- choices


def imed(totals, counts, noises, epsilon, time):
    means = np.clip(totals / counts, 0, 1)
    return np.argmin(counts * theory.private_divergence(means, means.max(), epsilon) + np.log(counts))


def klucb(totals, counts, noises, epsilon, time):
    grid = np.linspace(0, 1, 200_001)
    means = np.clip(totals / counts, 0, 1)
    upper = [
        grid[(grid >= mean) & (count * theory.private_divergence(mean, grid, epsilon) <= math.log(time))].max(
            initial=mean
        )
        for mean, count in zip(means, counts, strict=True)
    ]
    return min(range(3), key=lambda arm: (-upper[arm], counts[arm]))


def chernoff(totals, counts, noises, epsilon, time):
    best = np.clip(totals / counts, 0, 1).max()
    exponents = [
        max(
            -s * total - count * np.log(1 - best + best * np.exp(-s)) + noise * np.log(1 - (s / epsilon) ** 2)
            for s in np.linspace(0, epsilon, 20_001)[:-1]
        )
        for total, count, noise in zip(totals, counts, noises, strict=True)
    ]
    return np.argmin(np.maximum(exponents, 0) + np.log(counts))


def adap(totals, counts, noises, epsilon, time):
    rate = 3.1 * math.log(time) / counts
    return np.argmax(totals / counts + np.sqrt(rate / 2) + rate / epsilon)


@pytest.mark.parametrize(
    ("name", "choose", "forgets"),
    [
        ("dp-imed", imed, False),
        ("dp-klucb", klucb, False),
        ("dp-chernoff-imed", chernoff, False),
        ("adap-ucb", adap, True),
    ],
)
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_choices_and_batches_are_those_of_a_program_written_from_the_formulas(name, choose, forgets, epsilon):
    means, generator = np.array([0.3, 0.5, 0.45]), np.random.default_rng(5)
    policy = discreet.make_policy(name, range(3), epsilon=epsilon, noise=SimulatedNoise(6))
    first = policy.first_batch
    assert policy.plan().pulls == dict.fromkeys(range(3), first)
    pulls, totals, counts, noises = np.zeros(3, int), np.zeros(3), np.zeros(3), np.zeros(3)
    for epoch in range(12 if name == "dp-chernoff-imed" else 25):
        plan = policy.plan().pulls
        if epoch:
            (arm,) = plan
            assert arm == choose(totals, counts, noises, epsilon, pulls.sum() + 1)
            assert plan[arm] == max(1, math.ceil((policy.ratio - 1) * pulls[arm]))
        released = policy.close(
            {arm: int(generator.binomial(n, means[arm])) * policy.grid.width for arm, n in plan.items()}
        )
        for entry in released:
            (arm,) = entry.arms
            if forgets:
                totals[arm] = counts[arm] = noises[arm] = 0
            pulls[arm] += plan[arm]
            totals[arm] += entry.units / policy.grid.width
            counts[arm] += plan[arm]
            noises[arm] += 1
            assert entry.spans == ((arm, pulls[arm] - plan[arm] + 1, pulls[arm]),)
    assert max(pulls) > 4 * first


def test_adap_forgets_all_but_the_last_episode_which_doubles_the_pulls():
    policy = discreet.AdaPKLUCB(["A", "B"], epsilon=1e6, noise=SimulatedNoise(1))
    policy.close(dict.fromkeys("AB", policy.grid.width if policy.plan() else 0))
    for _ in range(6):
        ((arm, count),) = policy.plan().pulls.items()
        assert count == policy.pulls[arm]
        policy.close({arm: count * policy.grid.width // 4})
        assert policy.estimate("AB".index(arm)) == pytest.approx(0.25, abs=1e-4)


def test_the_first_batch_of_the_recommended_policy_is_what_any_policy_needs():
    for horizon, epsilon in ((10**6, 0.1), (5 * 10**7, 1.0)):
        first = discreet.DPChernoffIMED(range(5), epsilon=epsilon, horizon=horizon).first_batch
        assert first == math.ceil(2 * math.log(horizon) / epsilon)
        # The lower bound on the pulls of an arm with a gap of 1/2.
        for best in (0.5, 0.75, 1.0):
            assert first <= math.log(horizon) / theory.private_divergence(best - 0.5, best, epsilon) + 1
    assert discreet.DPChernoffIMED(range(5), epsilon=0.01, horizon=1000).first_batch == 40  # a fifth of the horizon
    assert discreet.DPChernoffIMED(range(5), epsilon=1.0).first_batch == 28
    assert discreet.DPChernoffIMED(range(5), epsilon=1.0, first_batch=7).first_batch == 7


@pytest.mark.parametrize("name", ["dp-imed", "dp-klucb", "dp-chernoff-imed", "dp-paired-imed"])
def test_batches_must_grow(name):
    with pytest.raises(ArgumentError, match=r"ratio must be above 1, since batches must grow, got 1.0"):
        discreet.make_policy(name, ["A", "B"], epsilon=1.0, ratio=1.0)
    with pytest.raises(ArgumentError, match="first_batch"):
        discreet.make_policy(name, ["A", "B"], epsilon=1.0, first_batch=0)


# ---------------------------------------------------------------------- regret

TABLE = {  # mean regret at T = 5e7 on C2 for epsilon = 0.1, 0.25, 0.5 and 1, computed elsewhere from 30 runs
    "dp-klucb": (1050, 460, 267, 200),
    "dp-imed": (695, 330, None, 146),
    "adap-klucb": (8110, 4230, 3110, 2120),
    "adap-ucb": (9490, 4860, 3310, 2360),
}


@pytest.mark.parametrize("name", TABLE)
def test_regret_agrees_with_what_is_known(name):
    for epsilon, expected in zip((0.1, 0.25, 0.5, 1.0), TABLE[name], strict=True):
        if expected is not None:
            found = simulate(name, "C2", runs=30, epsilon=epsilon)
            low, high = found.statistics()["low"], found.statistics()["high"]
            assert low - 0.06 * expected <= expected <= high + 0.06 * expected


# ---------------------------------------------------------------------- kernels

NAMES = ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "dp-chernoff-imed")


@given(x=MEANS, y=MEANS, epsilon=EPSILONS, budget=st.floats(1e-6, 10))
def test_compiled_formulas_are_the_same_formulas(x, y, epsilon, budget):
    for compiled, plain, arguments in (
        (kernel_coins.private_kl, private_kl, (x, y, epsilon)),
        (kernel_coins.kl_upper, kl_upper, (x, budget)),
        (kernel_coins.private_kl_upper, private_kl_upper, (x, budget, epsilon)),
        (kernel_coins.tail_exponent, tail_exponent, (100 * x - 1 / epsilon, 100.0, 3, y, epsilon)),
        (kernel_coins.paired_exponent, paired_exponent, (100 * x - y / epsilon, 100.0, 4, epsilon)),
    ):
        assert compiled(*arguments) == pytest.approx(plain(*arguments), rel=1e-9, abs=1e-12)


def pulls_by_object(name, on, horizon, runs, **options):
    found = []
    for run in range(runs):
        policy = discreet.make_policy(name, range(len(on)), horizon=horizon, noise=SimulatedNoise([run, 1]), **options)
        found.append(play(policy, on, np.random.default_rng([run, 2])).pulls)
    return np.array(found)


def pulls_by_kernel(name, on, horizon, runs, **options):
    policy = discreet.make_policy(name, range(len(on)), horizon=horizon, noise=SimulatedNoise(0), **options)
    rule, marks = batched.rule_of(policy), np.array([horizon])
    return np.array([batched.play(rule, on.means, horizon, fresh_state([run, 3]), marks)[-1] for run in range(runs)])


def p_value(first, second):
    return min(stats.ks_2samp(first[:, arm], second[:, arm], method="asymp").pvalue for arm in range(first.shape[1]))


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_have_the_law_of_the_objects(name, epsilon):
    on, horizon, runs = instance([0.6, 0.5, 0.2]), 3000, 400
    objects = pulls_by_object(name, on, horizon, runs, epsilon=epsilon)
    assert p_value(objects, pulls_by_kernel(name, on, horizon, runs, epsilon=epsilon)) > 1e-4
    # An error in the noise is seen where there is much of it, and one in the rewards where there is little.
    wrong = {"on": on, "epsilon": 0.15} if epsilon == 0.3 else {"on": instance([0.6, 0.57, 0.2]), "epsilon": epsilon}
    assert p_value(objects, pulls_by_kernel(name, horizon=horizon, runs=runs, **wrong)) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_kernels_count_at_every_checkpoint(name):
    on, horizon = instance([0.6, 0.5, 0.2]), 997
    policy = discreet.make_policy(name, range(3), epsilon=1.0, horizon=horizon, noise=SimulatedNoise(0))
    every = batched.play(batched.rule_of(policy), on.means, horizon, fresh_state(5), np.arange(1, horizon + 1))
    assert (every.sum(axis=1) == np.arange(1, horizon + 1)).all()
    assert (np.diff(every, axis=0) >= 0).all()
    some = np.array([1, 5, 100, 500, 997])
    few = batched.play(batched.rule_of(policy), on.means, horizon, fresh_state(5), some)
    assert (few == every[some - 1]).all()


def test_a_horizon_within_the_first_batches_is_played_in_turn():
    on = instance([0.6, 0.5, 0.2])
    policy = discreet.make_policy("dp-imed", range(3), epsilon=1.0, horizon=20, first_batch=10, noise=SimulatedNoise(0))
    counts = batched.play(batched.rule_of(policy), on.means, 20, fresh_state(5), np.array([4, 20]))
    assert counts.tolist() == [[2, 1, 1], [7, 7, 6]]
    assert list(play(policy, on, np.random.default_rng(1)).pulls) == [7, 7, 6]


REGRESSION = {  # by kernel (Bernoulli arms) and by object (others)
    "adap-ucb": (4979.2, 737.28),
    "adap-klucb": (4160.0, 737.28),
    "dp-klucb": (512.8, 112.64),
    "dp-imed": (300.0, 61.44),
    "dp-chernoff-imed": (332.44375, 42.64),
}


@pytest.mark.parametrize("name", REGRESSION)
def test_regret_at_a_fixed_seed_does_not_change(name):
    by_kernel = simulate(name, "C4", runs=5, seed=11, epsilon=0.5)
    by_object = simulate(name, [0.5, Uniform(0.2, 0.9)], horizon=100_000, runs=5, seed=11, epsilon=0.5)
    assert (by_kernel.method, by_object.method) == ("kernel", "object")
    assert (by_kernel.mean, by_object.mean) == pytest.approx(REGRESSION[name], abs=1e-6)


def test_many_arms_make_the_recommended_policy_cautious_and_few_do_not():
    assert [discreet.DPChernoffIMED(range(arms), epsilon=1.0).caution for arms in (2, 5)] == [0.0, 0.0]
    policy = discreet.DPChernoffIMED(range(20), epsilon=1.0, horizon=10**6, noise=SimulatedNoise(1))
    assert policy.caution == pytest.approx(math.log(4))
    plan = policy.plan().pulls
    policy.close({arm: arm * count * policy.grid.width // 20 for arm, count in plan.items()})
    for arm in range(20):
        exponent = tail_exponent(policy._totals[arm] / policy.grid.width, policy.first_batch, 1, 0.95, 1.0)
        assert policy.exponent(arm, 0.95) == pytest.approx(max(0.0, exponent - math.log(4)))
    for bad in (-0.1, "much"):
        with pytest.raises(ArgumentError, match="caution"):
            discreet.DPChernoffIMED(range(3), epsilon=1.0, caution=bad)


@pytest.mark.parametrize("caution", [0.0, 2.0])
def test_the_kernel_knows_the_caution(caution):
    setting = {"instance": "C4", "arms": 12, "horizon": 10**5, "epsilon": 0.5, "caution": caution}
    on = instance("C4", 12)
    by_kernel = simulate("dp-chernoff-imed", runs=300, seed=3, **setting)
    found = [
        play(
            discreet.DPChernoffIMED(range(12), epsilon=0.5, horizon=10**5, caution=caution, noise=SimulatedNoise(run)),
            on,
            np.random.default_rng([run, 1]),
        ).pulls
        @ on.gaps
        for run in range(300)
    ]
    assert by_kernel.method == "kernel"
    assert stats.ks_2samp(by_kernel.final, found).pvalue > 1e-4
    other = simulate("dp-chernoff-imed", runs=300, seed=3, **{**setting, "caution": 2.0 - caution})
    assert stats.ks_2samp(other.final, found).pvalue < 1e-6


@pytest.mark.parametrize(("name", "epsilon"), [("C1", 0.1), ("C2", 0.5), ("C3", 0.25), ("C4", 1.0)])
def test_the_recommended_policy_is_near_the_lower_bound_and_never_far(name, epsilon):
    found = simulate("dp-chernoff-imed", name, runs=60, epsilon=epsilon)
    bound = theory.regret_lower_bound(instance(name).means, 5e7, epsilon)
    assert found.mean <= 1.5 * bound
    assert found.final.max() <= 5 * bound
    assert not found.failed.any()


def test_knowing_the_noises_is_what_keeps_it_from_getting_stuck():
    careless = simulate("dp-imed", "C1", runs=60, epsilon=0.1, first_batch=1, ratio=1.2)
    careful = simulate("dp-chernoff-imed", "C1", runs=60, epsilon=0.1, first_batch=1, ratio=1.2)
    bound = theory.regret_lower_bound(instance("C1").means, 5e7, 0.1)
    assert careless.final.max() > 100 * bound
    assert careful.final.max() < 10 * bound


# ---------------------------------------------------------------------- pairs


@given(deficit=st.floats(0.0, 1.0), pairs=st.integers(1, 10**7), noises=st.integers(1, 40), epsilon=EPSILONS)
def test_the_paired_exponent_is_the_best_that_chernoff_gives(deficit, pairs, noises, epsilon):
    deficit *= pairs
    s = epsilon * np.concatenate([np.geomspace(1e-9, 0.5, 4000), 1 - np.geomspace(1e-9, 0.5, 4000)])
    values = s * deficit - pairs * s * s / 2 + noises * np.log1p(-((s / epsilon) ** 2))
    assert paired_exponent(deficit, pairs, noises, epsilon) == pytest.approx(max(0.0, values.max()), rel=1e-2, abs=1e-4)


@pytest.mark.parametrize("means", [(0.5, 0.5), (0.2, 0.2), (0.9, 0.8)])
def test_the_paired_exponent_bounds_the_tail_of_arms_that_are_as_good(means):
    pairs, noises, epsilon, runs = 40, 4, 0.5, 200_000
    generator = np.random.default_rng(1)
    arm, other = (generator.binomial(pairs, mean, runs) for mean in means)
    deficits = other - arm + generator.laplace(0, 1 / epsilon, (noises, runs)).sum(axis=0)
    for deficit in (5, 10, 15, 20, 25):
        allowed = math.exp(-paired_exponent(deficit, pairs, noises, epsilon))
        assert (deficits >= deficit).mean() <= allowed + 4 * math.sqrt(allowed / runs)


def drifting(policy, means, jump, moment):
    """Play against rewards whose means all jump at some moment; gives the share of pulls of the best arm."""
    generator = np.random.default_rng([policy.first_batch, int(1000 * jump)])
    while (plan := policy.plan()) is not None:
        shift = jump * (policy.time + np.arange(plan.size) >= moment)
        totals, turn = {}, len(plan.pulls)
        for place, (arm, count) in enumerate(plan.pulls.items()):
            mine = shift[place::turn][:count]
            totals[arm] = int((generator.random(count) < means[arm] + mine).sum()) * policy.grid.width
        policy.close(totals if plan.learns else None)
    return policy.pulls[0] / policy.time


def test_pairs_find_the_best_arm_where_single_batches_mistake_the_time_for_the_arm():
    found = {"dp-paired-imed": [], "dp-chernoff-imed": []}
    for name, shares in found.items():
        for run in range(20):
            policy = discreet.make_policy(name, range(3), noise=SimulatedNoise(run), epsilon=0.5, horizon=300_000)
            shares.append(drifting(policy, (0.2, 0.14, 0.1), jump=0.5 + 0.001 * run, moment=400))
    assert min(found["dp-paired-imed"]) > 0.5
    assert np.mean(np.array(found["dp-chernoff-imed"]) < 0.5) >= 0.2


def test_pairs_learn_only_from_epochs_that_two_arms_share():
    policy = discreet.DPPairedIMED(range(3), epsilon=1.0, horizon=50_000, noise=SimulatedNoise(3))
    generator, covered = np.random.default_rng(4), dict.fromkeys(range(3), 0)
    while (plan := policy.plan()) is not None:
        if plan.learns:
            assert len(set(plan.pulls.values())) == 1
            assert policy.best_arm is None or policy.best_arm in plan.pulls
        released = policy.close(
            {arm: int(generator.binomial(n, 0.5 + 0.1 * arm)) * policy.grid.width for arm, n in plan.pulls.items()}
            if plan.learns
            else None
        )
        assert len(released) == (len(plan.pulls) if plan.learns else 0)
        for entry in released:
            ((arm, first, last),) = entry.spans
            assert last - first + 1 == plan.pulls[arm]
            assert last == policy.pulls[arm]
            covered[arm] += plan.pulls[arm]
    assert policy.best_arm == 2
    assert covered[2] < policy.pulls[2]  # most of the leader's rewards were never collected


def test_pairs_cost_some_regret_and_much_less_than_elimination():
    found = simulate("dp-paired-imed", "C2", runs=30, epsilon=0.5)
    bound = theory.regret_lower_bound(instance("C2").means, 5e7, 0.5)
    assert found.final.max() < 10 * bound
    assert found.mean < simulate("dp-se", "C2", runs=5, epsilon=0.5).mean / 3

"""Inverse sampling: its bounds against an exact computation of another kind, its promise for all means, its coins."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from discreet import ArgumentError, DPInverseSampling, InverseSampling, SimulatedNoise, Stream, Sum, Totals
from discreet.core.coins import CoinGrid, toss
from discreet.core.grid import CHUNK
from discreet.stopping._inverse.first_passage import FirstPassage
from discreet.stopping._inverse.schedule import Schedule

GIVEN = {"alpha": 0.3, "beta": 0.1, "epsilon": 1.0, "low": 0, "high": 1}


def folded(epsilon, reach):
    """The law of |X|, X a discrete Laplace variable of scale 1/epsilon: its weights from 0 on."""
    if math.isinf(epsilon):
        return np.array([1.0])
    q = math.exp(-epsilon)
    weights = 2 * (1 - q) / (1 + q) * q ** np.arange(reach + 1)
    weights[0] /= 2
    return weights


def halting(tests, mean, epsilon):
    """The exact chance of halting at each test, forwards: sums of binomial increments, for one mean."""
    noise = folded(epsilon, math.ceil(40 / epsilon))
    kept = np.concatenate([np.cumsum(noise), [1.0]])  # Pr[A <= x], up to where it is 1
    chances = []
    state = np.ones((1, noise.size)) * noise  # by sum and B
    before = 0
    for count, level in tests:
        steps = stats.binom.pmf(np.arange(count - before + 1), count - before, mean)
        state = np.array([np.convolve(column, steps) for column in state.T]).T
        margin = level + np.arange(noise.size)[None, :] - np.arange(count + 1)[:, None] - 1
        stays = np.where(margin < 0, 0.0, kept[np.clip(margin, 0, kept.size - 1)])
        chances.append(float((state * (1 - stays)).sum()))
        state = state * stays
        before = count
    return np.array(chances)


def failure(tests, alpha, mean, epsilon):
    """The exact chance of halting with an estimate that is wrong, or (as if it were) of not halting."""
    chances = halting([(test.count, test.level) for test in tests], mean, epsilon)
    estimates = np.array([test.estimate for test in tests])
    wrong = np.abs(estimates - mean) > alpha * mean * (1 + 1e-12)
    return float(chances[wrong].sum()), 1 - float(chances.sum())


TESTS = ((20, 16), (22, 17), (25, 17), (31, 19), (40, 19))


@pytest.mark.parametrize("epsilon", [math.inf, 5.0, 1.0, 0.3, 0.05])
@pytest.mark.parametrize("mean", [0.3, 0.5, 0.7, 0.9])
def test_the_bounds_are_bounds_and_exact_where_nothing_is_rounded(epsilon, mean):
    passage = FirstPassage(epsilon, 1e-12)
    found = np.cumsum(halting(TESTS, mean, epsilon))
    for (count, level), chance in zip(TESTS, found, strict=True):
        passage.advance(count, 0.2, 0.95)
        passage.test(level)
        early, late = passage.early(mean), passage.late(mean)
        assert early >= chance - 1e-9
        assert late >= 1 - chance - 1e-9
        slack = 1e-9 if epsilon >= 1.5 or math.isinf(epsilon) else 0.1
        assert early <= chance + slack
        assert late <= 1 - chance + slack


@pytest.mark.parametrize("mean", [0.3, 0.5, 0.7])
def test_sums_that_are_rounded_leave_bounds(mean, monkeypatch):
    monkeypatch.setattr("discreet.stopping._inverse.first_passage.MOST_SUMS", 12)
    passage = FirstPassage(2.0, 1e-12)
    found = np.cumsum(halting(TESTS, mean, 2.0))
    for (count, level), chance in zip(TESTS, found, strict=True):
        passage.advance(count, 0.2, 0.95)
        passage.test(level)
        assert passage.early(mean) >= chance - 1e-9
        assert passage.late(mean) >= 1 - chance - 1e-9
    assert passage.spacing > 1


@pytest.mark.parametrize(("epsilon", "most"), [(math.inf, 3000), (2.0, 3000), (0.05, 3000), (0.3, 60)])
def test_sums_that_are_not_followed_leave_bounds_that_are_hardly_larger(epsilon, most, monkeypatch):
    """Of two recursions over 150 tests, one follows all sums that are likely."""
    rest, tests = 1e-5, [Schedule(0.2, 0.05, epsilon).tests[number] for number in range(150)]
    few, all_of_them = FirstPassage(epsilon, rest), FirstPassage(epsilon, rest)
    monkeypatch.setattr(all_of_them, "_leave_out", lambda: None)
    few.most_sums = all_of_them.most_sums = most
    followed = []
    for test in tests:
        mean = min(1.0, test.level / test.count)
        for passage in (few, all_of_them):
            passage.advance(test.count, 0.7 * mean, min(1.0, 1.3 * mean), test.level - 25 / epsilon)
            passage.test(int(test.level))
        followed.append([len(passage._halted) for passage in (few, all_of_them)])
        if few.spacing == all_of_them.spacing:
            for near in (0.85 * mean, 0.97 * mean, min(1.0, 1.1 * mean)):
                assert -1e-12 <= few.early(near) - all_of_them.early(near) <= 2 * rest
                assert -1e-12 <= few.late(near) - all_of_them.late(near) <= 2 * rest
    assert sum(one for one, _ in followed) < sum(other for _, other in followed)


@pytest.mark.parametrize("epsilon", [math.inf, 2.0, 0.4])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (0.3, 0.05), (0.4, 0.4)])
def test_the_promise_is_kept_at_the_worst_means(alpha, beta, epsilon):
    """The chance of a wrong answer is largest just where an estimate begins to be wrong: it is computed there."""
    schedule = Schedule(alpha, beta, epsilon)
    tests = []
    while len(tests) < 200 and (not tests or tests[-1].count < 500):
        tests.append(schedule.tests[len(tests)])
    worst = 0.0
    for test in tests[:: max(1, len(tests) // 5)]:
        for edge in (test.estimate / (1 + alpha) * (1 - 1e-9), test.estimate / (1 - alpha) * (1 + 1e-9)):
            if edge <= 1:
                worst = max(worst, failure(tests, alpha, edge, epsilon)[0])
    assert beta / 3 < worst <= beta


@pytest.mark.parametrize(("alpha", "epsilon", "tests"), [(0.1, 1.0, 1100), (0.1, 0.03, 400), (0.5, 1.0, 140)])
def test_the_steps_that_are_cut_off_have_hardly_any_chance(alpha, epsilon, tests, monkeypatch):
    lost, honest = [], FirstPassage._steps

    def steps(passage, least, most, count):
        start, stop = honest(passage, least, most, count)
        ones = stats.hypergeom(count, np.array([least, most]), count - passage.count)
        lost.append(max(ones.cdf(start - 1) + ones.sf(stop)))
        return start, stop

    monkeypatch.setattr(FirstPassage, "_steps", steps)
    assert Schedule(alpha, 0.05, epsilon).tests[tests] is not None
    assert len(lost) >= tests
    assert 0 < sum(lost) < 1e-6 * 0.05


@pytest.mark.parametrize(("alpha", "epsilon", "tests"), [(0.2, 1.0, 300), (0.2, math.inf, 300), (0.3, 0.02, 90)])
@pytest.mark.parametrize("weights", ["one by one", "too far apart for a convolution"])
def test_a_convolution_finds_what_the_weights_of_each_sum_do(alpha, epsilon, tests, weights, monkeypatch):
    found = [Schedule(alpha, 0.05, epsilon).tests[number] for number in range(tests)]
    if weights == "one by one":
        monkeypatch.setattr(FirstPassage, "_follow", lambda *_: False)
    else:
        monkeypatch.setattr("discreet.stopping._inverse.first_passage._LOW", 560.0)
    schedule = Schedule(alpha, 0.05, epsilon)
    for number, test in enumerate(found):
        other = schedule.tests[number]
        assert (other.count, other.level) == (test.count, test.level)
        assert other.estimate == pytest.approx(test.estimate, rel=1e-9)


@pytest.mark.parametrize(("beta", "tests", "most"), [(0.05, 2450, 1.107), (0.01, 2500, 1.107)])
def test_fewer_tests_at_a_small_alpha_need_no_more_samples(beta, tests, most):
    """`most` is what was needed when bounds on an estimate were kept 5 % of alpha apart.

    There were 3,396 and 3,547 tests then. Samples are those at the highest level times `most`.
    """
    schedule, taken = Schedule(0.05, beta, 1.0), []
    for mean in np.linspace(0.02, 0.022, 12):
        number = next(n for n in range(tests) if mean * schedule.tests[n].count >= schedule.tests[n].level)
        taken.append(schedule.tests[number].count * mean / (1 - mean))
    assert schedule.tests[tests].count > 1e3 * schedule.highest
    assert np.mean(taken) < most * schedule.highest


def test_a_lower_level_would_break_the_promise():
    """A planted error: levels three percent and a step lower."""
    schedule = Schedule(0.3, 0.05, 2.0)
    tests = [schedule.tests[number] for number in range(60)]
    lower = [type(test)(test.count, math.floor(0.94 * test.level) - 1, test.estimate) for test in tests]
    means = [test.estimate / 1.3 * (1 - 1e-9) for test in tests[::10]]
    assert max(failure(lower, 0.3, mean, 2.0)[0] for mean in means) > 0.05
    assert max(failure(tests, 0.3, mean, 2.0)[0] for mean in means) <= 0.05


@pytest.mark.parametrize("epsilon", [math.inf, 1.0, 0.1])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.05), (0.5, 0.3), (0.2, 0.01)])
def test_estimates_fall_and_levels_can_be_reached(alpha, beta, epsilon):
    schedule = Schedule(alpha, beta, epsilon)
    tests = [schedule.tests[number] for number in range(150)]
    assert all(one.estimate >= other.estimate for one, other in pairwise(tests))
    assert all(one.count < other.count for one, other in pairwise(tests))
    assert all(test.level <= test.count for test in tests)
    assert tests[0].estimate == 1 - alpha


def test_levels_stay_where_they_are_for_rare_rewards_and_much_noise(monkeypatch):
    """Also a planted error: sums where noise alone may halt a test are not followed one by one."""

    def levels():
        tests = Schedule(0.3, 0.05, 0.005).tests
        return [tests[place].level for place in (60, 120)]

    early, late = levels()
    assert 0.98 < late / early < 1.02
    monkeypatch.setattr("discreet.stopping._inverse.schedule._HOPELESS", -math.inf)
    assert levels()[0] > 1.08 * early


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.02, 1.0), (0.02, 2.0), (0.03, 3.0)])
def test_no_first_test_comes_so_early_that_levels_rise_for_long(alpha, epsilon, monkeypatch):
    """Large means take what the normal approximation says. Also a planted error: nothing is put off."""

    def taken(mean):
        schedule = Schedule(alpha, 0.05, epsilon, 2**20)
        test = next(test for test in schedule._tests() if test.level <= mean * test.count)
        return mean * test.count / schedule._shape(test.count)

    assert max(map(taken, (0.95, 0.9, 0.8))) < 1.03
    if alpha == 0.02 and epsilon == 1:
        monkeypatch.setattr(Schedule, "_falls", lambda *_: True)
        assert taken(0.9) > 1.1


def test_the_least_level_is_the_least():
    passage = FirstPassage(1.0, 1e-9)
    passage.advance(200, 0.3, 0.9)
    for guess in (10, 100, 190):
        level = passage.least_level(0.5, 0.05, guess)
        assert passage.largest_mean(level, 0.05, 0.5) >= 0.5 * (1 - 1e-3)
        assert passage.largest_mean(level - 1, 0.05, 0.5) < 0.5


# ---------------------------------------------------------------------- the rule


def test_it_takes_little_more_than_somebody_who_knows_the_mean():
    """A mean of 10 % within 10 %: 3,457 samples for somebody who knows it."""
    rng, found = np.random.default_rng(5), []
    rule = DPInverseSampling(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
    for seed in range(20):
        found.append(rule.run(rng.random(12_000) < 0.1, SimulatedNoise(seed)).samples)
    assert np.mean(found) < 1.25 * 3457
    assert rule.forecast(0.1) == pytest.approx(np.mean(found), rel=0.1)


def test_nothing_but_the_tests_is_released():
    stream = Stream(DPInverseSampling(**GIVEN), SimulatedNoise(1))
    assert stream.feed(np.ones(400))
    (release,) = stream.ledger
    assert (release.kind, release.steps, release.epsilon, release.scale) == ("tests", None, 1.0, 1.0)
    assert stream.result.estimate == stream.algorithm.test(release.tests - 1).estimate


def test_rewards_of_another_range_are_coins_of_it():
    one = Stream(DPInverseSampling(**GIVEN), SimulatedNoise(1)).run(np.ones(400))
    other = Stream(DPInverseSampling(**{**GIVEN, "high": 7.0}), SimulatedNoise(1)).run(np.full(400, 7.0))
    assert other.samples == one.samples
    assert other.estimate == pytest.approx(7 * one.estimate)


def test_any_reward_is_rounded_at_random_and_keeps_its_mean():
    grid = CoinGrid(0.0, 2.0)
    coins = grid.encode_checked(np.full(200_000, 0.6), SimulatedNoise(3))
    assert set(np.unique(coins)) == {0.0, 1.0}
    assert abs(coins.sum() - 60_000) < 5 * math.sqrt(200_000 * 0.3 * 0.7)
    private = grid.encode_checked(np.full(200_000, 0.6))
    assert abs(private.sum() - 60_000) < 5 * math.sqrt(200_000 * 0.3 * 0.7)
    rule = InverseSampling(alpha=0.2, beta=0.05, low=0, high=2)
    assert rule.run(np.full(10_000, 0.6), SimulatedNoise(4)).estimate == pytest.approx(0.6, rel=0.4)


@pytest.mark.parametrize("place", [0, CHUNK - 1, CHUNK, 2 * CHUNK + 5])
def test_one_value_between_0_and_the_largest_among_many_coins_is_rounded_at_random(place):
    values = np.arange(2 * CHUNK + 6) % 3 == 0
    rewards = values.astype(np.float64) * 2
    coins = toss(rewards, 2.0, Numbered(np.zeros(0)))
    assert coins.dtype == np.bool_
    assert (coins == values).all()
    rewards[place] = 0.5
    for number, coin in ((0.2, 1), (0.3, 0)):
        coins = toss(rewards, 2.0, Numbered(np.array([number])))
        assert coins[place] == coin
        assert (np.delete(coins, place) == np.delete(values, place)).all()


def test_coins_between_tests_are_counted_as_other_rewards_are_added_up():
    plan = DPInverseSampling(**GIVEN).plan()
    coins = np.random.default_rng(4).random(plan.size) < 0.4
    for before in (0, plan.query.counts[0] - 1):
        totals = plan.between_tests(coins[before:], before)
        assert totals.dtype == np.int64
        assert totals.tolist() == plan.between_tests(coins[before:].astype(np.int64), before).tolist()
    assert totals[0] == coins[before]


def test_tests_are_planned_one_after_the_other_and_none_beyond_the_cap():
    rule = DPInverseSampling(**GIVEN)
    counts = [rule.test(number).count for number in range(60)]
    assert rule.plan().query.counts == tuple(counts[:16])
    capped = DPInverseSampling(**GIVEN, max_samples=counts[6])
    assert capped.plan().query.counts == tuple(counts[:7])
    stream = Stream(capped, SimulatedNoise(1))
    stream.feed(np.zeros(counts[6]))
    assert stream.finished
    assert not stream.algorithm.halted


class Numbered:
    """Random numbers that belong to the rewards: number i is the same whatever the rewards are."""

    simulated = True

    def __init__(self, numbers):
        self.numbers, self.place = numbers, 0

    def draws(self, scale, count):
        return np.zeros(count, np.int64)

    def uniforms(self, count):
        self.place += count
        return self.numbers[self.place - count : self.place]


def coins_of(rewards, numbers, encode):
    return np.array([encode(reward, Numbered(numbers[[place]])) for place, reward in enumerate(rewards)])


def test_one_changed_reward_changes_one_coin():
    rng, grid = np.random.default_rng(8), CoinGrid(0.0, 1.0)
    carried = 0.0

    def carry_on(reward, noise):
        """A planted error: what is lost by rounding is added to the next reward, so that one moves all others."""
        nonlocal carried
        carried += reward
        coin = float(carried >= 1 - noise.uniforms(1)[0])
        carried -= coin
        return coin

    spread = 0
    for _ in range(200):
        numbers, rewards = rng.random(30), rng.random(30)
        changed = rewards.copy()
        changed[rng.integers(30)] = rng.random()
        honest = [coins_of(one, numbers, lambda x, noise: grid.encode(x, noise=noise)) for one in (rewards, changed)]
        assert (honest[0] != honest[1]).sum() <= 1
        planted = []
        for one in (rewards, changed):
            carried = 0.0
            planted.append(coins_of(one, numbers, carry_on))
        spread += (planted[0] != planted[1]).sum() > 1
    assert spread > 20


def test_a_grid_of_coins_has_one_step_and_draws_nothing_for_its_ends():
    grid = CoinGrid(1.0, 3.0)
    assert (grid.step, grid.floor, grid.width, grid.encode(3.0, noise=None)) == (3.0, 0, 1, 1)
    source = Numbered(np.zeros(0))
    assert grid.encode_checked(np.array([3.0, 3.0]), source).tolist() == [1.0, 1.0]
    assert source.place == 0
    with pytest.raises(ArgumentError, match="noise must have `uniforms`"):
        grid.encode(2.0, noise=type("Bare", (), {"simulated": True, "draws": None})())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"low": -1},
            "low must be at least 0 for dp-inverse, got low=-1.0; use dp-bernstein for samples of either sign",
        ),
        ({"alpha": 0.01, "beta": 0.0005}, r"alpha or beta must be larger: dp-inverse would read some 121,157 ones"),
        ({"alpha": 0.005}, r"alpha must be at least 0.01 for dp-inverse, got 0.005; use dp-bernstein"),
        ({"epsilon": 1e-4}, r"epsilon must be larger, 0.00749 at least .* got 0.0001; use dp-bernstein"),
    ],
)
def test_what_it_cannot_do_is_refused_with_what_can(options, message):
    with pytest.raises(ArgumentError, match=message):
        DPInverseSampling(**{**GIVEN, **options})


def test_totals_by_hand_are_counts():
    driver = Totals(DPInverseSampling(**GIVEN), SimulatedNoise(1))
    while (plan := driver.plan()) is not None:
        driver.close({None: Sum(plan.size, rewards=plan.size)})
    assert driver.algorithm.halted

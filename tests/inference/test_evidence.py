"""Factors of evidence by exact expectations, and the searches against dense grids. docs/proofs/evidence.md says why."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binom

from discreet.core.probability.evidence import log_sum, noise_cost, reward_cost, spread_cost
from discreet.inference import _exact, _one_arm, _two_arms
from discreet.inference._one_arm import OneArm, interval
from discreet.inference._two_arms import TwoArms
from tests._tools.coverage import blocks, geometric, noise, weights_of

REACH = 200


def laplace(epsilon):
    """The law of discrete Laplace noise on whole rewards, on -REACH..REACH."""
    return math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(np.arange(-REACH, REACH + 1)))


def total_law(count, mean, epsilon):
    """The totals of a block on a grid of one step, and their chances."""
    chances = np.convolve(binom.pmf(np.arange(count + 1), count, mean), laplace(epsilon))
    return np.arange(-REACH, count + REACH + 1), chances


def whole(counts, totals, epsilon, **changes):
    """Blocks on a grid of one step."""
    given = blocks(counts, totals, epsilon)
    return replace(given, width=1, scales=1 / np.broadcast_to(np.asarray(epsilon, dtype=float), len(counts)), **changes)


def expected(count, mean, epsilon, x, **options):
    """The exact expectation of the evidence of one block against x."""
    totals, chances = total_law(count, mean, epsilon)
    values = [OneArm(whole([count], [total], epsilon), **options).log_evidence(np.array([x]))[0] for total in totals]
    return float(chances @ np.exp(values))


# ---------------------------------------------------------------------- the formulas


@pytest.mark.parametrize("width", [1, 3, 2**20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_cost_of_noise_is_its_log_moment(width, epsilon):
    ratio = math.exp(-epsilon / width)
    for share in (0.1, 0.5, 0.85):
        stake, step = share * epsilon, share * epsilon / width  # a difference of two geometric variables
        exact = -math.log((1 - ratio * math.exp(step)) * (1 - ratio * math.exp(-step)) / (1 - ratio) ** 2)
        assert noise_cost(stake, epsilon, width) == pytest.approx(exact, rel=1e-6)
        assert noise_cost(-stake, epsilon, width) == noise_cost(stake, epsilon, width)
    assert noise_cost(0.3, math.inf, width) == pytest.approx(0.0, abs=1e-200)


def test_the_cost_of_noise_is_infinite_from_epsilon_on():
    assert noise_cost(2.0, 1.0, 2**20) == math.inf
    assert log_sum(np.array([-math.inf, 0.0])) == 0
    assert log_sum(np.array([-math.inf, -math.inf])) == -math.inf


def test_a_sum_of_two_alike_rewards_costs_no_more_than_its_spread():
    """The lemma behind squares: two-point laws are the worst, and f cannot be s^2/2."""
    shares, gaps = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0.01, 1, 60))
    for s in (0.01, 0.2, 0.5, 0.9):

        def most(f, s=s):
            low, high = -shares * gaps, (1 - shares) * gaps
            both = (1 - shares) ** 2 * np.exp(2 * s * low) + shares**2 * np.exp(2 * s * high)
            return (both + 2 * shares * (1 - shares) * np.exp(s * (low + high) - f * gaps**2)).max()

        assert most(spread_cost(s)) <= 1 + 1e-12
        assert most(s * s / 2) > 1 + s**4 / 100


# ---------------------------------------------------------------------- expectations


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("drifting", [False, True])
def test_evidence_against_the_truth_is_one_on_average(epsilon, drifting, monkeypatch):
    for count, mean in ((40, 0.1), (10, 0.5)):
        assert expected(count, mean, epsilon, mean, drifting=drifting) == pytest.approx(1.0, abs=2e-3)
        assert expected(count, mean, epsilon, mean, drifting=drifting) <= 1 + 1e-9
        assert expected(count, mean - 0.05, epsilon, mean, drifting=drifting) < 1
        assert expected(count, mean + 0.2, epsilon, mean, drifting=drifting) > 1
    monkeypatch.setattr(_one_arm, "noise_cost", lambda *_: 0.0)
    assert expected(10, 0.5, epsilon, 0.5, drifting=drifting) > 1 + 1e-3


def test_stakes_that_are_chosen_by_the_block_itself_are_found_out(monkeypatch):
    """The best of all stakes, without paying for the choice, has an expectation above 1."""
    weights = weights_of(OneArm(whole([40], [0.0], 1.0)))
    monkeypatch.setattr(_one_arm, "log_sum", lambda logs: (logs - weights).max(axis=-1))
    assert expected(40, 0.1, 1.0, 0.1) > 1.5


@pytest.mark.parametrize("peeks", [False, True])
def test_sizes_may_follow_releases_and_never_the_rewards_themselves(peeks):
    """The second block is long or short by the first's release: fair. By its own rewards: only for `tested` blocks."""
    mean, epsilon, x = 0.3, 1.0, np.array([0.3])
    totals, chances = total_law(8, mean, epsilon)
    if not peeks:
        value = 0.0
        for total, chance in zip(totals[REACH - 20 : REACH + 30], chances[REACH - 20 : REACH + 30], strict=True):
            size = 64 if total > 3 else 2
            more, law = total_law(size, mean, epsilon)
            logs = [
                OneArm(whole([8, size], [total, each], epsilon)).log_evidence(x)[0]
                for each in more[REACH - 20 : REACH + size + 20]
            ]
            value += chance * float(law[REACH - 20 : REACH + size + 20] @ np.exp(logs))
        assert value <= 1 + 1e-9
        return
    found = {}
    for tested in (True, False):  # it ends after 4 rewards if these are many, else after 32
        value = 0.0
        for early in range(5):
            size, rest = (4, 0) if early >= 2 else (32, 28)
            law = np.convolve(binom.pmf(np.arange(rest + 1), rest, mean), laplace(epsilon))
            reached = early + np.arange(-REACH, rest + REACH + 1)
            block = whole([size], [0.0], epsilon, tested=np.array([tested]))
            logs = []
            for total in reached:
                logs.append(OneArm(replace(block, totals=np.array([float(total)]))).log_evidence(x)[0])
            value += binom.pmf(early, 4, mean) * float(law @ np.exp(logs))
        found[tested] = value
    assert found[True] <= 1 + 1e-9


def test_averages_of_drifting_means_are_covered():
    """One stake for all blocks: evidence against the average mean is at most 1 on average, whatever the means are."""
    epsilon, counts = 1.0, (10, 20)
    for means in ((0.1, 0.4), (0.6, 0.2)):
        average = (means[0] * counts[0] + means[1] * counts[1]) / sum(counts)
        (one, first), (two, second) = (total_law(n, mean, epsilon) for n, mean in zip(counts, means, strict=True))
        law = np.convolve(first, second)
        reached = np.arange(one[0] + two[0], one[-1] + two[-1] + 1)
        logs = [
            OneArm(whole(counts, [total, 0.0], epsilon), drifting=True).log_evidence(np.array([average]))[0]
            for total in reached
        ]
        assert float(law @ np.exp(logs)) < 1


@pytest.mark.parametrize("drifting", [False, True])
@pytest.mark.parametrize("ratio", [None, 0.5])
def test_joint_evidence_against_the_truth_is_one_on_average(drifting, ratio, monkeypatch):
    def average(x, y, slope):
        (one, first), (two, second) = total_law(12, x, 1.0), total_law(6, y, 1.0)
        keep = slice(REACH - 25, REACH + 35)
        value = 0.0
        for (a, p), (b, q) in itertools.product(
            zip(one[keep], first[keep], strict=True), zip(two[keep], second[keep], strict=True)
        ):
            pair.first.totals, pair.second.totals = np.array([float(a)]), np.array([float(b)])
            value += p * q * math.exp(pair.log_evidence(np.array([x]), np.array([y]), np.array([slope]))[0])
        return value

    pair = TwoArms(whole([12], [0.0], 1.0), whole([6], [0.0], 1.0), ratio, drifting=drifting)
    assert 0.99 < average(0.3, 0.36, 1.2) <= 1 + 1e-9
    monkeypatch.setattr(_two_arms, "noise_cost", lambda *_: 0.0)
    assert average(0.3, 0.36, 1.2) > 1.01


def test_evidence_with_squares_is_at_most_one_on_average(monkeypatch):
    """Three rewards on a grid of two steps, the first two a pair: all that can happen, with all noises."""
    width, epsilon, square_epsilon, reach = 2, 2.0, 1.0, np.arange(-60, 61)
    scales = np.array([width / epsilon]), np.array([width / square_epsilon])
    noises = [np.exp(-np.abs(reach) / scale) / np.exp(-np.abs(reach) / scale).sum() for scale in scales]

    def average(law):
        mean = sum(value * chance for value, chance in law.items()) / width
        given = replace(blocks([3], [0.0], 1.0), width=width, scales=scales[0], square_scales=scales[1])
        one = OneArm(replace(given, squares=np.array([0.0])))

        def terms(total, squares):
            one.totals, one._squares = np.array([total]), np.array([squares])
            return one.terms(np.array([mean]))[0]

        constant = terms(0.0, 0.0)
        by_total, by_squares = terms(1.0, 0.0) - constant, terms(0.0, 1.0) - constant
        value = 0.0
        for rewards in itertools.product(law, repeat=3):
            squares = -(-((rewards[0] - rewards[1]) ** 2) // width)
            totals, squares = (sum(rewards) + reach) / width, (squares + reach) / width
            logs = constant + totals[:, None, None] * by_total + squares[:, None] * by_squares
            value += math.prod(law[each] for each in rewards) * (noises[0] @ np.exp(logs).sum(axis=-1) @ noises[1])
        return value

    for law in ({0: 0.2, 1: 0.7, 2: 0.1}, {0: 0.5, 2: 0.5}, {0: 0.9, 2: 0.1}):
        assert 0.5 < average(law) <= 1 + 1e-9
    monkeypatch.setattr(_one_arm, "spread_cost", lambda stake: 0 * stake)
    assert average({0: 0.5, 2: 0.5}) > 1.005


# ---------------------------------------------------------------------- the searches


def some_blocks(rng, size=12, mean=None, **options):
    counts = np.floor(rng.uniform(1, 10 ** rng.uniform(1, 4), size)) + 1
    mean, epsilon = rng.choice([0.0, 0.003, 0.2, 0.5, 1.0]) if mean is None else mean, rng.choice([0.1, 1.0, 5.0], size)
    totals = rng.binomial(counts.astype(int), mean) + rng.laplace(size=size) / epsilon
    return blocks(counts, totals, epsilon, **options)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("drifting", [False, True])
def test_no_mean_outside_of_the_interval_was_allowed(seed, drifting):
    given = some_blocks(np.random.default_rng(seed))
    lower, upper = interval(given, 0.05, drifting=drifting)
    arm, level = OneArm(given, drifting=drifting), math.log(40)
    means = np.unique(np.concatenate([np.linspace(0, 1, 3000), lower + (upper - lower) * np.linspace(-1, 2, 3000)]))
    means = means[(means >= 0) & (means <= 1)]
    ruled_out = (arm.log_evidence(means) >= level) | (arm.mirrored().log_evidence(1 - means) >= level)
    open_means = means[~ruled_out]
    assert lower <= open_means.min()
    assert open_means.max() <= upper
    room = 2e-3 * (upper - lower) + 1e-9 + np.diff(means).max() / 100
    assert open_means.min() - lower <= room + (means[np.searchsorted(means, lower, side="right")] - lower)
    if lower > 0:  # just outside, the evidence is as large as half of the error asks for
        assert arm.log_evidence(np.array([lower]))[0] == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("drifting", [False, True])
def test_the_ends_of_comparisons_are_those_of_a_dense_search(seed, relative, drifting):
    rng = np.random.default_rng(seed)
    first, second = some_blocks(rng, mean=0.2), some_blocks(rng, mean=0.25)
    pair, level = TwoArms(first, second, drifting=drifting), math.log(40)
    contrast = (lambda x, y: y / x - 1) if relative else (lambda x, y: y - x)
    slope = (lambda x, y: y / x) if relative else (lambda x, y: np.ones_like(y))
    found = pair.lower_end(contrast, slope, level)
    a, b = pair.first, pair.second
    x = np.concatenate([np.linspace(1e-3, 1, 60), a.center + 6 * a.deviation * np.linspace(-1, 1, 41)])
    y = np.concatenate([np.linspace(1e-3, 1, 60), b.center + 8 * b.deviation * np.linspace(-1, 0.5, 41)])
    x, y = np.clip(x, 1e-3, 1), np.clip(y, 1e-3, 1)
    x, y = (each.ravel() for each in np.meshgrid(x, y))
    open_points = pair.log_evidence(x, y, slope(x, y)) < level
    best = contrast(x, y)[open_points].min()
    scale = float(contrast(np.array([a.center]), np.array([b.center]))[0]) - found
    assert found == pytest.approx(best, abs=0.05 * scale)
    assert found <= best + 2e-3 * scale


@pytest.mark.parametrize("seed", range(8))
def test_the_evidence_against_no_difference_is_the_least_over_all_means(seed):
    rng = np.random.default_rng(seed)
    pair = TwoArms(some_blocks(rng, mean=0.2), some_blocks(rng, mean=0.3), drifting=False)
    x = np.concatenate([np.linspace(0, 1, 301), np.linspace(pair.first.center, pair.second.center, 901)])
    dense = max(0.0, float(pair.log_evidence(x, x, np.ones_like(x)).min()))
    assert pair.least_evidence(lambda x: x, 1.0) <= dense + 5e-3


# ---------------------------------------------------------------------- exact looks


def test_rounded_noises_have_their_exact_law():
    given = blocks([100, 200, 50], [3, 5, 1], [0.5, 1.0, 1.0])
    tail, least = _exact.noise_tail(given)
    rng, draws = np.random.default_rng(5), 400_000
    rounded = sum(np.floor(noise(rng, epsilon, draws) + 0.5) for epsilon in (0.5, 1.0, 1.0))
    for value in (-9, -3, 0, 1, 5, 12):
        chance = tail[value - least]
        assert abs((rounded >= value).mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / draws)
        other, start = _exact._mirrored(tail, least)
        assert other[value - start] == pytest.approx(1 - tail[1 - value - least])
    single, start = _exact.noise_tail(given.at(slice(1)))
    chances = -np.diff(single)
    assert chances[-start] == pytest.approx(1 - math.exp(-0.25), rel=1e-5)
    assert chances[3 - start] == pytest.approx(math.sinh(0.25) * math.exp(-1.5), rel=1e-5)


@pytest.mark.parametrize(
    ("total", "count", "mean"), [(20, 350, 0.03), (40, 1000, 0.05), (500, 1000, 0.45), (2, 9, 0.1)]
)
def test_the_exact_tail_is_a_sum_of_binomial_tails(total, count, mean):
    tail, least = _exact.noise_tail(blocks([100, 200], [3, 5], [0.5, 1.0]))
    chances, values = -np.diff(tail, append=0.0), least + np.arange(tail.size)
    needed = total - values
    each = np.where(needed <= 0, 1.0, np.where(needed > count, 0.0, 0.0))
    inside = (needed > 0) & (needed <= count)
    each[inside] = betainc(needed[inside], count - needed[inside] + 1, mean)
    found = _exact.upper_tail(total, count, mean, (tail, least))
    assert found == pytest.approx(float((chances * each).sum()), rel=1e-9)


@pytest.mark.parametrize(("total", "count"), [(30, 1000), (-4, 200), (0, 50), (210, 200), (500_000, 1_000_000)])
def test_the_exact_end_is_where_the_tail_has_its_chance(total, count):
    tail = _exact.noise_tail(blocks([100, 200], [3, 5], 1.0))
    lower = _exact.lower_end(total, count, tail, 0.01)
    assert _exact.upper_tail(total, count, lower, tail) <= 0.01 or lower == 0
    if 0 < lower < 1:
        above = lower + 1e-3 * max(total / count - lower, 1 / count)
        assert _exact.upper_tail(total, count, min(above, 1.0), tail) > 0.0099


def test_looks_share_one_error_for_ever():
    ends = np.cumsum(geometric(1e15, 1.05, 3))
    for aim in (None, 10, 10**6):
        shares = _exact.looks(ends, aim)
        assert (shares > 0).all()
        assert shares.sum() <= 1 + 1e-12


def test_the_window_leaves_out_first_blocks_that_are_mostly_noise():
    assert _exact.window(blocks(geometric(10**5, 2.0, 10), np.zeros(15), 0.01)) > 0
    assert _exact.window(blocks(geometric(10**5, 2.0, 100), np.zeros(11), 3.0)) == 0


# ---------------------------------------------------------------------- widths, with totals at their means

FIXED = 2 * 1.959964


def relative_width(mean, epsilon, size, ratio, method=interval, aimed=False):
    """The width at a look at `size` rewards, over that of one look without noise; totals are at their means."""
    ends, first = [size], max(50, int(20 / epsilon) if math.isfinite(epsilon) else 50)
    while ends[-1] / ratio >= first:
        ends.append(round(ends[-1] / ratio))
    counts = np.diff([0, *sorted(ends)]).astype(float)
    lower, upper = method(blocks(counts, counts * mean, epsilon), 0.05, size if aimed else None)
    return (upper - lower) / (FIXED * math.sqrt(mean * (1 - mean) / size))


def widths(mean, size, ratio):
    """The width of each kind of interval at epsilon = 1."""
    any_schedule, exact = (relative_width(mean, 1.0, size, ratio, each) for each in (interval, _exact.exact_interval))
    return {
        "any schedule": any_schedule,
        "any schedule, over the same without noise": any_schedule / relative_width(mean, math.inf, size, ratio),
        "any schedule, aimed": relative_width(mean, 1.0, size, ratio, aimed=True),
        "exact": exact,
        "exact, aimed": relative_width(mean, 1.0, size, ratio, _exact.exact_interval, aimed=True),
    }


MOST = {
    "any schedule": (1.75, 1.95), "any schedule, over the same without noise": (1.05, 1.15),
    "any schedule, aimed": (1.55, 1.8), "exact": (1.62, 1.85), "exact, aimed": (1.55, 1.75),
}  # fmt: skip
"""How wide each may be, at rates of 3 % or more and at 0.5 %."""


def as_narrow_as_promised(found, mean, ratio):
    """Exact intervals promise nothing where ends of blocks grow by less than 2."""
    kept = [name for name in found if ratio >= 2 or "exact" not in name]
    return all(found[name] <= MOST[name][mean < 0.03] for name in kept)


@pytest.mark.parametrize("mean", [0.005, 0.03, 0.1, 0.5])
@pytest.mark.parametrize("ratio", [1.5, 2.0, 4.0])
def test_widths_are_near_those_without_noise_and_of_one_look(mean, ratio):
    for size in (10_000, 100_000):
        assert as_narrow_as_promised(widths(mean, size, ratio), mean, ratio)


@pytest.mark.study
@pytest.mark.parametrize("means", [(0.005,), (0.03, 0.1, 0.5)], ids=["rare", "usual"])
@pytest.mark.parametrize("ratios", [(1.5,), (2.0, 3.0, 4.0)], ids=["near looks", "far looks"])
def test_widths_in_many_cells(means, ratios, page):
    sizes, found = (10_000, 14_000, 30_000, 100_000, 300_000, 1_000_000), []
    for mean, size, ratio in itertools.product(means, sizes, ratios):
        found.append(widths(mean, size, ratio))
        assert as_narrow_as_promised(found[-1], mean, ratio)
    for name in MOST:
        values = [each[name] for each in found]
        page(
            "Widths of intervals at epsilon 1, over that of one look without noise", interval=name,
            rates=" to ".join(f"{mean:g}" for mean in dict.fromkeys((means[0], means[-1]))),
            ends_grow_by=" to ".join(f"{ratio:g}" for ratio in dict.fromkeys((ratios[0], ratios[-1]))),
            least=f"{min(values):.2f}", most=f"{max(values):.2f}",
        )  # fmt: skip


@pytest.mark.parametrize(("mean", "lift"), [(0.03, 0.1), (0.3, 0.1), (0.3, 0.2), (0.005, 0.2)])
def test_lifts_are_near_those_of_one_look(mean, lift):
    for size in (10_000, 100_000):
        if mean * size < 100:
            continue
        counts, other = geometric(size, 2.0, 50), mean * (1 + lift)
        rewards = counts.sum()
        pair = TwoArms(blocks(counts, counts * mean, 1.0), blocks(counts, counts * other, 1.0), drifting=False)
        lower = pair.lower_end(lambda x, y: y / x, lambda x, y: y / x, math.log(40))
        upper = -pair.mirrored().lower_end(
            lambda x, y: -(1 - y) / (1 - x), lambda x, y: (1 - y) / (1 - x), math.log(40)
        )
        error = math.sqrt((1 - mean) / (mean * rewards) + (1 - other) / (other * rewards)) * (1 + lift)
        assert (upper - lower) / (FIXED * error) <= 1.85


def test_squares_pay_where_rewards_hardly_vary():
    counts = geometric(20_000, 1.5, 200)
    plain = blocks(counts, counts * 0.3, 1.0)
    with_squares = replace(plain, squares=counts / 2 * 2 * 0.001, square_scales=np.full(len(counts), 2**20 / 0.1))
    widths = [upper - lower for lower, upper in (interval(each, 0.05) for each in (plain, with_squares))]
    assert widths[1] < widths[0] / 3
    coins = replace(plain, squares=counts / 2 * 2 * 0.21, square_scales=np.full(len(counts), 2**20 / 0.1))
    lower, upper = interval(coins, 0.05)
    assert upper - lower < 1.1 * widths[0]


def test_reward_cost_bounds_every_reward_of_a_mean():
    rng = np.random.default_rng(3)
    for stake in (-2.0, 0.3, 2.0):
        for values in (rng.random(1000), rng.beta(0.2, 0.9, 1000)):
            assert math.log(np.exp(stake * values).mean()) <= reward_cost(stake, values.mean()) + 1e-12

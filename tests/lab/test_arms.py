import ast
import copy
import inspect
import math
import pickle
import random
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from discreet import ArgumentError, Grid
from discreet.lab import arms
from discreet.lab import rewards as base
from discreet.lab.arms import Bernoulli, Beta, Discrete, Empirical, TruncatedNormal, Uniform
from discreet.lab.instances import parse
from discreet.lab.rewards import Rewards

UNIT = Grid(0, 1)
COLUMN = tuple(random.Random(5).choices([0.0, 0.1, 0.25, 1 / 3, 0.9], k=60))
LONG_COLUMN = tuple(np.random.default_rng(6).random(500).tolist())  # more values than a total has draws


def truncated_gauss(source, centre, sd, low, high):
    """A reward of a truncated normal, by the definition: again until it lies in the range."""
    while not low <= (reward := source.gauss(centre, sd)) <= high:
        pass
    return reward


# Each arm beside a slow and readable draw of one reward, from another library's generator.
ONE_REWARD = [
    (Bernoulli(0.3), lambda source: 1.0 if source.random() < 0.3 else 0.0),
    (Discrete((0, 0.5, 1), (5, 3, 2)), lambda source: source.choices((0.0, 0.5, 1.0), (5, 3, 2))[0]),
    (Empirical(COLUMN), lambda source: source.choice(COLUMN)),
    (Empirical(LONG_COLUMN), lambda source: source.choice(LONG_COLUMN)),
    (Beta(2, 5), lambda source: source.betavariate(2, 5)),
    (Beta(0.5, 0.4, 0.25, 0.75), lambda source: 0.25 + 0.5 * source.betavariate(0.5, 0.4)),
    (Uniform(0.2, 0.8), lambda source: source.uniform(0.2, 0.8)),
    (TruncatedNormal(0.5, 0.1), lambda source: truncated_gauss(source, 0.5, 0.1, 0, 1)),
    (TruncatedNormal(0.9, 0.3), lambda source: truncated_gauss(source, 0.9, 0.3, 0, 1)),
    (TruncatedNormal(-0.1, 0.2), lambda source: truncated_gauss(source, -0.1, 0.2, 0, 1)),
    (TruncatedNormal(0.3, 0.1, 0.4, 0.6), lambda source: truncated_gauss(source, 0.3, 0.1, 0.4, 0.6)),
]
EVERY_ARM = [arm for arm, _ in ONE_REWARD]
SAMPLED = [arm for arm in EVERY_ARM if not isinstance(arm, Bernoulli | Discrete)]
WIDE = Grid(-1.5, 2.25)  # its floor is below 0, and 0 and 1 are not its ends


def slow_total(draw, source, count, grid):
    """What a policy gets that is told one reward at a time."""
    return sum(grid.encode(draw(source)) for _ in range(count))


def same_law(totals, others):
    """The p-value of equal laws: the distributions' largest distance, the means and the variances."""
    pooled = np.array(totals + others, dtype=float)
    first, second = (np.array(part) - pooled.mean() for part in (totals, others))
    tests = (
        stats.ks_2samp(first, second, method="asymp"),
        stats.ttest_ind(first, second),
        stats.ttest_ind(first**2, second**2, equal_var=False),
    )
    return min(1.0, 3 * min(test.pvalue for test in tests))


# --- the law of totals


@pytest.mark.parametrize(("arm", "draw"), ONE_REWARD, ids=map(str, EVERY_ARM))
@pytest.mark.parametrize("grid", [UNIT, WIDE], ids=["unit", "wide"])
def test_totals_have_the_law_of_rewards_drawn_and_encoded_one_by_one(arm, draw, grid):
    generator, source = np.random.default_rng(1), random.Random(2)
    totals = [arm.total(generator, 100, grid) for _ in range(500)]
    slow = [slow_total(draw, source, 100, grid) for _ in range(500)]
    assert same_law(totals, slow) > 1e-3


@pytest.mark.parametrize(("arm", "draw"), ONE_REWARD, ids=map(str, EVERY_ARM))
def test_that_comparison_rejects_rewards_that_are_five_percent_off(arm, draw):
    generator, source = np.random.default_rng(1), random.Random(2)
    totals = [arm.total(generator, 100, UNIT) for _ in range(500)]
    slow = [slow_total(lambda source: 0.95 * draw(source), source, 100, UNIT) for _ in range(500)]
    assert same_law(totals, slow) < 1e-4


def test_that_comparison_rejects_rewards_that_are_not_independent():
    generator = np.random.default_rng(3)
    totals = [Beta(2, 5).total(generator, 100, UNIT) for _ in range(500)]
    paired = [2 * Beta(2, 5).total(generator, 50, UNIT) for _ in range(500)]
    assert same_law(totals, paired) < 1e-4


def exact_law(arm, count, grid):
    """The probability of each total, by adding one reward at a time to all totals so far."""
    weights = arm.weights if isinstance(arm, Discrete) else (1,) * len(arm.values)
    law = {0: 1.0}
    for _ in range(count):
        longer = Counter()
        for total, chance in law.items():
            for value, weight in zip(arm.values, weights, strict=True):
                longer[total + grid.encode(value)] += chance * weight / sum(weights)
        law = longer
    return law


def fits(totals, law):
    """The p-value of totals under an exact law, by Pearson's chi-square."""
    seen = Counter(totals)
    assert set(seen) <= set(law)
    return stats.chisquare([seen[total] for total in law], [chance * len(totals) for chance in law.values()]).pvalue


def test_small_totals_follow_their_exact_law(monkeypatch):
    dice = Discrete((-1, 0.1, 0.75, 2), (1, 2, 0.5, 1.5))
    column = Empirical((-1, 0.1, 0.1, 0.75, 2, 2))
    for arm, draws_per_value in ((dice, 8), (column, 8), (column, 0)):  # 0: the multinomial even for few draws
        monkeypatch.setattr(arms, "_DRAWS_PER_VALUE", draws_per_value)
        generator = np.random.default_rng(4)
        totals = [arm.total(generator, 2, WIDE) for _ in range(10_000)]
        assert fits(totals, exact_law(arm, 2, WIDE)) > 1e-3
        assert fits(totals, exact_law(Discrete(dice.values, (1, 2, 0.6, 1.5)), 2, WIDE)) < 1e-4


@pytest.mark.parametrize("arm", EVERY_ARM, ids=str)
def test_samples_have_the_arm_mean_and_stay_in_its_range(arm):
    rewards = arm.sample(np.random.default_rng(6), 100_000)
    assert rewards.shape == (100_000,)
    assert rewards.dtype == np.float64
    assert arm.low <= rewards.min() <= rewards.max() <= arm.high
    error = rewards.std() / math.sqrt(rewards.size)
    assert abs(rewards.mean() - arm.mean) < 5 * error
    assert abs(rewards.mean() - 1.05 * arm.mean) > 5 * error


@pytest.mark.parametrize("arm", EVERY_ARM, ids=str)
def test_large_totals_have_the_arm_mean(arm):
    count = 150_000  # more than two chunks
    spread = arm.sample(np.random.default_rng(7), 10_000).std()
    mean = UNIT.mean(arm.total(np.random.default_rng(8), count, UNIT), count)
    error = spread / math.sqrt(count)
    assert abs(mean - arm.mean) < 5 * error + UNIT.step
    assert abs(mean - 1.05 * arm.mean) > 5 * error + UNIT.step


# --- how totals are made


@pytest.mark.parametrize("arm", SAMPLED, ids=str)
def test_totals_are_the_sums_of_encoded_samples_whatever_the_chunk(arm, monkeypatch):
    monkeypatch.setattr(arms, "_DRAWS_PER_VALUE", 10**6)  # no multinomial for data columns
    rewards = arm.sample(np.random.default_rng(9), 1_000)
    for chunk in (1, 7, 500, 65_536):
        monkeypatch.setattr(base, "CHUNK", chunk)
        total = arm.total(np.random.default_rng(9), 1_000, WIDE)
        assert total == sum(WIDE.encode(reward) for reward in rewards.tolist())


def test_chunks_bound_what_is_drawn_at_a_time(monkeypatch):
    asked = []
    sample = Uniform._sample
    monkeypatch.setattr(base, "CHUNK", 100)
    monkeypatch.setattr(Uniform, "_sample", lambda arm, rng, count: asked.append(count) or sample(arm, rng, count))
    Uniform(0, 1).total(np.random.default_rng(0), 250, UNIT)
    assert asked == [100, 100, 50]


def test_a_bernoulli_total_is_one_binomial_draw_as_it_always_was(width):
    old, new = np.random.default_rng(10), np.random.default_rng(10)
    for count, mean in ((1, 0.3), (50_000_000, 0.75), (0, 0.5), (17, 0.0), (17, 1.0), (1_000, 0.999)):
        assert Bernoulli(mean).total(new, count, UNIT) == int(old.binomial(count, mean)) * width
    assert old.bit_generator.state == new.bit_generator.state


def test_totals_beyond_64_bits_are_exact():
    count = 2**62
    assert Bernoulli(1.0).total(np.random.default_rng(0), count, UNIT) == count * UNIT.encode(1)
    for arm in (Discrete([0.75], [1]), Discrete([0.75, 0], [1, 0]), Empirical([0.75])):
        assert arm.total(np.random.default_rng(0), count, WIDE) == count * WIDE.encode(0.75)


@pytest.mark.parametrize("arm", EVERY_ARM, ids=str)
def test_totals_are_python_integers_and_nothing_adds_up_to_zero(arm):
    for grid in (UNIT, WIDE):
        for count in (1, 3, np.int64(3), 2e3):
            total = arm.total(np.random.default_rng(11), count, grid)
            assert type(total) is int
            assert 0 <= total <= count * grid.width
        assert arm.total(np.random.default_rng(11), 0, grid) == 0
    assert type(arm.mean) is type(arm.low) is type(arm.high) is float


@pytest.mark.parametrize("count", [-1, 0.5, "3", None, math.nan])
def test_a_count_that_is_none_is_refused(count):
    with pytest.raises(ArgumentError, match="count must be"):
        Bernoulli(0.5).total(np.random.default_rng(0), count, UNIT)


@pytest.mark.parametrize("arm", EVERY_ARM, ids=str)
@pytest.mark.parametrize("grid", [Grid(0.45, 2), Grid(-1, 0.55), Grid(2, 3)], ids=str)
def test_an_arm_outside_the_grid_is_refused_before_any_draw(arm, grid):
    generator = np.random.default_rng(12)
    before = generator.bit_generator.state
    for refused in (lambda: arm.check(grid), lambda: arm.total(generator, 0, grid)):
        with pytest.raises(
            ArgumentError, match=r"pays rewards in .*, outside the algorithm's range .*; widen"
        ) as caught:
            refused()
        for part in (str(arm), f"[{arm.low}, {arm.high}]", f"[{grid.low}, {grid.high}]"):
            assert part in str(caught.value)
    assert generator.bit_generator.state == before
    arm.check(Grid(arm.low, arm.high))  # the tightest grid will do


# --- means and ranges


def integrated_mean(density, low, high, about):
    """The mean by numerical integration, cut where the density is steep so that none of it is missed."""
    cuts = sorted({low, high, *(cut for cut in about if low < cut < high)})
    mass = moment = 0.0
    for left, right in pairwise(cuts):
        mass += integrate.quad(density, left, right, epsabs=0, epsrel=1e-12)[0]
        moment += integrate.quad(lambda x: (x - low) * density(x), left, right, epsabs=0, epsrel=1e-12)[0]
    return low + moment / mass


@pytest.mark.parametrize(
    ("centre", "sd", "low", "high"),
    [
        (0.5, 0.1, 0, 1), (0.9, 0.3, 0, 1), (0, 1, 0, 1), (1, 1, 0, 1), (-3, 0.5, 0, 1), (4, 0.5, 0, 1),
        (0.3, 0.01, 0, 1), (0.2, 20, 0, 1), (0.8, 99, 0, 1), (-2.9, 0.1, 0, 1), (3.9, 0.1, 0, 1), (-7, 2, -5, 30),
    ],
)  # fmt: skip
def test_a_truncated_normal_has_the_mean_that_integration_gives(centre, sd, low, high):
    nearest = min(max(centre, low), high)  # where the density is largest: scaled to 1 there
    slope = max(1.0, abs(nearest - centre) / sd) / sd

    def density(x):
        return math.exp(((nearest - centre) ** 2 - (x - centre) ** 2) / (2 * sd**2))

    about = [nearest + steps / slope for steps in (-30, -8, -3, 0, 3, 8, 30)]
    arm = TruncatedNormal(centre, sd, low, high)
    assert arm.mean == pytest.approx(integrated_mean(density, low, high, about), abs=1e-10 * (high - low))
    rewards = arm.sample(np.random.default_rng(13), 20_000)
    assert abs(rewards.mean() - arm.mean) < 5 * rewards.std() / math.sqrt(rewards.size)


@pytest.mark.parametrize(("centre", "sd"), [(-2.9, 0.1), (3.9, 0.1), (0.5, 90), (0.1, 0.02)])
def test_tails_of_a_truncated_normal_are_not_coarse(centre, sd):
    rewards = TruncatedNormal(centre, sd).sample(np.random.default_rng(14), 10_000)
    assert np.unique(rewards).size > 9_990
    exact = stats.truncnorm(-centre / sd, (1 - centre) / sd, centre, sd)
    assert stats.kstest(rewards, exact.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("a", "b", "low", "high"), [(2, 5, 0, 1), (1, 1, -3, 4), (3.5, 1.25, 0, 10)])
def test_a_beta_arm_has_the_mean_that_integration_gives(a, b, low, high):
    def density(x):
        share = (x - low) / (high - low)
        return share ** (a - 1) * (1 - share) ** (b - 1)

    assert Beta(a, b, low, high).mean == pytest.approx(integrated_mean(density, low, high, ()), rel=1e-9)


def test_other_means_and_ranges_are_plain_arithmetic():
    assert (Bernoulli(0.3).low, Bernoulli(0.3).high, Bernoulli(0.3).mean) == (0, 1, 0.3)
    assert (Uniform(-1, 4).low, Uniform(-1, 4).high, Uniform(-1, 4).mean) == (-1, 4, 1.5)
    dice = Discrete(range(1, 7), np.ones(6))
    assert (dice.low, dice.high, dice.mean) == (1, 6, 3.5)
    column = Empirical(np.array([True, False, False, True]))
    assert (column.low, column.high, column.mean) == (0, 1, 0.5)
    third = Discrete([0.1, 0.1, 0.1], [1, 1, 1])  # a sum of thirds could round to just beside 0.1
    assert third.low == third.mean == third.high == 0.1


def test_a_value_of_weight_zero_is_never_paid_and_does_not_widen_the_range():
    arm = Discrete([-5, 0, 1, 9], [0, 1, 1, 0])
    assert (arm.low, arm.high, arm.mean) == (0, 1, 0.5)
    assert set(arm.sample(np.random.default_rng(0), 100)) == {0.0, 1.0}
    arm.check(UNIT)


def test_only_proportions_of_weights_matter():
    ones, fractions = Discrete([0, 0.5, 1], [5, 3, 2]), Discrete([0, 0.5, 1], [2.5e90, 1.5e90, 1e90])
    assert ones.mean == pytest.approx(fractions.mean, rel=1e-15)
    totals = [arm.total(np.random.default_rng(15), 1_000, UNIT) for arm in (ones, fractions)]
    assert totals[0] == totals[1]


@pytest.mark.parametrize("shape", [1e-100, 1e-3, 1e100])
def test_extreme_beta_arms_still_pay_numbers(shape):
    arm = Beta(shape, shape)
    rewards = arm.sample(np.random.default_rng(16), 1_000)
    assert np.isfinite(rewards).all()
    assert rewards.mean() == pytest.approx(0.5, abs=0.1)


def test_scaling_never_rounds_a_reward_out_of_the_range():
    low, high = -2.0, 0.1
    assert low + (high - low) * 1.0 > high
    arm = Beta(5, 1e-3, low, high)  # nearly every share is 1
    assert arm.sample(np.random.default_rng(18), 100).max() == high
    arm.total(np.random.default_rng(18), 100, Grid(low, high))
    normal = TruncatedNormal(high, 1e-9, low, high)
    assert normal.sample(np.random.default_rng(18), 1_000).max() <= high


# --- arms as values


@pytest.mark.parametrize("arm", EVERY_ARM, ids=str)
def test_arms_are_values(arm):
    twin = eval(repr(arm))  # the constructor call
    for other in (twin, copy.deepcopy(arm), pickle.loads(pickle.dumps(arm))):
        assert other == arm
        assert hash(other) == hash(arm)
        draws = (each.total(np.random.default_rng(17), 50, UNIT) for each in (arm, other))
        assert len(set(draws)) == 1
    with pytest.raises(AttributeError):
        arm.mean = 0.5
    assert isinstance(arm, Rewards)
    assert not hasattr(arm, "__dict__")


def test_arms_are_shown_shortly():
    shown = [str(arm) for arm in EVERY_ARM]
    assert shown[:3] == ["Bernoulli(0.3)", "Discrete(0:5, 0.5:3, 1:2)", str(Empirical(COLUMN))]
    assert shown[4:8] == ["Beta(2, 5)", "Beta(0.5, 0.4, 0.25, 0.75)", "Uniform(0.2, 0.8)", "Normal(0.5, 0.1, 0, 1)"]
    assert str(Empirical([0.5] * 1_000 + [2])) == "Empirical(1,001 values in [0.5, 2], mean 0.501499)"


def test_the_arms_themselves_import_nothing_beyond_numpy():
    top = ast.parse(inspect.getsource(arms) + inspect.getsource(base)).body
    modules = {node.module for node in top if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
    packages = {module.split(".")[0] for module in modules}
    assert packages - sys.stdlib_module_names == {"numpy", "discreet"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Bernoulli(1.5), r"mean must lie in \[0, 1\], since a Bernoulli arm pays 0 or 1, got 1.5"),
        (lambda: Bernoulli("0.5"), "mean must be a number, got '0.5' of type str"),
        (lambda: Bernoulli(math.nan), "mean must be a finite number, got nan"),
        (lambda: Discrete([0, 1], [1]), "values and weights must be equally many, got 2 values and 1 weights"),
        (lambda: Discrete([0, 1], [1, -2]), r"weights must be 0 or more, got -2.0"),
        (lambda: Discrete([0, 1], [0, 0]), "weights must not all be 0"),
        (lambda: Discrete([0, 1], [1, math.inf]), r"weights must be finite numbers in \[-1e\+100, 1e\+100\], got inf"),
        (lambda: Discrete([0, math.nan], [1, 1]), "values must be finite numbers in .*, got nan"),
        (lambda: Discrete([], []), "values must hold at least one number, got none"),
        (lambda: Discrete("01", [1, 1]), "values must be numbers in one flat list or array, got shape .* of dtype <U1"),
        (lambda: Discrete(0.5, 1), "values must be numbers in one flat list or array: .*not iterable"),
        (lambda: Empirical([]), "values must hold at least one number, got none"),
        (lambda: Empirical([[0, 1], [1]]), "values must be numbers in one flat list or array: "),
        (lambda: Empirical([[0, 1], [1, 0]]), r"one flat list or array, got shape \(2, 2\)"),
        (lambda: Empirical([0, None]), "one flat list or array, got shape .* of dtype object"),
        (lambda: Empirical([0, 1e101]), r"values must be finite numbers in \[-1e\+100, 1e\+100\], got 1e\+101"),
        (lambda: Empirical(np.ma.array([0, 1], mask=[0, 1])), r"values must not be a masked array.*\.compressed\(\)"),
        (lambda: Beta(0, 1), "a must be a number above 0, got 0"),
        (lambda: Beta(1, -1), "b must be a number above 0, got -1"),
        (lambda: Beta(1, 1e101), r"b must lie in \[1e-100, 1e\+100\], got 1e\+101"),
        (lambda: Beta(1, 1, 1, 0), "low must be below high, got low=1 and high=0"),
        (lambda: Uniform(0.5, 0.5), "low must be below high, got low=0.5 and high=0.5"),
        (lambda: Uniform(-1e101, 0), r"low must lie in \[-1e\+100, 1e\+100\], got -1e\+101"),
        (lambda: Uniform(0, None), "high must be a number, got None"),
        (lambda: TruncatedNormal(0.5, 0), "sd must be a number above 0, got 0"),
        (lambda: TruncatedNormal(math.inf, 1), "centre must be a finite number, got inf"),
        (lambda: TruncatedNormal(0.5, 1, 1, 1), "low must be below high, got low=1 and high=1"),
        (
            lambda: TruncatedNormal(0.5, 101),
            r"sd must be at most 100 times the range \[0.0, 1.0\], got 101; use Uniform\(0.0, 1.0\)",
        ),
        (lambda: TruncatedNormal(-4, 0.1), r"centre must lie within 30 sd of the range \[0.0, 1.0\], got -4 with sd"),
        (lambda: TruncatedNormal(5, 0.1), r"centre must lie within 30 sd of the range \[0.0, 1.0\], got 5 with sd"),
    ],
)
def test_what_no_arm_can_be_is_refused_with_reasons(build, message):
    with pytest.raises(ArgumentError, match=message):
        build()


# --- data columns


def written(folder, text, encoding="utf-8"):
    path = folder / "log, of clicks.csv"
    path.write_text(text, encoding=encoding)
    return path


def test_a_column_of_a_csv_file_is_read(tmp_path):
    path = written(tmp_path, 'arm,reward, share\nblue,1,0.5\n"red, dark",0,1e-1\ngreen, 1 ,.25\n')
    assert Empirical.from_csv(path, "reward") == Empirical([1, 0, 1])
    assert Empirical.from_csv(str(path), "share").values == (0.5, 0.1, 0.25)
    assert parse(f"csv({path}, reward)") == parse(f" CSV ( {path},reward ) ") == Empirical([1, 0, 1])
    marked = written(tmp_path, "reward\r\n1\r\n2\r\n", encoding="utf-8-sig")  # as Excel writes
    assert Empirical.from_csv(marked, "reward").values == (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,reward\nblue,1\nred,none\n", "line 3 of .* must hold a finite number, or true or false, got 'none'"),
        ("arm,reward\nblue,nan\n", "line 2 of .* must hold a finite number, or true or false, got 'nan'"),
        ("arm,reward\nblue,\n", "line 2 of .* must hold a finite number, or true or false, got ''"),
        ("arm,reward\nblue\n", "line 2 of .* must have as many cells as the first line, 2, got 1"),
        ("arm,paid\nblue,1\n", "column must name one column of .*, got 'reward'; it has 'arm', 'paid'"),
        ("reward,reward\n1,2\n", "column must name one column of .*, got 'reward'; it has more than one"),
        ("", "must have a row of numbers below its header, but has none"),
        ("arm,reward\n", "must have a row of numbers below its header, but has none"),
    ],
)
def test_a_csv_file_that_will_not_do_is_refused_with_reasons(tmp_path, text, message):
    path = written(tmp_path, text)
    for read in (lambda: Empirical.from_csv(path, "reward"), lambda: parse(f"csv({path},reward)")):
        with pytest.raises(ArgumentError, match=message) as caught:
            read()
        assert path.name in str(caught.value)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"path must name a CSV file, but there is no file '.*nowhere\.csv'"):
        Empirical.from_csv(tmp_path / "nowhere.csv", "reward")
    with pytest.raises(ArgumentError, match="path must name a readable CSV file, got "):
        Empirical.from_csv(tmp_path, "reward")
    with pytest.raises(ArgumentError, match=r"line 1 of .* must be text in UTF-8"):
        Empirical.from_csv(written(tmp_path, "réward\n1\n", encoding="latin-1"), "reward")


# --- texts


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("0.3", Bernoulli(0.3)),
        (" 1 ", Bernoulli(1)),
        ("bernoulli(0.3)", Bernoulli(0.3)),
        ("Beta( 2, 5 )", Beta(2, 5)),
        ("beta(2,5,-1,1)", Beta(2, 5, -1, 1)),
        ("uniform(0.2,0.8)", Uniform(0.2, 0.8)),
        ("discrete(0:0.5,0.5:0.3,1:0.2)", Discrete((0, 0.5, 1), (0.5, 0.3, 0.2))),
        ("discrete(1:1)", Discrete([1], [1])),
        ("normal(0.5,0.1,0,1)", TruncatedNormal(0.5, 0.1, 0, 1)),
        ("normal(0.5,1e-1)", TruncatedNormal(0.5, 0.1, 0, 1)),
    ],
)
def test_texts_name_arms(text, arm):
    assert parse(text) == arm


@pytest.mark.parametrize("arm", [arm for arm in EVERY_ARM if not isinstance(arm, Empirical)], ids=str)
def test_an_arm_is_what_its_text_names(arm):
    assert parse(str(arm)) == arm


@pytest.mark.parametrize(
    "text",
    [
        "", "blue", "gamma(2)", "beta(2)", "beta(2,5,0)", "beta(2,5", "beta 2,5", "uniform()", "uniform(0,1,2)",
        "normal(a,b)", "bernoulli(0.1,0.2)", "discrete()", "discrete(0,1)", "discrete(0:1:2)", "discrete(0:x)",
        "csv(file)", "0.3)",
    ],
)  # fmt: skip
def test_other_texts_are_refused_with_the_known_forms(text):
    with pytest.raises(ArgumentError, match="is of no known form; known are: ") as caught:
        parse(text)
    assert str(caught.value).startswith(f"the arm {text!r} ")
    for form in ("0.3", "bernoulli(", "beta(", "uniform(", "normal(", "discrete(", "csv(PATH,COLUMN)"):
        assert form in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5", r"the arm '1.5': mean must lie in \[0, 1\]"),
        ("nan", "the arm 'nan': mean must be a finite number, got nan"),
        ("beta(0,1)", r"the arm 'beta\(0,1\)': a must be a number above 0"),
        ("discrete(0:1,1:-1)", "weights must be 0 or more, got -1.0"),
        ("normal(0.5,0)", "sd must be a number above 0"),
        ("csv(nowhere.csv,reward)", r"the arm 'csv\(nowhere.csv,reward\)': path must name a CSV file"),
    ],
)
def test_a_text_with_a_wrong_number_says_which(text, message):
    with pytest.raises(ArgumentError, match=message):
        parse(text)


def test_two_values_are_the_smaller_the_larger_and_its_chance():
    assert Discrete([-1, 1], [1, 3]).two_values() == (-1.0, 1.0, 0.75)
    assert Discrete([1, 0, 1], [1, 2, 1]).two_values() == (0.0, 1.0, 0.5)
    assert Discrete([0.5], [1]).two_values() == (0.5, 0.5, 1.0)
    assert Discrete([5, 0, 1], [0, 1, 3]).two_values() == (0.0, 1.0, 0.75)  # a weight of 0 is never paid
    assert Empirical([0, 2, 2, 2]).two_values() == (0.0, 2.0, 0.75)
    assert Bernoulli(0.3).two_values() == (0.0, 1.0, 0.3)
    assert Empirical([0, 1, 2]).two_values() is None
    assert Uniform(0, 1).two_values() is None

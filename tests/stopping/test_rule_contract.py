"""What every registered stopping rule must do. A new rule is met by these tests through the registry alone."""

import math

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, FinishedError, SimulatedNoise, Stream, Totals, spent
from discreet.testing import check_algorithm
from tests._tools.examples import TESTS, hopeless, is_private
from tests._tools.examples import rule as example
from tests._tools.rules import ByScale

NAMES = sorted(discreet.RULES)
PRIVATE = [name for name in NAMES if is_private(name)]
NOT_PRIVATE = [name for name in NAMES if not is_private(name)]
STREAM = (np.random.default_rng(0).random(20_000) < 0.6).astype(float)
TWO = ("dp-nas", "ebstop")  # the base class's checks are the same for all: one that tests, one that reads samples


def noise_for(name, seed):
    return ByScale(seed) if name in PRIVATE else None


def in_pieces(values, sizes):
    """Arrays of these sizes in turn."""
    pieces, at = [], 0
    while at < values.size:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(values[at : at + size])
        at += size
    return pieces


CUTS = {
    "one array": lambda xs: xs,
    "a list": lambda xs: xs.tolist(),
    "single numbers": lambda xs: iter(xs.tolist()),
    "numpy numbers": iter,
    "arrays of odd sizes": lambda xs: in_pieces(xs, [1, 777, 3, 255, 257, 4095, 4097]),
    "a generator of arrays": lambda xs: (chunk for chunk in np.array_split(xs, 13)),
    "numbers and arrays": lambda xs: [xs[:3], *xs[3:50].tolist(), xs[50:51].tolist(), xs[51:]],
    "float32": lambda xs: xs.astype(np.float32),
    "int8": lambda xs: xs.astype(np.int8),
    "bool": lambda xs: xs.astype(bool),
    "a table": lambda xs: xs.reshape(100, -1),
}


@pytest.mark.parametrize("name", NAMES)
class TestEveryRule:
    def test_it_is_found_by_its_key_and_shows_its_options(self, name):
        rule = example(name)
        assert rule.key == name
        assert repr(rule).startswith(f"{type(rule).__name__}(")
        assert discreet.make_rule(name, **rule.options()) == rule

    def test_it_is_a_value_that_its_ledger_determines(self, name):
        check_algorithm(example(name, alpha=0.1))
        driver = Stream(example(name), noise_for(name, 1))
        driver.feed(STREAM[:10])
        check_algorithm(driver.algorithm)
        driver.feed(STREAM[10:])
        assert driver.algorithm.halted
        check_algorithm(driver.algorithm)

    def test_it_halts_with_an_estimate_within_its_promise(self, name):
        rule = example(name)
        result = rule.run(STREAM, noise=noise_for(name, 1))
        assert result.reached
        assert abs(result.estimate - 0.6) <= 0.5 * 0.6
        assert result.samples < STREAM.size
        assert str(result).startswith("the mean is " if name in TESTS else "mean 0.")
        assert rule == example(name)  # a driver works on a copy

    @pytest.mark.parametrize("cut", CUTS)
    def test_the_answer_does_not_depend_on_how_the_stream_is_cut(self, name, cut):
        whole = example(name).run(STREAM, noise=noise_for(name, 2))
        assert example(name).run(CUTS[cut](STREAM), noise=noise_for(name, 2)) == whole

    def test_feeding_one_number_at_a_time_is_the_same(self, name):
        whole = example(name).run(STREAM, noise=noise_for(name, 3))
        driver = Stream(example(name), noise_for(name, 3))
        for x in STREAM:
            if driver.feed(x):
                break
        assert driver.result == whole

    def test_closing_planned_epochs_is_the_same(self, name):
        whole = example(name).run(STREAM, noise=noise_for(name, 4))
        driver, grid = Totals(example(name), noise_for(name, 4)), example(name).grid
        while (plan := driver.plan()) is not None:
            (taken,) = driver.algorithm.taken.values()
            steps = grid.encode_checked(STREAM[taken : taken + plan.size]).astype(np.int64)
            sums = plan.statistic.accumulator(grid.width)
            sums.add(steps)
            exact = sums.values if len(sums.values) > 1 else sums.values[0]
            driver.close_steps({None: plan.between_tests(steps) if plan.many_tests else exact})
        rule = driver.algorithm
        assert (rule.halted, rule.estimate, rule.samples) == (True, whole.estimate, whole.samples)
        assert driver.ledger == whole.ledger

    def test_a_live_stream_is_not_read_past_the_halting_sample(self, name):
        read = 0

        def live():
            nonlocal read
            for x in STREAM:
                read += 1
                yield x

        result = example(name).run(live(), noise=noise_for(name, 5))
        assert result.reached
        assert read == result.samples

    def test_a_hopeless_stream_ends_at_the_cap_without_a_number(self, name):
        options, stream = hopeless(name)
        driver = Stream(example(name, max_samples=5000, **options), noise_for(name, 6))
        result = driver.run(stream)
        assert not result.reached
        assert result.estimate is None
        assert result.samples == driver.algorithm.samples == 5000
        assert "not reached" in str(result)
        assert "cap of 5,000" in str(result)
        assert driver.algorithm.plan() is None
        check_algorithm(driver.algorithm)
        with pytest.raises(FinishedError, match="finished after 5000 samples"):
            driver.feed(1.0)

    def test_a_stream_that_ends_early_can_be_continued(self, name):
        whole = example(name).run(STREAM, noise=noise_for(name, 7))
        driver, half = Stream(example(name), noise_for(name, 7)), whole.samples // 2
        first = driver.run(STREAM[:half])
        assert not first.reached
        assert first.estimate is None
        assert first.samples == half
        assert "stream ended" in str(first)
        assert driver.run(STREAM[half:]) == whole

    def test_nothing_is_taken_after_halting(self, name):
        driver = Stream(example(name), noise_for(name, 8))
        result = driver.run(STREAM)
        for attempt in (lambda: driver.feed(1.0), lambda: driver.run(STREAM), lambda: driver.algorithm.learn(())):
            with pytest.raises(FinishedError, match="has finished"):
                attempt()
        assert driver.result == result


@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_rules_without_noise_say_that_they_are_not_private(name):
    rule = example(name)
    assert rule.privacy.epsilon == math.inf
    assert not rule.privacy.promised
    result = rule.run(STREAM, noise=SimulatedNoise(1))
    assert result.epsilon == math.inf
    assert not result.simulated
    assert result == rule.run(STREAM)  # no noise is used
    assert str(result).endswith("(not private)")


@pytest.mark.parametrize("name", PRIVATE)
class TestEveryPrivateRule:
    def test_its_statement_and_ledger_agree(self, name):
        rule = example(name)
        result = rule.run(STREAM)
        assert result.reached
        assert not result.simulated
        assert rule.privacy.epsilon == result.epsilon == rule.epsilon
        paid = np.zeros(result.samples)
        for release in result.ledger:
            ((arm, first, last),) = release.spans
            assert arm is None
            paid[first - 1 : last] += release.epsilon
        assert paid == pytest.approx(rule.epsilon)
        assert spent(result.ledger) == pytest.approx(rule.epsilon)
        assert result.ledger[-1].spans[0][2] == result.samples

    def test_simulated_noise_is_marked_in_every_result(self, name):
        result = example(name).run(STREAM, noise=SimulatedNoise(1))
        assert result.simulated
        assert result.privacy.simulated
        assert all(release.simulated for release in result.ledger)
        assert "simulated" in str(result)

    def test_two_private_runs_differ(self, name):
        rule = example(name)
        runs = [rule.run(STREAM) for _ in range(40)]
        found = {(run.samples, *(release.steps for release in run.ledger)) for run in runs}
        assert len(found) >= 3  # of a rule that releases its tests alone, two runs may well agree

    def test_it_says_whether_the_curator_keeps_secrets_for_it(self, name):
        driver, kept = Stream(example(name), ByScale(1)), set()
        while not driver.finished:
            driver.feed(STREAM[driver.samples : driver.samples + 9])
            kept.add(bool(driver._curator.state()))
        assert (True in kept) == driver.algorithm.keeps_secrets
        assert driver._curator.state() == {}  # nothing is left at the end


# ---------------------------------------------------------------------- what the base class refuses


@pytest.mark.parametrize("name", TWO)
class TestBadInput:
    @pytest.mark.parametrize(
        "bad", [math.nan, math.inf, -0.5, 1.5, "x", None, 1j, np.array([0.5, math.nan]), np.array([0.1, 2.0]), {"a": 1}]
    )
    def test_bad_samples_change_nothing(self, name, bad):
        driver, same = (Stream(example(name), noise_for(name, 9)) for _ in range(2))
        for one in (driver, same):
            one.feed(STREAM[:10])
        with pytest.raises(ArgumentError):
            driver.feed(bad)
        assert driver.algorithm == same.algorithm
        assert driver.run(STREAM[10:]) == same.run(STREAM[10:])

    def test_good_samples_before_a_bad_one_in_a_stream_count(self, name):
        driver = Stream(example(name), noise_for(name, 10))
        with pytest.raises(ArgumentError):
            driver.run(iter([1.0, 0.0, 1.0, math.nan, 1.0]))
        assert driver.samples == 3

    def test_clipping_is_an_option_of_the_driver(self, name):
        driver = Stream(example(name), noise_for(name, 11), clip=True)
        driver.feed(np.array([-5.0, 7.0]))
        driver.feed(9)
        assert driver.samples == 3
        assert example(name).run(2 * STREAM, noise_for(name, 1), clip=True) == example(name).run(
            STREAM, noise_for(name, 1)
        )

    @pytest.mark.parametrize("argument", ["alpha", "beta"])
    @pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan, math.inf, "0.5", None])
    def test_alpha_and_beta_lie_strictly_between_0_and_1(self, name, argument, value):
        with pytest.raises(ArgumentError, match=argument):
            example(name, **{argument: value})

    @pytest.mark.parametrize("value", [0, -1, 0.5, math.nan, math.inf, "5"])
    def test_the_cap_is_a_whole_number(self, name, value):
        with pytest.raises(ArgumentError, match="max_samples"):
            example(name, max_samples=value)

    def test_the_range_must_be_given_once_and_make_sense(self, name):
        for bad in ({"low": None}, {"low": 1, "high": 0}, {"low": None, "high": None}):
            with pytest.raises(ArgumentError, match=r"low|high|radius"):
                example(name, **bad)
        with pytest.raises(ArgumentError, match="radius must be a number above 0"):
            example(name, radius=0)
        with pytest.raises(ArgumentError, match="not both"):
            example(name, radius=1, low=0)

    def test_unknown_and_missing_options_are_named(self, name):
        with pytest.raises(ArgumentError, match="has no option 'alfa'"):
            example(name, alfa=0.1)
        with pytest.raises(ArgumentError, match="needs the option 'alpha'"):
            discreet.make_rule(name, beta=0.1)


@pytest.mark.parametrize("name", ["dp-nas", "dp-bernstein"])
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None])
def test_bad_epsilons_are_refused(name, epsilon):
    with pytest.raises(ArgumentError, match="epsilon must be"):
        example(name, epsilon=epsilon)


@pytest.mark.parametrize("name", ["dp-exp-nas", "dp-nas-released"])
@pytest.mark.parametrize("bad", [-1, 10**12, 0.5, math.nan, "1", None, True])
def test_bad_totals_change_nothing(name, bad):
    driver, same = (Totals(example(name), ByScale(12)) for _ in range(2))
    for wrong in ({None: bad}, bad):
        with pytest.raises(ArgumentError, match="total"):
            driver.close_steps(wrong)
    assert driver.close_steps({None: 1}) == same.close_steps({None: 1})


# ---------------------------------------------------------------------- planted faults


@pytest.mark.parametrize("secret", [41, SimulatedNoise(1)])
def test_a_secret_in_a_rule_is_caught(secret):
    rule = example("dp-nas")
    rule.exact = secret
    with pytest.raises(AssertionError, match="exact is neither a declared field"):
        check_algorithm(rule)


def test_a_rule_whose_state_does_not_follow_from_its_ledger_is_caught(monkeypatch):
    kind = discreet.DPReleasedNAS
    learn, calls = kind._learn, iter(range(10**6))

    def forgetful(self, plan, releases):
        learn(self, plan, releases)
        self._released = [[next(calls)]]

    monkeypatch.setattr(kind, "_learn", forgetful)
    with pytest.raises(AssertionError, match=r"not the same when it is rebuilt|learns something else"):
        check_algorithm(example("dp-nas-released"))

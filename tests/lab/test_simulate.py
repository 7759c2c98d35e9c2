"""The simulator: right pull by pull, the same however it is run, kind to bad input, and able to choose an engine."""

import multiprocessing
import re
import sys

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet._install import install
from discreet.core.errors import ArgumentError
from discreet.lab import (
    Beta,
    Discrete,
    Empirical,
    Setting,
    TruncatedNormal,
    Uniform,
    choose_engine,
    compare,
    make_engine,
    play,
    simulate,
    simulate_all,
)
from discreet.lab import simulate as function_simulate
from discreet.lab.engines import Processes, Threads
from discreet.lab.kernels import SlowWarning, warn_slow
from discreet.lab.results import NEVER, join
from discreet.lab.runs import one_run
from discreet.lab.setting import CAP, accepts
from discreet.lab.simulate import expected_wait, first_epoch, run_part, run_setting, split
from tests._tools import examples
from tests._tools.kernel_tools import Driven

module = sys.modules["discreet.lab.simulate"]
assert function_simulate is simulate  # the package's name `simulate` is the function, not the module
LEVEL = 1e-6
EASY = {"alpha": 0.5, "beta": 0.1}
SIGNS = Discrete([-1, 1], [1, 3])


def needed(name):
    """The options that a policy cannot do without, and guess-and-double's."""
    if name == "guess-and-double":
        return {"epsilon": 1.0, "first_guess": 256}
    if name in examples.TESTS:
        return {"epsilon": 1.0, **examples.TESTS[name]}
    searches = ("dp-bai", "dp-bai-sharp", "dp-bai-evidence")
    wanted = {"epsilon": 1.0, "beta": 0.1} if name in searches else {"epsilon": 1.0}
    return {key: value for key, value in wanted.items() if accepts(name, key)}


# ---------------------------------------------------------------------- every algorithm


@pytest.mark.parametrize("name", discreet.POLICIES)
def test_every_registered_policy_can_be_simulated(name):
    result = simulate(name, [0.2, 0.8], horizon=2000, runs=2, **needed(name))
    assert result.pulls.sum(axis=1).tolist() == [2000, 2000]
    assert (result.pulls >= 1).all()
    assert result.final == pytest.approx(result.pulls @ result.setting.instance.gaps)
    assert result.best_pulls[:, -1].tolist() == result.pulls[:, 1].tolist()
    assert result.setting.checkpoints[-1] == 2000
    assert (np.diff(result.regret) >= 0).all()
    assert result.setting.variant in str(result)


@pytest.mark.parametrize("name", discreet.RULES)
def test_every_registered_rule_can_be_simulated_and_keeps_its_promise(name):
    given = {**EASY, **({"epsilon": 1.0} if accepts(name, "epsilon") else {}), **examples.TESTS.get(name, {})}
    result = simulate(name, 0.75 if name in (*examples.ONE_SIDED, "dp-test") else SIGNS, runs=50, **given)
    assert result.reached.all()
    assert result.failure_rate <= 0.1


def in_turn(pulls):
    """An epoch's arms, pull by pull: each open arm once, then again, until all have their pulls."""
    left, order = pulls, []
    while left:
        order += left
        left = {arm: count - 1 for arm, count in left.items() if count > 1}
    return order


def slow_run(setting, number):
    """The arms of a run, pull by pull, the times at which arms left the race, and what happened at the end."""
    for_rewards, for_noise = setting.run_seed(number).spawn(2)
    rngs = np.random.default_rng(for_rewards).spawn(len(setting.instance))
    policy = setting.build()
    driven = Driven(policy, SimulatedNoise(for_noise))
    sequence, left, end = [], {}, "finished early"
    while len(sequence) < setting.horizon and (plan := policy.plan()):
        sequence += in_turn(plan.pulls)
        if len(sequence) > setting.horizon or not plan.learns:
            end = "cut" if len(plan.pulls) > 1 else "last arm"
        if len(sequence) > setting.horizon:
            break
        rewards = setting.instance.rewards
        grid = policy.grid
        totals = plan.pulls if plan.learns else ()
        driven.close_steps({arm: rewards[arm].total(rngs[arm], plan.pulls[arm], grid) for arm in totals})
        assert policy.time == len(sequence)
        for arm in set(policy.arms) - set(policy.viable):
            left.setdefault(arm, policy.time)
    del sequence[setting.horizon :]
    sequence += [policy.best_arm] * (setting.horizon - len(sequence))
    return np.array(sequence), [left.get(arm, NEVER) for arm in policy.arms], end


PULL_BY_PULL = [
    ("dp-se", [0.1, 0.5, 0.9], 30_000, {"epsilon": 1.0}, "last arm"),
    ("dp-se", [0.45, 0.5, 0.55, 0.1], 11_111, {"epsilon": 0.5}, "cut"),
    ("se", [0.3, 0.6, 0.9], 4001, {"beta": 0.1}, "last arm"),
    ("se", [0.5, 0.52, 0.5, 0.51, 0.4], 3003, {}, "cut"),
    ("dp-se-modified", [0.05, 0.95, 0.1], 20_000, {"epsilon": 5.0}, "last arm"),
    ("dp-se-modified", [0.45, 0.55, 0.5], 5000, {"epsilon": 1.0}, "cut"),
    ("guess-and-double", [0.1, 0.5, 0.9], 30_001, {"epsilon": 1.0, "first_guess": 6000}, None),
    ("dp-bai", [0.1, 0.2, 0.9], 20_000, {"epsilon": 1.0, "beta": 0.1}, "finished early"),
    ("dp-bai", [0.1, 0.2, 0.9], 1001, {"epsilon": 1.0, "beta": 0.1}, "cut"),
    ("dp-bai", [0.85, 0.1, 0.9], 5001, {"epsilon": 1.0, "beta": 0.1}, "cut"),  # in its second epoch
    ("dp-bai", [0.5, 0.6, 0.9], 20_000, {"epsilon": 1.0, "beta": 0.1, "max_pulls": 3100}, "finished early"),
]


@pytest.mark.parametrize(("name", "means", "horizon", "options", "end"), PULL_BY_PULL)
def test_every_checkpoint_is_that_of_a_walk_pull_by_pull(name, means, horizon, options, end):
    setting = Setting.of(name, means, horizon=horizon, runs=3, checkpoints=range(1, horizon + 1), **options)
    result = run_setting(setting)
    gaps = setting.instance.gaps
    for number in range(3):
        sequence, left, how = slow_run(setting, number)
        assert how == end or end is None  # the example shows what it is there for
        assert (result.best_pulls[number] == np.cumsum(gaps[sequence] == 0)).all()
        assert np.allclose(result.regret[number], np.cumsum(gaps[sequence]))
        assert result.pulls[number].tolist() == np.bincount(sequence, minlength=gaps.size).tolist()
        assert result.dropped[number].tolist() == left


def test_elimination_times_are_those_at_which_arms_left_and_never_for_the_others():
    result = simulate("dp-se", [0.9, 0.1, 0.8, 0.1], horizon=50_000, runs=5, epsilon=1.0)
    first, second = (len(result.pulls[0]) * result.pulls[0, 1], result.dropped[0, 2])
    assert result.dropped.tolist() == [[NEVER, first, second, first]] * 5
    assert second > first
    assert (simulate("ucb", [0.9, 0.1], horizon=500, runs=2).dropped == NEVER).all()
    assert (simulate("dp-se", [0.9, 0.1], horizon=500, runs=2, epsilon=1.0).dropped == NEVER).all()  # one cut epoch


def test_a_search_that_ends_before_it_releases_anything_goes_on_with_all_arms():
    result = simulate("dp-bai", [0.5, 0.6, 0.9], horizon=301, runs=1, epsilon=1.0, beta=0.1, max_pulls=3)
    assert result.pulls.tolist() == [[101, 100, 100]]


def test_play_without_a_horizon_ends_when_the_policy_does():
    policy = discreet.DPBestArm(["A", "B"], epsilon=1.0, beta=0.1)
    run = play(policy, [0.9, 0.1], np.random.default_rng(1), noise=SimulatedNoise(1))
    assert (run.best_arm, run.pulls.sum(), run.dropped) == ("A", policy.time, (NEVER, policy.time))


def test_play_without_a_source_simulates_noise_from_the_generator():
    first, second = (
        play(discreet.DPUCB(["A", "B"], epsilon=1.0, horizon=300), [0.9, 0.1], np.random.default_rng(1))
        for _ in range(2)
    )
    assert first.pulls.tolist() == second.pulls.tolist()


def test_a_cap_ends_a_mean_of_zero():
    for rule, epsilon in (("nas", None), ("dp-nas", 0.5), ("dp-exp-nas", 0.5)):
        result = simulate(rule, "discrete(-1:1, 1:1)", runs=2, max_samples=CAP, epsilon=epsilon, alpha=0.1, beta=0.01)
        assert result.samples.tolist() == [CAP, CAP]
        assert result.unfinished.all()
        assert np.isnan(result.estimates).all()
        assert not result.failed.any()


# ---------------------------------------------------------------------- what results do and do not depend on


def sweep(runs=5):
    """Kernels, epochs, blocks, and general arms, of policies and rules."""
    return [
        Setting.of("dp-se", "C2", horizon=200_000, runs=runs, epsilon=1.0),
        Setting.of("ucb", "C1", arms=3, horizon=5000, runs=runs),
        Setting.of("dp-ucb", [0.3, 0.7], horizon=5000, runs=runs, epsilon=1.0, relaxation=50.0),
        Setting.of("se", ["beta(2, 5)", 0.6, "uniform(0, 0.8)"], horizon=5000, runs=runs),
        Setting.of("nas", 0.4, runs=runs, **EASY),
        Setting.of("dp-nas", SIGNS, runs=runs, epsilon=1.0, **EASY),
        Setting.of("dp-exp-nas", "uniform(0, 1)", runs=runs, epsilon=1.0, **EASY),
        Setting.of("dp-nas", "beta(2, 2)", runs=runs, epsilon=1.0, **EASY),
    ]


METHODS = ["object", "kernel", "kernel", "object", "kernel", "kernel", "blocks", "object"]
EACH = pytest.mark.parametrize("index", range(len(METHODS)))


def same(one, other):
    """Equal to the last digit."""
    return one.arrays.keys() == other.arrays.keys() and all(
        array.dtype == other.arrays[name].dtype
        and array.shape == other.arrays[name].shape
        and array.tobytes() == other.arrays[name].tobytes()
        for name, array in one.arrays.items()
    )


@pytest.fixture(scope="module")
def expected():
    return [run_setting(setting) for setting in sweep()]


def check_same(results, expected):
    assert [one.setting for one in results] == [one.setting for one in expected]
    for one, other in zip(results, expected, strict=True):
        assert same(one, other)
        assert one.method == other.method


@pytest.mark.parametrize(("name", "workers"), [("serial", 1), ("threads", 1), ("threads", 3), ("processes", 2)])
def test_results_do_not_depend_on_the_engine(name, workers, expected):
    assert [one.method for one in expected] == METHODS
    check_same(simulate_all(sweep(), make_engine(name, workers)), expected)


@pytest.mark.system
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_results_do_not_depend_on_clusters(name, expected):
    check_same(simulate_all(sweep(), make_engine(name, workers=2)), expected)


def test_results_do_not_depend_on_the_order_or_on_the_other_settings(expected):
    check_same(simulate_all(sweep()[::-1]), expected[::-1])
    check_same(simulate_all(sweep()[1:2], "auto"), expected[1:2])
    check_same(simulate_all([sweep()[0], sweep()[0]]), [expected[0]] * 2)


@EACH
def test_the_first_runs_of_a_longer_simulation_are_those_of_a_short_one(index, expected):
    longer = run_setting(sweep(runs=7)[index])
    for name, array in expected[index].arrays.items():
        assert longer.arrays[name][:5].tobytes() == array.tobytes()


@pytest.mark.parametrize("index", range(4))
def test_results_do_not_depend_on_the_other_checkpoints(index, expected):
    setting = sweep()[index]
    few = setting.with_(checkpoints=setting.checkpoints[50::7] + setting.checkpoints[-1:])
    columns = [setting.checkpoints.index(moment) for moment in few.checkpoints]
    result = run_setting(few)
    assert result.regret.tobytes() == expected[index].regret[:, columns].tobytes()
    assert (result.best_pulls == expected[index].best_pulls[:, columns]).all()
    assert (result.pulls == expected[index].pulls).all()


def test_the_last_digit_of_regret_does_not_depend_on_the_other_checkpoints():
    means = np.random.default_rng(3).random(20).tolist()
    whole = simulate("ucb", means, horizon=3000, runs=1, checkpoints=range(1, 3001))
    for moment in range(5, 3000, 31):
        part = simulate("ucb", means, horizon=3000, runs=1, checkpoints=[moment])
        assert part.regret[0].tolist() == [whole.regret[0, moment - 1], whole.regret[0, -1]]


def rewards_of(policy, noise=None):
    """All rewards of each arm, in a run of a step-wise policy on arms that pay anything between 0 and 1."""
    paid = {arm: [] for arm in policy.arms}

    class Watched(Uniform):
        def _total(self, rng, grid, count):
            total = super(Uniform, self)._total(rng, grid, count)
            paid[self.arm].append(total)
            return total

    arms = []
    for arm, high in enumerate((1, 0.9, 0.5)):
        arms.append(type(f"Watched{arm}", (Watched,), {"arm": arm})(0, high))
    play(policy, arms, np.random.default_rng(1), 300, noise=noise)
    return paid


def test_an_arm_pays_the_same_whoever_plays_and_whatever_the_noise():
    ours = rewards_of(discreet.UCB(range(3), horizon=300))
    theirs = rewards_of(discreet.DPUCB(range(3), epsilon=50.0, horizon=300), SimulatedNoise(1))
    assert [len(ours[arm]) for arm in range(3)] != [len(theirs[arm]) for arm in range(3)]
    for arm in range(3):
        shared = min(len(ours[arm]), len(theirs[arm]))
        assert shared > 5
        assert ours[arm][:shared] == theirs[arm][:shared]


def test_other_seeds_give_other_runs_and_all_runs_differ():
    first, second = (simulate("ucb", "C2", horizon=3000, runs=20, seed=seed) for seed in (1, 2))
    assert len({tuple(pulls) for pulls in np.concatenate([first.pulls, second.pulls]).tolist()}) == 40


def test_all_runs_of_a_rule_differ():
    assert len(set(simulate("dp-nas", 0.3, runs=50, epsilon=1.0, **EASY).estimates.tolist())) == 50


@pytest.mark.parametrize("runs", [1, 2, 7, 30])
@pytest.mark.parametrize("pieces", [1, 2, 4, 12, 100])
def test_pieces_cover_all_runs_once_in_order(runs, pieces):
    setting = Setting.of("ucb", "C2", horizon=100, runs=runs)
    parts = split(setting, pieces)
    assert [number for _, numbers in parts for number in numbers] == list(range(runs))
    assert all(of is setting and len(numbers) > 0 for of, numbers in parts)
    assert len(parts) == min(pieces, runs)


@EACH
def test_parts_join_to_the_whole(index, expected):
    setting = sweep()[index]
    for pieces in (2, 5):
        assert same(join([run_part(part) for part in split(setting, pieces)], setting), expected[index])


def test_progress_adds_up_to_all_runs():
    told = []
    simulate_all(sweep()[:6], make_engine("threads", 2), on_progress=told.append)
    assert sum(told) == 30
    assert len(told) > 6  # few settings are split, so that there is something to tell


def test_compare_gives_each_policy_the_options_it_has():
    league = compare(
        (name for name in ("dp-se", "se", "dp-ucb")), (mean for mean in (0.2, 0.8)), horizon=2000, runs=2,
        checkpoints=(moment for moment in (10, 2000)), epsilon=0.5, preset="thesis",
    )  # fmt: skip
    assert [one.setting.variant for one in league] == [
        "dp-se(epsilon=0.5)",
        "se",
        "dp-ucb(epsilon=0.5, preset=thesis)",
    ]
    assert same(league[1], simulate("se", [0.2, 0.8], horizon=2000, runs=2, checkpoints=[10]))


def test_compare_takes_rules_too():
    found = compare(["dp-nas", "nas"], "uniform(0, 1)", runs=3, epsilon=1.0, **EASY)
    assert [one.setting.algorithm for one in found] == ["dp-nas", "nas"]
    assert same(found[1], simulate("nas", "uniform(0, 1)", runs=3, **EASY))


def test_compare_refuses_unknown_policies_and_options_that_nobody_has(monkeypatch):
    monkeypatch.setattr(module, "run_part", lambda part: pytest.fail("simulated"))
    with pytest.raises(ArgumentError, match=r"algorithm must be one of .*, got 'dp-sex'"):
        compare(["se", "dp-sex"], horizon=1000, epsilon=1.0)
    with pytest.raises(ArgumentError, match=r"none of se, ucb has an option 'epslion', got epslion=1.0"):
        compare(["se", "ucb"], horizon=1000, epslion=1.0)
    with pytest.raises(ArgumentError, match=r"engine must be 'serial', .* or 'ray', got 'spark'"):
        simulate("nas", 0.3, engine="spark", **EASY)


# ---------------------------------------------------------------------- kernels


class OwnUCB(discreet.UCB):
    """A user's own variant."""

    key = "own-ucb"


@pytest.mark.parametrize(
    ("name", "on", "options", "method"),
    [
        ("ucb", [0.2, 0.8], {}, "kernel"),
        ("dp-ucb", "C2", {"epsilon": 1.0}, "kernel"),
        ("ucb", [0.2, "beta(2, 5)"], {}, "kernel"),
        ("dp-ucb", [0.2, "uniform(0, 1)"], {"epsilon": 1.0}, "kernel"),
        ("ucb", [0.2, 0.8], {"low": -1}, "kernel"),
        ("dp-ucb", [0.2, 0.8], {"epsilon": 1.0, "high": 2}, "kernel"),
        ("own-ucb", [0.2, 0.8], {}, "object"),
        ("dp-ucb-hybrid", [0.2, 0.8], {"epsilon": 1.0}, "kernel"),
        ("dp-se", [0.2, 0.8], {"epsilon": 1.0}, "object"),
    ],
)
def test_kernels_are_taken_only_for_what_they_simulate(monkeypatch, name, on, options, method):
    monkeypatch.setitem(discreet.POLICIES, "own-ucb", OwnUCB)
    result = simulate(name, on, horizon=300, runs=2, **options)
    assert result.method == method
    assert result.pulls.sum(axis=1).tolist() == [300, 300]


def p_values(one, other):
    """Of Kolmogorov and Smirnov's test, for the first arm's pulls at each checkpoint."""
    return [stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, other.T, strict=True)]


@pytest.mark.parametrize(
    ("name", "options", "planted"),
    [
        pytest.param("ucb", {}, {"instance": [0.3, 0.7]}, marks=pytest.mark.study),
        ("dp-ucb", {"epsilon": 2.0, "relaxation": 8.0}, {"epsilon": 4.0}),
    ],
)
def test_kernel_and_object_have_the_same_law_and_an_error_would_show(name, options, planted):
    given = {"instance": [0.3, 0.6], "horizon": 300, "runs": 150, "checkpoints": [60, 150], **options}
    setting = Setting.of(name, **given)
    slow = np.array([one_run(setting, number).counts[:, 0] for number in range(setting.runs)])
    for changes, right in (({}, True), (planted, False)):
        result = simulate(name, **{**given, "runs": 2000, **changes})
        assert result.method == "kernel"
        pulls = np.array(result.setting.checkpoints) - result.best_pulls
        assert bool(min(p_values(slow, pulls)) > LEVEL) is right


class OwnNAS(discreet.NAS):
    """A user's own variant."""

    key = "own-nas"


@pytest.mark.parametrize(
    ("rule", "law", "options", "method"),
    [
        ("nas", 0.5, {}, "kernel"),
        ("nas", 1.0, {}, "kernel"),
        ("ebstop", "discrete(0.25:1, 0.75:1)", {"low": 0, "high": 1}, "kernel"),
        ("dp-nas", Empirical([0, 1, 1]), {"epsilon": 2.0}, "kernel"),
        ("dp-nas", Discrete([3, 4, 4], [1, 1, 1]), {"epsilon": 2.0, "low": 2, "high": 5}, "kernel"),
        ("nas", 0.5, {"radius": 1}, "kernel"),
        ("dp-exp-nas", 0.5, {"epsilon": 2.0}, "blocks"),
        ("dp-exp-nas", Beta(4, 2), {"epsilon": 2.0}, "blocks"),
        ("dp-nas-one-sided", 0.5, {"epsilon": 2.0}, "kernel"),
        ("dp-nas-one-sided", Beta(4, 2), {"epsilon": 2.0}, "blocks"),
        ("nas", Discrete([0, 0.5, 1], [1, 1, 1]), {}, "object"),
        ("dp-nas", Uniform(0.5, 1), {"epsilon": 2.0, "low": 0}, "object"),
        ("ebgstop", Uniform(0.5, 1), {}, "object"),
        ("own-nas", 0.5, {}, "object"),
        ("nas", 0.5, {"max_samples": 2**45}, "object"),  # past the kernel's 64 bits
        ("nas", Discrete([2e9, 2e9 + 1], [1, 1]), {}, "object"),
    ],
)
def test_kernels_of_rules_are_taken_only_for_what_they_simulate(monkeypatch, rule, law, options, method):
    monkeypatch.setitem(discreet.RULES, "own-nas", OwnNAS)
    if "low" in options:
        options = {"high": 1, **options}
    result = simulate(rule, law, runs=2, **EASY, **options)
    assert result.method == method
    assert result.reached.all()
    assert result.estimates == pytest.approx(result.setting.distribution.mean, rel=0.5)


@pytest.fixture
def no_numba(monkeypatch):
    import discreet.lab.kernels

    for loaded in [key for key in sys.modules if key.startswith("discreet.lab.kernels.")]:
        monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.delattr(discreet.lab.kernels, loaded.rpartition(".")[2])
    monkeypatch.setitem(sys.modules, "numba", None)
    warn_slow.cache_clear()
    yield
    warn_slow.cache_clear()


def test_without_numba_objects_run_and_one_warning_says_how_to_get_it(no_numba):
    simulate("dp-se", [0.2, 0.8], horizon=300, runs=2, epsilon=1.0)  # what has no kernel has nothing to say
    simulate("dp-exp-nas", 0.5, runs=2, epsilon=1.0, **EASY)
    with pytest.warns(SlowWarning, match=rf"numba is not installed.*{re.escape(install('lab'))}") as caught:
        found = simulate("ucb", [0.2, 0.8], horizon=300, runs=2)
    assert len(caught) == 1
    rule = simulate("nas", 0.5, runs=2, **EASY)  # a second warning would be an error
    assert found.method == rule.method == "object"
    assert found.pulls[1].tolist() == one_run(found.setting, 1).pulls.tolist()


# ---------------------------------------------------------------------- general arms

COLUMN = [0.0, 0.1, 0.1, 0.5, 0.9, 1.0, 0.7]


def truncated(rng, centre, sd, low, high, count):
    """Normal numbers, thrown away until they lie in the range."""
    kept = np.empty(0)
    while kept.size < count:
        drawn = rng.normal(centre, sd, size=2 * count)
        kept = np.concatenate([kept, drawn[(drawn >= low) & (drawn <= high)]])
    return kept[:count]


def stretched(low, high):
    """An arm of every kind on [low, high], and what it should pay, written with numpy alone."""
    size, column = high - low, [low + (high - low) * value for value in COLUMN]
    arms = [
        Beta(2, 5, low, high),
        Uniform(low, low + 0.8 * size),
        Discrete([low, low + size / 2, high], [5, 3, 2]),
        TruncatedNormal(low + 0.6 * size, 0.3 * size, low, high),
        Empirical(column),
    ]
    draws = [
        lambda g, n: low + size * g.beta(2, 5, size=n),
        lambda g, n: g.uniform(low, low + 0.8 * size, size=n),
        lambda g, n: g.choice([low, low + size / 2, high], p=[0.5, 0.3, 0.2], size=n),
        lambda g, n: truncated(g, low + 0.6 * size, 0.3 * size, low, high, n),
        lambda g, n: g.choice(column, size=n),
    ]
    return arms, draws


@pytest.mark.parametrize(("low", "high"), [(-5.0, 5.0), pytest.param(0.0, 1.0, marks=pytest.mark.study)])
def test_general_arms_pay_what_they_should_and_an_error_would_show(low, high):
    arms, draws = stretched(low, high)
    runs, given = 60, {"horizon": 2500, "beta": 0.5, "low": low, "high": high}
    expected = np.empty((runs, 5), np.int64)
    for number in range(runs):
        policy, rng = discreet.SuccessiveElimination(range(5), **given), np.random.default_rng([7, number])
        rewards = [draw(rng, 2500).tolist() for draw in draws]
        driven = Driven(policy)
        while plan := policy.plan():
            past = policy.pulls
            totals = {
                arm: sum(map(policy.grid.encode, rewards[arm][past[arm] : past[arm] + count]))
                for arm, count in plan.pulls.items()
            }
            driven.close_steps(totals)
        expected[number] = policy.pulls
    assert len(np.unique(expected[:, 0])) > 25  # so there is a law to compare
    result = simulate("se", arms, runs=runs, **given)
    assert min(p_values(result.pulls, expected)) > LEVEL
    worse = Beta(1, 5, low, high)
    assert min(p_values(simulate("se", [worse, *arms[1:]], runs=runs, **given).pulls, expected)) < LEVEL


def test_regret_of_general_arms_is_in_the_units_of_the_rewards():
    result = simulate("se", [Uniform(-5, 3), Uniform(-1, 5)], horizon=3000, runs=2, low=-5, high=5)
    assert result.final == pytest.approx(3.0 * result.pulls[:, 0])


# ---------------------------------------------------------------------- choosing an engine


def steps(horizon, runs=1):
    """A policy without a kernel that decides after every round of all arms."""
    return Setting.of("se", [0.5, 0.6], horizon=horizon, runs=runs)


def test_threads_are_chosen_but_for_many_small_steps(monkeypatch):
    monkeypatch.setattr(module, "may_start_processes", lambda: True)
    quick = [Setting.of("ucb", "C2", runs=10**6), Setting.of("dp-se", "C2", runs=10**6, epsilon=1.0)]
    assert isinstance(choose_engine(quick), Threads)
    assert isinstance(choose_engine([*quick, steps(10_000, 20)]), Threads)
    assert isinstance(choose_engine([*quick, steps(10_000, 20), steps(2000)]), Processes)
    assert isinstance(choose_engine([Setting.of("dp-nas", 0.5, epsilon=1.0, **EASY)]), Threads)
    general = Setting.of("dp-nas", "uniform(0, 1)", runs=1000, epsilon=1.0, **EASY)
    assert isinstance(choose_engine([general]), Processes)
    assert choose_engine([general], workers=3).workers == 3
    assert isinstance(choose_engine([general], "threads"), Threads)
    assert isinstance(choose_engine(quick, None), Threads)


def test_a_script_that_cannot_be_imported_gets_threads(monkeypatch, tmp_path):
    script, main = tmp_path / "study.py", sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", str(script), raising=False)
    many = [steps(10**6)]
    script.write_text("import discreet.lab\ndiscreet.lab.simulate('se')\n")
    assert isinstance(choose_engine(many), Threads)
    script.write_text("def main(): ...\nif __name__ == '__main__':\n    main()\n")
    assert isinstance(choose_engine(many), Processes)
    monkeypatch.delattr(main, "__file__")  # a prompt
    assert isinstance(choose_engine(many), Processes)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "somebody")
    assert isinstance(choose_engine(many), Threads)


def test_the_wait_is_that_of_policies_that_decide_after_every_pull(monkeypatch):
    kernel, rounds = Setting.of("ucb", "C2"), steps(10**6)
    assert expected_wait([kernel, rounds], 2) == (0.0, [])  # rounds may end early
    monkeypatch.setitem(discreet.POLICIES, "own-ucb", OwnUCB)
    slow = Setting.of(OwnUCB, ["uniform(0, 1)", 0.5], horizon=10**6, runs=3)
    seconds, names = expected_wait([kernel, slow], 1)
    assert names == ["own-ucb"]
    assert seconds > 0
    assert [first_epoch(one) for one in (slow, rounds)] == [1, 2]

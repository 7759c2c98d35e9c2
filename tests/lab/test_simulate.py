"""The simulator: right pull by pull, the same however it is run, kind to bad input, and able to go on after a stop."""

import sys

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet.core.errors import ArgumentError
from discreet.lab import (
    Bernoulli,
    Beta,
    Discrete,
    Empirical,
    Instance,
    Setting,
    TruncatedNormal,
    Uniform,
    compare,
    fast,
    make_engine,
    play,
    simulate,
    simulate_all,
)
from discreet.lab import simulate as function_simulate
from discreet.lab.engines import Serial
from discreet.lab.results import ARRAYS, NEVER, join
from discreet.lab.setting import default_checkpoints
from discreet.lab.simulate import one_run, run_part, run_setting, split
from discreet.lab.store import Store
from tests._tools import examples

module = sys.modules["discreet.lab.simulate"]
assert function_simulate is simulate  # the package's name `simulate` is the function, not the module
LEVEL = 1e-6


def needed(name):
    """The options that a policy cannot do without, and guess-and-double's."""
    if name == "guess-and-double":
        return {"epsilon": 1.0, "first_guess": 256}
    options = examples.policy(name, noise=SimulatedNoise(0)).options()
    wanted = {"epsilon": 1.0, "beta": 0.1} if name in ("dp-bai", "dp-bai-sharp") else {"epsilon": 1.0}
    return {key: value for key, value in wanted.items() if key in options}


def same(one, other):
    """Equal to the last digit."""
    return all(
        getattr(one, name).shape == getattr(other, name).shape
        and getattr(one, name).dtype == getattr(other, name).dtype
        and getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ARRAYS
    )


# ---------------------------------------------------------------------- every policy, pull by pull


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
    luck = np.random.default_rng(for_rewards).spawn(len(setting.instance))
    policy = setting.make(SimulatedNoise(for_noise))
    sequence, left, end = [], {}, "finished early"
    while len(sequence) < setting.horizon and (plan := policy.plan()):
        sequence += in_turn(plan.pulls)
        if len(sequence) > setting.horizon or not plan.learns:
            end = "cut" if len(plan.pulls) > 1 else "last arm"
        if len(sequence) > setting.horizon:
            break
        rewards = setting.instance.rewards
        policy.close(
            {arm: rewards[arm].total(luck[arm], count, policy.grid) for arm, count in plan.pulls.items()}
            if plan.learns
            else None
        )
        assert policy.time == len(sequence)
        for arm in set(policy.arms) - set(getattr(policy, "viable", policy.arms)):
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
    policy = discreet.DPBestArm(["A", "B"], epsilon=1.0, beta=0.1, noise=SimulatedNoise(1))
    run = play(policy, [0.9, 0.1], np.random.default_rng(1))
    assert (run.best_arm, run.pulls.sum(), run.dropped) == ("A", policy.time, (NEVER, policy.time))


# ---------------------------------------------------------------------- what results do and do not depend on


def sweep(runs=5):
    """Kernels, epochs and general arms."""
    return [
        Setting.of("dp-se", "C2", horizon=200_000, runs=runs, epsilon=1.0),
        Setting.of("ucb", "C1", arms=3, horizon=5000, runs=runs),
        Setting.of("dp-ucb", [0.3, 0.7], horizon=5000, runs=runs, epsilon=1.0, relaxation=50.0),
        Setting.of("se", ["beta(2, 5)", 0.6, "uniform(0, 0.8)"], horizon=5000, runs=runs),
    ]


@pytest.fixture(scope="module")
def expected():
    return [run_setting(setting) for setting in sweep()]


def check_same(results, expected):
    assert [one.setting for one in results] == [one.setting for one in expected]
    for one, other in zip(results, expected, strict=True):
        assert same(one, other)
        assert one.method == other.method


@pytest.mark.parametrize(("name", "workers"), [("serial", 1), ("threads", 1), ("threads", 2), ("threads", 3)])
def test_results_do_not_depend_on_threads(name, workers, expected):
    check_same(simulate_all(sweep(), make_engine(name, workers)), expected)


@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_results_do_not_depend_on_processes_or_clusters(name, expected):
    check_same(simulate_all(sweep(), make_engine(name, workers=2)), expected)


def test_results_do_not_depend_on_the_order_or_on_the_other_settings(expected):
    check_same(simulate_all(sweep()[::-1]), expected[::-1])
    check_same(simulate_all(sweep()[1:2]), expected[1:2])
    check_same(simulate_all([sweep()[0], sweep()[0]]), [expected[0]] * 2)


@pytest.mark.parametrize("place", range(4))
def test_the_first_runs_of_a_longer_simulation_are_those_of_a_short_one(place, expected):
    longer = run_setting(sweep(runs=7)[place])
    for name in ARRAYS:
        assert (getattr(longer, name)[:5] == getattr(expected[place], name)).all()


@pytest.mark.parametrize("place", range(4))
def test_results_do_not_depend_on_the_other_checkpoints(place, expected):
    setting = sweep()[place]
    few = setting.with_(checkpoints=setting.checkpoints[50::7] + setting.checkpoints[-1:])
    columns = [setting.checkpoints.index(moment) for moment in few.checkpoints]
    result = run_setting(few)
    assert result.regret.tobytes() == expected[place].regret[:, columns].tobytes()
    assert (result.best_pulls == expected[place].best_pulls[:, columns]).all()
    assert (result.pulls == expected[place].pulls).all()


def test_the_last_digit_of_regret_does_not_depend_on_the_other_checkpoints():
    means = np.random.default_rng(3).random(20).tolist()
    whole = simulate("ucb", means, horizon=3000, runs=1, checkpoints=range(1, 3001))
    for moment in range(5, 3000, 31):
        part = simulate("ucb", means, horizon=3000, runs=1, checkpoints=[moment])
        assert part.regret[0].tolist() == [whole.regret[0, moment - 1], whole.regret[0, -1]]


def test_a_name_or_a_list_of_means_is_the_same_instance():
    named = simulate("dp-se", "C2", horizon=100_000, runs=2, epsilon=1.0)
    spelt = simulate("dp-se", [0.75, 0.625, 0.5, 0.375, 0.25], horizon=100_000, runs=2, epsilon=1.0)
    own = Instance("mine", tuple(map(Bernoulli, [0.75, 0.625, 0.5, 0.375, 0.25])))
    assert same(named, spelt)
    assert same(named, simulate("dp-se", own, horizon=100_000, runs=2, epsilon=1.0))


@pytest.mark.parametrize("epsilon", [1, np.float64(1), np.int64(1), np.float32(1)])
def test_a_number_is_the_same_option_however_it_is_written(epsilon):
    setting = Setting.of("dp-se", "C2", horizon=100_000, epsilon=1.0)
    other = Setting.of("dp-se", "C2", horizon=np.float64(1e5), epsilon=epsilon)
    assert other == setting
    assert other.identity == setting.identity


CHANGES = {  # and whether the random numbers themselves are others, and not only what is made of them
    "seed": ({"seed": 2}, True),
    "horizon": ({"horizon": 20_001}, True),
    "instance": ({"instance": [0.3, 0.700001]}, True),
    "epsilon": ({"epsilon": 1.01}, False),
    "policy": ({"policy": "dp-bai"}, False),
    "option": ({"beta": 0.2}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_run_by_run_policies_meet_the_same_random_numbers_in_the_same_world(change):
    given = {"policy": "dp-se", "instance": [0.3, 0.7], "horizon": 20_000, "seed": 1, "epsilon": 1.0, "beta": 0.1}

    settings = [Setting.of(**given), Setting.of(**{**given, **CHANGES[change][0]})]
    before, after = ([tuple(one.run_seed(n).generate_state(4).tolist()) for n in range(3)] for one in settings)
    assert len(set(before)) == len(set(after)) == 3
    assert (set(before) & set(after) == set()) if CHANGES[change][1] else before == after
    assert len({one.store_key for one in settings}) == 2


def rewards_of(policy, seed):
    """All rewards of each arm, in a run of a step-wise policy on arms that pay anything between 0 and 1."""
    paid, close = {arm: [] for arm in policy.arms}, policy.close

    def watched(totals):
        for arm, total in totals.items():
            paid[arm].append(total)
        return close(totals)

    policy.close = watched
    play(policy, ["uniform(0, 1)", "uniform(0, 0.9)", "beta(2, 5)"], np.random.default_rng(seed), 300)
    return paid


def test_an_arm_pays_the_same_whoever_plays_and_whatever_the_noise():
    ours = rewards_of(discreet.UCB(range(3), horizon=300), 1)
    theirs = rewards_of(discreet.DPUCB(range(3), epsilon=50.0, horizon=300, noise=SimulatedNoise(1)), 1)
    assert [len(ours[arm]) for arm in range(3)] != [len(theirs[arm]) for arm in range(3)]
    for arm in range(3):
        shared = min(len(ours[arm]), len(theirs[arm]))
        assert ours[arm][:shared] == theirs[arm][:shared]
    assert ours[0][:5] != rewards_of(discreet.UCB(range(3), horizon=300), 2)[0][:5]


def test_other_seeds_give_other_runs_and_all_runs_differ():
    first, second = (simulate("ucb", "C2", horizon=3000, runs=20, seed=seed) for seed in (1, 2))
    assert len({tuple(pulls) for pulls in np.concatenate([first.pulls, second.pulls]).tolist()}) == 40


@pytest.mark.parametrize("runs", [1, 2, 7, 30])
@pytest.mark.parametrize("pieces", [1, 2, 4, 12, 100])
def test_pieces_cover_all_runs_once_in_order(runs, pieces):
    setting = Setting.of("ucb", "C2", horizon=100, runs=runs)
    parts = split(setting, pieces)
    assert [number for _, numbers in parts for number in numbers] == list(range(runs))
    assert all(of is setting and len(numbers) > 0 for of, numbers in parts)
    assert len(parts) == min(pieces, runs)


@pytest.mark.parametrize("place", range(4))
def test_parts_join_to_the_whole(place, expected):
    setting = sweep()[place]
    for pieces in (2, 3, 5):
        assert same(join([run_part(part) for part in split(setting, pieces)], setting), expected[place])


def test_progress_adds_up_to_all_runs():
    told = []
    simulate_all(sweep(), make_engine("threads", 2), on_progress=told.append)
    assert sum(told) == 20
    assert len(told) > 4  # few settings are split, so that there is something to tell


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


def test_default_checkpoints_are_sorted_and_end_at_the_horizon():
    for horizon in (1, 2, 3, 99, 100, 101, 12_345, 5 * 10**7):
        moments = default_checkpoints(horizon)
        assert list(moments) == sorted(set(moments))
        assert (moments[0], moments[-1]) == (1, horizon)
        assert len(moments) <= 200


# ---------------------------------------------------------------------- kernels


class OwnUCB(discreet.UCB):
    """A user's own variant."""

    key = "own-ucb"


@pytest.mark.parametrize(
    ("name", "on", "options", "method"),
    [
        ("ucb", [0.2, 0.8], {}, "kernel"),
        ("dp-ucb", "C2", {"epsilon": 1.0}, "kernel"),
        ("ucb", [0.2, "beta(2, 5)"], {}, "object"),
        ("dp-ucb", [0.2, "uniform(0, 1)"], {"epsilon": 1.0}, "object"),
        ("ucb", [0.2, 0.8], {"low": -1}, "object"),
        ("dp-ucb", [0.2, 0.8], {"epsilon": 1.0, "high": 2}, "object"),
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


def test_without_numba_the_object_runs_and_one_warning_says_how_to_get_it(monkeypatch):
    import discreet.lab.kernels

    for loaded in [key for key in sys.modules if key.startswith("discreet.lab.kernels")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delattr(discreet.lab, "kernels")
    monkeypatch.setitem(sys.modules, "numba", None)
    fast.hint.cache_clear()
    simulate("dp-se", [0.2, 0.8], horizon=300, runs=2, epsilon=1.0)  # what has no kernel has nothing to say
    with pytest.warns(fast.SlowWarning, match=r"numba is not installed.*pip install 'discreet\[lab\]'") as caught:
        found = simulate("ucb", [0.2, 0.8], horizon=300, runs=2)
    assert len(caught) == 1
    simulate("dp-ucb", [0.2, 0.8], horizon=300, runs=2, epsilon=1.0)  # a second warning would be an error
    fast.hint.cache_clear()
    assert found.method == "object"
    assert found.pulls[1].tolist() == one_run(found.setting, 1).pulls.tolist()


def p_values(one, other):
    """Of Kolmogorov and Smirnov's test, for the first arm's pulls at each checkpoint."""
    return [stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, other.T, strict=True)]


@pytest.mark.parametrize(
    ("name", "options", "planted"),
    [
        ("ucb", {}, {"instance": [0.3, 0.7]}),
        ("dp-ucb", {"epsilon": 2.0, "relaxation": 8.0}, {"epsilon": 4.0}),
    ],
)
def test_kernel_and_object_have_the_same_law_and_an_error_would_show(name, options, planted):
    given = {"instance": [0.3, 0.6], "horizon": 300, "runs": 250, "checkpoints": [60, 150], **options}
    setting = Setting.of(name, **given)
    slow = np.array([one_run(setting, number).counts[:, 0] for number in range(setting.runs)])
    for changes, right in (({}, True), (planted, False)):
        result = simulate(name, **{**given, "runs": 2000, **changes})
        assert result.method == "kernel"
        pulls = np.array(result.setting.checkpoints) - result.best_pulls
        assert bool(min(p_values(slow, pulls)) > LEVEL) is right


# ---------------------------------------------------------------------- general arms

COLUMN = [0.0, 0.1, 0.1, 0.5, 0.9, 1.0, 0.7]


def truncated(generator, centre, sd, low, high, count):
    """Normal numbers, thrown away until they lie in the range."""
    kept = np.empty(0)
    while kept.size < count:
        drawn = generator.normal(centre, sd, size=2 * count)
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


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-5.0, 5.0)])
def test_general_arms_pay_what_they_should_and_an_error_would_show(low, high):
    arms, draws = stretched(low, high)
    runs, given = 100, {"horizon": 2500, "beta": 0.5, "low": low, "high": high}
    expected = np.empty((runs, 5), np.int64)
    for number in range(runs):
        policy, generator = discreet.SuccessiveElimination(range(5), **given), np.random.default_rng([7, number])
        rewards = [draw(generator, 2500).tolist() for draw in draws]
        while plan := policy.plan():
            past = policy.pulls
            totals = {
                arm: sum(map(policy.grid.encode, rewards[arm][past[arm] : past[arm] + count]))
                for arm, count in plan.pulls.items()
            }
            policy.close(totals if plan.learns else None)
        expected[number] = list(policy.pulls.values())
    assert len(np.unique(expected[:, 0])) > 50  # so there is a law to compare
    result = simulate("se", arms, runs=runs, **given)
    assert min(p_values(result.pulls, expected)) > LEVEL
    worse = Beta(1, 5, low, high)
    assert min(p_values(simulate("se", [worse, *arms[1:]], runs=runs, **given).pulls, expected)) < LEVEL


def test_regret_of_general_arms_is_in_the_units_of_the_rewards():
    result = simulate("se", [Uniform(-5, 3), Uniform(-1, 5)], horizon=3000, runs=2, low=-5, high=5)
    assert result.final == pytest.approx(3.0 * result.pulls[:, 0])


# ---------------------------------------------------------------------- bad input

GOOD = {"policy": "dp-se", "instance": "C2", "horizon": 1000, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": "dp-sex"}, r"policy must be one of adap-klucb, .*, ucb, got 'dp-sex'"),
        ({"policy": ["dp-se", "se"]}, r"policy must be one of adap-klucb, .*, got \['dp-se', 'se'\]"),
        ({"epsilon": None}, r"epsilon must be a number, got None"),
        ({"epsilon": 0}, r"epsilon must be a number above 0, got 0"),
        ({"epsilno": 1}, r"dp-se has no option 'epsilno'; its options are arms, epsilon, "),
        ({"horizon": 4}, r"horizon must allow one pull of each of the 5 arms, got 4"),
        ({"horizon": 10.5}, r"horizon must be a whole number, got 10.5"),
        ({"runs": 0}, r"runs must be at least 1, got 0"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"checkpoints": [5, 1001]}, r"checkpoints must not lie past the horizon 1000, got 1001"),
        ({"checkpoints": [0]}, r"a checkpoint must be at least 1, got 0"),
        ({"noise": SimulatedNoise(1)}, r"noise is not an option of the policy here: the simulator sets it"),
        ({"instance": "C5"}, r"instance must be C1, C2, C3, C4, R1, R2, R3 or a list of arms, got 'C5'"),
        ({"instance": 0.5}, r"instance must be C1, C2, C3, C4, R1, R2, R3 or a list of arms, got 0.5"),
        ({"instance": [0.5]}, r"an instance needs at least two arms, got 1"),
        ({"arms": 1}, r"arms must be at least 2, got 1"),
        ({"instance": [0.5, 1.5]}, r"mean must lie in \[0, 1\], since a Bernoulli arm pays 0 or 1, got 1.5"),
        ({"instance": [0.5, "gamma(2)"]}, r"the arm 'gamma\(2\)' is of no known form; known are"),
        (
            {"instance": [0.5, Uniform(0, 2)]},
            r"the arm Uniform\(0, 2\) pays rewards in \[0.0, 2.0\], outside the policy's range \[0.0, 1.0\]; "
            r"widen the policy's low/high, or rescale the arm",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_simulated(monkeypatch, changes, message):
    monkeypatch.setattr(module, "run_part", lambda part: pytest.fail("simulated"))
    given = {**GOOD, **changes}
    with pytest.raises(ArgumentError, match=message):
        simulate(**given)
    policy, on = given.pop("policy"), given.pop("instance")
    with pytest.raises(ArgumentError, match=message):
        Setting.of(policy, on, **given)


def test_a_missing_option_is_named():
    with pytest.raises(ArgumentError, match="dp-se needs the option 'epsilon'; its options are"):
        simulate("dp-se", "C2", horizon=1000)


def test_compare_refuses_unknown_policies_and_options_that_nobody_has(monkeypatch):
    monkeypatch.setattr(module, "run_part", lambda part: pytest.fail("simulated"))
    with pytest.raises(ArgumentError, match=r"policy must be one of .*, got 'dp-sex'"):
        compare(["se", "dp-sex"], horizon=1000, epsilon=1.0)
    with pytest.raises(ArgumentError, match=r"none of se, ucb has an option 'epslion', got epslion=1.0"):
        compare(["se", "ucb"], horizon=1000, epslion=1.0)


# ---------------------------------------------------------------------- the store


@pytest.fixture
def calls(monkeypatch):
    """The settings and runs that are simulated, in order."""
    made = []

    def counted(part):
        made.append(part)
        return run_part(part)

    monkeypatch.setattr(module, "run_part", counted)
    return made


def simulated(calls):
    return [setting for setting, numbers in calls for _ in numbers]


def test_only_what_is_missing_is_simulated(tmp_path, calls, expected):
    settings, store = sweep(), Store(tmp_path / "new" / "folder")
    check_same(simulate_all(settings[1:3], store=store), expected[1:3])
    assert simulated(calls) == [settings[1]] * 5 + [settings[2]] * 5
    calls.clear()
    told = []
    check_same(simulate_all(settings, store=store, on_progress=told.append), expected)
    assert simulated(calls) == [settings[0]] * 5 + [settings[3]] * 5
    assert sum(told) == 20
    calls.clear()
    check_same(simulate_all(settings, store=store), expected)
    assert not calls
    assert sorted(path.suffix for path in store.folder.iterdir()) == [".npz"] * 4  # nothing temporary is left


def test_no_engine_is_started_when_nothing_is_missing(tmp_path):
    class Unwanted(Serial):
        def __enter__(self):
            pytest.fail("started")

    setting = Setting.of("se", "C2", horizon=500, runs=2)
    first = simulate_all([setting], store=Store(tmp_path))
    check_same(simulate_all([setting], Unwanted(), store=Store(tmp_path)), first)
    assert len(simulate_all([], Unwanted())) == 0


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "text"])
def test_a_damaged_file_is_simulated_again_and_replaced(tmp_path, calls, damage):
    setting, store = Setting.of("se", "C2", horizon=500, runs=2), Store(tmp_path)
    first = simulate_all([setting], store=store)
    path = store.path(setting)
    whole = path.read_bytes()
    middle = len(whole) // 3
    path.write_bytes(
        {
            "cut": whole[:-40],
            "empty": b"",
            "changed": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
            "text": b"not a results file",
        }[damage]
    )
    assert store.get(setting) is None
    calls.clear()
    check_same(simulate_all([setting], store=store), first)
    assert simulated(calls) == [setting] * 2
    check_same([store.get(setting)], first)


def test_other_settings_have_other_files(tmp_path, monkeypatch):
    store, setting = Store(tmp_path), Setting.of("se", [0.2, 0.8], horizon=500, runs=2)
    own_name = Instance("mine", setting.instance.rewards)
    others = [
        setting.with_(seed=1),
        setting.with_(runs=3),
        setting.with_(checkpoints=(500,)),
        setting.with_(instance=own_name),
        Setting.of("se", [0.2, 0.8], horizon=501, runs=2),
        Setting.of("se", [0.2, 0.8], horizon=500, runs=2, beta=0.1),
        Setting.of("se", [0.2, 0.81], horizon=500, runs=2),
        Setting.of("ucb", [0.2, 0.8], horizon=500, runs=2),
    ]
    paths = {store.path(one) for one in [setting, *others]}
    monkeypatch.setattr("discreet._version.__version__", "99.0")
    paths.add(store.path(setting))
    assert len(paths) == len(others) + 2
    assert store.get(setting) is None


class Interrupted(Serial):
    """Someone presses Ctrl-C after some results."""

    def __init__(self, after):
        self.after = after

    def run(self, work, tasks):
        for index, result in super().run(work, tasks):
            if index == self.after:
                raise KeyboardInterrupt
            yield index, result


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_loses_nothing_that_was_finished(tmp_path, calls, expected, after):
    settings, store = sweep(), Store(tmp_path)  # four settings in this thread: a task is a whole setting
    with pytest.raises(KeyboardInterrupt):
        simulate_all(settings, Interrupted(after), store=store)
    assert [store.get(setting) is not None for setting in settings] == [place < after for place in range(4)]
    calls.clear()
    check_same(simulate_all(settings, store=store), expected)
    assert simulated(calls) == [setting for setting in settings[after:] for _ in range(5)]


def test_a_setting_of_which_some_runs_are_missing_is_not_stored(tmp_path):
    setting, store = Setting.of("se", "C2", horizon=500, runs=8), Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        simulate_all([setting], Interrupted(3), store=store)  # alone, so in four pieces
    assert store.get(setting) is None

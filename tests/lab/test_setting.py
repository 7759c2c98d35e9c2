"""Settings: checked when they are made, equal however they are written, and the source of all seeds."""

import numpy as np
import pytest

import discreet
from discreet import SimulatedNoise
from discreet.core.errors import ArgumentError
from discreet.lab import Bernoulli, Discrete, Instance, Setting, Uniform
from discreet.lab.setting import CAP, RULE_RUNS, RUNS, accepts, default_checkpoints

EASY = {"alpha": 0.5, "beta": 0.1}
SIGNS = Discrete([-1, 1], [1, 3])

# ---------------------------------------------------------------------- the same setting, however it is written


def test_a_name_or_a_list_of_means_is_the_same_instance():
    named, spelt = (Setting.of("dp-se", on, epsilon=1.0) for on in ("C2", [0.75, 0.625, 0.5, 0.375, 0.25]))
    own = Instance("mine", tuple(map(Bernoulli, [0.75, 0.625, 0.5, 0.375, 0.25])))
    assert named.identity == spelt.identity == Setting.of("dp-se", own, epsilon=1.0).identity


def test_a_key_a_class_or_an_object_is_the_same_algorithm():
    key = Setting.of("dp-se", "C2", horizon=5000, epsilon=1.0, beta=0.2)
    assert Setting.of(discreet.DPSuccessiveElimination, "C2", horizon=5000, epsilon=1.0, beta=0.2) == key
    policy = discreet.DPSuccessiveElimination([*"ABCDE"], epsilon=1.0, horizon=5000, beta=0.2)
    assert Setting.of(policy, "C2") == key
    assert Setting.of(policy, "C2", horizon=6000) == Setting.of("dp-se", "C2", horizon=6000, epsilon=1.0, beta=0.2)
    rule = discreet.DPNAS(epsilon=1.0, low=0, high=1, **EASY)
    assert Setting.of(rule, 0.5) == Setting.of("dp-nas", 0.5, epsilon=1.0, low=0, high=1, **EASY)


def test_a_wrapper_takes_a_policy_or_its_key_with_options():
    key = Setting.of("guess-and-double", "C2", policy="dp-se-sharp", epsilon=1, first_guess=4000)
    wrapped = discreet.DPSharpElimination(range(5), epsilon=1.0, horizon=4000)
    assert Setting.of("guess-and-double", "C2", policy=wrapped, first_guess=4000) == key
    assert Setting.of(discreet.GuessAndDouble(wrapped, first_guess=4000), "C2") == key
    assert key.label == "guess-and-double(epsilon=1.0, first_guess=4000, policy=dp-se-sharp) on C2, K = 5, T = 50000000"
    assert isinstance(key.build().policy, discreet.DPSharpElimination)
    assert accepts("guess-and-double", "epsilon")


class Unregistered(discreet.UCB):
    """A user's own policy."""

    key = "nobody-knows-it"


def test_a_class_that_was_not_registered_is_entered():
    try:
        assert Setting.of(Unregistered, "C2", horizon=1000).algorithm == "nobody-knows-it"
        assert discreet.make_policy(Unregistered, ["A", "B"]) == Unregistered(["A", "B"])
    finally:
        del discreet.POLICIES["nobody-knows-it"]
    with pytest.raises(ArgumentError, match="key must be new, got 'ucb', which is UCB"):
        Setting.of(type("Own", (discreet.UCB,), {}), "C2")


def test_runs_are_few_for_a_policy_and_many_for_a_rule():
    assert Setting.of("se", "C2").runs == RUNS == 30
    assert Setting.of("nas", 0.5, **EASY).runs == RULE_RUNS == 1000


def test_a_setting_comes_back_from_json():
    for setting in (Setting.of("se", ["beta(2, 5)", 0.5], horizon=500), Setting.of("nas", SIGNS, runs=3, **EASY)):
        assert Setting.from_dict(setting.to_dict()) == setting


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
    "algorithm": ({"algorithm": "dp-bai"}, False),
    "option": ({"beta": 0.2}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_run_by_run_policies_meet_the_same_random_numbers_in_the_same_world(change):
    given = {"algorithm": "dp-se", "instance": [0.3, 0.7], "horizon": 20_000, "seed": 1, "epsilon": 1.0, "beta": 0.1}

    settings = [Setting.of(**given), Setting.of(**{**given, **CHANGES[change][0]})]
    before, after = ([tuple(one.run_seed(n).generate_state(4).tolist()) for n in range(3)] for one in settings)
    assert len(set(before)) == len(set(after)) == 3
    assert (set(before) & set(after) == set()) if CHANGES[change][1] else before == after
    assert len({one.store_key for one in settings}) == 2


def test_a_setting_is_its_rule_its_law_its_options_and_the_seed():
    given = {"algorithm": "dp-nas", "instance": 0.4, "seed": 1, "alpha": 0.5, "beta": 0.1, "epsilon": 1.0}

    def randomness(**options):
        return tuple(Setting.of(**options).run_seed(3).generate_state(4).tolist())

    changes = (
        {"seed": 2},
        {"algorithm": "dp-exp-nas"},
        {"instance": 0.41},
        {"alpha": 0.51},
        {"max_samples": 10},
        {"radius": 2},
    )
    found = {randomness(**given), *(randomness(**{**given, **change}) for change in changes)}
    assert len(found) == 1 + len(changes)
    assert randomness(**given) == randomness(**{**given, "runs": 7, "instance": "0.4", "epsilon": np.float32(1)})


# ---------------------------------------------------------------------- defaults


def test_the_range_is_the_samples_own_unless_it_is_given():
    assert dict(Setting.of("nas", SIGNS, **EASY).options)["low"] == -1.0
    assert dict(Setting.of("nas", 0.5, low=-2, high=2, **EASY).options)["low"] == -2.0
    assert "low" not in dict(Setting.of("nas", 0.5, radius=1, **EASY).options)
    assert Setting.of("nas", 0.5, radius=1, **EASY).label == "nas(alpha=0.5, beta=0.1, radius=1.0) on Bernoulli(0.5)"
    assert dict(Setting.of("nas", 0.5, radius=None, epsilon=None, **EASY).options) == {
        **EASY, "low": 0.0, "high": 1.0, "max_samples": CAP,
    }  # fmt: skip


def test_default_checkpoints_are_sorted_and_end_at_the_horizon():
    for horizon in (1, 2, 3, 99, 100, 101, 12_345, 5 * 10**7):
        moments = default_checkpoints(horizon)
        assert list(moments) == sorted(set(moments))
        assert (moments[0], moments[-1]) == (1, horizon)
        assert len(moments) <= 200


# ---------------------------------------------------------------------- bad input

GOOD = {"algorithm": "dp-se", "instance": "C2", "horizon": 1000, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "dp-sex"}, r"algorithm must be one of adap-klucb, .*, ucb, got 'dp-sex'"),
        ({"algorithm": ["dp-se", "se"]}, r"algorithm must be one of adap-klucb, .*, got \['dp-se', 'se'\]"),
        ({"epsilon": None}, r"epsilon must be a number, got None"),
        ({"epsilon": 0}, r"epsilon must be a number above 0, got 0"),
        ({"epsilno": 1}, r"dp-se has no option 'epsilno'; its options are arms, horizon, "),
        ({"horizon": 4}, r"horizon must allow one pull of each of the 5 arms, got 4"),
        ({"horizon": 10.5}, r"horizon must be a whole number, got 10.5"),
        ({"runs": 0}, r"runs must be at least 1, got 0"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"checkpoints": [5, 1001]}, r"checkpoints must not lie past the horizon 1000, got 1001"),
        ({"checkpoints": [0]}, r"a checkpoint must be at least 1, got 0"),
        ({"noise": SimulatedNoise(1)}, r"dp-se has no option 'noise'; its options are arms, "),
        ({"instance": "C5"}, r"instance must be C1, C2, C3, C4, R1, R2, R3 or a list of arms, got 'C5'"),
        ({"instance": 0.5}, r"instance must be C1, C2, C3, C4, R1, R2, R3 or a list of arms, got 0.5"),
        ({"instance": [0.5]}, r"an instance needs at least two arms, got 1"),
        ({"arms": 1}, r"arms must be at least 2, got 1"),
        ({"instance": [0.5, 1.5]}, r"mean must lie in \[0, 1\], since a Bernoulli arm pays 0 or 1, got 1.5"),
        ({"instance": [0.5, "gamma(2)"]}, r"the arm 'gamma\(2\)' is of no known form; known are"),
        (
            {"instance": [0.5, Uniform(0, 2)]},
            r"the arm Uniform\(0, 2\) pays rewards in \[0.0, 2.0\], outside the algorithm's range \[0.0, 1.0\]; "
            r"widen its low and high, or rescale the arm",
        ),
    ],
)
def test_bad_input_of_a_policy_is_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        Setting.of(**{**GOOD, **changes})


def test_a_missing_option_is_named():
    with pytest.raises(ArgumentError, match="dp-se needs the option 'epsilon'; its options are"):
        Setting.of("dp-se", "C2", horizon=1000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "dp-nass"}, r"algorithm must be one of .*dp-nas, .*nas, .*got 'dp-nass'"),
        ({"algorithm": 3}, r"algorithm must be one of .*, got 3"),
        ({"instance": 1.5}, r"mean must lie in \[0, 1\].*got 1.5"),
        ({"instance": "gamma(2)"}, r"the arm 'gamma\(2\)' is of no known form"),
        ({"instance": None}, r"mean must be a number, got None"),
        ({"runs": 0}, r"runs must be at least 1, got 0"),
        ({"runs": 2.5}, r"runs must be a whole number, got 2.5"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"alpha": 1.5}, r"alpha must lie strictly between 0 and 1, got 1.5"),
        ({"alpha": None}, r"dp-nas needs the option 'alpha'"),
        ({"epsilon": -1}, r"epsilon must be a number above 0, got -1"),
        ({"gamma": 1}, r"dp-nas has no option 'gamma'"),
        ({"noise": 1}, r"dp-nas has no option 'noise'"),
        ({"low": 0}, r"give the samples' range as radius, or as low and high"),
        ({"radius": 1, "low": 0}, r"give radius, or low and high, not both"),
        ({"radius": 0.5}, r"Bernoulli\(0.3\) pays rewards in \[0.0, 1.0\], outside the algorithm's range \[-0.5"),
        ({"max_samples": 0}, r"max_samples must be at least 1, got 0"),
        ({"instance": 0}, r"max_samples must be given for Bernoulli\(0\), whose mean of 0.0 is too close to 0"),
        ({"instance": 1e-7}, r"max_samples must be given for Bernoulli\(1e-07\)"),
        ({"instance": "uniform(-1, 1)"}, r"max_samples must be given for Uniform\(-1, 1\)"),
        ({"instance": Discrete([0.5], [1])}, r"low must be below high"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_input_of_a_rule_is_refused(changes, message):
    given = {"algorithm": "dp-nas", "instance": 0.3, "runs": 2, "alpha": 0.5, "beta": 0.1, "epsilon": 1.0}
    with pytest.raises(ArgumentError, match=message):
        Setting.of(**{**given, **changes})

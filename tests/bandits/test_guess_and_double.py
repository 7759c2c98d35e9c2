"""Guess and double: phases, what it wraps, and its options in JSON."""

import json
from itertools import count

import pytest

import discreet
from discreet import ArgumentError, DPSuccessiveElimination, GuessAndDouble, SimulatedNoise, make_policy
from discreet.core.registry import make
from discreet.testing import check_algorithm
from tests._tools import examples
from tests._tools.driving import Coins, close, drive


def elimination(**options):
    return DPSuccessiveElimination(["A", "B"], **{"epsilon": 1.0, "horizon": 1000, **options})


def test_it_doubles_at_half_of_the_guess():
    driver, ends = drive(GuessAndDouble(elimination()), (), closes=0), []
    while (now := driver.algorithm).time < 20_000:
        guess = now.guess
        close(driver, (0, 0))
        if driver.algorithm.guess > guess:
            ends.append(driver.algorithm.time)
            assert driver.algorithm.guess == 2 * guess == 4 * ends[-1]
    assert ends == [500, 1000, 2000, 4000, 8000, 16000, 32000][: len(ends)]
    assert len(ends) >= 6


@pytest.mark.parametrize(
    ("inner", "options"),
    [
        ("dp-ucb", {"epsilon": 5.0, "relaxation": 2.0}),
        ("dp-ucb-hybrid", {"epsilon": 50.0}),
        ("dp-se-modified", {"epsilon": 5.0}),
        ("dp-se-svt", {"epsilon": 5.0}),
        ("lazy-ucb", {"epsilon": 5.0}),
        ("lazy-dp-ts", {"epsilon": 5.0, "seed": 3}),
        ("dp-paired-imed", {"epsilon": 5.0}),
        ("se", {}),
        ("ucb", {}),
        ("ts", {"seed": 4}),
    ],
)
def test_it_wraps_any_policy_with_a_horizon(inner, options):
    policy = make_policy("guess-and-double", ["A", "B"], policy=inner, first_guess=256, **options)
    assert policy.privacy.promised == ("epsilon" in options)
    rewards, driver = Coins((0.9, 0.1), 3, "AB"), drive(policy, (), SimulatedNoise(3), 0)
    for closed in count():
        now = driver.algorithm
        if closed in (1, 2, 5, 9, 130):
            check_algorithm(now)
        if now.time >= (3000 if inner in examples.STEPWISE else 30_000):
            break
        close(driver, rewards)
    assert now.best_arm == "A"
    assert now.phase >= 4
    if now.privacy.promised:
        assert discreet.spent(driver.ledger) <= options["epsilon"] * (1 + 1e-9)
    assert all(last <= now.taken[arm] for release in driver.ledger for arm, _, last in release.spans)


def test_batches_that_release_nothing_are_learned_too():
    """The leader of dp-paired-imed is pulled alone, in batches that grow."""
    policy = GuessAndDouble(discreet.DPPairedIMED(["A", "B"], epsilon=1.0, horizon=100_000))
    driver, alone = drive(policy, (), SimulatedNoise(1), 0), []
    for _ in range(9):
        plan = driver.plan()
        alone += [] if plan.learns else plan.pulls.values()
        close(driver, (0.9, 0.1))
    assert len(alone) > 4
    assert alone == sorted(alone)
    assert alone[-1] > 4 * alone[0]


def test_it_is_private_in_the_unit_of_the_policy():
    inner = discreet.DPUCB(["A", "B"], epsilon=1.0, horizon=100, preset="mishra-thakurta-2015")
    privacy = GuessAndDouble(inner).privacy
    assert privacy.unit is discreet.Unit.ROW
    assert privacy.reason == f"each reward enters one phase; in a phase: {inner.privacy.reason}"


# ---------------------------------------------------------------------- options


def test_the_first_guess_is_given_or_the_policys_horizon_or_the_default():
    assert GuessAndDouble(elimination()).guess == 1000
    assert GuessAndDouble(elimination(), first_guess=300).guess == 300
    assert GuessAndDouble(elimination(horizon=None, beta=0.1)).guess == 2**14
    assert make_policy("guess-and-double", range(10_000), epsilon=1.0).guess == 20_000


def test_options_in_json_give_an_equal_object_also_with_the_policys_beside_them():
    policy = GuessAndDouble(elimination(horizon=2**14, low=-1.0), first_guess=600)
    options = json.loads(json.dumps(policy.options()))
    assert options["policy"]["algorithm"] == "dp-se"
    assert options["policy"]["options"]["low"] == -1.0
    assert make("guess-and-double", options) == policy
    flat = {"arms": ["A", "B"], "epsilon": 1.0, "low": -1.0, "first_guess": 600}
    for given in (flat, {**flat, "policy": "dp-se"}):
        other = make("guess-and-double", given)
        assert (other.guess, other.policy.low, other.plan()) == (600, -1.0, policy.plan())
    assert GuessAndDouble.from_options({"policy": elimination()}) == GuessAndDouble(elimination())


def test_objects_differ_if_the_policies_inside_differ():
    assert GuessAndDouble(elimination()) != GuessAndDouble(elimination(epsilon=2.0))
    one = drive(GuessAndDouble(elimination(horizon=10_000)), (0.9, 0.1), closes=1).algorithm
    other = drive(GuessAndDouble(elimination(horizon=10_000)), (0.1, 0.9), closes=1).algorithm
    assert one != other
    assert one == one.copy()
    assert one.best_arm != other.best_arm


def test_the_policy_is_not_touched():
    policy = elimination(horizon=10_000)
    drive(GuessAndDouble(policy), (0.9, 0.1), closes=3)
    assert policy == elimination(horizon=10_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "dp-bai", "epsilon": 1.0, "beta": 0.1}, "dp-bai has no option 'horizon'"),
        ({"policy": "guess-and-double", "epsilon": 1.0}, "give it a plain policy without a horizon"),
        ({"policy": "nope", "epsilon": 1.0}, "must be one of .* got 'nope'"),
        ({"policy": "dp-se", "epsilon": 1.0, "horizon": 100}, "sets the horizon itself"),
        ({"policy": "dp-se", "epsilon": 1.0, "first_guess": 3}, "first_guess must be at least 4, got 3"),
        ({"policy": "dp-se", "epsilon": -1.0}, r"epsilon must be a number above 0, got -1.0"),
        ({"policy": "dp-se", "epsilon": 1.0, "delta": 0}, "dp-se has no option 'delta'"),
        ({"policy": "dp-se-person", "epsilon": 1.0}, "a person would pay epsilon in every phase"),
        ({"policy": {"algorithm": "dp-se"}}, 'policy must be {"algorithm": ..., "options": ...}, got'),
    ],
)
def test_what_it_cannot_wrap_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        make_policy("guess-and-double", ["A", "B"], **options)


def test_values_that_it_cannot_wrap_are_refused():
    learned = drive(elimination(horizon=10_000), (0.5, 0.5), closes=1).algorithm
    search = discreet.DPBestArm(["A", "B"], epsilon=1.0, beta=0.1)
    for policy, message in (
        ("dp-se", "policy must be a plain policy, got 'dp-se'"),
        (GuessAndDouble(elimination()), "policy must be a plain policy"),
        (search, "policy must take a horizon, got 'dp-bai'"),
        (learned, "policy must be new, got one that has learned from 1 epochs"),
    ):
        with pytest.raises(ArgumentError, match=message):
            GuessAndDouble(policy)

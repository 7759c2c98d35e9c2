"""Events for dp_accounting: what an accountant makes of them is never below the truth, and near it."""

import math
from dataclasses import replace

import pytest

import discreet
from discreet.core.probability.accounting import noise_parameter
from discreet.testing import coarse_grid
from tests._tools import examples

dp = pytest.importorskip("dp_accounting", reason="needs the extra accounting")
PLD = dp.pld.PLDAccountant
ONE, SPECIAL, ADD = (getattr(dp.NeighboringRelation, f"{name}") for name in (
    "REPLACE_ONE", "REPLACE_SPECIAL", "ADD_OR_REMOVE_ONE"))  # fmt: skip
PRIVATE = sorted(name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name))
TINY = 1e-12  # a delta: at 0 an accountant of Laplace events knows no finite epsilon
SLACK = 2e-3  # of accountants, which round losses up to a grid


def made(name):
    return examples.policy(name) if name in discreet.POLICIES else examples.rule(name)


def run(bits=None):
    """A run of totals on simulated noise, and what it promises without that."""
    policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=2000)
    driver = discreet.Totals(policy, discreet.SimulatedNoise(1))
    while (plan := driver.plan()) and plan.query:
        driver.close({arm: [0.5] * count for arm, count in plan.pulls.items()})
    released = discreet.Ledger(policy.arms, policy.grid)
    for releases in driver.ledger.by_epoch():
        released.close_epoch([one._replace(simulated=False) for one in releases])
    return policy.privacy, released


@pytest.mark.parametrize("name", PRIVATE)
def test_an_accountant_finds_the_promised_epsilon(name):
    algorithm = made(name)
    accountant = PLD(ONE).compose(algorithm.dp_event())
    epsilon = algorithm.privacy.epsilon
    assert epsilon - 1e-9 <= accountant.get_epsilon(0.0) <= epsilon + SLACK


def test_it_is_composed_with_other_mechanisms():
    event = discreet.DPChernoffIMED(["A", "B"], epsilon=0.5).dp_event(ONE)
    gaussian = dp.GaussianDpEvent(8.0)  # of somebody else, on the same people
    alone = PLD(ONE).compose(gaussian).get_epsilon(1e-6)
    both = PLD(ONE).compose(gaussian).compose(event).get_epsilon(1e-6)
    assert alone < both <= alone + 0.5 + SLACK
    many = PLD(ONE).compose(dp.ComposedDpEvent([discreet.DPChernoffIMED(["A", "B"], epsilon=0.1).dp_event()] * 100))
    assert 4.5 < many.get_epsilon(1e-6) < 5.0  # 10 by addition
    assert many.get_epsilon(TINY) == pytest.approx(7.1, abs=0.2)


def test_a_promise_that_is_taken_for_less_would_be_seen():
    """Randomized response under REPLACE_SPECIAL is another mechanism: the accountant finds too little."""
    event = dp.RandomizedResponseDpEvent(noise_parameter(1.0), 2)
    assert PLD(SPECIAL).compose(event).get_epsilon(0.0) < 0.7
    for name in ("dp-exp-nas", "dp-ucb", "dp-se-person"):
        with pytest.raises(discreet.ArgumentError, match="relation must be REPLACE_ONE, got REPLACE_SPECIAL"):
            made(name).privacy.to_dp_event(sparse_ledger(), SPECIAL)


def test_a_promise_that_is_too_large_for_a_float_is_refused_in_words():
    assert noise_parameter(700.0) > 0
    with pytest.raises(discreet.ArgumentError, match="epsilon must be at most 700 for an event, got 710"):
        noise_parameter(710.0)


def sparse_ledger():
    ledger = discreet.Ledger(["A"])
    ledger.close_epoch([discreet.Release(1, "tests", (("A", 1, 9),), None, 2.0, 0.5, False, 3, True)])
    return ledger


def test_totals_are_laplace_events_where_a_value_is_replaced_by_a_special_one():
    privacy, ledger = run()
    event = privacy.to_dp_event(ledger, SPECIAL)
    assert isinstance(event, dp.LaplaceDpEvent)
    assert (
        1.0 - 1e-6 < PLD(SPECIAL).compose(event).get_epsilon(TINY) <= 1.0 + SLACK
    )  # of sensitivity 1, not of 2**20 steps
    twice = discreet.Ledger(["A", "B"], ledger.grid)
    for releases in ledger.by_epoch():
        twice.close_epoch(releases)
    twice.close_epoch([ledger[0]])
    with pytest.raises(discreet.ArgumentError, match="releases more than that"):
        privacy.to_dp_event(twice, SPECIAL)
    with pytest.raises(discreet.ArgumentError, match="ledger must be given"):
        privacy.to_dp_event(None, SPECIAL)


def divergence(width, scale, epsilon):
    """The exact hockey-stick divergence of discrete Laplace noise and its shift by the width."""
    ratio, reach = math.exp(-1 / scale), int(40 * scale) + width
    mass = [(1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-reach, reach + width + 1)]
    return math.fsum(
        max(0.0, one - math.exp(epsilon) * (1 - ratio) / (1 + ratio) * ratio ** abs(x - width))
        for x, one in zip(range(-reach, reach + width + 1), mass, strict=True)
    )


@pytest.mark.parametrize(("width", "scale"), [(1, 1.0), (1, 3.0), (4, 2.0), (7, 7.0), (16, 40.0)])
def test_the_continuous_event_dominates_the_discrete_noise(width, scale):
    def continuous(total, at):
        return max(0.0, 1 - math.exp((at - total) / 2)) if at >= 0 else None

    too_small = False
    for part in range(41):
        at = part / 40 * (width + 1) / scale
        exact = divergence(width, scale, at)
        assert exact <= continuous((width + 1) / scale, at) + 1e-12
        too_small |= exact > continuous(width / scale, at) + 1e-9
    assert too_small  # without the one step more it would not be dominated


@pytest.mark.parametrize("relation", [ADD, "ADD_OR_REMOVE_ONE", "nonsense"])
def test_other_relations_are_refused(relation):
    with pytest.raises(discreet.ArgumentError, match="relation must be REPLACE_ONE or REPLACE_SPECIAL"):
        made("dp-se").dp_event(relation)


def test_what_is_not_private_has_no_event():
    with pytest.raises(discreet.PrivacyError, match="not private"):
        made("ucb").dp_event()
    simulated = replace(made("dp-se").privacy, simulated=True)
    with pytest.raises(discreet.PrivacyError, match="simulated"):
        simulated.to_dp_event()


def test_coarse_grids_have_larger_events():
    with coarse_grid():
        privacy, ledger = run()
    assert PLD(SPECIAL).compose(privacy.to_dp_event(ledger, SPECIAL)).get_epsilon(TINY) == pytest.approx(2.0, abs=SLACK)

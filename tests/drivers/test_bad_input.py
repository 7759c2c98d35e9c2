"""Bad arguments: every one a discreet error that says what would be right, none a raw traceback."""

import math

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, SimulatedNoise
from discreet.core.options import field_names
from tests._tools import examples

HUGE = 10**400


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: examples.policy("dp-se", horizon=1), "horizon must allow one pull of each of the 2 arms, got 1"),
        (lambda: examples.policy("dp-se", horizon=0), "horizon must be at least 1, got 0"),
        (lambda: examples.policy("dp-se", horizon=2.5), "horizon must be a whole number, got 2.5"),
        (lambda: examples.policy("dp-se", horizon=HUGE), "horizon must be below"),
        (lambda: examples.policy("dp-ucb", horizon=None), "horizon must be a number, got None"),
        (lambda: examples.policy("dp-se", horizon=None, beta=None), "give a horizon .* or beta; got neither"),
        (lambda: examples.policy("dp-se", beta=1.0), "beta must lie strictly between 0 and 1, got 1.0"),
        (lambda: examples.policy("dp-se", beta=math.nan), "beta must be a finite number, got nan"),
        (lambda: examples.policy("dp-se", epsilon=HUGE), "epsilon must be a finite number"),
        (lambda: discreet.Bandit(examples.policy("dp-se"), 42), r"noise must be left out, or be a source .*, got 42"),
        (lambda: discreet.Totals(examples.policy("dp-se"), SimulatedNoise), "noise must be left out"),
        (lambda: examples.policy("dp-se", low=1, high=0), "low must be below high, got low=1.0 and high=0.0"),
        (lambda: examples.policy("dp-ucb", preset="x"), "preset must be 'event-level', .*, got 'x'"),
        (lambda: examples.policy("dp-ucb", gamma=2), "gamma must lie strictly between 0 and 1, got 2"),
        (lambda: examples.policy("dp-ucb", relaxation=-1), "relaxation must not be negative, got -1"),
        (lambda: examples.policy("dp-bai", max_pulls=1), "max_pulls must allow one pull of each arm, got 1"),
        (lambda: examples.policy("dp-bai-sharp", max_pulls=1), "max_pulls must allow one pull of each arm, got 1"),
        (lambda: examples.policy("dp-se-sharp", horizon=None, beta=None), "give a horizon .* or beta; got neither"),
        (lambda: examples.policy("dp-se-sharp", growth=1.0), "growth must be above 1, since epochs must grow"),
        (lambda: examples.policy("dp-bai-sharp", growth=1e9), "growth must be above 1.* and at most 100, got 10000000"),
        (lambda: examples.policy("dp-se-sharp", growth=math.nan), "growth must be a finite number, got nan"),
        (lambda: examples.policy("dp-se-sharp", window=0), "window must be at least 1, got 0"),
        (lambda: examples.policy("dp-se-sharp", window=2.5), "window must be a whole number, got 2.5"),
        (lambda: discreet.make_policy(["x"], ["A", "B"]), "policy must be one of"),
        (lambda: discreet.make_policy("dp-se", ["A", "B"], horizon=10), "dp-se needs the option 'epsilon'"),
        (lambda: discreet.make_policy("ucb", ["A", "B"], epsilon=1), "ucb has no option 'epsilon'; its options are"),
        (lambda: discreet.make_rule("nope", alpha=0.1), "rule must be one of dp-bernstein, dp-exp-nas, .*, got 'nope'"),
        (lambda: examples.rule("nas", max_samples=0), "max_samples must be at least 1, got 0"),
        (lambda: examples.rule("nas", radius=1, low=0), "give radius, or low and high, not both"),
        (lambda: examples.rule("dp-nas-one-sided", low=-1), "low must be at least 0 .* low=-1.0; use dp-exp-nas"),
        (lambda: discreet.NAS(alpha=0.1, beta=0.1), "give the samples' range as radius, or as low and high"),
        (lambda: discreet.register(int), "register takes a subclass of Policy or StoppingRule, got <class 'int'>"),
        (lambda: discreet.register(discreet.Policy), "Policy needs a class attribute key"),
        (lambda: discreet.Bandit(examples.policy("dp-se"), seed="x"), "seed must be a number, got 'x'"),
        (lambda: discreet.Grid(0, 1, bits=49), "bits must lie between 0 and 30, got 49"),
        (lambda: discreet.Stream(examples.rule("nas")).feed(HUGE), "reward must be a finite number"),
        (lambda: discreet.Stream(examples.rule("nas")).feed([[0.1, 0.2], [0.3]]), None),
        (lambda: discreet.Stream(examples.rule("nas")).feed(iter([[[0.1, 0.2], [0.3]]])), "rewards must be numbers"),
        (lambda: discreet.Bandit(examples.policy("dp-se"), waiting="x"), "waiting must be 'refuse' or 'serve'"),
    ],
)  # fmt: skip
def test_the_message_names_the_argument_the_value_and_the_remedy(make, message):
    if message is None:
        make()
    else:
        with pytest.raises(ArgumentError, match=message):
            make()


@pytest.mark.parametrize("name", sorted(discreet.POLICIES.keys() - examples.TESTS))
def test_tiny_betas_and_large_epsilons_are_only_numbers(name):
    known = field_names(discreet.POLICIES[name], init=True)
    for option, value in (("beta", 1e-308), ("epsilon", 1e6), ("epsilon", 1e-6)):
        if option in known:
            plan = examples.policy(name, **{option: value}).plan()
            assert plan is None or plan.size > 0


@pytest.mark.parametrize("name", sorted(discreet.RULES.keys() - {"dp-inverse", "dp-mean", "inverse", *examples.TESTS}))
def test_tiny_betas_do_not_overflow(name):
    assert examples.rule(name, beta=1e-300).run(np.ones(50_000), SimulatedNoise(0)).reached


@pytest.mark.parametrize("name", ["dp-inverse", "dp-mean", "inverse"])
@pytest.mark.parametrize("option", ["alpha", "beta"])
def test_inverse_sampling_refuses_what_takes_long_to_compute(name, option):
    with pytest.raises(ArgumentError, match=rf"{option} must be at least .* got 1e-10; use dp-bernstein"):
        examples.rule(name, **{option: 1e-10})


def test_a_total_is_not_shown_in_an_error():
    for algorithm, totals in (
        (examples.policy("dp-se"), {"A": 300.25, "B": 0}),
        (examples.policy("dp-se"), {"A": 300_250_300_250, "B": 0}),
        (examples.rule("dp-exp-nas"), {None: 987654321}),
        (examples.rule("dp-nas"), {None: np.full(4096, 987654321)}),
        (examples.rule("dp-bernstein"), {None: (0, 987654321)}),
    ):
        with pytest.raises(ArgumentError) as caught:
            discreet.Totals(algorithm).close_steps(totals)
        assert not any(digits in str(caught.value) for digits in ("300", "987654321"))

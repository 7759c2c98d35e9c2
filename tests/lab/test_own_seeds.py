"""Policies that draw for themselves: their seed comes from the run, unless the options have one."""

import pytest

import discreet
from discreet.lab import Setting
from discreet.lab.simulate import run_setting
from tests._tools import examples

SEEDED = [name for name in sorted(discreet.POLICIES) if "seed" in examples.policy(name).options()]


def setting(name, on=(0.4, 0.6), **more):
    options = {"epsilon": 1.0} if examples.is_private(name) else {}
    return Setting.of(name, list(on), horizon=300, **options, **more)


def test_there_are_such_policies():
    assert SEEDED == ["lazy-dp-ts", "ts"]


@pytest.mark.parametrize("name", SEEDED)
def test_runs_are_reproducible_and_differ(name):
    first, second = (run_setting(setting(name, (0.5, "uniform(0, 0.9)"), runs=6)) for _ in range(2))
    assert first.method == ("kernel" if name == "ts" else "object")  # no other kernel has arms that are not Bernoulli
    assert (first.pulls == second.pulls).all()
    assert len({tuple(pulls) for pulls in first.pulls.tolist()}) > 1


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_comes_from_the_run_unless_the_options_have_one(name):
    plain = setting(name)
    assert "seed" not in dict(plain.options)
    assert (plain.build(77).seed, plain.build().seed) == (77, 0)
    own = setting(name).with_(options=(*plain.options, ("seed", 5)))
    assert own.build(77).seed == 5
    assert own.identity != plain.identity

"""The command `discreet audit`."""

import json
import subprocess
import sys

import pytest

import discreet
from discreet.cli import main
from discreet.core.registry import POLICIES
from tests._tools.mutants import MUTANTS, planted
from tests._tools.own import ExploreThenCommit

FEW = 300


@pytest.fixture
def leaking():
    """A policy of one's own, while first totals are released without noise."""
    discreet.register(ExploreThenCommit)
    with planted(next(one for one in MUTANTS if one.plant.__name__ == "first_batch_bare")):
        yield "test-explore-then-commit"
    del POLICIES[ExploreThenCommit.key]


def test_it_prints_a_row_for_each(capsys):
    assert main(["audit", "laplace", "ucb", "--samples", "1e3"]) == 0
    out = capsys.readouterr().out
    assert "no violation found" in out
    assert "not private: nothing to audit" in out
    assert "confidence 1 - 1e-06" in out


def test_a_violation_is_an_exit_code_and_names_its_event(capsys, leaking):
    assert main(["audit", leaking, "--samples", str(FEW), "-O", "n=7"]) == 1
    out, err = capsys.readouterr()
    assert "VIOLATION" in out
    assert f"violation: {leaking} claims epsilon = 1 and loses at least" in err
    assert "The event: " in err


def test_json(capsys, leaking):
    assert main(["audit", leaking, "nas", "--samples", str(FEW), "-O", "n=7", "--json"]) == 2
    assert "nas cannot be built for an audit" in capsys.readouterr().err
    assert main(["audit", leaking, "--samples", str(FEW), "-O", "n=7", "--json"]) == 1
    (bad,) = json.loads(capsys.readouterr().out)
    assert (bad["violated"], bad["claimed"], bad["kind"]) == (True, 1.0, "policy")
    assert bad["findings"][0]["event"]
    assert main(["audit", "nas", "--json"]) == 0
    (skipped,) = json.loads(capsys.readouterr().out)
    assert (skipped["claimed"], skipped["verdict"]) == (None, "not private: nothing to audit")


THIRD_PARTY = """
import sys
import discreet
from discreet.mechanisms import NoisyTotals

@discreet.register
class Careful(discreet.DPIMED):
    key = "test-careful"

@discreet.register
class Careless(discreet.DPIMED):
    key = "test-careless"

if "test-careless" in sys.argv:
    NoisyTotals._draw = lambda self, sensitivity, epsilon, count: ([0] * count, 1.0)
"""


def test_policies_of_a_third_party_come_by_a_module(tmp_path):
    """As a program of its own: the exit code is 1 where totals have no noise, and 0 where they have."""
    (tmp_path / "third_party.py").write_text(THIRD_PARTY)
    codes = {}
    for name, samples in (("test-careful", "60"), ("test-careless", "180")):  # enough where a probability is 0
        command = [sys.executable, "-m", "discreet", "audit", name, "--module", "third_party.py", "--samples", samples]
        done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
        (found,) = json.loads(done.stdout)
        assert (found["algorithm"], done.stderr) == (name, "")
        codes[name] = done.returncode, found["violated"]
    assert codes == {"test-careful": (0, False), "test-careless": (1, True)}


def test_a_module_that_is_not_there_is_named(capsys):
    assert main(["audit", "--module", "no_such_module"]) == 2
    assert "module must be one that Python can import, got 'no_such_module'" in capsys.readouterr().err


def test_options_that_simulations_take_otherwise_are_options_here(capsys):
    assert main(["audit", "dp-ucb", "-O", "horizon=4", "-O", "preset=thesis", "--samples", "60"]) == 0
    assert main(["audit", "nope"]) == 2
    assert "algorithm must be one of" in capsys.readouterr().err

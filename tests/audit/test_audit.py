"""The audit: its limits are right, it finds what leaks, it leaves what is private alone, and it says things kindly."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.audit.events import Event, Table, Trait, pick
from discreet.audit.examine import STEPS
from discreet.audit.inputs import Rewards
from discreet.audit.limits import binomial_tail, epsilon_limit, lower_limit, upper_limit
from discreet.audit.neighbours import balance
from discreet.audit.subjects import names, subject
from discreet.cli import main
from discreet.core.registry import POLICIES, RULES
from tests.bandits.test_own_algorithms import ExploreThenCommit

FEW = 300


class Bare(ExploreThenCommit):
    """No noise at all."""

    key = "test-bare"

    def __init__(self, arms, *, epsilon, n=5, horizon=None, low=0.0, high=1.0, noise=None):
        super().__init__(arms, epsilon=epsilon, n=n, horizon=horizon, low=low, high=high, noise=noise)

    def _close(self, totals):
        self._laplace._reserve.restore([0] * len(totals))
        super()._close(totals)


class Chatty(discreet.DPExponentialNAS):
    """Halts in private, and then releases the exact total."""

    key = "test-chatty"

    def _finish(self):
        self._laplace._reserve.restore([0])
        super()._finish()


class BlockMean(discreet.StoppingRule):
    """Halts after n samples with a noisy mean; it does not take totals."""

    key = "test-block-mean"
    privacy_reason = "one noisy total"

    def __init__(self, *, epsilon, n=20, alpha=0.5, beta=0.5, low=0.0, high=1.0, noise=None):
        super().__init__(alpha=alpha, beta=beta, low=low, high=high)
        self.epsilon, self.n, self._sum = epsilon, n, 0
        self._laplace = discreet.LaplaceMechanism(self.grid.width, epsilon, noise)
        self.noise = self._laplace.noise

    def _until_test(self):
        return self.n - self.samples

    def _absorb(self, units):
        taken = units[: self._until_test()]
        self._sum += int(taken.sum())
        self.samples += taken.size
        if self.samples == self.n:
            released = self._laplace.release(self._sum)
            self._halted, self._estimate = True, self.grid.mean(released, self.n)
            spans = ((None, 1, self.n),)
            self._ledger.append(discreet.Release(1, "total", spans, None, released, 1.0, self.epsilon, self.simulated))

    def _progress(self):
        return {"sum": self._sum, "laplace": self._laplace._state()}

    def _restore(self, progress):
        self._sum = progress["sum"]
        self._laplace._restore(progress["laplace"])


OWN = (ExploreThenCommit, Bare, Chatty, BlockMean)


@pytest.fixture
def own():
    for kind in OWN:
        discreet.register(kind)
    yield
    for kind in OWN:
        POLICIES.pop(kind.key, None)
        RULES.pop(kind.key, None)


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize(("hits", "runs"), [(1, 10), (5, 10), (10, 10), (37, 1000), (950, 1000), (30_000, 100_000)])
@pytest.mark.parametrize("error", [0.025, 1e-9])
def test_limits_are_those_of_clopper_and_pearson(hits, runs, error):
    assert lower_limit(hits, runs, error) == pytest.approx(stats.beta.ppf(error, hits, runs - hits + 1), rel=1e-5)
    above = stats.beta.isf(error, hits + 1, runs - hits) if hits < runs else 1.0
    assert upper_limit(hits, runs, error) == pytest.approx(above, rel=1e-5)
    assert lower_limit(hits, runs, error) <= stats.beta.ppf(error, hits, runs - hits + 1) * (1 + 1e-12)


def test_a_tail_is_the_binomial_one():
    for hits, runs, chance in ((0, 5, 0.3), (3, 5, 0.0), (5, 5, 0.9), (700, 1000, 0.6), (60_000, 100_000, 0.59)):
        assert binomial_tail(hits, runs, chance) == pytest.approx(stats.binom.sf(hits - 1, runs, chance), rel=1e-7)


def test_without_hits_nothing_is_proved():
    assert epsilon_limit(0, 0, 1000, 0.05) == epsilon_limit(500, 500, 1000, 0.05) == 0.0


def test_the_bound_is_too_high_as_rarely_as_it_says():
    """Randomised response at epsilon = 1: its probabilities are known, and the bound exceeds epsilon in 5 % at most."""
    rng, epsilon, runs = np.random.default_rng(1), 1.0, 500
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = sum(
        epsilon_limit(rng.binomial(runs, p), rng.binomial(runs, 1 - p), runs, 0.05) > epsilon for _ in range(1000)
    )
    assert wrong <= stats.binom.ppf(1 - 1e-6, 1000, 0.05)


# ---------------------------------------------------------------------- events


def tables(make, runs=500):
    rng = np.random.default_rng(2)
    return [Table([make(rng, side) for _ in range(runs)]) for side in (0, 1)]


def separation(make):
    here, there = tables(make)
    event = pick(here, there, deviations=6.0)
    return event.count(here) - event.count(there)


def shared(rng, side, sign):
    noise = float(rng.normal(0, 100))
    return {"a": noise + side, "b": sign * noise}


@pytest.mark.parametrize(
    "make",
    [
        lambda rng, side: {"n": int(rng.integers(100)), "halted": bool(side)},
        lambda rng, side: {"a": float(side), "b": rng.random()},
        lambda rng, side: shared(rng, side, 1),
        lambda rng, side: shared(rng, side, -1),
        lambda rng, side: {"only here": 1.0} if side else {"elsewhere": 1.0},
    ],
    ids=["a word", "a number", "a difference", "a sum", "presence"],
)
def test_what_tells_two_inputs_apart_is_found(make):
    assert separation(make) == 500


def test_weak_evidence_adds_up():
    def eight(rng, side):
        return {f"{place}": rng.laplace(side, 2.0) for place in range(8)}

    def one(rng, side):
        return {"0": rng.laplace(side, 2.0)}

    assert separation(eight) > 1.5 * separation(one)


def test_a_run_without_the_trait_is_outside():
    table = Table([{"a": 1.0}, {"a": 3.0}, {}])
    trait = Trait("a", lambda table: table.numbers("a"))
    assert [Event(trait, 2.0, above).count(table) for above in (True, False)] == [1, 1]


# ---------------------------------------------------------------------- inputs


def test_neighbours_differ_in_one_reward():
    one, other = Rewards((7, 3), arm=1, pull=4, paid=3).changed(width=10)
    for arm in (0, 1):
        units = [side.units(arm, 1, 6) for side in (one, other)]
        assert np.count_nonzero(units[0] != units[1]) == arm
        assert [side.total(arm, 1, 6) for side in (one, other)] == [each.sum() for each in units]
        assert one.total(arm, 5, 9) == other.total(arm, 5, 9)


def test_levels_are_found_where_decisions_are_open():
    rng = np.random.default_rng(1)
    found = balance(lambda levels: {"yes": bool(levels[0] + rng.integers(-9, 10) > 700)}, [((0,), (1000,))])
    assert 690 <= found[0] <= 710
    assert balance(lambda levels: {"yes": True}, [((5,), (0,)), ((9,), (0,))]) == (5,)


# ---------------------------------------------------------------------- audits


@pytest.mark.parametrize("name", sorted(names()))
def test_everything_can_be_audited(name):
    one = subject(name, 1.0, {})
    if math.isinf(one.epsilon):
        return
    for pair in one.find_pairs():
        here, there = pair.one(), pair.other()
        assert here
        assert there
    assert sum(pair.share for pair in one.find_pairs()) == pytest.approx(1)


def test_policies_are_played_in_three_ways_and_so_are_rules():
    assert [pair.name.split(", ", 1)[1] for pair in subject("dp-imed", 1.0, {}).find_pairs()] == [
        "by totals", "by totals, saved and loaded", "by tickets",
    ]  # fmt: skip
    assert [pair.name.split(", ", 1)[1] for pair in subject("dp-exp-nas", 1.0, {}).find_pairs()] == [
        "as a stream", "as a stream, saved and loaded", "by totals",
    ]  # fmt: skip


def test_noise_is_private_and_results_say_what_they_are():
    found, skipped = discreet.audit("laplace", "ucb", samples=2000, epsilon=2.0)
    assert 1.0 < found.epsilon <= 2.0 == found.claimed
    assert (found.samples, found.error, found.violated, skipped.private) == (8000, 1e-6, False, False)
    assert str(found).startswith("laplace: epsilon is at least 1.")
    assert str(skipped) == "ucb: not private: nothing to audit"
    assert not discreet.make_policy("dp-imed", ["A", "B"], epsilon=1.0).simulated


def test_a_policy_of_ones_own_is_audited(own):
    (found,) = discreet.audit("test-explore-then-commit", samples=FEW, options={"n": 5})
    assert not found.violated
    assert found.samples == 6 * FEW
    (found,) = discreet.audit("test-bare", samples=FEW)
    assert found.violated
    assert found.verdict == "VIOLATION"


def test_a_rule_of_ones_own_is_audited(own):
    (found,) = discreet.audit("test-chatty", samples=FEW)
    assert found.violated
    (found,) = discreet.audit("test-block-mean", samples=1500)
    assert 0.2 < found.epsilon <= 1.0
    assert [finding.pair for finding in found.findings] == [
        "the first sample, as a stream", "a later sample, as a stream, saved and loaded",
    ]  # fmt: skip


def test_seconds_decide_how_many_runs_there_are():
    few, many = (discreet.audit("laplace", seconds=seconds)[0].samples for seconds in (0.02, 0.5))
    assert 80 <= few < many


def test_progress_is_told_in_whole_steps():
    steps = []
    discreet.audit("laplace", "dp-imed", "ucb", samples=60, on_progress=steps.append)
    assert sum(steps) == 3 * STEPS
    assert min(steps) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithms": ["dp-sex"]}, "algorithm must be one of above-threshold, .* got 'dp-sex'; one of your own"),
        ({"algorithms": ["laplace"], "samples": 10}, "samples must be at least 60, got 10"),
        ({"algorithms": ["laplace"], "seconds": 0}, "seconds must be a number above 0"),
        ({"algorithms": ["laplace"], "error": 2}, "error must lie strictly between 0 and 1"),
        ({"algorithms": ["dp-se"], "options": {"preset": 1}}, "dp-se cannot be built for an audit: .*'preset'"),
    ],
)
def test_mistakes_are_told_kindly(arguments, message):
    with pytest.raises(discreet.ArgumentError, match=message):
        discreet.audit(*arguments.pop("algorithms"), **arguments)


def test_a_missing_option_is_named(own):
    with pytest.raises(discreet.ArgumentError, match=r"test-explore-then-commit .* needs the option 'n'"):
        discreet.audit("test-explore-then-commit")


# ---------------------------------------------------------------------- the command


def test_the_command_prints_a_row_for_each(capsys):
    assert main(["audit", "laplace", "ucb", "--samples", "1e3"]) == 0
    out = capsys.readouterr().out
    assert "no violation found" in out
    assert "not private: nothing to audit" in out
    assert "confidence 1 - 1e-06" in out


def test_a_violation_is_an_exit_code_and_names_its_event(capsys, own):
    assert main(["audit", "test-bare", "--samples", str(FEW), "-O", "n=7"]) == 1
    out, err = capsys.readouterr()
    assert "VIOLATION" in out
    assert "violation: test-bare claims epsilon = 1 and loses at least" in err
    assert "The event: " in err


def test_json(capsys, own):
    assert main(["audit", "test-bare", "nas", "--samples", str(FEW), "--json"]) == 1
    bad, skipped = json.loads(capsys.readouterr().out)
    assert (bad["violated"], bad["claimed"], bad["kind"]) == (True, 1.0, "policy")
    assert bad["findings"][0]["event"]
    assert (skipped["claimed"], skipped["verdict"]) == (None, "not private: nothing to audit")


THIRD_PARTY = """
import discreet

@discreet.register
class Careful(discreet.DPIMED):
    key = "test-careful"

@discreet.register
class Careless(discreet.DPIMED):
    key = "test-careless"

    def _close(self, totals):
        if not self._batches[0]:
            self._laplace._reserve.restore([0] * len(totals))
        super()._close(totals)
"""


def test_policies_of_a_third_party_come_by_a_module(tmp_path):
    """As a program of its own: the exit code is 1 for the one that leaks, and 0 for the one that does not."""
    (tmp_path / "third_party.py").write_text(THIRD_PARTY)
    codes = {}
    for name in ("test-careful", "test-careless"):
        command = [sys.executable, "-m", "discreet", "audit", name, "--module", "third_party", "--samples", str(FEW)]
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

"""What every registered stopping rule must do. A new rule is met by these tests through the registry alone."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import ArgumentError, FinishedError, PrivacyError, SimulatedNoise
from discreet.core.registry import rebuild
from discreet.stopping._released import ReleasedRule
from tests._tools import examples

NAMES = sorted(discreet.RULES)
PRIVATE = [name for name in NAMES if examples.is_private(name)]
STREAM = (np.random.default_rng(0).random(20_000) < 0.6).astype(float)


def through_json(saved):
    return json.loads(json.dumps(saved, allow_nan=False))


@pytest.mark.parametrize("name", NAMES)
class TestEveryRule:
    def test_it_is_found_by_its_key_and_shows_its_options(self, name):
        rule = examples.rule(name)
        assert rule.key == name
        assert repr(rule).startswith(f"{type(rule).__name__}(")
        assert type(rule)(**rule.options()).options() == rule.options()

    def test_it_halts_with_an_estimate_within_its_promise(self, name):
        result = examples.rule(name, noise=SimulatedNoise(1)).run(STREAM)
        assert result.reached
        assert abs(result.estimate - 0.6) <= 0.5 * 0.6
        assert result.samples < STREAM.size
        assert str(result).startswith("mean 0.")

    @pytest.mark.parametrize(
        "cut",
        [
            lambda xs: xs,
            lambda xs: xs.tolist(),
            lambda xs: iter(xs.tolist()),
            lambda xs: (x for x in xs),
            lambda xs: np.array_split(xs, 777),
            lambda xs: (chunk for chunk in np.array_split(xs, 13)),
            lambda xs: [xs[:3], *xs[3:50].tolist(), xs[50:51].tolist(), xs[51:]],
            lambda xs: xs.astype(np.float32),
            lambda xs: xs.astype(np.int8),
            lambda xs: xs.astype(bool),
            lambda xs: xs.reshape(100, -1),
        ],
    )
    def test_the_answer_does_not_depend_on_how_the_stream_is_cut(self, name, cut):
        whole = examples.rule(name, noise=SimulatedNoise(2)).run(STREAM)
        assert examples.rule(name, noise=SimulatedNoise(2)).run(cut(STREAM)) == whole

    def test_feeding_one_number_at_a_time_is_the_same(self, name):
        whole = examples.rule(name, noise=SimulatedNoise(3)).run(STREAM)
        rule = examples.rule(name, noise=SimulatedNoise(3))
        for x in STREAM:
            if rule.feed(x):
                break
        assert rule.result == whole

    def test_closing_planned_totals_is_the_same(self, name):
        whole = examples.rule(name, noise=SimulatedNoise(4)).run(STREAM)
        rule = examples.rule(name, noise=SimulatedNoise(4))
        while count := rule.plan():
            rule.close(rule.grid.total(STREAM[rule.samples : rule.samples + count]))
        assert rule.result == whole

    def test_a_live_stream_is_not_read_past_the_halting_sample(self, name):
        read = 0

        def live():
            nonlocal read
            for x in STREAM:
                read += 1
                yield x

        result = examples.rule(name, noise=SimulatedNoise(5)).run(live())
        assert result.reached
        assert read == result.samples

    def test_a_hopeless_stream_ends_at_the_cap_without_a_number(self, name):
        options, stream = examples.hopeless(name)
        rule = examples.rule(name, noise=SimulatedNoise(6), max_samples=5000, **options)
        result = rule.run(stream)
        assert not result.reached
        assert result.estimate is None
        assert result.samples == 5000
        assert "not reached" in str(result)
        assert "cap of 5,000" in str(result)
        assert rule.plan() == 0
        with pytest.raises(FinishedError, match="finished after 5000 samples"):
            rule.feed(1.0)

    def test_a_stream_that_ends_early_can_be_continued(self, name):
        whole = examples.rule(name, noise=SimulatedNoise(7)).run(STREAM)
        rule = examples.rule(name, noise=SimulatedNoise(7))
        first = rule.run(STREAM[: whole.samples // 2])
        assert not first.reached
        assert first.estimate is None
        assert first.samples == whole.samples // 2
        assert "stream ended" in str(first)
        assert rule.run(STREAM[whole.samples // 2 :]) == whole

    def test_nothing_is_taken_after_halting(self, name):
        rule = examples.rule(name, noise=SimulatedNoise(8))
        rule.run(STREAM)
        before = rule._dump()
        for attempt in (lambda: rule.feed(1.0), lambda: rule.run(STREAM), lambda: rule.close(0)):
            with pytest.raises(FinishedError, match="has finished"):
                attempt()
        assert rule._dump() == before

    @pytest.mark.parametrize(
        "bad", [math.nan, math.inf, -0.5, 1.5, "x", None, 1j, np.array([0.5, math.nan]), np.array([0.1, 2.0]), {"a": 1}]
    )
    def test_bad_samples_change_nothing(self, name, bad):
        rule = examples.rule(name, noise=SimulatedNoise(9))
        rule.feed(STREAM[:10])
        before = rule._dump()
        with pytest.raises(ArgumentError):
            rule.feed(bad)
        assert rule._dump() == before

    def test_good_samples_before_a_bad_one_in_a_stream_count(self, name):
        rule = examples.rule(name, noise=SimulatedNoise(10))
        with pytest.raises(ArgumentError):
            rule.run(iter([1.0, 0.0, 1.0, math.nan, 1.0]))
        assert rule.samples == 3

    def test_clipping_is_an_option(self, name):
        rule = examples.rule(name, noise=SimulatedNoise(11), clip=True)
        rule.feed(np.array([-5.0, 7.0]))
        rule.feed(9)
        assert rule.samples == 3

    @pytest.mark.parametrize("argument", ["alpha", "beta"])
    @pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan, math.inf, "0.5", None])
    def test_alpha_and_beta_lie_strictly_between_0_and_1(self, name, argument, value):
        with pytest.raises(ArgumentError, match=argument):
            examples.rule(name, **{argument: value})

    def test_the_range_must_be_given_once_and_make_sense(self, name):
        for bad in ({"low": None}, {"low": 1, "high": 0}, {"low": None, "high": None}):
            with pytest.raises(ArgumentError, match=r"low|high|radius"):
                examples.rule(name, **bad)
        with pytest.raises(ArgumentError, match="radius must be a number above 0"):
            examples.rule(name, radius=0)

    def test_bad_totals_change_nothing(self, name):
        rule = examples.rule(name, noise=SimulatedNoise(12))
        before = rule._dump()
        for bad in (-1, 10**12, 0.5, math.nan, "1", None):
            with pytest.raises(ArgumentError, match="total"):
                rule.close(bad)
        assert rule._dump() == before

    @settings(max_examples=10)
    @given(cut=st.integers(0, 400), seed=st.integers(0, 50))
    def test_a_resumed_rule_gives_the_same_answer(self, name, cut, seed):
        whole = examples.rule(name, noise=SimulatedNoise(seed)).run(STREAM)
        rule = examples.rule(name, noise=SimulatedNoise(seed))
        rule.feed(STREAM[: min(cut, whole.samples - 1)])
        again = rebuild("stopping rule", through_json(rule._dump()))
        assert again.run(STREAM[min(cut, whole.samples - 1) :]) == whole

    def test_saving_and_loading_through_a_file(self, name, tmp_path):
        rule = examples.rule(name, noise=SimulatedNoise(13))
        rule.feed(STREAM[:37])
        rule.save(tmp_path / "rule.json")
        assert type(rule).load(tmp_path / "rule.json")._dump() == rule._dump()


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PRIVATE)))
def test_rules_without_noise_say_that_they_are_not_private(name):
    rule = examples.rule(name)
    assert rule.privacy.epsilon == math.inf
    assert rule.run(STREAM).epsilon == math.inf
    assert rule.ledger == ()


@pytest.mark.parametrize("name", PRIVATE)
class TestEveryPrivateRule:
    def test_its_statement_and_ledger_agree(self, name):
        rule = examples.rule(name)
        result = rule.run(STREAM)
        assert result.reached
        assert not result.simulated
        assert rule.privacy.epsilon == result.epsilon == 2.0
        spent = np.zeros(result.samples)
        for entry in rule.ledger:
            ((stream, first, last),) = entry.spans
            assert stream is None
            spent[first - 1 : last] += entry.epsilon
        assert spent == pytest.approx(2.0)
        assert rule.ledger[-1].spans[0][2] == result.samples

    def test_simulated_noise_is_marked_in_every_result(self, name):
        rule = examples.rule(name, noise=SimulatedNoise(1))
        result = rule.run(STREAM)
        assert result.simulated
        assert rule.privacy.simulated
        assert all(entry.simulated for entry in rule.ledger)
        assert "simulated" in str(result)

    @pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None])
    def test_bad_epsilons_are_refused(self, name, epsilon):
        with pytest.raises(ArgumentError, match="epsilon must be"):
            examples.rule(name, epsilon=epsilon)

    def test_it_refuses_to_be_copied_or_pickled(self, name):
        rule = examples.rule(name)
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivacyError, match="cannot be copied or pickled"):
                attempt(rule)

    def test_a_restored_rule_uses_the_noise_that_was_drawn(self, name):
        assert answers(name) == 1

    def test_the_check_catches_noise_that_is_redrawn_on_reload(self, name, monkeypatch):
        from discreet.core.noise import Reserve

        monkeypatch.setattr(Reserve, "restore", lambda self, ready: self.prepare(len(ready)))
        assert answers(name) > 1

    def test_two_private_runs_differ(self, name):
        assert len({examples.rule(name).run(STREAM).estimate for _ in range(3)}) == 3


def answers(name):
    """How many different answers five copies of one saved private rule give on the same samples."""
    rule = examples.rule(name)
    if isinstance(rule, ReleasedRule):
        cut = rule._ends[1] - 1  # right before the first release
        rule.feed(STREAM[:cut])
        saved = through_json(rule._dump())
        copies = [rebuild("stopping rule", saved) for _ in range(5)]
        for one in copies:
            one.feed(STREAM[cut])
        return len({tuple(entry.units for entry in one.ledger) for one in copies})
    while rule.plan() > 1 or rule.samples < 50:  # stop right before a test that may halt
        rule.feed(STREAM[rule.samples])
        if rule.samples > 4000:
            break
    saved = through_json(rule._dump())
    saved["progress"]["sparse"]["threshold_noise"] = -(10**9)  # low enough to halt at the next test
    return len({rebuild("stopping rule", saved).run(STREAM[:1]).estimate for _ in range(5)})

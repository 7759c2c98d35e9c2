"""Streams of samples: cut as you like, not read beyond the decision, and a result that says what was promised."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import ArgumentError, FinishedError, PrivacyError, SimulatedNoise, StoppingResult, Stream
from discreet.drivers import stream as stream_module
from tests._tools.scripted import NoiseByScale
from tests._tools.walking import PRIVATE_RULES, algorithm, coins

RULES = sorted(discreet.RULES)
SAMPLES = coins(40_000)


def make(name="dp-exp-nas", noise=None, **options):
    return Stream(algorithm(name, **{"alpha": 0.3, **options}), noise or SimulatedNoise(1))


def in_pieces(samples, cuts):
    """The samples as single numbers, lists, arrays and parts of an iterable, by turns."""
    place, number = 0, 0
    while place < len(samples):
        part = samples[place : place + cuts[number % len(cuts)]]
        yield (float(part[0]), part.tolist(), part, iter(part.tolist()), tuple(part))[number % 5], part
        place, number = place + (1 if number % 5 == 0 else len(part)), number + 1


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=8)
@given(cuts=st.lists(st.integers(1, 3000), min_size=1, max_size=6))
def test_it_does_not_matter_how_a_stream_is_cut(name, cuts):
    noise = ["varied", 3]
    whole = Stream(algorithm(name, alpha=0.3), NoiseByScale(noise)).run(SAMPLES)
    stream = Stream(algorithm(name, alpha=0.3), NoiseByScale(noise))
    for piece, _ in in_pieces(SAMPLES, cuts):
        if stream.feed(piece):
            break
    assert stream.result == whole
    assert whole.reached


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("before", [0, 1, 40])
def test_an_iterable_is_not_read_beyond_the_sample_that_decides(name, before):
    read = before

    def live():
        nonlocal read
        for x in SAMPLES[before:]:
            read += 1
            yield x

    stream = make(name, alpha=0.1)
    if before:
        stream.feed(SAMPLES[:before])
    result = stream.run(live())
    assert result.reached
    assert read == result.samples


def test_an_iterable_may_hold_arrays_and_numbers():
    mixed = [SAMPLES[:100], *SAMPLES[100:103].tolist(), SAMPLES[103:2000].tolist(), SAMPLES[2000:]]
    assert make().run(iter(mixed)) == make().run(mixed) == make().run(SAMPLES)


def test_after_the_end_nothing_is_taken():
    stream = make()
    assert stream.feed(SAMPLES) is True
    assert stream.finished
    taken = stream.samples
    for more in (1.0, [1.0], iter([1.0])):
        with pytest.raises(FinishedError, match=f"this dp-exp-nas has finished after {taken} samples; make a new one"):
            stream.feed(more)
    assert stream.samples == taken


def test_a_cap_ends_it_without_a_number():
    stream = make(max_samples=37)
    result = stream.run(np.zeros(1000))
    assert (result.reached, result.estimate, result.samples) == (False, None, 37)
    assert result.reason == "the cap of 37 samples was reached"
    assert str(result) == "not reached after 37 samples: the cap of 37 samples was reached (simulated)"
    again = type(stream.algorithm).from_options(stream.algorithm.options())
    assert again.replay(stream.ledger.by_epoch()) == stream.algorithm  # its last tests did not halt, and it ended


def test_a_stream_that_ends_early_can_go_on():
    stream = make()
    result = stream.run(SAMPLES[:10])
    assert not result.reached
    assert result.reason == "the stream ended before the rule could halt; feed more"
    assert stream.run(SAMPLES[10:]) == make().run(SAMPLES)


def test_nothing_is_fed():
    stream = make()
    for nothing in ([], (), np.empty(0), iter([])):
        assert stream.feed(nothing) is False
    assert stream.samples == 0


def test_a_result_says_what_was_promised():
    result = make().run(SAMPLES)
    assert isinstance(result, StoppingResult)
    assert (result.alpha, result.beta, result.epsilon, result.simulated) == (0.3, 0.5, 8.0, True)
    assert result.privacy.epsilon == discreet.spent(result.ledger)
    assert "within 30% of the true mean with probability 0.5" in str(result)
    assert "(epsilon = 8, simulated)" in str(result)
    plain = Stream(algorithm("nas", alpha=0.3)).run(SAMPLES)
    assert math.isinf(plain.epsilon)
    assert not plain.simulated
    assert "(not private)" in str(plain)


def test_a_rule_that_runs_stays_as_it_was():
    rule = algorithm("dp-exp-nas")
    one, two = (rule.run(SAMPLES, noise=SimulatedNoise(3)) for _ in range(2))
    assert one == two
    assert rule == algorithm("dp-exp-nas")
    assert (rule.samples, rule.halted, rule.estimate) == (0, False, None)


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -0.1, 1.1, "1", None, 1j, {1.0: 1}, b"1", [0.5, math.nan], np.array([0.5, 2.0]),
            np.array(["x"]), np.ma.masked_array([0.5], [True]), [0.5, "x"]]
)  # fmt: skip
@pytest.mark.parametrize("name", ["dp-exp-nas", "dp-nas"])
def test_a_bad_sample_changes_nothing(name, bad):
    stream = make(name)
    stream.feed([1.0, 0.0, 1.0])
    before = stream._head(), stream.algorithm
    with pytest.raises(ArgumentError):
        stream.feed(bad)
    assert (stream._head(), stream.algorithm) == before


def test_good_samples_before_a_bad_one_of_an_iterable_count():
    """The stream has given them away."""
    stream = make()
    with pytest.raises(ArgumentError):
        stream.feed(iter([1.0, 1.0, 1.0, math.nan, 1.0]))
    assert stream.samples == 3

    def broken():
        yield from [1.0, 1.0]
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        stream.feed(broken())
    assert stream.samples == 5


def test_clip_is_an_option(tmp_path):
    stream = Stream(algorithm("dp-exp-nas"), SimulatedNoise(1), clip=True)
    stream.feed([7.0, -7.0])
    stream.feed(7.0)
    stream.save(tmp_path / "state")
    assert Stream.load(tmp_path / "state", SimulatedNoise(1)).clip is True
    assert algorithm("nas").run([2.0] * 100, clip=True).reached


def test_it_takes_rules_only():
    for nothing in ("dp-nas", discreet.DPNAS, algorithm("dp-se"), None):
        with pytest.raises(ArgumentError, match="Stream needs a stopping rule, got"):
            Stream(nothing)
    with pytest.raises(ArgumentError, match="noise must be left out"):
        Stream(algorithm("dp-nas"), 42)


@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_private_noise_is_the_default(name):
    result = algorithm(name).run(SAMPLES)
    assert result.reached
    assert not result.simulated
    assert not any(release.simulated for release in result.ledger)


def test_bugs_end_it(monkeypatch):
    stream = make()
    monkeypatch.setattr(discreet.DPExponentialNAS, "_learn", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stream.feed([1.0, 1.0])
    with pytest.raises(PrivacyError, match="cannot go on"):
        stream.feed(1.0)


@pytest.mark.parametrize("passes", [0, 1])
def test_an_array_that_was_partly_counted_ends_the_stream(passes, monkeypatch):
    """Fed once more, it would count twice: a reward would pay twice."""
    stream = make("dp-inverse", alpha=0.1)
    few = np.zeros(3 * stream_module.CHUNK)
    monkeypatch.setattr(stream_module, "_SPACED", stream_module.CHUNK)
    fill, done = Stream._fill, []

    def interrupted(self, steps):
        if len(done) == passes:
            raise KeyboardInterrupt
        done.append(fill(self, steps))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Stream, "_fill", interrupted)
        stream.feed(few)
    with pytest.raises(PrivacyError, match="Some of it counts already"):
        stream.feed(few)


def test_an_array_that_was_not_counted_at_all_can_be_fed_again():
    stream = make("dp-inverse", alpha=0.1)
    with pytest.raises(ArgumentError):
        stream.feed(np.array([0.0, 2.0]))
    stream.feed(np.zeros(10))
    assert stream.samples == 10

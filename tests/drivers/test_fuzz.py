"""State files of nonsense: each is refused by an error of ours or understood, in bounded time, and never by half."""

import json
import warnings
from collections import Counter
from random import Random

import pytest

import discreet
from discreet import SimulatedNoise, StateError
from tests._tools import fuzz
from tests._tools.patience import in_time


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    return fuzz.states(tmp_path_factory.mktemp("states"))


def load(kind, simulated, path, head, ledger):
    """Load a state; None if it is refused. Whatever happens, it leaves no lock and no litter."""
    beside = path.with_name("state.ledger")
    path.write_bytes(head)
    beside.write_bytes(ledger)
    driver, refusal = None, str(path)
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            driver = kind.load(path, SimulatedNoise(1) if simulated else None)
    except StateError as error:
        refusal = str(error)
    else:
        driver._file.close()
    assert str(path) in refusal
    assert set(path.parent.iterdir()) == {path, beside}
    return driver


def load_all(states, path, cases, seed):
    """Load files of nonsense; count what became of them."""
    random, told = Random(seed), Counter()
    for case in range(cases):
        kind, simulated, head, ledger = states[random.randrange(len(states))]
        if case % 2:
            found = [head, ledger]
            which = random.randrange(2) if ledger else 0
            found[which] = fuzz.damaged(found[which], random)
        else:
            found = fuzz.nonsense(head, ledger, random)
        driver = load(kind, simulated, path, *found)
        told["refused" if driver is None else "loaded"] += 1
        if driver is not None and case % 2:
            assert json.loads(found[0]) == json.loads(head)
            assert found[1].startswith(ledger)  # more lines than the head counts are no harm
    return told


def test_states_of_nonsense(states, tmp_path):
    told = load_all(states, tmp_path / "state", 400, seed=1)
    assert told["refused"] > 250


@pytest.mark.study
def test_ten_thousand_states_of_nonsense(states, tmp_path, page):
    told = load_all(states, tmp_path / "state", 10_000, seed=2)
    page("Fuzzing", what=f"damaged and senseless states of {len(states)} kinds", cases=told.total(), **told)
    print(f"{told.total():,} damaged or senseless states of {len(states)} kinds: {dict(told)}")
    assert told.total() == 10_000


@pytest.mark.parametrize("flips", [1, pytest.param(97, marks=pytest.mark.study)])
def test_a_flipped_byte_anywhere_is_noticed(states, tmp_path, flips, page):
    """Of both files of each state `flips` times 5 bytes, one at a time: refused, or without a meaning."""
    noticed, silent, random = 0, 0, Random(3)
    for kind, simulated, *files in states:
        for which, whole in enumerate(files):
            for place in random.sample(range(len(whole)), min(len(whole), 5 * flips)):
                content = bytearray(whole)
                content[place] ^= random.randrange(1, 256)
                found = [bytes(content) if number == which else one for number, one in enumerate(files)]
                if load(kind, simulated, tmp_path / "state", *found) is None:
                    noticed += 1
                else:
                    silent += 1
                    assert which == 0
                    assert json.loads(bytes(content)) == json.loads(whole)
    page("Faults survived", fault="a flipped byte of a state", tried=noticed + silent, survived=noticed + silent)
    print(f"{noticed:,} flipped bytes noticed, {silent} without a meaning")
    assert noticed > 50 * silent


@pytest.mark.parametrize("depth", [10**3, 10**5])
def test_a_very_deep_file_is_refused(tmp_path, depth):
    path = tmp_path / "state"
    for opening in (b"[", b'{"a":', b'{"discreet":1,"public":['):
        path.write_bytes(opening * depth)
        with pytest.raises(StateError, match="damaged"):
            discreet.Bandit.load(path)
    path.write_bytes(b"[" * depth + b"]" * depth)
    with pytest.raises(StateError, match=r"damaged|not a state"):
        discreet.Bandit.load(path)


def test_a_state_without_a_checksum_is_refused(states, tmp_path):
    for kind, simulated, head, ledger in states[:3]:
        document = json.loads(head)
        del document["sha256"]
        assert load(kind, simulated, tmp_path / "state", json.dumps(document).encode(), ledger) is None


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_refused(states, tmp_path, cut):
    for kind, simulated, head, ledger in states[::5]:
        assert load(kind, simulated, tmp_path / "state", head[: int(cut * len(head))], ledger) is None
        if ledger:
            assert load(kind, simulated, tmp_path / "state", head, ledger[: int(cut * len(ledger))]) is None

"""Files of nonsense: each is refused by an error of ours or understood, in bounded time, and never by half."""

import json
import signal
import warnings
from collections import Counter
from contextlib import contextmanager
from random import Random

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, StateError
from discreet.cli import main
from discreet.lab.columns import read_numbers
from tests._tools import fuzz

PATIENCE = 20  # seconds for one file


@contextmanager
def in_time():
    """An error if something takes too long."""

    def late(*_):
        raise TimeoutError(f"more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    return fuzz.states(tmp_path_factory.mktemp("states"))


def load_all(states, path, cases, seed):
    """Load so many files of nonsense; tells what became of them."""
    random, told = Random(seed), Counter()
    for case in range(cases):
        kind, whole = states[random.randrange(len(states))]
        damage = fuzz.damaged if case % 2 else fuzz.nonsense
        content = damage(whole, random)
        path.write_bytes(content)
        try:
            with in_time(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = kind.load(path)
        except StateError as error:
            told["refused" if str(path) in str(error) else "refused without a name"] += 1
        else:
            told["loaded"] += 1
            if damage is fuzz.damaged:
                assert json.loads(content) == json.loads(whole)
            if loaded._custody is not None:
                loaded._custody.give_back()
        assert set(path.parent.iterdir()) == {path}  # a refused file stays unlocked
    assert set(told) <= {"refused", "loaded"}
    return told


def test_states_of_nonsense(states, tmp_path):
    told = load_all(states, tmp_path / "state.json", 400, seed=1)
    assert told["refused"] > 300


@pytest.mark.study
def test_ten_thousand_states_of_nonsense(states, tmp_path, page):
    told = load_all(states, tmp_path / "state.json", 10_000, seed=2)
    page("Fuzzing", what=f"damaged and senseless states of {len(states)} kinds", cases=told.total(), **told)
    print(f"{told.total():,} damaged or senseless states of {len(states)} kinds: {dict(told)}")
    assert told.total() == 10_000


@pytest.mark.parametrize("flips", [1, pytest.param(97, marks=pytest.mark.study)])
def test_a_flipped_byte_anywhere_is_noticed(states, tmp_path, flips, page):
    """Of each state `flips` times 10 bytes, one at a time: refused, or nothing that is said has changed."""
    path, noticed, silent, random = tmp_path / "state.json", 0, 0, Random(3)
    for kind, whole in states:
        for place in random.sample(range(len(whole)), min(len(whole), 10 * flips)):
            content = bytearray(whole)
            content[place] ^= random.randrange(1, 256)
            path.write_bytes(bytes(content))
            try:
                loaded = kind.load(path)
            except StateError:
                noticed += 1
            else:
                silent += 1
                assert json.loads(bytes(content)) == json.loads(whole)
                if loaded._custody is not None:
                    loaded._custody.give_back()
    page("Faults survived", fault="a flipped byte of a state", tried=noticed + silent, survived=noticed + silent)
    print(f"{noticed:,} flipped bytes noticed, {silent} without a meaning")
    assert noticed > 9 * len(states) * flips * 0.9


@pytest.mark.parametrize("depth", [10**3, 10**5])
def test_a_very_deep_file_is_refused(tmp_path, depth):
    path = tmp_path / "state.json"
    for opening in (b"[", b'{"a":', b'{"discreet":1,"body":['):
        path.write_bytes(opening * depth)
        with pytest.raises(StateError, match="damaged"):
            discreet.Bandit.load(path)
    path.write_bytes(b"[" * depth + b"]" * depth)
    with pytest.raises(StateError, match=r"damaged|not a state"):
        discreet.Bandit.load(path)


def test_a_state_without_a_checksum_is_refused(states, tmp_path):
    path = tmp_path / "state.json"
    for kind, whole in states[:3]:
        document = json.loads(whole)
        del document["sha256"]
        path.write_text(json.dumps(document))
        with pytest.raises(StateError, match=r"is damaged: .*start anew, or restore a copy if nothing was rel"):
            kind.load(path)


# ---------------------------------------------------------------------- the command line's files


def read_all(folder, cases, seed):
    """Read so many odd tables; tells what became of them."""
    random, told = Random(seed), Counter()
    for _ in range(cases):
        path = folder / random.choice(("data.csv", "data.txt", "data.parquet", "data"))
        path.write_bytes(fuzz.table(random))
        column, header = random.choice((None, None, "value", "x", "")), random.choice((None, None, True, False))
        bounds = random.choice(((), (0.0, 1.0)))
        try:
            with in_time():
                numbers = np.concatenate([np.empty(0), *read_numbers(str(path), column, *bounds, header=header)])
        except ArgumentError as error:
            told["refused" if str(path) in str(error) else "refused without a name"] += 1
        else:
            told["read"] += 1
            assert np.isfinite(numbers).all()
            if bounds:
                assert ((numbers >= 0) & (numbers <= 1)).all()
    assert set(told) <= {"refused", "read"}
    return told


def test_odd_tables(tmp_path, capsys):
    told = read_all(tmp_path, 400, seed=1)
    assert min(told["refused"], told["read"]) > 50


@pytest.mark.study
def test_ten_thousand_odd_tables(tmp_path, capsys, page):
    told = read_all(tmp_path, 10_000, seed=2)
    page("Fuzzing", what="odd tables", cases=told.total(), refused=told["refused"], loaded=told["read"])
    capsys.readouterr()
    print(f"{told.total():,} odd tables: {dict(told)}")
    assert told.total() == 10_000


def stop_all(folder, cases, seed, capsys):
    """Give odd tables to `discreet stop`: a number or a message and an exit code, never a traceback."""
    random, codes = Random(seed), Counter()
    for _ in range(cases):
        path = folder / random.choice(("data.csv", "data.parquet"))
        path.write_bytes(fuzz.table(random))
        options = ["--rule", "nas"] if random.random() < 0.5 else ["--epsilon", "1"]
        with in_time():
            codes[
                main(["stop", str(path), *options, "--alpha", "0.5", "--beta", "0.1", "--low", "0", "--high", "1"])
            ] += 1
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
    assert set(codes) <= {0, 2, 3}
    return codes


def test_odd_tables_on_the_command_line(tmp_path, capsys):
    assert stop_all(tmp_path, 60, 1, capsys).total() == 60


@pytest.mark.study
def test_a_thousand_odd_tables_on_the_command_line(tmp_path, capsys, page):
    codes = stop_all(tmp_path, 1000, 2, capsys)
    page(
        "Fuzzing", what="odd tables given to `discreet stop`", cases=codes.total(), refused=codes[2],
        loaded=codes[0] + codes[3],
    )  # fmt: skip
    print(f"{codes.total():,} odd tables given to `discreet stop`, exit codes: {dict(codes)}")


def test_odd_results(tmp_path):
    """The file of `discreet plot`: damaged, it is refused by an error of ours."""
    from discreet.lab import Results, simulate

    path = tmp_path / "results.npz"
    simulate("ucb", [0.2, 0.8], horizon=100, runs=2).save(path)
    whole, random = path.read_bytes(), Random(5)
    for _ in range(40):
        path.write_bytes(fuzz.damaged(whole, random))
        try:
            with in_time(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Results.load(path)
        except discreet.DiscreetError:
            pass

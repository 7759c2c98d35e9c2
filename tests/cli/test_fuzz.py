"""Tables and results of nonsense: each is refused by an error of ours or read, in bounded time."""

import warnings
from collections import Counter
from random import Random

import numpy as np
import pytest

import discreet
from discreet import ArgumentError
from discreet.cli import main
from discreet.lab.columns import read_numbers
from tests._tools import fuzz
from tests._tools.patience import in_time


def read_all(folder, cases, seed):
    """Read so many odd tables; tells what became of them."""
    random, told = Random(seed), Counter()
    for _ in range(cases):
        path = folder / random.choice(("data.csv", "data.txt", "data.parquet", "data"))
        path.write_bytes(fuzz.table(random))
        column, header = random.choice((None, None, "value", "x", "")), random.choice((None, None, True, False))
        bounds = random.choice(((), (0.0, 1.0)))
        try:
            with in_time(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
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
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("default")  # a heading that looks odd is a hint
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

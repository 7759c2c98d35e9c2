"""`discreet intervals`: what a saved state says, as a table, as JSON and as a picture."""

import numpy as np
import pytest

import discreet
from discreet import SimulatedNoise, Totals
from discreet.drivers.reading import read_ledger
from discreet.inference import summary


@pytest.fixture
def state(tmp_path):
    """The file of a run that has gone on for some epochs, and its ledger."""
    rng, policy = np.random.default_rng(1), discreet.DPSharpElimination(["A", 2], epsilon=1.0, horizon=10**5)
    driver = Totals(policy, noise=SimulatedNoise(2))
    driver.save(tmp_path / "state.json")
    for _ in range(10):
        pulls, rate = driver.plan().pulls, {"A": 0.3, 2: 0.36}
        driver.close_steps({arm: int(rng.binomial(count, rate[arm])) * 2**20 for arm, count in pulls.items()})
    ledger = driver.ledger
    driver.detach()
    return tmp_path / "state.json", ledger


def test_the_table_is_that_of_the_summary(state, run):
    path, ledger = state
    before = path.read_bytes()
    code, out, err = run(f"intervals {path} --control A")
    assert (code, err) == (0, "")
    assert out.strip() == str(summary(ledger, control="A"))
    assert path.read_bytes() == before


def test_json_and_a_picture(state, data, tmp_path):
    path, ledger = state
    found = data(f"intervals {path} --control 2 --binary --level 0.9 --figure {tmp_path / 'seen.png'}")
    seen = summary(ledger, 2, 0.9, binary=True)
    assert found["exact"] is True
    assert found["control"] == 2
    assert found["arms"][0]["lower"] == seen.interval("A").lower
    assert found["arms"][1]["lift"] is None
    assert (tmp_path / "seen.png").read_bytes().startswith(b"\x89PNG")


def test_a_state_is_read_and_left_as_it_is(state):
    path, ledger = state
    assert read_ledger(path) == ledger
    assert read_ledger(path).grid == ledger.grid


def test_a_driver_of_this_process_shows_what_it_has_shown(state):
    path, ledger = state
    driver = Totals.load(path, noise=SimulatedNoise(3))
    assert read_ledger(path) == ledger
    driver.detach()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--control X", "--control must be one of A, 2, got X"),
        ("--level 2", "level must lie strictly between 0 and 1"),
    ],
)
def test_bad_options(state, run, line, message):
    path, _ = state
    code, out, err = run(f"intervals {path} {line}")
    assert (code, out) == (2, "")
    assert message in err


def test_files_that_cannot_be_read(run, tmp_path):
    code, _, err = run(f"intervals {tmp_path / 'none.json'}")
    assert code == 2
    assert "there is no file" in err
    (tmp_path / "other.json").write_text("{}")
    code, _, err = run(f"intervals {tmp_path / 'other.json'}")
    assert code == 2
    assert "other.json" in err

"""`discreet bounds`: the theory's numbers, as tables and as JSON."""

import math

import pytest

from discreet import theory
from discreet.cli import _console
from discreet.lab import instance


def test_the_bounds_on_regret_are_the_theorys(data):
    found = data("bounds --instance C3 --arms 4 --epsilon 0.25 --horizon 1e6")
    assert list(found) == ["regret"]
    means = instance("C3", 4).means
    assert found["regret"]["given"] == {"means": means.tolist(), "horizon": 10**6, "epsilon": 0.25}
    values = {key: row["value"] for key, row in found["regret"]["bounds"].items()}
    for name in ("regret_lower_bound", "dp_se_sure_regret", "sharp_sure_regret", "dp_se_regret_bound"):
        assert values[name] == pytest.approx(getattr(theory, name)(means, 1e6, 0.25))
    for name in ("private_regret_order", "minimax_lower_bound", "dp_se_minimax_bound"):
        assert values[name] == pytest.approx(getattr(theory, name)(4, 1e6, 0.25))
    assert values["lai_robbins_bound"] == pytest.approx(theory.lai_robbins_bound(means, 1e6))


@pytest.mark.parametrize(("ends", "low", "high"), [("", 0, 1), ("--radius 2", -2, 2), ("--low -1 --high 3", -1, 3)])
def test_the_bounds_on_samples_are_the_theorys(data, ends, low, high):
    found = data(f"bounds --mean 0.2 --alpha 0.1 --beta 0.01 --epsilon 0.5 {ends}")
    assert list(found) == ["stopping"]
    values = {key: row["value"] for key, row in found["stopping"]["bounds"].items()}
    problem, ends = (0.2, 0.1, 0.01, 0.5), {"low": low, "high": high}
    assert values["two_point_lower_bound"] == pytest.approx(theory.two_point_lower_bound(*problem, **ends))
    assert values["private_stopping_lower_bound"] == pytest.approx(
        theory.private_stopping_lower_bound(*problem, **ends)
    )
    assert values["stopping_upper_bound"] == pytest.approx(theory.stopping_upper_bound(*problem, **ends))
    for name in ("nas", "dp-nas", "dp-exp-nas"):
        key = name.replace("-", "_")
        assert values[f"{key}_sure"] == theory.sure_samples(name, *problem, **ends)
        assert values[f"{key}_typical"] == theory.typical_samples(name, *problem, **ends)


def test_both_are_shown_when_both_are_asked_for(run, data):
    assert list(data("bounds --mean 0.2 --arm 0.5 --arm 0.4")) == ["regret", "stopping"]
    _, out, _ = run("bounds --mean 0.2 --instance C1")
    assert "Regret on C1, K = 5" in out
    assert "Samples of 0 and 1 with mean 0.2" in out


def test_a_narrow_terminal_keeps_the_sources(run, monkeypatch):
    monkeypatch.setattr(_console, "WIDE", 80)
    out = run("bounds --mean 0.2 --instance C1")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert "Theorem 3.3" in " ".join(out.split())


def test_a_theorem_that_does_not_apply_says_why(run, data):
    row = data("bounds --mean 0.2 --beta 0.1")["stopping"]["bounds"]["stopping_upper_bound"]
    assert row["value"] is None
    assert row["note"] == "beta must be at most 0.08 for this theorem, got 0.1"
    assert row["note"] in run("bounds --mean 0.2 --beta 0.1")[1]


def test_what_would_take_for_ever_is_never(run, data):
    assert data("bounds --mean 1e-12")["stopping"]["bounds"]["nas_sure"] == {
        "what": "nas", "kind": "at most", "source": "its thresholds", "value": None, "note": "never",
    }  # fmt: skip
    assert "never" in run("bounds --mean 1e-12")[1]
    assert math.isinf(theory.sure_samples("nas", 1e-12, 0.1, 0.05))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bounds --mean 0", "mean must be strictly between 0 and 1, and not 0, got 0.0"),
        ("bounds --mean 0.1 --beta 3", "beta must lie strictly between 0 and 1, got 3.0"),
        ("bounds --mean 0.1 --alpha 1", "alpha must be strictly between 0 and 1, got 1.0"),
        ("bounds --mean 0.1 --low 1 --high 0", "low must be below high"),
        ("bounds --mean 0.1 --radius 1 --low 0", "give --radius, or --low and --high, not both"),
        ("bounds --epsilon -1", "epsilon must be above 0"),
        ("bounds --instance C9", "C9"),
        ("bounds --horizon 0", "horizon must"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)

"""`discreet plan` and `discreet bounds`: the theory's numbers, as tables and as JSON."""

import json
import math

import pytest

from discreet import theory
from discreet.cli import console, main
from discreet.lab import instance


@pytest.fixture
def run(capsys):
    """Runs a command in this process: exit code, stdout and stderr."""

    def run(text):
        code = main(text.split())
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def data(run):
    """What a command says with --json."""

    def data(text):
        code, out, err = run(f"{text} --json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return data


def test_a_plan_has_the_epochs_and_their_sum(run, data):
    plan = theory.plan_elimination(4, 0.5, 0.05, 0.05)
    found = data("plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05")
    assert [epoch["pulls_per_arm"] for epoch in found["epochs"]] == plan.pulls_per_arm.tolist()
    assert found["pulls"] == plan.total == sum(epoch["pulls"] for epoch in found["epochs"])
    assert found["pulls_due_to_privacy"] == 0
    code, out, err = run("plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05")
    assert (code, err) == (0, "")
    for count in (*plan.pulls_per_arm, *plan.pulls, plan.total):
        assert f"{count:,}" in out


def test_a_plan_says_what_sharp_constants_would_save(run, data):
    each = int(theory.sharp_pulls(0.05, 4, 0.5, 0.05))
    found = data("plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05")["sharp"]
    assert found == {"policy": "dp-se-sharp", "pulls_per_arm": each, "pulls": 4 * each}
    said = " ".join(run("plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05")[1].split())
    assert f"promises it in {4 * each:,} pulls at most, {each:,} of each arm" in said
    assert data("plan --arms 4 --epsilon inf --gap 0.1")["sharp"]["pulls"] is None
    assert "sharp" not in run("plan --arms 4 --epsilon inf --gap 0.1")[1]


def test_a_plan_for_so_many_pulls_resolves_the_smallest_gap_that_they_allow(data):
    total = data("plan --arms 4 --epsilon 0.5 --gap 0.0625")["pulls"]
    assert data(f"plan --arms 4 --epsilon 0.5 --pulls {total}")["gap"] == 0.0625
    assert data(f"plan --arms 4 --epsilon 0.5 --pulls {total - 1}")["gap"] == 0.125


def test_a_small_epsilon_has_a_price(run, data):
    priced = data("plan --arms 4 --epsilon 0.01 --gap 0.1")
    free = data("plan --arms 4 --epsilon inf --gap 0.1")
    assert free["epsilon"] is None
    assert priced["pulls"] - free["pulls"] == priced["pulls_due_to_privacy"] > 0
    assert (
        f"Privacy takes {priced['pulls_due_to_privacy']:,} of these" in run("plan --arms 4 --epsilon 0.01 --gap 0.1")[1]
    )


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
    monkeypatch.setattr(console, "WIDE", 80)
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
    ("command", "message"),
    [
        ("plan --arms 4 --epsilon 1", "give --gap or --pulls, got neither"),
        ("plan --arms 4 --epsilon 1 --gap 0.1 --pulls 10", "give --gap or --pulls, got both"),
        (
            "plan --arms 4 --epsilon 1 --pulls 10",
            "--pulls must be at least 3,316, the length of the first epoch, got 10",
        ),
        ("plan --arms 1 --epsilon 1 --gap 0.1", "arms must be a whole number of at least 2, got 1.0"),
        ("plan --arms 4 --epsilon 0 --gap 0.1", "epsilon must be above 0"),
        ("plan --arms 4 --epsilon 1 --gap 1.5", "gap must be in (0, 1]"),
        ("plan --arms 4 --epsilon 1 --gap 0.1 --beta 1", "beta must be strictly between 0 and 1, got 1.0"),
        ("plan --epsilon 1 --gap 0.1", "Missing option '--arms'"),
        ("bounds --mean 0", "mean must be strictly between 0 and 1, and not 0, got 0.0"),
        ("bounds --mean 0.1 --beta 3", "beta must lie strictly between 0 and 1, got 3.0"),
        ("bounds --mean 0.1 --alpha 1", "alpha must be strictly between 0 and 1, got 1.0"),
        ("bounds --mean 0.1 --low 1 --high 0", "low must be below high"),
        ("bounds --mean 0.1 --radius 1 --low 0", "give --radius, or --low and --high, not both"),
        ("bounds --epsilon -1", "epsilon must be above 0"),
        ("bounds --instance C9", "C9"),
    ],
)
def test_errors_say_what_would_be_right(run, command, message):
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert message in err

"""`discreet plan`: the epochs of an elimination, as a table and as JSON."""

import pytest

from discreet import theory


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


@pytest.mark.parametrize(
    ("line", "message"),
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
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)

"""What a ledger says about the arms: means, radii, and their picture."""

import pytest

import discreet
from discreet import Bandit, SimulatedNoise, Totals
from discreet.core.grid import Grid
from discreet.core.history import Mean, means, picture, picture_of, running_means


def elimination():
    policy = discreet.DPSuccessiveElimination(["A", "B", "C"], epsilon=1.0, horizon=100_000, beta=0.05)
    driver = Totals(policy, SimulatedNoise(3))
    rate = {"A": 0.9, "B": 0.8, "C": 0.1}
    while (plan := driver.plan()) is not None:
        totals = {arm: int(n * rate[arm]) << 20 for arm, n in plan.pulls.items()}
        driver.close_steps(totals) if plan.query is not None else driver.close()
    return driver


def test_means_lie_within_their_radii_of_the_truth():
    driver = elimination()
    found = list(means(driver.ledger, driver.algorithm.grid))
    assert {one.arm for one in found} == {"A", "B", "C"}
    for one in found:
        assert abs(one.mean - {"A": 0.9, "B": 0.8, "C": 0.1}[one.arm]) < one.radius


def test_the_picture_has_a_line_for_each_arm_and_a_cross_where_one_went():
    driver = elimination()
    ledger, grid = driver.ledger, driver.algorithm.grid
    (panel,) = picture(ledger, grid, ledger.epochs, driver.algorithm.viable).panels
    labels = [line.label for line in panel.lines]
    assert labels == ["A", "B (gone)", "", "C (gone)", ""]
    assert [line.marker for line in panel.lines if not line.label] == ["x", "x"]
    assert driver.plot().axes[0].get_xlabel() == "epoch"
    (alone,) = picture(ledger, grid, ledger.epochs).panels  # the last releases are about A and B
    assert [line.label for line in alone.lines if line.label][:2] == ["A", "B"]


@pytest.mark.parametrize("policy", [discreet.UCB(["A", "B"]), discreet.DPUCB(["A", "B"], epsilon=2.0, horizon=600)])
def test_of_many_epochs_running_means_are_shown(policy):
    bandit = Bandit(policy, SimulatedNoise(3))
    for _ in range(600):
        ticket = bandit.ask()
        bandit.tell(ticket, 0.75 if ticket.arm == "A" else 0.25)
    ledger, grid = bandit.ledger, policy.grid
    last = {one.arm: one for one in running_means(ledger, grid, ledger.epochs)}
    released = bandit.policy
    for index, arm in enumerate(released.arms):
        assert last[arm].rewards == released.pulls[index]
        assert last[arm].mean == pytest.approx(released.mean(index))  # a node takes the place of those that it covers
    (panel,) = picture(ledger, grid, ledger.epochs).panels
    assert panel.x_log
    assert all(len(line.x) < 600 for line in panel.lines)


def test_early_means_that_are_far_off_do_not_hide_the_last_ones():
    grid = Grid(0.0, 1.0)
    found = {"A": [Mean(1, "A", 100, -0.4, 0.9), Mean(2, "A", 99_900, 0.036, 0.003)]}
    found["B"] = [Mean(1, "B", 100, 0.7, 0.9), Mean(2, "B", 99_900, 0.030, 0.003)]
    (panel,) = picture_of(found, grid, "means").panels
    assert (panel.y_from, panel.y_to) == (pytest.approx(0.027 - 0.024), pytest.approx(0.039 + 0.024))
    (near,) = picture_of({arm: own[1:] for arm, own in found.items()}, grid, "means").panels
    assert (near.y_from, near.y_to) == (None, None)


def test_running_means_of_few_epochs_are_those_of_all_rewards_at_each():
    driver = elimination()
    ledger, grid = driver.ledger, driver.algorithm.grid
    own = [one for one in running_means(ledger, grid, ledger.epochs) if one.arm == "A"]
    assert [one.epoch for one in own] == sorted({one.epoch for one in means(ledger, grid)})
    assert own[-1].rewards == sum(one.rewards for one in means(ledger, grid) if one.arm == "A")
    assert own[-1].mean == pytest.approx(0.9, abs=own[-1].radius)


def test_an_empty_ledger_is_an_empty_picture():
    policy = discreet.UCB(["A", "B"])
    assert picture(policy.ledger, policy.grid, 0).panels[0].lines == []
    policy.plot()


def test_a_ledger_without_a_grid_has_no_means():
    ledger = discreet.Ledger(["A"])
    with pytest.raises(discreet.ArgumentError, match="grid must be given to plot means"):
        ledger.plot()

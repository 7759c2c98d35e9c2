"""The evaluation has every setting of the paper, and its pictures show the results."""

import numpy as np
import pytest

from discreet.core.errors import ArgumentError
from discreet.lab.results import Simulation
from discreet.reproduction.evaluation import Evaluation, EvaluationFindings, smallest_constant
from discreet.reproduction.pictures.evaluation import evaluation_pictures
from discreet.theory import regret_lower_bound


@pytest.fixture(scope="module")
def pictures(extended):
    return {picture.name: picture for picture in evaluation_pictures(extended)}


def test_the_evaluation_has_every_setting_of_the_paper_once_and_no_other():
    settings = Evaluation().settings()
    assert len({one.identity for one in settings}) == len(settings) == 128
    compared = {(one.algorithm, one.instance.name, len(one.instance), one.epsilon) for one in settings}
    assert compared == {
        (policy, name, arms, epsilon)
        for policy in ("dp-se", "dp-ucb")
        for name in ("C1", "C2", "C3", "C4")
        for arms in (3, 5, 10, 20)
        for epsilon in (0.1, 0.25, 0.5, 1.0)
    }
    assert {(one.horizon, one.runs) for one in settings} == {(50_000_000, 30)}


def test_the_extended_evaluation_has_the_papers_settings_first():
    settings = Evaluation(extended=True).settings()
    assert len({one.identity for one in settings}) == len(settings) == 372
    assert settings[:128] == Evaluation().settings()


def test_the_sweep_is_in_units_of_log_to_the_three_halves():
    wanted = Evaluation()
    policy = wanted.swept("C1", 5, 0.25, 8).build()
    assert policy.effective_relaxation == pytest.approx(8 * np.log(5e7) ** 1.5 / 0.25)
    assert (
        wanted.default_constant(5, 0.25) == pytest.approx(wanted.default_constant(5, 1.0)) == pytest.approx(168, abs=1)
    )


def test_an_evaluation_that_could_not_be_reported_is_refused():
    with pytest.raises(ArgumentError, match=r"arms must hold 5, 20, got \(5,\)"):
        Evaluation(arms=(5,), extended=True)
    with pytest.raises(ArgumentError, match=r"arms must hold 5, got \(3,\)"):
        Evaluation(arms=(3,))


def test_from_which_constant_on_the_claim_holds():
    assert smallest_constant([(3, 90.0), (8, 0.5), (21, 5.0), (50, 12.0)]) == 21  # stuck runs at 3 do not count
    assert smallest_constant([(8, 0.5), (21, 4.99)]) is None


def test_the_papers_twelve_figures_have_its_panels_and_curves():
    class Known(EvaluationFindings):
        """Made-up results for every setting of the paper."""

        def __init__(self):
            self.study = Evaluation()

        def __getitem__(self, setting):
            assert setting in known
            marks, arms = len(setting.checkpoints), len(setting.instance)
            ones, zeros = np.ones((2, marks)), np.zeros((2, arms), np.int64)
            arrays = {"regret": ones, "best_pulls": ones.astype(np.int64), "pulls": zeros, "dropped": zeros}
            return Simulation(setting, arrays, 0.0, "kernel")

    known = set(Evaluation().settings())
    drawn = evaluation_pictures(Known())
    assert [len(picture.panels) for picture in drawn] == [2] * 4 + [4] * 8
    for picture in drawn:
        assert picture.name.startswith("paper-")
        for panel in picture.panels:
            assert sorted(line.label.split(",")[0] for line in panel.lines) == ["DP-SE", "DP-SE", "DP-UCB", "DP-UCB"]


def test_lines_are_the_results(extended, pictures):
    (panel,) = pictures["paper-epsilon-C4"].panels
    lines = {line.label: line for line in panel.lines}
    shown = {"DP-SE, ε = 0.5": extended.dp_se("C4", 5, 0.5), "DP-UCB, ε = 1": extended.dp_ucb("C4", 5, 1.0)}
    for label, one in shown.items():
        assert (lines[label].y == one.regret.mean(axis=0)).all()
        assert (lines[label].low == np.quantile(one.regret, 0.05, axis=0)).all()
        assert (lines[label].high == np.quantile(one.regret, 0.95, axis=0)).all()
        assert lines[label].x[-1] == 20_000
    (logarithmic,) = pictures["log-epsilon-C4"].panels
    lines = {line.label: line for line in logarithmic.lines}
    assert lines["UCB (not private)"].y[-1] == extended.plain("ucb", "C4", 5).mean
    means = extended.dp_se("C4", 5, 1.0).setting.instance.means.tolist()
    assert lines["lower bound, ε = 1"].y[-1] == regret_lower_bound(means, 20_000, 1.0)
    sweep = pictures["sweep-5-arms"]
    top, stuck = sweep.panels[0].lines[0], sweep.panels[1].lines[0]
    row = [*extended.swept("C1", 5, 0.5), extended.dp_ucb("C1", 5, 0.5)]
    assert list(top.y) == [one.mean / extended.dp_se("C1", 5, 0.5).mean for one in row]
    assert list(stuck.y) == [one.failed.sum() for one in row]


def test_axes_are_named_and_lines_can_be_told_apart(pictures):
    for picture in pictures.values():
        assert picture.title
        for panel in picture.panels:
            assert panel.x_label
            assert panel.y_label
            looks = [(line.colour, line.style, line.marker) for line in panel.lines]
            assert len(set(looks)) == len(looks)

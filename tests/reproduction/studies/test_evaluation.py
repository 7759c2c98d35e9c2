"""The evaluation has every setting of the paper, and its pictures show the results."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from discreet.core.errors import ArgumentError
from discreet.lab.results import Simulation
from discreet.reproduction.pictures.evaluation import evaluation_pictures
from discreet.reproduction.studies.claim import regret_by_elimination
from discreet.reproduction.studies.evaluation import FORMS, Evaluation, EvaluationFindings, smallest_constant
from discreet.theory import regret_lower_bound

CELLS = {
    (name, arms, epsilon)
    for name in ("C1", "C2", "C3", "C4")
    for arms in (3, 5, 10, 20)
    for epsilon in (0.1, 0.25, 0.5, 1.0)
}


@pytest.fixture(scope="module")
def pictures(extended):
    return {picture.name: picture for picture in evaluation_pictures(extended)}


def by_policy(settings):
    """The cells and the runs of each policy, and of each form of DP-UCB."""
    found = {}
    for one in settings:
        name = dict(one.options)["preset"] if one.algorithm == "dp-ucb" else one.algorithm
        cells, runs = found.setdefault(name, (set(), set()))
        cells.add((one.instance.name, len(one.instance), one.epsilon))
        runs.add(one.runs)
    return found


def test_the_evaluation_has_every_setting_of_the_paper_once_with_the_published_baseline():
    settings = Evaluation().settings()
    assert len({one.identity for one in settings}) == len(settings) == 3 * 64
    assert by_policy(settings) == {
        "dp-se": (CELLS, {30}), "mishra-thakurta-2015": (CELLS, {30}), "event-level": (CELLS, {10}),
    }  # fmt: skip
    assert {one.horizon for one in settings} == {50_000_000}


def test_the_extended_evaluation_has_every_form_in_every_setting_and_the_papers_settings_too():
    settings = [one for one in Evaluation(extended=True).settings() if "relaxation" not in dict(one.options)]
    assert set(Evaluation().settings()) < set(settings)
    found = by_policy(settings)
    assert [found[form] for form in FORMS] == [(CELLS, {30}), (CELLS, {10}), (CELLS, {10}), (CELLS, {3, 10})]
    assert all(found[key] == (CELLS, {30}) for key in ("dp-se-svt", "dp-se-modified", "dp-chernoff-imed"))
    assert all(len(found[key][0]) == 16 for key in ("ucb", "se"))


def test_a_quick_evaluation_has_all_of_the_papers_settings_and_leaves_the_slowest_form_out():
    assert by_policy(Evaluation.quick().settings())["mishra-thakurta-2015"] == (CELLS, {3})
    assert Evaluation.quick(extended=True).forms() == FORMS[:3]


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


# ---------------------------------------------------------------------- pictures


class Known(EvaluationFindings):
    """Made-up results for every setting of an evaluation: arms go one after another."""

    def __init__(self, study):
        super().__init__(study, [])
        self.settings = set(study.settings())

    def __getitem__(self, setting):
        assert setting in self.settings
        marks, arms = len(setting.checkpoints), len(setting.instance)
        regret, zeros = np.ones((2, marks)), np.zeros((2, arms), np.int64)
        dropped = np.tile([-1, *(1000 * (arms - arm) for arm in range(1, arms))], (2, 1))
        arrays = {"regret": regret, "best_pulls": regret.astype(np.int64), "pulls": zeros, "dropped": dropped}
        return Simulation(setting, arrays, 0.0, "kernel")


def test_the_papers_twelve_figures_have_its_numbers_panels_and_curves():
    for study in (Evaluation(), Evaluation.quick()):
        drawn = evaluation_pictures(Known(study))
        assert [picture.name for picture in drawn] == [f"paper-{number:02}" for number in range(1, 13)]
        shown = [f"C{number} with K = 5" for number in (1, 2, 3, 4)]  # in the order of the paper's source
        for number, pair in product((1, 2, 3, 4), ("0.5 and 1", "0.1 and 0.25")):
            shown.append(f"C{number} with ε = {pair}")
        for number, (picture, what) in enumerate(zip(drawn, shown, strict=True), 1):
            assert picture.title == f"Figure {number}. {what}, T = 50,000,000"
            # Each of the paper's panels, and the same up to the last elimination.
            assert len(picture.panels) == 2 * (2 if number <= 4 else 4)
            for panel in picture.panels:
                labels = Counter(line.label.split(",")[0] for line in panel.lines if line.label)
                assert labels == {"DP-SE": 2, "DP-UCB": 2}
                assert panel.labels_at_ends
        assert [panel.title for panel in drawn[0].panels] == [
            "(a) ε = 0.1 and 0.25", "(b) ε = 0.5 and 1",
            "(a) up to the last elimination", "(b) up to the last elimination",
        ]  # fmt: skip
        assert [panel.title for panel in drawn[4].panels][::4] == ["(a) K = 3", "(c) K = 10"]


def test_the_withdrawn_figures_have_its_three_policies():
    drawn = [one for one in evaluation_pictures(Known(Evaluation(extended=True))) if one.name.startswith("withdrawn")]
    assert [picture.title for picture in drawn[::4]] == [
        "Withdrawn figure 1. C1 with K = 5, T = 50,000,000",
        "Withdrawn figure 5. C1 with ε = 0.25 and 1, T = 50,000,000",
    ]
    assert len(drawn) == 8
    for picture in drawn:
        for panel in picture.panels:
            labels = {line.label.split(",")[0] for line in panel.lines if line.label}
            assert labels == {"DP-UCB", "older DP-SE", "modified"}


def test_a_line_style_is_one_epsilon_in_all_figures():
    meanings = {}
    for picture in evaluation_pictures(Known(Evaluation(extended=True))):
        if picture.name.startswith(("paper", "withdrawn")):
            for line in (line for panel in picture.panels for line in panel.lines if line.label):
                meanings.setdefault(line.style, set()).add(line.label.split("ε = ")[1])
    assert sorted(map(sorted, meanings.values())) == [["0.1"], ["0.25"], ["0.5"], ["1"]]


def test_lines_are_the_results(extended, pictures):
    whole, beginning = pictures["paper-02"].panels
    lines = {line.label: line for line in whole.lines}
    shown = {"DP-SE, ε = 0.25": extended.dp_se("C4", 5, 0.25), "DP-UCB, ε = 1": extended.dp_ucb("C4", 5, 1.0)}
    for label, one in shown.items():
        assert (lines[label].y == one.regret.mean(axis=0)).all()
        assert (lines[label].low == np.quantile(one.regret, 0.05, axis=0)).all()
        assert (lines[label].high == np.quantile(one.regret, 0.95, axis=0)).all()
        assert lines[label].x[-1] == 20_000
    near = next(line for line in beginning.lines if line.label == "DP-SE, ε = 1")
    regret = regret_by_elimination(extended.dp_se("C4", 5, 1.0), near.x)
    assert (near.y == regret.mean(axis=0)).all()
    assert (near.high == np.quantile(regret, 0.95, axis=0)).all()
    sweep = pictures["sweep-5-arms"]
    top, stuck = sweep.panels[0].lines[0], sweep.panels[1].lines[0]
    row = [*extended.swept("C1", 5, 0.25), extended.dp_ucb("C1", 5, 0.25, "event-level")]
    assert list(top.y) == [one.mean / extended.many("C1", 5, 0.25).mean() for one in row]
    assert list(stuck.y) == [one.failed.sum() for one in row]


def test_all_settings_are_on_one_page_with_the_lower_bound(extended, pictures):
    page = pictures["all-settings"]
    assert page.small
    assert len(page.panels) == len(extended.study.cells())
    assert page.columns == 4
    assert [panel.title for panel in page.panels[:4]] == ["C1, ε = 0.25", "C1, ε = 1", "C4, ε = 0.25", "C4, ε = 1"]
    assert [panel.y_label for panel in page.panels[::2]] == ["K = 3", "K = 3", "K = 5", "K = 5"]
    lines = {line.label: line for line in page.panels[-1].lines}
    assert lines["UCB (not private)"].y[-1] == extended.plain("ucb", "C4", 5).mean
    assert lines["DP-UCB as published"].y[-1] == extended.dp_ucb("C4", 5, 1.0).mean
    assert lines["dp-chernoff-imed"].y[-1] == extended.private("dp-chernoff-imed", "C4", 5, 1.0).mean
    means = extended.dp_se("C4", 5, 1.0).setting.instance.means.tolist()
    assert lines["lower bound (private)"].y[-1] == regret_lower_bound(means, 20_000, 1.0)


def test_axes_are_named_and_lines_can_be_told_apart(pictures):
    for picture in pictures.values():
        assert picture.title
        for panel in picture.panels:
            assert panel.x_label or picture.small
            assert panel.y_label or picture.small
            looks = [(line.colour, line.style, line.marker) for line in panel.lines]
            assert len(set(looks)) == len(looks)

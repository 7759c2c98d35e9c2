"""Sweeps: a list of values is a setting for each, and a picture of regret against it."""

import numpy as np
import pytest

from discreet import ArgumentError, DPSuccessiveElimination
from discreet.lab import Instance, compare
from discreet.lab.figures import picture, swept_option
from discreet.lab.sweep import league

SHORT = {"horizon": 2000, "runs": 2}


def variants(settings):
    return [(one.algorithm, one.epsilon, one.horizon, len(one.instance)) for one in settings]


def test_lists_are_swept_over_in_every_combination():
    common = {"instance": "C2", "horizon": [1000, 2000], "arms": [3, 4]}
    found = variants(league(["dp-se", "se"], {"epsilon": np.array([0.5, 1.0])}, common))
    assert found == [
        *(("dp-se", epsilon, horizon, arms) for horizon in (1000, 2000) for arms in (3, 4) for epsilon in (0.5, 1.0)),
        *(("se", None, horizon, arms) for horizon in (1000, 2000) for arms in (3, 4)),
    ]


def test_a_swept_setting_is_the_setting_alone():
    swept = compare(["dp-se"], "C2", epsilon=[0.5, 1.0], **SHORT)
    alone = compare("dp-se", "C2", epsilon=1.0, **SHORT)
    assert swept[1].setting == alone[0].setting
    assert (swept[1].regret == alone[0].regret).all()


def test_options_of_ones_own_are_swept_over_and_win():
    found = league([("dp-se", {"epsilon": [2.0, 3.0]}), "dp-se"], {"epsilon": 1.0}, {"instance": "C2", "horizon": 1000})
    assert [one.epsilon for one in found] == [2.0, 3.0, 1.0]


def test_classes_and_objects_stand_for_names():
    policy = DPSuccessiveElimination(range(5), epsilon=0.5, horizon=1000)
    found = league([DPSuccessiveElimination, policy], {"epsilon": 1.0}, {"instance": "C2", "horizon": 2000})
    assert variants(found) == [("dp-se", 1.0, 2000, 5)] * 2  # what is given by name wins over the object's


@pytest.mark.parametrize(
    ("options", "common", "message"),
    [
        ({"epsilon": []}, {"instance": "C2"}, "epsilon must have at least one value to be swept over, got none"),
        ({"epsilon": 1.0}, {"instance": [0.5, 0.6], "arms": [2, 3]}, "arms can be swept on a named instance"),
        ({"epsilon": [0.5, -1]}, {"instance": "C2"}, "epsilon must be a number above 0, got -1"),
        ({"gamma": [1, 2]}, {"instance": "C2"}, "none of dp-se has an option 'gamma'"),
    ],
)
def test_wrong_sweeps_are_refused(options, common, message):
    with pytest.raises(ArgumentError, match=message):
        league(["dp-se"], options, {"horizon": 1000, **common})


def test_the_picture_is_against_what_was_swept():
    found = compare(["dp-se", "se"], "C2", epsilon=[0.1, 0.5, 1.0], **SHORT)
    assert swept_option(found) == "epsilon"
    (panel,) = picture(found).panels
    private, level = panel.lines
    assert (private.label, list(private.x)) == ("dp-se", [0.1, 0.5, 1.0])
    assert private.y == pytest.approx([one.mean for one in found[:3]])
    assert (level.label, level.y) == ("se", [found[3].mean] * 3)  # it has no epsilon
    assert panel.x_log
    assert [text for _, text in panel.ticks] == ["0.1", "0.5", "1"]


def test_a_second_swept_option_is_in_the_labels():
    found = compare(["dp-se"], "C2", epsilon=[0.1, 0.5, 1.0], horizon=[1000, 2000], runs=2)
    (panel,) = picture(found).panels
    assert [line.label for line in panel.lines] == ["dp-se(T=1000)", "dp-se(T=2000)"]
    (panel,) = picture(found, against="horizon").panels
    assert next((line.label, list(line.x)) for line in panel.lines) == ("dp-se(epsilon=0.1)", [1000, 2000])


def test_what_was_not_swept_is_against_pulls():
    found = compare(["dp-se", "se"], "C2", epsilon=1.0, **SHORT)
    assert swept_option(found) is None
    assert picture(found).name == "curves"
    assert picture(compare(["dp-se"], "C2", epsilon=[0.5, 1.0], **SHORT), against="pulls").name == "curves"
    with pytest.raises(ArgumentError, match="against must be an option of what was simulated, or 'pulls', got 'gamma'"):
        picture(found, against="gamma")
    with pytest.raises(ArgumentError, match="at least one simulation"):
        picture([])


def test_rules_are_swept_over_too():
    found = compare(["dp-nas"], 0.5, runs=2, alpha=[0.1, 0.2], beta=0.05, epsilon=1.0)
    assert picture(found).panels[0].y_label == "mean samples"
    assert picture(found[:1]).name == "samples"


def test_a_long_legend_leaves_room_for_the_panel():
    found = compare(["dp-se", "dp-se-svt"], "C2", epsilon=[0.1, 0.2, 0.3, 0.5, 0.7, 1.0], beta=[0.1, 0.01], **SHORT)
    figure = found.plot(against="pulls")
    figure.draw_without_rendering()
    (legend,), (ax,) = figure.legends, figure.axes
    assert not legend.get_window_extent().overlaps(ax.get_tightbbox())
    assert ax.get_window_extent().height > 0.4 * figure.bbox.height
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines[:12]}
    assert len(looks) == 12  # of one policy, all differ


def test_an_instance_of_ones_own_may_have_numbers():
    assert len(Instance("mine", (0.5, "beta(2,4)"))) == 2
    assert compare(["se"], Instance("mine", (0.5, 0.6)), **SHORT)[0].setting.instance.name == "mine"

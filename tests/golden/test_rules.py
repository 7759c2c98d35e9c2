"""Stopping rules decide under scripted noise as they did before the redesign. The JSON files say what that was."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet import RULES, Stream, Totals, make_rule
from tests._tools.examples import TESTS
from tests._tools.scripted import NoiseByScale, stream

HERE = Path(__file__).parent
KEYS = (
    "dp-bernstein",
    "dp-exp-nas",
    "dp-inverse",
    "dp-mean",
    "dp-nas",
    "dp-nas-one-sided",
    "dp-nas-released",
    "dp-test",
    "ebgstop",
    "ebstop",
    "exp-nas",
    "inverse",
    "nas",
)


@cache
def golden(key):
    return json.loads((HERE / f"{key}.json").read_text(encoding="utf-8"))


@cache
def samples(spec):
    return stream(json.loads(spec))


def cases():
    return [(key, index) for key in KEYS for index in range(len(golden(key)["instances"]))]


def runs_of(key, instance):
    return [run for run in golden(key)["runs"] if run["instance"] == instance["name"]]


def noise_of(run):
    return None if run["script"] == ["none"] else NoiseByScale(run["script"])


def listed(releases, prices):
    """Releases as the files have them."""
    found = []
    for one in releases:
        price = prices.index([one.scale, one.epsilon])
        if one.kind == "tests":
            found.append(["tests", [list(span) for span in one.spans], one.tests, one.above, price])
        else:
            ((arm, first, last),) = one.spans
            found.append([one.kind, arm, first, last, one.steps, price])
    return found


def end_of(rule, run):
    estimate = rule.estimate
    if estimate is not None and rule.key in {"inverse", "dp-inverse", "dp-mean"}:
        estimate = round(estimate, 9)  # a result of long sums of floats, whose last digits are the machine's
    found = {"finished": rule.finished, "samples": rule.samples, "halted": rule.halted, "estimate": estimate}
    if "ledger" in run["end"]:
        found["ledger"] = listed(rule.ledger, run["prices"])
    return found


def entries(decisions):
    """The ledger of decisions: the tests of one sparse vector are one entry, the last one."""
    every = [release for _, releases, _ in decisions for release in releases]
    last = max((place for place, release in enumerate(every) if release[0] == "tests"), default=None)
    return [release for place, release in enumerate(every) if release[0] != "tests" or place == last]


def exact_of(plan, grid, values, clip):
    """What a plan's close takes for these samples."""
    sums = plan.statistic.accumulator(grid.width)
    sums.add(grid.encode_checked(grid.check_array(values, clip)))
    return sums.values if len(sums.values) > 1 else sums.values[0]


def test_every_rule_has_a_golden_file():
    assert set(KEYS) == set(RULES)


@pytest.mark.parametrize(("key", "index"), cases())
def test_a_rule_fed_the_whole_stream_ends_as_before(key, index):
    instance = golden(key)["instances"][index]
    for run in runs_of(key, instance):
        driver = Stream(make_rule(key, **instance["options"]), noise_of(run), **instance.get("driver", {}))
        driver.feed(samples(json.dumps(instance["stream"])))
        rule = driver.algorithm
        assert rule.grid.width == run["width"]
        assert end_of(rule, run) == run["end"], run["script"]
        if "decisions" in run:
            assert listed(driver.ledger, run["prices"]) == entries(run["decisions"])


@pytest.mark.parametrize(("key", "index"), [case for case in cases() if "decisions" in golden(case[0])["runs"][0]])
def test_each_decision_releases_what_it_did_before(key, index):
    instance = golden(key)["instances"][index]
    values, clip = samples(json.dumps(instance["stream"])), instance.get("driver", {}).get("clip", False)
    for run in runs_of(key, instance):
        driver, taken = Totals(make_rule(key, **instance["options"]), noise_of(run)), 0
        for after, releases, halted in run["decisions"]:
            plan, grid = driver.plan(), driver.algorithm.grid
            assert plan.pulls == {None: after - taken}
            assert plan.learns == bool(releases)
            exact = {None: exact_of(plan, grid, values[taken:after], clip)} if plan.learns else None
            assert listed(driver.close_steps(exact), run["prices"]) == releases, run["script"]
            assert (driver.algorithm.samples, driver.algorithm.halted) == (after, halted)
            taken = after
        assert driver.plan() is None
        assert end_of(driver.algorithm, run) == run["end"]


class Shifted(NoiseByScale):
    """Every draw is one grid step too large."""

    def draws(self, scale, count):
        return super().draws(scale, count) + np.int64(1)


@pytest.mark.parametrize("key", [key for key in KEYS if key.startswith("dp") and key not in TESTS])
def test_one_grid_step_more_of_noise_is_noticed(key):
    different = 0
    for instance in golden(key)["instances"]:
        for run in runs_of(key, instance)[-1:]:
            driver = Stream(make_rule(key, **instance["options"]), Shifted(run["script"]), **instance.get("driver", {}))
            driver.feed(samples(json.dumps(instance["stream"])))
            different += end_of(driver.algorithm, run)["estimate"] != run["end"]["estimate"]
    assert different >= 5

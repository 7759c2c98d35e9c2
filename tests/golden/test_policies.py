"""Policies decide under scripted noise as they did before the redesign. The JSON files say what that was."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet import POLICIES, Totals
from discreet.bandits import lazy_dp_ts, thompson_sampling
from discreet.core.registry import make
from tests._tools.scripted import NoiseByScale, Rewards

HERE = Path(__file__).parent
KEYS = sorted(path.stem for path in HERE.glob("*.json") if path.stem in POLICIES)
MENDED = {
    # The old code never told the policy inside of batches that release nothing, so that it repeated them for ever.
    ("guess-and-double", "dp-paired-imed"),
}


@cache
def golden(key):
    return json.loads((HERE / f"{key}.json").read_text(encoding="utf-8"))


def cases():
    return [
        (key, index)
        for key in KEYS
        for index, instance in enumerate(golden(key)["instances"])
        if (key, instance["name"]) not in MENDED
    ]


def listed(releases, prices):
    """Releases as the files have them, but for the kind of a number."""
    found = []
    for one in releases:
        price = prices.index([one.scale, one.epsilon])
        if one.kind == "tests":
            found.append(["tests", [list(span) for span in one.spans], one.tests, one.above, price])
        else:
            ((arm, first, last),) = one.spans
            found.append([arm, first, last, one.steps, price])
    return found


def without_kinds(releases):
    return [one if one[0] == "tests" else one[1:] for one in releases]


def epochs_of(run, arms):
    """The epochs of a run, each as [pulls, learns, releases, best arm, viable arms or None, running total or None]."""
    if "epochs" in run:
        viable = list(arms)
        for pulls, learns, releases, best, *changed in run["epochs"]:
            viable = changed[0] if changed else viable
            yield pulls, learns, releases, best, viable, None
        return
    steps, counts = run["steps"], [0] * len(arms)
    for place, (digit, best) in enumerate(zip(steps["arms"], steps["best"], strict=True)):
        arm = int(digit)
        counts[arm] += 1
        releases, total = None, None
        if "nodes" in steps:
            first = counts[arm] - 2 ** int(steps["levels"][place], 16) + 1
            price = int(steps["prices"][place], 16)
            releases = [["node", arms[arm], first, counts[arm], steps["nodes"][place], price]]
            total = steps["totals"][place]
        yield [[arms[arm], 1]], True, releases, None if best == "-" else arms[int(best)], list(arms), total


def check_run(policy, instance, run, source=NoiseByScale):
    """Repeat a run, and compare all that was decided and released."""
    driver = Totals(policy, None if run["script"] == ["none"] else source(run["script"]))
    width, arms = run["width"], list(policy.arms)
    assert policy.grid.width == width
    rewards, counts = Rewards(instance["rewards"], width), [0] * len(arms)
    for pulls, learns, releases, best, viable, total in epochs_of(run, arms):
        plan = driver.plan()
        assert [[arm, count] for arm, count in plan.pulls.items()] == pulls
        assert plan.learns is learns
        totals = {arm: rewards.total(arms.index(arm), counts[arms.index(arm)], count) for arm, count in pulls}
        for arm, count in pulls:
            counts[arms.index(arm)] += count
        released, now = driver.close_steps(totals if learns else None), driver.algorithm
        if releases is not None:
            assert listed(released, run["prices"]) == without_kinds(releases)
        assert (now.best_arm, list(now.viable)) == (best, viable)
        if total is not None:
            assert now.total(arms.index(pulls[0][0])) == total / width
    end, now, plan = run["end"], driver.algorithm, driver.plan()
    opened = None if plan is None else [[[arm, count] for arm, count in plan.pulls.items()], plan.learns]
    found = {
        "finished": now.finished, "time": now.time, "pulls": list(now.pulls), "best": now.best_arm, "next": opened,
    }  # fmt: skip
    found |= {name: getattr(now, name) for name in ("settled", "guess") if name in end}
    if "unreleased" in end:
        found["unreleased"] = list(now.unreleased.values())
    assert found == end


@pytest.mark.parametrize(("key", "index"), cases())
def test_a_policy_decides_as_it_did(key, index, monkeypatch):
    instance = golden(key)["instances"][index]
    runs = [run for run in golden(key)["runs"] if run["instance"] == instance["name"]]
    assert runs
    for run in runs:
        if "seeding" in instance:  # one generator for all plans, as the old code had it, or one for each
            one = np.random.Generator(np.random.PCG64(instance["options"]["seed"]))
            each = instance["seeding"] == "epoch"

            def rng(seed, epoch, one=one, each=each):
                return np.random.Generator(np.random.PCG64([seed, epoch])) if each else one

            for module in (lazy_dp_ts, thompson_sampling):
                monkeypatch.setattr(module, "epoch_rng", rng)
        check_run(make(key, instance["options"]), instance, run)


def test_every_policy_has_a_golden_file():
    assert set(KEYS) == set(POLICIES)


class Shifted(NoiseByScale):
    """Every draw is one grid step too large."""

    def draws(self, scale, count):
        return super().draws(scale, count) + 1


@pytest.mark.parametrize("key", ["dp-se", "dp-se-svt", "dp-se-pairs", "dp-chernoff-imed", "lazy-ucb", "dp-ucb"])
def test_one_grid_step_more_of_noise_is_noticed(key):
    (instance, *_), runs = golden(key)["instances"], golden(key)["runs"]
    run = next(run for run in runs if run["instance"] == instance["name"] and run["script"][0] == "varied")
    with pytest.raises(AssertionError):
        check_run(make(key, instance["options"]), instance, run, Shifted)

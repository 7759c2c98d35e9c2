"""Searches by evidence against searches with sharp constants: fewer pulls, right answers, and always an end."""

from functools import cache

import numpy as np
import pytest

import discreet
from discreet.lab import instance
from discreet.lab.kernels import evidence_search
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.promises import sharp_searches

BETA = 0.05
CELLS = {
    (name, epsilon): np.array((0.05, 0.04, 0.03)) if name == "5, 4 and 3 %" else instance(name).means
    for name in ("C1", "C2", "C3", "C4", "5, 4 and 3 %")
    for epsilon in (0.25, 1.0)
}
NONE = np.zeros(0, np.int64)


def fresh_instances():
    """Twenty instances that were drawn after everything was fixed, each at two values of epsilon."""
    rng, found = np.random.default_rng([2026, 11, 18]), {}
    for index in range(20):
        top, arms = np.exp(rng.uniform(np.log(0.02), np.log(0.8))), int(rng.integers(2, 9))
        gaps = top * np.exp(rng.uniform(np.log(0.1), np.log(0.9), arms - 1))
        for epsilon in (0.25, 1.0):
            found[f"fresh {index}", epsilon] = np.concatenate([[top], top - gaps])
    return found


@cache
def evidence_searches(means, epsilon, runs, tag=8):
    """Pulls of all arms, and the arm found, -1 where 2^50 pulls were not enough, of searches by evidence."""
    policy = discreet.DPEvidenceBestArm(range(len(means)), epsilon=epsilon, beta=BETA)
    parameters, chances = evidence_search.parameters_of(policy), np.array(means)
    found = [evidence_search.play(parameters, chances, 2**50, fresh_state([run, tag]), NONE) for run in range(runs)]
    return np.array([pulls.sum() for _, _, pulls, _ in found]), np.array([arm for *_, arm in found])


@pytest.mark.study
@pytest.mark.parametrize(("title", "cells"), [("known", CELLS), ("fresh", fresh_instances())])
def test_it_takes_fewer_pulls_than_sharp_constants_do(title, cells, page):
    ratios = {}
    for (name, epsilon), means in cells.items():
        sharp, _ = sharp_searches(means, epsilon, BETA, 200)
        ours, found = evidence_searches(tuple(means), epsilon, 500)
        ratios[name, epsilon] = ratio = sharp.sum(axis=1).mean() / ours.mean()
        late = np.quantile(sharp.sum(axis=1), 0.95) / np.quantile(ours, 0.95)
        page("Best arm", cell=name, epsilon=epsilon, pulls=round(ours.mean()), times_fewer=f"{ratio:.2f}",
             at_95_percent=f"{late:.2f}", wrong=int((found != means.argmax()).sum()), searches=len(ours))  # fmt: skip
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    print(title, f"{mean:.3f}", {key: f"{ratio:.2f}" for key, ratio in ratios.items()})
    page("Best arm", cell=f"geometric mean, {title}", times_fewer=f"{mean:.2f}")
    assert mean >= 1.45
    assert min(ratios.values()) >= 1 / 1.05


TIGHT = [((0.5, 0.4), 1.0), ((0.5, 0.45, 0.45), 0.25), ((0.02, 0.01), 0.1), ((0.7, 0.6, 0.6, 0.6), 3.0)]


@pytest.mark.study
@pytest.mark.parametrize(("means", "epsilon"), TIGHT, ids=str)
def test_it_is_seldom_wrong(means, epsilon, page):
    _, found = evidence_searches(means, epsilon, 20_000, 9)
    wrong = int((found != 0).sum())
    page("Best arm", cell=str(means), epsilon=epsilon, wrong=wrong, searches=20_000)
    print(means, epsilon, wrong)
    assert wrong <= 0.01 * 20_000


@pytest.mark.study
@pytest.mark.parametrize(("means", "epsilon"), [((0.6, 0.4, 0.4, 0.4), 1.0), (tuple(instance("C2").means), 0.25)])
def test_every_search_ends(means, epsilon, page):
    pulls, found = evidence_searches(means, epsilon, 50_000, 10)
    page("Best arm", cell=str(means), epsilon=epsilon, without_an_end=int((found < 0).sum()), searches=50_000)
    print(means, epsilon, (found < 0).sum(), pulls.max(), pulls.mean())
    assert (found >= 0).all()
    assert pulls.max() < 200 * pulls.mean()

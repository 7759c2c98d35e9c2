"""Random walks over files, crashes and full disks: no draw masks two releases, and planted mistakes are found."""

import os
import tempfile

import numpy as np
import pytest

from discreet import Bandit, DPSuccessiveElimination
from discreet.core.errors import ArgumentError
from discreet.testing import Report, Violation, walk
from discreet.testing.walker import LabelledNoise, label_of
from tests._tools.plants import PLANTS
from tests._tools.walking import CASES

SEQUENCES = 10_000
MEMORY = "/dev/shm"


@pytest.fixture(autouse=True)
def files_in_memory(monkeypatch):
    """No walk waits for a disk, where there is a file system without one."""
    if os.access(MEMORY, os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", MEMORY)


@pytest.mark.parametrize("case", CASES)
def test_a_walk_of_every_private_algorithm(case):
    report = walk(CASES[case], seed=sum(case.encode()), steps=100)
    assert report.steps == 100
    assert report.releases + report.tests > 0


@pytest.mark.study
@pytest.mark.parametrize("case", CASES)
def test_ten_thousand_walks(case, page):
    walks = -(-SEQUENCES // len(CASES))
    report = sum((walk(CASES[case], seed, steps=30) for seed in range(walks)), Report())
    page("Walks", algorithm=case, walks=walks, releases=report.releases, tests=report.tests, copies=report.copies,
         loads=report.loads, crashes=report.crashes, refused=report.refusals)  # fmt: skip
    print(f"{case}: {walks} walks, {report}")
    assert min(report.loads, report.copies, report.crashes, report.refusals) > walks // 2


@pytest.mark.parametrize(("plant", "case"), [(plant, case) for plant, (_, cases) in PLANTS.items() for case in cases])
def test_planted_mistakes_are_found(plant, case, page):
    make, _ = PLANTS[plant]
    with make(), pytest.raises(Violation):
        for seed in range(200):
            walk(CASES[case], seed, steps=60)


def test_labels_survive_sums_and_signs():
    draws = LabelledNoise(1).draws(1e7, 1000).tolist()
    labels = [label_of(draw) for draw in draws]
    assert len(set(labels)) == 1000
    assert labels == [label_of(-draw) for draw in draws] == [label_of(draw + 37 * 2**20) for draw in draws]
    assert {label_of(number) for number in (0, 5, 10**5, 2**20, 37 * 2**20)} == {None}


def test_a_walk_needs_rewards_whose_sums_have_no_remainder():
    policy = DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10**4, low=0.0, high=1.5)
    with pytest.raises(ArgumentError, match=r"rewards in \[0, 1\]"):
        walk(lambda noise: Bandit(policy, noise), seed=1)


def test_the_same_seed_leads_the_same_way():
    one, two = (walk(CASES["dp-nas"], seed=5, steps=80) for _ in range(2))
    assert one == two


def test_coins_have_labels_too():
    """Noises of a grid of one step count 2^20 each, so that a planted mistake is found there as well."""
    draws = LabelledNoise(1, unit=2**20).draws(3.0, 2000)
    assert len({label_of(draw) for draw in draws.tolist()}) == 2000
    assert 1.5 < np.abs(np.rint(draws / 2**20)).mean() < 4.5

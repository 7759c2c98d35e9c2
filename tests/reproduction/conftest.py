"""Small studies, simulated once for all tests of this folder."""

import pytest

from discreet.reproduction.studies.distributions import DistributionGrid
from discreet.reproduction.studies.evaluation import Evaluation
from discreet.reproduction.studies.evidence import EvidenceStudy
from discreet.reproduction.studies.league import LeagueStudy
from discreet.reproduction.studies.roads import RoadsStudy
from discreet.reproduction.studies.sequential import SequentialStudy
from discreet.reproduction.studies.stopping import StoppingStudy


@pytest.fixture(scope="session")
def paper():
    """The paper's evaluation on two instances, without what lies beyond it."""
    return Evaluation(
        horizon=20_000, runs=3, instances=("C1", "C4"), arms=(3, 5), epsilons=(0.5, 1.0), many_runs=100
    ).run()


@pytest.fixture(scope="session")
def extended():
    """An extended evaluation on two instances."""
    small = {"horizon": 20_000, "runs": 3, "instances": ("C1", "C4"), "arms": (3, 5), "epsilons": (0.25, 1.0)}
    few = {"many_runs": 100, "stepped_runs": 2}
    return Evaluation(**small, **few, extended=True, constants=(1, 8), wide_sweep=(3, 1.0)).run()


@pytest.fixture(scope="session")
def league():
    """Three policies at eleven places."""
    policies = ("dp-chernoff-imed", "dp-imed", "dp-se")
    small = {"horizon": 20_000, "runs": 3, "many_runs": 20, "arms": (3, 5), "epsilons": (1.0,)}
    return LeagueStudy(**small, policies=policies).run()


@pytest.fixture(scope="session")
def roads():
    """All roads with few arms."""
    return RoadsStudy(arms=(2, 4, 6), gaps=2, runs=2, ucb_runs=1, horizon=10**6, epsilon=10.0).run()


@pytest.fixture(scope="session")
def evidence():
    """Few searches, and few intervals of two rates."""
    few = {"runs": 20, "rates": (0.03, 0.5), "budgets": (0.1, 1.0), "sizes": (1000, 10_000)}
    return EvidenceStudy(**few, epsilons=(1.0,), looked=300, last=5000).run()


@pytest.fixture(scope="session")
def sequential():
    """Few tests, with few runs."""
    few = {"means": ((0.3, 0.7), (0.1, 0.15)), "leads": ((0.3, 0.2),), "budgets": (1.0,), "epsilons": (0.1, 1.0)}
    return SequentialStudy(**few, runs=1000, open_runs=100).run()


@pytest.fixture(scope="session")
def stopping():
    """All rules on few problems."""
    return StoppingStudy(
        runs=20,
        failure_runs=50,
        means=(0.05, 0.3),
        alphas=(0.3, 0.9),
        epsilons=(0.001, 0.003, 0.01, 0.5),
        betas=(0.01, 0.05),
        failure_betas=(0.05, 0.4),
        distributions=DistributionGrid(runs=10),
    ).run()

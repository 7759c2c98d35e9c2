"""The eliminations of the withdrawn text, against a transcription of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DPSparseVectorElimination, ModifiedDPSuccessiveElimination
from discreet.testing import check_algorithm
from tests._tools import references
from tests._tools.driving import Recorded, drive
from tests._tools.scripted import NoiseByScale

WIDTH = 2**20


@settings(max_examples=5)
@given(
    seed=st.integers(0, 10**6),
    means=st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=2, max_size=3),
    modified=st.booleans(),
)
def test_the_withdrawn_variants_are_what_was_withdrawn(seed, means, modified):
    horizon, arms, epsilon = 30_000, len(means), 1.0
    kind = ModifiedDPSuccessiveElimination if modified else DPSparseVectorElimination
    # One sequence for each scale, since the two programs draw in different orders.
    source, rewards = NoiseByScale(["varied", seed]), Recorded.coins(seed, means, horizon)
    expected = references.withdrawn(
        rewards.next, arms, horizon, epsilon, 1 / horizon,
        lambda scale: source.draws(scale * WIDTH, 1)[0] / WIDTH, modified,
    )  # fmt: skip
    policy = kind(range(arms), epsilon=epsilon, horizon=horizon)
    assert drive(policy, rewards, NoiseByScale(["varied", seed])).algorithm.pulls == expected


def test_tests_that_the_horizon_ends_are_replayed_with_what_came_after():
    """An epoch is left open by tests, and closed by pulls that release nothing."""
    for horizon in (7, 8, 20, 77):
        driver = drive(DPSparseVectorElimination(["A", "B"], epsilon=1.0, horizon=horizon), [0.5, 0.5])
        assert [str(release.kind) for release in driver.ledger] == ["tests"]
        assert driver.algorithm.time == horizon
        check_algorithm(driver.algorithm)

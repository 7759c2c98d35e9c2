"""The order of arms: balanced in every block, the same however it is asked for, and made as it is needed."""

import secrets
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from discreet.service.experiments.allocation import order

PLANS = st.dictionaries(st.integers(0, 99), st.integers(1, 40), min_size=1, max_size=6)


def whole(secret, epoch, plan):
    return order(secret, epoch, plan, 0, sum(plan.values()))


@given(PLANS)
def test_every_arm_has_its_slots_and_every_block_all_of_its_arms(plan):
    arms = whole(b"secret", 1, plan)
    assert Counter(arms) == plan
    smallest = min(plan.values())
    for start in range(0, smallest * len(plan), len(plan)):
        assert sorted(arms[start : start + len(plan)]) == sorted(plan)


@given(PLANS, st.integers(0, 240), st.integers(0, 240))
def test_a_part_is_the_same_as_in_the_whole(plan, one, other):
    start, stop = sorted(min(place, sum(plan.values())) for place in (one, other))
    assert order(b"secret", 1, plan, start, stop) == whole(b"secret", 1, plan)[start:stop]


def test_parts_join_where_they_are_made_apart():
    plan = {0: 10_000, 1: 10_000, 2: 9_000}
    arms = whole(b"secret", 1, plan)
    assert Counter(arms) == plan
    assert [arm for start in range(0, len(arms), 777) for arm in order(b"secret", 1, plan, start, start + 777)] == arms


def test_an_epoch_of_billions_begins_at_once():
    plan = {0: 2**31, 1: 2**31}
    assert sorted(order(b"secret", 1, plan, 2**32 - 2, 2**32)) == [0, 1]


def test_other_experiments_and_epochs_have_other_orders():
    plan = {0: 200, 1: 200}
    orders = [whole(secrets.token_bytes(32), 1, plan), whole(b"secret", 1, plan), whole(b"secret", 2, plan)]
    assert len({tuple(one) for one in orders}) == 3

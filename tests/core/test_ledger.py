"""The ledger: a sequence of releases in few bytes, whose copies grow apart."""

import copy
import pickle
import sys
import threading
import tracemalloc

import pytest

from discreet import Kind, Ledger, Release, SimulatedNoise, spent, spent_by_person
from tests._tools.at_once import switching_often
from tests._tools.walking import CASES, advance, algorithm

ARMS = ("A", "B")


def total(epoch, arm="A", first=1, last=1, steps=7, kind=Kind.TOTAL, epsilon=0.5, scale=2.0):
    return Release(epoch, kind, ((arm, first, last),), steps, scale, epsilon, False)


def of_tests(epoch, count, first=1, above=False, arms=("A",)):
    spans = tuple((arm, first, first + count - 1) for arm in arms)
    return Release(epoch, Kind.TESTS, spans, None, 3.0, 0.5, False, count, above)


def filled(*closes, arms=ARMS):
    ledger = Ledger(arms)
    for releases in closes:
        ledger.close_epoch(releases)
    return ledger


def test_it_is_a_sequence_of_what_was_entered():
    releases = [total(epoch, arm, 3 * epoch, 3 * epoch + 2, -epoch) for epoch in range(1, 600) for arm in ARMS]
    ledger = filled(*(releases[place : place + 2] for place in range(0, len(releases), 2)))
    assert list(ledger) == releases
    assert len(ledger) == 1198
    assert (ledger[0], ledger[-1], ledger[5]) == (releases[0], releases[-1], releases[5])
    assert ledger[3:9:2] == releases[3:9:2]
    assert releases[7] in ledger
    assert ledger.index(releases[7]) == 7
    for index in (1198, -1199):
        with pytest.raises(IndexError):
            ledger[index]
    assert ledger.epochs == 599
    assert repr(ledger) == "<Ledger of 1,198 releases in 599 epochs>"


def test_it_is_equal_to_any_sequence_of_the_same_releases():
    one, two = filled((total(1),)), filled((total(1),))
    assert one == two
    assert one == (total(1),)
    assert one == [total(1)]
    assert one != filled((total(2),))
    assert one != ()
    assert one != "x"
    assert Ledger(ARMS) == ()
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("steps", [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**40])
def test_numbers_of_any_size_are_kept(steps):
    ledger = filled((total(1, steps=steps), total(1, "B", steps=1)))
    assert [release.steps for release in ledger] == [steps, 1]
    assert pickle.loads(pickle.dumps(ledger)) == ledger


def test_epochs_without_releases_are_counted_and_samples_are_not_kept():
    samples = Release(2, Kind.SAMPLES, (("A", 1, 3),), [1, 2, 3], 0.0, float("inf"), False)
    ledger = filled((total(1),), (samples,), (), (total(4),), ())
    assert ledger.epochs == 5
    assert list(ledger) == [total(1), total(4)]
    assert list(ledger.by_epoch()) == [(total(1),), (), (), (total(4),), ()]
    assert list(Ledger(ARMS).by_epoch()) == []


def test_more_tests_take_the_place_of_those_that_they_grew_from():
    ledger = filled((of_tests(1, 1),), (of_tests(1, 2),), (of_tests(1, 5),))
    assert list(ledger) == [of_tests(1, 5)]
    assert ledger.epochs == 0
    assert list(ledger.by_epoch()) == [(of_tests(1, 5),)]
    ledger.close_epoch((of_tests(1, 9, above=True), total(1, last=9)))
    assert list(ledger) == [of_tests(1, 9, above=True), total(1, last=9)]
    assert ledger.epochs == 1
    ledger.close_epoch((of_tests(2, 1, first=10),))  # another vector
    ledger.close_epoch((of_tests(2, 4, first=10),))
    assert list(ledger.by_epoch()) == [(of_tests(1, 9, above=True), total(1, last=9)), (of_tests(2, 4, first=10),)]


def test_tests_that_halt_without_a_total_close_their_epoch():
    closes = (of_tests(1, 3),), (of_tests(1, 9, above=True),), (of_tests(2, 2, first=10),), (of_tests(2, 5, 10, True),)
    ledger = filled(*closes)
    assert list(ledger) == [of_tests(1, 9, above=True), of_tests(2, 5, 10, True)]
    assert ledger.epochs == 2
    assert list(ledger.by_epoch()) == [(of_tests(1, 9, above=True),), (of_tests(2, 5, 10, True),)]
    assert filled(*ledger.by_epoch()) == ledger == pickle.loads(pickle.dumps(ledger)) == ledger.copy()
    assert [filled(*closes[:count]).epochs for count in range(5)] == [0, 0, 1, 1, 2]


def test_tests_that_never_halt_are_followed_by_what_closed_their_epoch():
    """At the end of a horizon, a cap or a phase: a replay must see that the epoch has closed."""
    ledger = filled(
        (of_tests(1, 3),), (), (of_tests(2, 2, first=10),), (total(2, first=12, last=12),), (of_tests(3, 1, 20),)
    )
    assert list(ledger.by_epoch()) == [
        (of_tests(1, 3),), (), (of_tests(2, 2, first=10),), (total(2, first=12, last=12),), (of_tests(3, 1, 20),)
    ]  # fmt: skip
    assert ledger.epochs == 2


@pytest.mark.parametrize("case", CASES)
def test_what_is_learned_again_by_epoch_leads_to_the_same_algorithm(case):
    driver = CASES[case](SimulatedNoise(1))
    for number in range(20):
        if driver.finished:
            break
        advance(driver, number)
    algorithm = driver.algorithm
    assert type(algorithm).from_options(algorithm.options()).replay(driver.ledger.by_epoch()) == algorithm


def test_copies_share_and_grow_apart():
    ledger = filled(*((total(epoch),) for epoch in range(1, 300)))
    twins = [ledger.copy() for _ in range(3)]
    assert all(twin == ledger for twin in twins)
    ledger.close_epoch((total(300, steps=1),))
    twins[0].close_epoch((total(300, steps=2),))
    twins[1].close_epoch((of_tests(300, 1),))
    grown = twins[0].copy()
    grown.close_epoch((total(301, steps=3),))
    assert [one[-1] for one in (ledger, *twins, grown)] == [
        total(300, steps=1), total(300, steps=2), of_tests(300, 1), total(299), total(301, steps=3)
    ]  # fmt: skip
    assert [len(one) for one in (ledger, *twins, grown)] == [300, 300, 300, 299, 301]
    assert all(list(one)[:299] == list(twins[2]) for one in (ledger, *twins, grown))


def test_a_copy_of_numbers_too_large_does_not_see_anothers():
    ledger = filled((total(1, steps=10**30),))
    twin = ledger.copy()
    ledger.close_epoch((total(2, steps=2 * 10**30),))
    twin.close_epoch((total(2, steps=3 * 10**30),))
    assert [one[1].steps for one in (ledger, twin)] == [2 * 10**30, 3 * 10**30]


def test_a_copy_that_is_made_while_a_new_kind_is_entered_has_all_its_kinds():
    ledger = filled()
    ledger.close_epoch((total(1),))
    assert len(ledger) == 1
    twin = ledger.copy()
    new = total(2)._replace(scale=17.0)
    ledger._rows.kind_numbers[new.kind, new.scale, new.epsilon, new.simulated] = 1  # half of what entering one does
    twin.close_epoch((new,))
    assert twin[1] == new


def test_a_copy_that_is_read_while_another_grows_is_not_disturbed():
    ledger, errors, readers = filled(), [], []

    def read(twin, length):
        try:
            for _ in range(20):
                assert [release.epoch for release in twin] == list(range(1, length + 1))
        except Exception as error:
            errors.append(error)

    with switching_often():
        for epoch in range(1, 2001):
            ledger.close_epoch((total(epoch),))
            if epoch % 200 == 0:  # with closes that still wait: whoever reads them must not write to shared rows
                readers.append(threading.Thread(target=read, args=(ledger.copy(), epoch)))
                readers[-1].start()
        for reader in readers:
            reader.join()
    assert not errors
    assert [release.epoch for release in ledger] == list(range(1, 2001))


def test_a_pickle_and_a_deep_copy_are_equal_and_have_nothing_more():
    ledger = filled(*((total(epoch),) for epoch in range(1, 300)))
    twin = ledger.copy()
    ledger.close_epoch((total(300, steps=123_456_789),))
    assert len(ledger) == 300
    for other in (pickle.loads(pickle.dumps(twin)), copy.deepcopy(twin)):
        assert other == twin
        assert other.epochs == 299
        other.close_epoch((total(300, steps=2),))
        assert other[-1].steps == 2
    assert len(pickle.dumps(twin)) < len(pickle.dumps(ledger))


def test_a_pull_of_a_tree_costs_few_bytes():
    """At most 64 bytes a release of a continual counter, however it is measured."""
    policy = algorithm("dp-ucb", horizon=10**6)
    count, ledger = 10_000, Ledger(policy.arms)
    before = [total(epoch, "A", epoch, epoch, 10**9 + epoch, Kind.NODE) for epoch in range(1, count + 1)]
    tracemalloc.start()
    for release in before:
        ledger.close_epoch((release,))
    assert len(ledger) == count
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown / count <= 64
    assert sys.getsizeof(ledger._rows.numbers) / count <= 64


def test_very_many_arms_are_entered_quickly():
    arms = range(50_000)
    ledger = filled([total(1, arm) for arm in arms], arms=arms)
    assert ledger[-1].arm == 49_999


# ---------------------------------------------------------------------- what it has cost


def test_releases_of_different_rewards_compose_in_parallel():
    assert spent([]) == spent_by_person([]) == 0.0
    overlapping = [total(1, "A", 1, 10), total(2, "A", 5, 20, epsilon=0.25), total(2, "B", 5, 20, epsilon=0.7)]
    assert spent(overlapping) == 0.75
    assert spent_by_person(overlapping) == 0.5 + 0.7
    assert spent([of_tests(1, 10), total(1, "A", 1, 10)]) == 1.0

"""The checks that every algorithm passes, until `discreet.testing` has them."""

import json
import pickle
from functools import cached_property

from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.options import field_names
from discreet.core.plans import Plan

OWN = ("_planned", "_ledger")  # of the base class: the present plan, and the ledger


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


def check_no_secret(algorithm):
    """All attributes are options, learned JSON values, or cached values that follow from options."""
    kind, found = type(algorithm), vars(algorithm)
    options, learned = field_names(kind, init=True), field_names(kind, init=False)
    assert through_json(algorithm.options()) == algorithm.options()
    assert through_json(algorithm.snapshot()) == algorithm.snapshot()
    fresh = kind.from_options(algorithm.options())
    for name in set(found) - set(options) - set(learned):
        assert isinstance(getattr(kind, name, None), cached_property), f"{name} is no field of {kind.__name__}"
        value = getattr(fresh, name)
        assert isinstance(value, dict | Grid) or value == found[name], f"{name} does not follow from options"
    assert set(algorithm.snapshot()) == set(learned) - set(OWN)
    assert isinstance(algorithm.ledger, Ledger)
    assert isinstance(algorithm.plan(), Plan | None)


def check_rebuilt(algorithm):
    """Options and ledger, options and snapshot, a copy and a pickle: each is the same algorithm."""
    kind, options = type(algorithm), through_json(algorithm.options())
    again = [
        kind.from_options(options).resume(through_json(algorithm.snapshot())),
        algorithm.copy(),
        pickle.loads(pickle.dumps(algorithm)),
    ]
    if not algorithm.reads_samples:
        again.append(kind.from_options(options).replay(algorithm.ledger.by_epoch()))
    for one in again:
        assert one == algorithm
        assert one.plan() == algorithm.plan()
        assert one.snapshot() == algorithm.snapshot()


def check_learns_apart(algorithm, epochs):
    """Planning changes nothing, and a copy that learns leaves its origin alone. Returns what has learned all epochs."""
    for releases in epochs:
        before = json.dumps(algorithm.snapshot())
        assert algorithm.plan() is algorithm.plan()
        twin = algorithm.copy()
        twin.learn(releases)
        assert json.dumps(algorithm.snapshot()) == before
        assert len(algorithm.ledger) <= len(twin.ledger)
        algorithm = twin
    return algorithm


def check_algorithm(algorithm, finished):
    """Check a fresh algorithm, and the same one after a run.

    Args:
        algorithm: An algorithm that has learned nothing.
        finished: What a driver made of it.
    """
    assert type(algorithm) is type(finished)
    assert algorithm.options() == finished.options()
    for one in (algorithm, finished):
        check_no_secret(one)
        check_rebuilt(one)
    if not algorithm.reads_samples:
        assert check_learns_apart(algorithm, finished.ledger.by_epoch()) == finished

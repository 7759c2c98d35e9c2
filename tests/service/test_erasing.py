"""What was collected goes after a close: in small parts, all of it, and nothing else."""

import random

import pytest

from discreet.service.experiments import closing
from discreet.service.http.background import Eraser
from discreet.service.storage import assignments, schema
from tests._tools.service_tools import small


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 1000, 12_345])
def test_every_pseudonym_is_in_one_part(parts):
    bounds = [assignments._bound(part, parts) for part in range(parts + 1)]
    assert bounds == sorted(set(bounds))
    choice = random.Random(parts)
    units = [choice.randbytes(16) for _ in range(200)] + [b"\0" * 16, b"\xff" * 16, bounds[parts // 2].ljust(16, b"\0")]
    for unit in units:
        found = [part for part in range(parts) if bounds[part] <= unit < bounds[part + 1]]
        assert len(found) == 1


def filled(world, monkeypatch, name="banners", part=3):
    """An experiment whose first epoch of 8 slots has ended and is deleted in parts of a few rows."""
    monkeypatch.setattr(assignments, "PART", part)
    world.start(name, **small())
    world.finish_epoch(name, lambda arm: 1.0)


def test_an_epoch_goes_part_by_part(world, monkeypatch):
    filled(world, monkeypatch)
    kept = [(8, 8)]
    while closing.delete_assignments(world.database):
        kept.append((world.count(schema.assignment), world.count(schema.unit_slot)))
    slots = [slots for slots, _ in kept]
    assert slots == [8, 5, 2, 0, 0, 0, 0]
    units = [units for _, units in kept]
    assert units[:4] == [8] * 4
    assert units == sorted(units, reverse=True)
    assert units[-1] == 0
    first, second = world.rows(schema.epoch)
    assert (first["erased"], first["erased_parts"], second["erased"]) == (True, 6, False)


def test_it_goes_on_after_a_crash(world, monkeypatch):
    filled(world, monkeypatch)
    for _ in range(2):
        closing.delete_assignments(world.database)
    again = world.reopened()
    again.erase()
    assert again.count(schema.assignment) == again.count(schema.unit_slot) == 0
    assert again.rows(schema.epoch)[0]["erased_parts"] == 6
    again.database.close()


def test_other_epochs_stay(world, monkeypatch):
    filled(world, monkeypatch)
    world.start("other", **small())
    kept = world.ask("banners", "ann"), world.ask("other", "ann")
    world.erase()
    assert world.count(schema.assignment) == world.count(schema.unit_slot) == 2
    assert (world.ask("banners", "ann"), world.ask("other", "ann")) == kept


def test_an_epoch_in_which_nobody_was_goes_too(world):
    world.start(**small())
    world.control.stop("banners")
    world.erase()
    assert [row["erased"] for row in world.rows(schema.epoch)] == [True]


def test_the_eraser_rests_as_long_as_it_works(world, monkeypatch):
    filled(world, monkeypatch)
    eraser, rests = Eraser(world.database), []
    monkeypatch.setattr(eraser._stopped, "wait", rests.append)
    assert eraser.look() == 6
    assert len(rests) == 6
    assert min(rests) > 0


def test_an_eraser_that_is_stopped_stops_soon(world, monkeypatch):
    filled(world, monkeypatch)
    eraser = Eraser(world.database)
    eraser._stopped.set()
    assert eraser.look() == 1
    assert Eraser(world.database).look() == 5

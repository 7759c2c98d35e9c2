"""Leases: ranges of an epoch's slots that one writer deals, so that writers do not wait for each other.

A slot is in one lease at most, since ranges are given out under a lock on the epoch. A writer that has dealt its lease
takes the next range; once all are leased, it takes a part of what another writer has left. So slots of a writer that
was killed return, and an epoch is full only when every slot was dealt.
"""

from typing import Any

from discreet.service.storage.database import Collision, Transaction

_FEWEST = 256  # slots of a lease, unless fewer are left
_PART = 4  # of what is not leased yet: leases get smaller towards the end of an epoch
_ANY_LEFT = """SELECT quota - leased + (
        SELECT coalesce(sum(stop - next), 0) FROM lease
        WHERE lease.experiment = epoch.experiment AND lease.epoch = epoch.number AND writer <> :writer
    ) FROM epoch WHERE experiment = :experiment AND number = :epoch"""
_LEASED = "SELECT leased, quota FROM epoch WHERE experiment = :experiment AND number = :epoch"
_LEASE = "UPDATE epoch SET leased = :leased WHERE experiment = :experiment AND number = :epoch"
_BEGIN = """INSERT INTO lease (experiment, epoch, writer, next, stop, dealt, dealt_at, deadline)
    VALUES (:experiment, :epoch, :writer, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"""
_LEFT = """SELECT writer, next, stop FROM lease
    WHERE experiment = :experiment AND epoch = :epoch AND writer <> :writer AND next < stop"""
_CUT = """UPDATE lease SET stop = :stop
    WHERE experiment = :experiment AND epoch = :epoch AND writer = :other"""


def extend(transaction: Transaction, writer: str, experiment: int, epoch: int, wanted: int) -> list[range]:
    """Return ranges of slots that nobody else deals: as many as wanted and more, or all that are left.

    Args:
        transaction: The transaction.
        writer: The writer that deals them.
        experiment: The experiment's number.
        epoch: The number of its open epoch.
        wanted: The number of slots that are needed now, at least 1.

    Raises:
        Collision: Slots are left that another writer holds at this moment.
    """
    mine: dict[str, Any] = {"experiment": experiment, "epoch": epoch}
    ((left,),) = transaction.run(_ANY_LEFT, {**mine, "writer": writer})
    if not left:  # nobody waits for a lock on an epoch that is full
        return []
    ((leased, quota),) = transaction.run(_LEASED + transaction.database.for_update(), mine)
    transaction.run(_BEGIN, {**mine, "writer": writer})
    found = []
    if leased < quota:
        stop = min(quota, leased + max(wanted, _FEWEST, (quota - leased) // _PART))
        transaction.run(_LEASE, {**mine, "leased": stop})
        found.append(range(leased, stop))
        wanted -= stop - leased
    return found + _take_over(transaction, mine, writer, wanted) if wanted > 0 else found


def _take_over(transaction: Transaction, mine: dict[str, Any], writer: str, wanted: int) -> list[range]:
    """Return slots that other writers have left: half of a lease, or as many as are needed."""
    others = {**mine, "writer": writer}
    free = transaction.run(_LEFT + transaction.database.for_update(free=True), others)
    found = []
    for other, first, stop in sorted(free, key=lambda lease: lease[1] - lease[2]):
        if wanted <= 0:
            break
        cut = stop - min(stop - first, max(wanted, -(-(stop - first) // 2)))
        transaction.run(_CUT, {**mine, "other": other, "stop": cut})
        found.append(range(cut, stop))
        wanted -= stop - cut
    if wanted > 0 and transaction.run(_LEFT, others):
        raise Collision("slots are left that another writer holds")
    return found

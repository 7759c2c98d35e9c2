"""Which arm an epoch's slots get: permuted blocks, the same in every worker, predictable for nobody outside."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Arms = NDArray[np.uint8]


def order(secret: bytes, epoch: int, pulls: Mapping[int, int]) -> Arms:
    """The arms of an epoch's slots, in order.

    Arms come in blocks of one slot for each, every block in an order of its own, so that traffic is balanced at every
    moment; where one arm has more slots than another, blocks get smaller at the end. The order follows from the
    experiment's secret, so all workers agree without talking, and whoever does not know it cannot foresee an arm.

    >>> order(b"secret", 1, {0: 3, 2: 3}).tolist()
    [0, 2, 2, 0, 0, 2]
    """
    return _order(secret, epoch, tuple(sorted(pulls.items())))


@lru_cache(maxsize=32)
def _order(secret: bytes, epoch: int, pulls: tuple[tuple[int, int], ...]) -> Arms:
    seed = hmac.digest(secret, f"order:{epoch}".encode(), hashlib.sha256)
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(seed[:16], "big")))
    blocks, dealt = [], 0
    for level in sorted({count for _, count in pulls}):
        arms = np.array([arm for arm, count in pulls if count >= level], dtype=np.uint8)
        blocks.append(generator.permuted(np.tile(arms, (level - dealt, 1)), axis=1).ravel())
        dealt = level
    slots: Arms = np.concatenate(blocks)
    slots.setflags(write=False)
    return slots

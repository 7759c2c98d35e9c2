"""The order of arms within an epoch: permuted blocks, the same in every worker, predictable for nobody outside."""

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_BLOCKS = 128  # made at once: few enough for the parts of a thousand experiments to be kept


def order(secret: bytes, epoch: int, pulls: Mapping[int, int], start: int, stop: int) -> list[int]:
    """Return the arms of an epoch's slots from `start` to before `stop`.

    Arms come in blocks of one slot for each, every block in an order of its own, so that assignments are balanced at
    every moment; where one arm has more slots than another, blocks get smaller at the end. The order follows from the
    experiment's secret, so all workers agree without talking, and whoever does not know it cannot foresee an arm.

    Args:
        secret: The experiment's secret.
        epoch: The epoch's number.
        pulls: The number of slots of each arm.
        start: The index of the first slot.
        stop: The index after the last slot.

    >>> order(b"secret", 1, {0: 3, 2: 3}, 0, 6)
    [2, 0, 0, 2, 2, 0]
    >>> order(b"secret", 1, {0: 3, 2: 3}, 3, 5)
    [2, 2]
    """
    found: list[int] = []
    begin = dealt = 0
    for level in sorted(set(pulls.values())):
        arms = tuple(sorted(arm for arm, count in pulls.items() if count >= level))
        end, size = begin + (level - dealt) * len(arms), _BLOCKS * len(arms)
        for part in range(max(start - begin, 0) // size, -(-(min(stop, end) - begin) // size)):
            first = begin + part * size
            made = _part(secret, f"order:{epoch}:{level}:{part}", arms)
            found += made[max(start - first, 0) : min(stop, end) - first].tolist()
        begin, dealt = end, level
    return found


@lru_cache(maxsize=2048)
def _part(secret: bytes, name: str, arms: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return `_BLOCKS` blocks of these arms."""
    seed = hmac.digest(secret, name.encode(), hashlib.sha256)
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(seed[:16], "big")))
    return generator.permuted(np.tile(np.array(arms, dtype=np.uint8), (_BLOCKS, 1)), axis=1).ravel()

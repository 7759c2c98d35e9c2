"""An algorithm's own randomness: public, and a function of a seed and the epoch, so that a plan can be repeated."""

import hashlib
import secrets
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

_BLOCK = 64  # epochs whose words are computed together: a third of the time that they take one by one


class _Words(ISeedSequence):
    """A seed sequence of words that are given: a tenth of the time that numpy takes to mix its own."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> NDArray[np.uint64]:
        """Return the words."""
        return self._words


def new_seed() -> int:
    """Return a seed from the operating system."""
    return secrets.randbits(62)


def epoch_rng(seed: int, epoch: int) -> Generator:
    """Return the generator of one plan.

    Args:
        seed: The algorithm's seed.
        epoch: The number of epochs that have closed.
    """
    words = _words(seed, epoch // _BLOCK)[epoch % _BLOCK]
    return Generator(PCG64(words))  # type: ignore[arg-type]


@lru_cache
def _words(seed: int, block: int) -> tuple[_Words, ...]:
    """Return the words of each epoch of a block. They are read-only, so threads may share them."""
    return tuple(map(_Words, epoch_words(seed, block * _BLOCK, _BLOCK)))


def epoch_words(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the four words that seed the generator of each epoch, a row for each.

    Args:
        seed: The algorithm's seed.
        first: The first epoch.
        count: The number of epochs.
    """
    epochs = range(first, first + count)
    digests = (hashlib.blake2b(b"%d %d" % (seed, epoch), digest_size=32).digest() for epoch in epochs)
    return np.frombuffer(b"".join(digests), "<u8").reshape(count, 4)

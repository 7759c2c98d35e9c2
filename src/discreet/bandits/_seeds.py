"""An algorithm's own randomness: public, and a function of a seed and the epoch, so that a plan can be repeated."""

import secrets

import numpy as np


def new_seed() -> int:
    """Return a seed from the operating system."""
    return secrets.randbits(62)


def epoch_rng(seed: int, epoch: int) -> np.random.Generator:
    """Return the generator of one plan.

    Args:
        seed: The algorithm's seed.
        epoch: The number of epochs that have closed.
    """
    return np.random.Generator(np.random.PCG64([seed, epoch]))

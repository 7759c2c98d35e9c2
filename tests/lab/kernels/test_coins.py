"""Samples of two values on a grid."""

from discreet.core.grid import Grid
from discreet.lab.kernels.coins import Coin, coin_on


def test_what_does_not_fit_has_no_kernel():
    grid = Grid(0.0, 1.0)
    assert coin_on(grid, 0.0, 1.0, 0.5, 2**41) == Coin(0, 2**20, 0.5)
    assert coin_on(grid, 0.0, 1.0, 0.5, 2**42) is None  # sums could reach 2**62
    assert coin_on(Grid(2e9, 2e9 + 1), 2e9, 2e9 + 1, 0.5, 2**20) is None
    assert coin_on(grid, 0.0, 1.0, 1e-10, 2**20) is None  # its digits would run short
    assert coin_on(grid, 0.0, 0.0, 0.5, 2**20) is None  # the sum is 0 for ever
    assert coin_on(grid, 0.0, 1.0, 0.0, 2**20) is not None

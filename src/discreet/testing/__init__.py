"""Tools to check privacy exactly, for discreet's own tests and for policies of your own."""

from discreet.testing.contract import check_algorithm
from discreet.testing.exact import ScriptedNoise, coarse_grid, output_probabilities, worst_loss

__all__ = ["ScriptedNoise", "check_algorithm", "coarse_grid", "output_probabilities", "worst_loss"]

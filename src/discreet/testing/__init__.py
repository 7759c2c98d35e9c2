"""Tools to check privacy without chance, for discreet's own tests and for algorithms of your own.

`worst_loss` computes whole output distributions on tiny inputs; `replay_check` carries the proof of privacy out on runs
of any size.
"""

from discreet.testing.exact import ScriptedNoise, coarse_grid, output_probabilities, worst_loss
from discreet.testing.replay import Change, Recorder, Recording, ReplayReport, replay_check

__all__ = [
    "Change",
    "Recorder",
    "Recording",
    "ReplayReport",
    "ScriptedNoise",
    "coarse_grid",
    "output_probabilities",
    "replay_check",
    "worst_loss",
]

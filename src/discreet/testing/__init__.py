"""Tools to check privacy, for discreet's own tests and for algorithms of your own.

`worst_loss` computes the exact privacy loss on tiny inputs. `walk` takes a driver through saves, loads, copies, crashes
and full disks, and looks for noise that is used twice.
"""

from discreet.testing.contract import check_algorithm
from discreet.testing.exact import ScriptedNoise, coarse_grid, output_probabilities, worst_loss
from discreet.testing.walker import Report, Violation, walk

__all__ = [
    "Report",
    "ScriptedNoise",
    "Violation",
    "check_algorithm",
    "coarse_grid",
    "output_probabilities",
    "walk",
    "worst_loss",
]

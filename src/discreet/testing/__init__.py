"""Tools to check privacy, for discreet's own tests and for algorithms of your own.

`check_algorithm` checks that an algorithm is a value without secrets, and that the theorem which it names is about what
it asks for (`covers`). `worst_loss` computes the exact privacy loss on tiny inputs. `replay_check` carries the proof of
privacy out on runs of any size. `walk` takes a driver through saves, loads, copies, crashes and full disks, and looks
for noise that is used twice.
"""

from discreet.testing.contract import check_algorithm, covers
from discreet.testing.exact import ScriptedNoise, coarse_grid, output_probabilities, worst_loss
from discreet.testing.recorder import Recorder
from discreet.testing.replay import Change, Recording, ReplayReport, replay_check
from discreet.testing.walker import Report, Violation, walk

__all__ = [
    "Change",
    "Recorder",
    "Recording",
    "ReplayReport",
    "Report",
    "ScriptedNoise",
    "Violation",
    "check_algorithm",
    "coarse_grid",
    "covers",
    "output_probabilities",
    "replay_check",
    "walk",
    "worst_loss",
]

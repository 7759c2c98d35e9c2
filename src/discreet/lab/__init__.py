"""The lab: simulation and comparison of policies, on seeded noise."""

from discreet.lab.instances import INSTANCES, instance
from discreet.lab.simulate import Run, play, simulate

__all__ = ["INSTANCES", "Run", "instance", "play", "simulate"]

"""The lab: simulation and comparison of policies and of stopping rules, on seeded noise."""

from discreet.lab.arms import Bernoulli, Beta, Discrete, Empirical, TruncatedNormal, Uniform
from discreet.lab.engines import make_engine
from discreet.lab.instances import INSTANCES, Instance, instance
from discreet.lab.results import Results, Simulation
from discreet.lab.rewards import Rewards
from discreet.lab.runs import play
from discreet.lab.setting import Setting
from discreet.lab.simulate import choose_engine, compare, simulate, simulate_all

__all__ = [
    "INSTANCES",
    "Bernoulli",
    "Beta",
    "Discrete",
    "Empirical",
    "Instance",
    "Results",
    "Rewards",
    "Setting",
    "Simulation",
    "TruncatedNormal",
    "Uniform",
    "choose_engine",
    "compare",
    "instance",
    "make_engine",
    "play",
    "simulate",
    "simulate_all",
]

"""The lab: simulation and comparison of policies and of stopping rules, on seeded noise."""

from discreet.lab.arms import Bernoulli, Beta, Discrete, Empirical, Rewards, TruncatedNormal, Uniform
from discreet.lab.engines import make_engine
from discreet.lab.instances import INSTANCES, Instance, instance
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import Setting
from discreet.lab.simulate import compare, play, simulate, simulate_all
from discreet.lab.stopping import simulate_rule, simulate_rules
from discreet.lab.stopping_results import StoppingRuns
from discreet.lab.stopping_setting import StoppingSetting

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
    "StoppingRuns",
    "StoppingSetting",
    "TruncatedNormal",
    "Uniform",
    "compare",
    "instance",
    "make_engine",
    "play",
    "simulate",
    "simulate_all",
    "simulate_rule",
    "simulate_rules",
]

"""The private mechanisms that rules and policies are built from: all on integers, all from exact noise."""

from discreet.mechanisms.above_threshold import AboveThreshold
from discreet.mechanisms.binary_tree import BinaryTreeCounter
from discreet.mechanisms.counters import Counter, Node, laplace_sum_radius
from discreet.mechanisms.hybrid import HybridCounter
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.prefix_above_threshold import PrefixSumAboveThreshold

__all__ = [
    "AboveThreshold",
    "BinaryTreeCounter",
    "Counter",
    "HybridCounter",
    "LaplaceMechanism",
    "Node",
    "PrefixSumAboveThreshold",
    "laplace_sum_radius",
]

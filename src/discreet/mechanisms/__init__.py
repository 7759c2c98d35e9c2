"""The curator, and the mechanisms that answer for it. Everything that holds a secret is here."""

from discreet.mechanisms.curator import Curator
from discreet.mechanisms.noisy_totals import NoisyTotals
from discreet.mechanisms.samples import Samples
from discreet.mechanisms.shared_vectors import SharedVectors
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.stepped_trees import SteppedTrees
from discreet.mechanisms.trees import BinaryTree, HybridCounter, Trees

__all__ = [
    "BinaryTree",
    "Curator",
    "HybridCounter",
    "NoisyTotals",
    "Samples",
    "SharedVectors",
    "SparseVector",
    "SteppedTrees",
    "Trees",
]

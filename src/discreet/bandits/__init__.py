"""Bandit policies, one file each. What several of them share is in modules with a leading underscore."""

from discreet.bandits._policy import Policy
from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination

__all__ = ["DPSuccessiveElimination", "Policy"]

"""What is possible: bounds as plain functions of numbers. Imports nothing else of this package."""

from discreet.theory.lower_bounds import private_divergence, regret_lower_bound

__all__ = ["private_divergence", "regret_lower_bound"]

"""Experiments: descriptions, assignments, closing, budgets."""

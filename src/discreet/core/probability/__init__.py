"""Formulas of probability that several rooms share: tails, divergences, evidence; and what promises cost together."""

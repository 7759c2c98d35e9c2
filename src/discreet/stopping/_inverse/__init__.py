"""Levels of inverse sampling, by exact chances."""

"""Public values, noise, and the base of all algorithms."""

"""Commands of the simulator: simulate, compare, plot, reproduce, bounds, policies."""

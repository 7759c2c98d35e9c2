"""Studies: what is simulated, and what is computed from it. Each part of the report has its own."""

"""The paper's evaluation, and the studies that go beyond it: what is simulated, figures, tables and the report."""

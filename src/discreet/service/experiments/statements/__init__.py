"""Statements about experiments, from their releases alone: views, summaries, verdicts, reports."""

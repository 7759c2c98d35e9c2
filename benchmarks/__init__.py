"""`make bench`: what must be fast, measured against a reference in the same run."""

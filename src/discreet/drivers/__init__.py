"""Drivers own the world: they collect rewards, have them released, and keep files."""

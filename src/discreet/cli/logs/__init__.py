"""Commands that read a log: best-arm, test, stop, replay."""

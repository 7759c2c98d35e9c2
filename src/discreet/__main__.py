"""`python -m discreet` is the command line too."""

from discreet.cli import main

if __name__ == "__main__":  # worker processes import this file under another name
    raise SystemExit(main())

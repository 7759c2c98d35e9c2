"""`python -m discreet.lab`: the comparison that `make reproduce` prints."""

from discreet.lab.compare import main

if __name__ == "__main__":
    main()

"""`python -m discreet.lab`: the comparison that `make reproduce` prints."""

import sys

if __name__ == "__main__":
    try:
        from discreet.lab.compare import main
    except ModuleNotFoundError as error:
        sys.exit(f"the comparison needs {error.name}: install discreet with its lab extra, pip install '.[lab]'")
    main()

"""The command line: `discreet simulate`, `compare`, `reproduce`, `stop`, `plan`, `bounds`,
`audit`, `policies` and `plot`.

It can be imported without typer and rich, so that a small installation says what is missing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    try:
        from discreet.cli.run import run  # noqa: PLC0415  (needs typer and rich)
    except ModuleNotFoundError as error:
        print(f"error: the command line needs {missing_package(error)}: pip install 'discreet[lab]'", file=sys.stderr)
        return FAILED
    code = run(sys.argv[1:] if arguments is None else arguments)
    if code == INTERRUPTED and arguments is None and threading.active_count() > 1:
        # Threads inside a compiled kernel cannot be stopped, and Python would wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def missing_package(error: ModuleNotFoundError) -> str:
    """The package of another project that is not installed; a module of our own that is not there is a bug."""
    package = (error.name or "discreet").split(".")[0]
    if package == "discreet":
        raise error
    return package

"""The command line. Each command has a module of its name; modules with an underscore hold what commands share.

It can be imported without typer and rich, so that a small installation says what is missing.
"""

import os
import sys
import threading
from collections.abc import Sequence

from discreet._install import install
from discreet._version import __version__

FAILED, INTERRUPTED = 1, 130  # exit codes


class Interrupted(Exception):
    """Ctrl-C, with a message on what has become of the work."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:  # also without typer, and at once
        print(f"discreet {__version__}")
        return 0
    try:
        from discreet.cli._run import run  # noqa: PLC0415  (needs typer and rich)
    except ModuleNotFoundError as error:
        print(f"error: the command line needs {missing_package(error)}: {install('lab')}", file=sys.stderr)
        return FAILED
    code = run(sys.argv[1:] if arguments is None else arguments)
    if code == INTERRUPTED and arguments is None and threading.active_count() > 1:
        # Threads inside a compiled kernel cannot be stopped, and Python would wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def missing_package(error: ModuleNotFoundError) -> str:
    """Return the name of the package that is not installed. A missing module of discreet itself is raised: a bug."""
    package = (error.name or "discreet").split(".")[0]
    if package == "discreet":
        raise error
    return package

"""Scripts that start worker processes: each of them imports the script, and must not run it again."""

import multiprocessing
import sys
from pathlib import Path

from discreet.core.errors import ArgumentError


def check_script(engine: str) -> None:
    """Refuse to start processes from a script that each of them would run again from its first line."""
    if not may_start_processes():
        script = Path(getattr(sys.modules["__main__"], "__file__", "") or "the script").name
        raise ArgumentError(
            f'engine {engine!r} needs an `if __name__ == "__main__":` around what {script} does: every worker imports '
            "the script, and would run it again; or use the engine 'threads'"
        )


def may_start_processes() -> bool:
    """Return True if a worker process can import the running script without running it again.

    A script without `if __name__ == "__main__":` cannot be imported like that. A prompt or notebook has no file.
    """
    if multiprocessing.parent_process() is not None:
        return False
    path = getattr(sys.modules["__main__"], "__file__", None)
    try:
        return path is None or "__main__" in Path(path).read_text(errors="replace")
    except OSError:  # a console script of Windows lies inside an exe file; elsewhere it came through a pipe
        return sys.platform == "win32"

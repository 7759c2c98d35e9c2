"""Scripts that start worker processes: each of them imports the script, and must not run it again."""

import multiprocessing
import re
import sys
from pathlib import Path
from types import ModuleType

from discreet.core.errors import ArgumentError

_IMPORTED = "__mp_main__"  # the name that a worker imports the script by
_GUARD = re.compile(r"^\s*if\b.*__main__", re.MULTILINE)


def check_script(engine: str) -> None:
    """Refuse to start processes from a script that each of them would run again from its first line."""
    if not may_start_processes():
        script = Path(getattr(_main(), "__file__", "") or "the script").name
        raise ArgumentError(
            f'engine {engine!r} needs an `if __name__ == "__main__":` around what {script} does: every worker imports '
            "the script, and would run it again; or use the engine 'threads'"
        )


def may_start_processes() -> bool:
    """Return True if a worker process can import the running script without running it again.

    A script without `if __name__ == "__main__":` cannot be imported like that. A prompt or notebook has no file.
    """
    main = _main()
    if multiprocessing.parent_process() is not None or main.__name__ == _IMPORTED:
        return False
    path = getattr(main, "__file__", None)
    try:
        return path is None or _GUARD.search(Path(path).read_text(errors="replace")) is not None
    except OSError:  # a console script of Windows lies inside an exe file; elsewhere it came through a pipe
        return sys.platform == "win32"


def _main() -> ModuleType:
    """Return the script: in a worker the module that it is imported as, also while that runs."""
    main = sys.modules.get(_IMPORTED)
    return main if main is not None and main.__name__ == _IMPORTED else sys.modules["__main__"]

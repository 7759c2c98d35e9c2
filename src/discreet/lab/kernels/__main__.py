"""Compile kernels now, so that no simulation waits for it later: `python -m discreet.lab.kernels [KEY ...]`."""

import sys
import time
from typing import Any

from discreet.core.registry import POLICIES, RULES
from discreet.lab.kernels import kernel_of
from discreet.lab.setting import Setting, accepts
from discreet.lab.simulate import run_setting

EXAMPLE = {"epsilon": 1.0, "alpha": 0.5, "beta": 0.1}


def main(keys: list[str]) -> None:
    """Compile the kernels of some algorithms, by default of all. What they share is compiled once."""
    known = {**POLICIES, **RULES}
    for key in keys:
        if key not in known:
            raise SystemExit(f"key must be one of {', '.join(sorted(known))}, got {key!r}")
    jobs = [key for key in keys or known if kernel_of(known[key]) is not None]
    for index, key in enumerate(jobs, 1):
        print(f"compiling kernel {index} of {len(jobs)}: {key}", end="", flush=True)
        start = time.perf_counter()
        options: dict[str, Any] = {name: value for name, value in EXAMPLE.items() if accepts(key, name)}
        run_setting(Setting.of(key, 0.5 if key in RULES else [0.6, 0.4], horizon=1000, runs=1, **options))
        print(f", {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Compile kernels now, so that no simulation waits for it later: `python -m discreet.lab.kernels [KEY ...]`."""

import sys
from typing import Any

from discreet.core.registry import POLICIES, RULES
from discreet.lab.engines import make_engine
from discreet.lab.kernels import kernel_of
from discreet.lab.setting import Setting, accepts
from discreet.lab.simulate import run_setting

EXAMPLE = {"epsilon": 1.0, "alpha": 0.5, "beta": 0.1}


def compile_for(keys: list[str]) -> None:
    """Compile the kernels of algorithms by a short run of each."""
    for key in keys:
        options: dict[str, Any] = {name: value for name, value in EXAMPLE.items() if accepts(key, name)}
        run_setting(Setting.of(key, 0.5 if key in RULES else [0.6, 0.4], horizon=1000, runs=1, **options))


def main(keys: list[str]) -> None:
    """Compile the kernels of some algorithms, by default of all, on all processors."""
    known, modules = {**POLICIES, **RULES}, {}  # type: dict[str, Any], dict[str, list[str]]
    for key in keys or known:
        if key not in known:
            raise SystemExit(f"key must be one of {', '.join(sorted(known))}, got {key!r}")
        kernel = kernel_of(known[key])
        if kernel is not None:
            modules.setdefault(kernel, []).append(key)
    tasks = list(modules.values())
    print(f"compiling {len(tasks)} {'kernel' if len(tasks) == 1 else 'kernels'}", flush=True)
    with make_engine("processes" if len(tasks) > 1 else "serial") as engine:
        for done, (index, _) in enumerate(engine.run(compile_for, tasks), 1):
            print(f"{done} of {len(tasks)}: {', '.join(tasks[index])}", flush=True)


if __name__ == "__main__":
    from discreet.lab.kernels.__main__ import main  # by its full name, since workers cannot import `__main__`

    main(sys.argv[1:])

"""Compile kernels now, so that no simulation waits for it later: `python -m discreet.lab.kernels [KEY ...]`."""

import sys
from functools import partial
from typing import Any

from discreet.bandits.dp_ucb import STEPPED
from discreet.core.registry import POLICIES, RULES
from discreet.lab.engines import make_engine
from discreet.lab.kernels import kernel_of
from discreet.lab.setting import Setting, accepts
from discreet.lab.simulate import run_setting

EXAMPLE = {"epsilon": 1.0, "alpha": 0.5, "beta": 0.1}
OTHER_FORMS: dict[str, dict[str, Any]] = {"dp-ucb": {"preset": STEPPED}}
"""Options with which an algorithm has another kernel. It is compiled if all kernels are."""


def compile_for(keys: list[str], other_forms: bool = False) -> None:
    """Compile the kernels of algorithms by a short run of each.

    Args:
        keys: Keys of algorithms.
        other_forms: Compile also the kernels that they have with other options.
    """
    for key in keys:
        options: dict[str, Any] = {name: value for name, value in EXAMPLE.items() if accepts(key, name)}
        for more in ({}, OTHER_FORMS[key]) if other_forms and key in OTHER_FORMS else ({},):
            on = 0.5 if key in RULES else [0.6, 0.4]
            run_setting(Setting.of(key, on, horizon=1000, runs=1, **options, **more))
        if other_forms and key not in RULES:
            run_setting(Setting.of(key, ["uniform(0.2, 1)", 0.4], horizon=1000, runs=1, **options))  # its steps


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
        for done, (index, _) in enumerate(engine.run(partial(compile_for, other_forms=not keys), tasks), 1):
            print(f"{done} of {len(tasks)}: {', '.join(tasks[index])}", flush=True)


if __name__ == "__main__":
    from discreet.lab.kernels.__main__ import main  # by its full name, since workers cannot import `__main__`

    main(sys.argv[1:])

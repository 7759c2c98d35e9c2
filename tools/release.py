"""Build what is released, and try it: `make build`.

A source distribution and, from it, a wheel go into `dist/`. Then the wheel is tried as a stranger would: alone in an
empty environment, where it must give a private answer; and with the packages of the present environment, where every
module must import and every file of the source tree must be there. `--extras` installs each extra in an environment of
its own, as before a release; that takes minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SOURCE = ROOT / "src"
NOT_USERS = {"test", "system", "lint", "docs", "release", "bench"}  # made for us
ANSWER = """
import discreet
result = discreet.DPInverseSampling(epsilon=1.0, alpha=0.5, beta=0.1, low=0, high=1).run([0, 1] * 1000)
assert result.reached and not result.privacy.simulated
print(result)
"""
EVERY_MODULE = """
import importlib, pkgutil, sys
import discreet
assert discreet.__file__.startswith(sys.argv[1]), discreet.__file__
names = [one.name for one in pkgutil.walk_packages(discreet.__path__, "discreet.") if "migrations" not in one.name]
for name in names:
    if name not in ("discreet.__main__", "discreet.lab.kernels.__main__"):
        importlib.import_module(name)
print(len(names), "modules import")
"""
EXTRA = {
    "lab": "import discreet.lab, discreet.cli._run",
    "reproduce": "import discreet.reproduction.reproduce",
    "interop": "import discreet.interop.river, discreet.interop.gymnasium",
    "service": "import discreet.service.http.app",
    "dask": "import dask.distributed",
    "ray": "import ray",
    "spark": "import discreet.logs, pyspark.sql",
    "client": "import discreet.client",
    "logs": "import discreet.logs",
    "accounting": "import discreet; discreet.DPIMED(['A', 'B'], epsilon=1.0).dp_event()",
}


def build() -> Path:
    """Build both distributions, check their metadata, and return the wheel's path."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--quiet", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,) = DIST.glob("*.whl")
    return wheel


def missing(wheel: Path) -> list[str]:
    """Return the files of the source tree that a wheel lacks.

    Args:
        wheel: Its path.
    """
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    found = (path for path in (SOURCE / "discreet").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(str(path.relative_to(SOURCE)) for path in found if str(path.relative_to(SOURCE)) not in there)


def try_modules(wheel: Path, folder: Path) -> None:
    """Import every module of a wheel, with the packages of this environment.

    Args:
        wheel: Its path.
        folder: An empty folder.
    """
    place = folder / "wheel"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel)
    run(sys.executable, "-c", EVERY_MODULE, place, cwd=folder, PYTHONPATH=str(place))


def try_alone(wheel: Path, folder: Path, extra: str = "", code: str = ANSWER) -> None:
    """Install a wheel in an empty environment, have it say its version, and run some code.

    Args:
        wheel: Its path.
        folder: A folder for the environment.
        extra: An extra to install with it.
        code: The code.
    """
    place = folder / (extra or "core")
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    run(scripts / "python", "-m", "pip", "install", "--quiet", wanted, PIP_CONSTRAINT=str(ROOT / "constraints.txt"))
    run(scripts / "python", "-c", code, cwd=folder)
    run(scripts / "discreet", "--version", cwd=folder)
    shutil.rmtree(place)


def run(*command: object, cwd: Path = ROOT, **environment: str) -> None:
    """Run a command, and end with an error if it fails.

    Args:
        *command: Its words.
        cwd: The folder to run it in.
        **environment: Variables of its environment.
    """
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in command], cwd=cwd, env={**clean, **environment}, check=True)


def users_extras() -> list[str]:
    """Return the extras that users install, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(set(project["optional-dependencies"]) - NOT_USERS)


def main() -> None:
    """Build, and try what was built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", action="store_true", help="install each extra in an environment of its own")
    given = parser.parse_args()
    wheel = build()
    lacks = missing(wheel)
    if lacks:
        raise SystemExit(f"{wheel.name} lacks {', '.join(lacks)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try_modules(wheel, folder)
        try_alone(wheel, folder)
        for extra in users_extras() if given.extras else ():
            try_alone(wheel, folder, extra, EXTRA[extra])
    print(f"{DIST}: {', '.join(sorted(path.name for path in DIST.iterdir()))}")


if __name__ == "__main__":
    main()

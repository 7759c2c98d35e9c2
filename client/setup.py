"""Builds discreet-client of the files of discreet that its clients need, under a name of their own."""

import re
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "discreet"
PACKAGE = "discreet_client"
MODULES = {  # of discreet, and what they are called here
    **{f"client.{path.stem}": path.stem for path in (SOURCE / "client").glob("*.py") if path.stem != "__init__"},
    "client": "__init__",
    "service.messages": "messages",
    "service.wording": "wording",
    "core.errors": "errors",
    "core.checks": "checks",
    "_wording": "_wording",
    "_version": "_version",
}


def collect(folder: Path) -> list[Path]:
    """Write the package into a folder, and return its files.

    Args:
        folder: The folder, which is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "py.typed"]
    files[0].touch()
    for module, name in MODULES.items():
        path = SOURCE / (module.replace(".", "/") + ("/__init__.py" if name == "__init__" else ".py"))
        files.append(folder / f"{name}.py")
        files[-1].write_text(_renamed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return files


def _renamed(text: str) -> str:
    """Return the source of a module with the imports of this package."""
    for module, name in sorted(MODULES.items(), key=lambda pair: -len(pair[0])):
        package, _, last = f"discreet.{module}".rpartition(".")
        if name != "__init__":
            text = re.sub(
                rf"^( *from ){re.escape(package)} import {last}$", rf"\1{PACKAGE} import {name}", text, flags=re.M
            )
        to = PACKAGE if name == "__init__" else f"{PACKAGE}.{name}"
        text = re.sub(rf"^( *from )discreet\.{re.escape(module)} import", rf"\1{to} import", text, flags=re.M)
    return text


def version(folder: Path) -> str:
    """Return the version, which is discreet's.

    Args:
        folder: The package.
    """
    found = re.search(r'__version__ = "(.+)"', (folder / "_version.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


if __name__ == "__main__":
    if SOURCE.is_dir():  # not in a source distribution, which has the files already
        collect(HERE / PACKAGE)
    setup(version=version(HERE / PACKAGE), packages=[PACKAGE], package_data={PACKAGE: ["py.typed"]})

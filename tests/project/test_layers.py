"""What import-linter cannot say of the contracts in pyproject.toml: that no part of discreet is left out of them."""

import ast
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ROOT = PROJECT / "src" / "discreet"
CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
FACES = {"cli", "lab", "reproduction", "interop", "service", "client", "logs", "_chart", "_pictures"}
(HEAVY,) = (one for one in CONTRACTS if "numba" in one.get("forbidden_modules", ()))


def parts():
    """The folders and files of the package; the files that name and start it belong to no layer."""
    files = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__", "_version"}
    return files | {path.parent.name for path in ROOT.glob("*/__init__.py")}


def test_every_part_has_a_place_in_the_layers():
    names = {name.strip() for contract in CONTRACTS for row in contract.get("layers", ()) for name in row.split("|")}
    layers = {name.removeprefix("discreet.") for name in names if name.count(".") == 1}  # not those inside a part
    assert layers | {"theory"} == parts()  # formulas, beside the layers


def test_every_part_that_is_no_face_does_without_heavy_libraries():
    assert {name.removeprefix("discreet.") for name in HEAVY["source_modules"]} == parts() - FACES


@pytest.mark.parametrize("name", ["__init__", "__main__", "_version"])
def test_the_files_beside_the_layers_do_without_them_too(name):
    nodes = list(ast.walk(ast.parse((ROOT / f"{name}.py").read_text())))
    imported = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    imported += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not {module.split(".")[0] for module in imported} & set(HEAVY["forbidden_modules"])

"""Arrows only point down: what may import what, read from the files themselves."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "discreet"
HEAVY = {
    "alembic", "dask", "distributed", "duckdb", "httpx", "jinja2", "matplotlib", "msgspec", "numba", "pandas", "polars",
    "psycopg", "pyarrow", "ray", "rich", "scipy", "sqlalchemy", "starlette", "typer", "uvicorn",
}  # fmt: skip
FACES = ("cli", "lab", "reproduction", "service", "client", "logs")


def imported(path):
    """Every module that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def files(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def core():
    return [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] not in FACES]


def reach(paths, *names):
    """The files that import any of these modules."""
    wanted = tuple(f"discreet.{name}" for name in names)
    return [
        f"{path.relative_to(ROOT)} -> {module}"
        for path in paths
        for module in imported(path)
        if module in wanted or module.startswith(tuple(f"{name}." for name in wanted))
    ]


def test_lab_and_service_never_import_each_other():
    assert reach(files("lab"), "service", "cli") == []
    assert reach(files("service"), "lab", "cli") == []


def test_clients_know_the_service_by_its_messages():
    assert reach(files("client"), "lab", "cli") == []
    assert reach(files("logs"), "lab", "cli", "client") == []
    assert reach(files("service"), "client", "logs") == []
    known = {arrow.partition(" -> ")[2] for arrow in reach(files("client", "logs"), "service")}
    assert all(module.startswith("discreet.service.messages") for module in known - {"discreet.service"})


def test_the_core_knows_no_face():
    paths = [path for path in core() if path.name not in {"__init__.py", "__main__.py"} or path.parent != ROOT]
    assert reach(paths, *FACES) == []


@pytest.mark.parametrize("path", core(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_needs_numpy_and_opendp_only(path):
    assert not {module.split(".")[0] for module in imported(path)} & HEAVY


def test_theory_imports_nothing_but_errors_and_tails():
    allowed = ("discreet.theory", "discreet.core.errors", "discreet.core.tails", "discreet.core.checks")
    found = [
        f"{path.name} -> {module}"
        for path in files("theory")
        for module in imported(path)
        if module.startswith("discreet.") and not module.startswith(allowed)
    ]
    assert found == []

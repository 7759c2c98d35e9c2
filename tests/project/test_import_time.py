"""The speed of the door: what `import discreet` and the command line load, and what they leave until it is used."""

import subprocess
import sys
from functools import cache

HEAVY = {
    "alembic", "dask", "distributed", "dp_accounting", "duckdb", "email", "graphlib", "httpx", "ibis",
    "importlib.metadata", "jinja2", "markdown_it", "matplotlib", "msgspec", "numba", "opendp", "pandas", "polars",
    "pyarrow", "pymab", "ray", "rich", "river", "scipy", "sqlalchemy", "ssl", "starlette", "typer", "urllib.request",
    "uvicorn",
}  # fmt: skip


@cache
def loaded(code):
    """The modules that a new interpreter has after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_discreet_loads_nothing_heavy():
    before = loaded("import numpy")  # what the interpreter's own start has loaded
    found = loaded("import discreet")
    assert "discreet.bandits.dp_ucb" in found
    assert not (found - before) & HEAVY
    assert not any(name.startswith(("discreet.lab", "discreet.service", "discreet.reproduction")) for name in found)


def test_the_help_of_the_command_line_does_without_much():
    without = {"numba", "matplotlib", "pandas", "opendp", "scipy", "sqlalchemy", "duckdb"}
    assert not without & loaded("import discreet.cli._run")


def test_a_heavy_module_would_be_seen():
    assert "ssl" in loaded("import discreet; import urllib.request") & HEAVY

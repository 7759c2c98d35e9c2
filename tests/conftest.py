import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests._tools.verification import page, pytest_addoption, pytest_configure, pytest_terminal_summary

__all__ = ["page", "pytest_addoption", "pytest_configure", "pytest_terminal_summary", "width"]

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("suite"), derandomize=True)  # a red run there means a change
settings.load_profile("ci" if os.environ.get("CI") else "suite")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without the garbage collector: what is imported stays, and it would look at all of it each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish():
    gc.unfreeze()  # else DuckDB reports at the end what nobody has thrown away


@pytest.fixture
def width():
    """Grid units of a full reward in [0, 1]."""
    return 2**20

import pytest


@pytest.fixture
def width():
    """Grid steps of a full reward in [0, 1]."""
    return 2**20

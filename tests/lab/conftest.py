import pytest

from tests._tools.tables import file, standard_input, table  # noqa: F401


@pytest.fixture
def width():
    """Grid steps of a full reward in [0, 1]."""
    return 2**20

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Whatever is in this folder needs another program, or starts one; what is slow too has a mark of its own."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.system)

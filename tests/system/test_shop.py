"""The example shop runs with one command, over real HTTP, and ends by itself."""

import os
import subprocess
import sys
from pathlib import Path

SHOP = Path(__file__).parents[2] / "examples" / "shop.py"


def test_the_shop_opens_and_closes():
    command = [sys.executable, str(SHOP), "--seconds", "2", "--visitors", "400", "--no-browser"]
    wide = {**os.environ, "COLUMNS": "150"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=wide)
    assert done.returncode == 0, done.stderr
    assert "No winner yet after 400 visits" in done.stdout
    assert "chain intact: True" in done.stdout
    assert "two for one" in done.stdout

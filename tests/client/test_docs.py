"""The Python on the page about clients runs as written, against a real service."""

import re
from pathlib import Path

from tests._tools.live_service import running

PAGE = (Path(__file__).parents[2] / "docs" / "service-clients.md").read_text()


def test_the_code_blocks_run_in_order(tmp_path, capsys):
    shown = []

    def show(arm):
        shown.append(arm)
        return True

    with running(tmp_path / "discreet.db") as live:
        namespace = {"ADDRESS": live.address, "KEY": live.key, "show": show}
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
            exec(block, namespace)
        namespace["client"].close()
    said = capsys.readouterr().out
    assert set(shown) <= {"blue", "green"}
    assert "running None 1 0" in said
    assert float(said.split()[0]) > 100  # people
    assert namespace["closed"].epoch == 1

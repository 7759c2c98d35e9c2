"""Notebooks run as they are, and every cell shows what it should: once."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
EXAMPLES = Path(__file__).parents[2] / "examples"
SETUP = "import discreet\nresults = discreet.lab.compare(['dp-se', 'se'], 'C2', 1e5, 3, epsilon=[0.5, 1.0])"


def outputs(*cells):
    """The kinds of data of each output of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [[sorted(one.get("data", {"stream": 1})) for one in cell.outputs] for cell in notebook.cells]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_tutorial_runs_as_a_notebook(path, tmp_path):
    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    assert len(shown) >= 3
    assert not any(one.output_type == "error" for one in shown)


PICTURE = [["image/png", "text/plain"]]


def test_a_plot_is_shown_once_wherever_it_stands():
    _, *shown = outputs(
        SETUP,
        "results.plot()",
        "results.plot();",
        "figure = results.plot()",
        "figure",
        "for one in results: one.plot()",
        "results.plot()\nprint('after')",
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nresults.plot(ax);",
    )
    assert shown[:4] == [PICTURE] * 4
    assert shown[4] == PICTURE * 3
    assert sorted(shown[5]) == [*PICTURE, ["stream"]]
    assert shown[6] == PICTURE  # pyplot's own


CLASS = """
class Mine(discreet.OwnPolicy):
    rounds: int = 50

    def plan(self):
        return dict.fromkeys(self.arms, self.rounds) if self.best_arm is None else {self.best_arm: None}

    def learn(self, means):
        pass
"""


def test_a_policy_of_a_cell_is_defined_again_and_runs_on_processes():
    shown = outputs(
        "import discreet",
        CLASS,
        CLASS.replace("50", "60"),
        "from discreet.lab import simulate",
        "engines = (None, 'processes')",
        "found = [simulate(Mine, 'C2', 1000, 4, epsilon=1.0, engine=one, progress=False) for one in engines]",
        "assert found[0].regret.tolist() == found[1].regret.tolist()",
        "assert found[0].pulls.sum(axis=0).min() == 240",
    )
    assert shown == [[]] * 8

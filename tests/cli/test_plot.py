"""`discreet plot`: pictures of a results file."""

import pytest


def test_plot(run, tmp_path):
    run("simulate se --horizon 2_000 --runs 3 --output", tmp_path / "result.npz")
    assert run("plot", tmp_path / "result.npz")[:2] == (0, f"{tmp_path / 'result.png'}\n")
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
    assert run("plot", tmp_path / "result.npz", "--log", "--output", tmp_path / "new" / "figure.pdf")[0] == 0
    assert (tmp_path / "new" / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_a_damaged_results_file(run, tmp_path):
    (tmp_path / "bad.npz").write_text("nothing")
    code, _, err = run("plot", tmp_path / "bad.npz")
    assert code == 2
    assert "is not a file of simulation results" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plot nothing.npz", "there is no results file 'nothing.npz'"),
        ("plot nothing.npz --output x.gif", "output must end in .png, .pdf, .svg, got 'x.gif'"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)

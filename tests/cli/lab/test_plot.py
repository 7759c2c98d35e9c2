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
        ("plot nothing.npz --output x.gif", "a picture's name must end in .png, .pdf, .svg, got 'x.gif'"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)


def test_a_sweep_is_drawn_against_its_option(run, tmp_path):
    path = tmp_path / "sweep.npz"
    assert run("compare dp-se --epsilon 0.5,1 --horizon 1000 --runs 2 --output", path)[0] == 0
    for more in ([], ["--against", "pulls"], ["--against", "epsilon", "--log"]):
        assert run("plot", path, *more)[0] == 0
        assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = run("plot", path, "--against", "gamma")
    assert code == 2
    assert "against must be an option of what was simulated, or 'pulls', got 'gamma'" in err

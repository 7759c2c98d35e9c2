"""`discreet report`: a saved state in, a report for the file out."""

import json

import discreet


def saved(path):
    bandit = discreet.Bandit(discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=20_000))
    for ticket in bandit.ask(1000):
        bandit.tell(ticket, 0.5)
    bandit.save(path)
    ledger = bandit.ledger
    bandit.detach()
    return ledger


def test_it_prints_and_writes(tmp_path, run):
    ledger, state = saved(tmp_path / "state.json"), tmp_path / "state.json"
    before = state.read_bytes()
    code, out, err = run("report", state, "--subject", "visitors of the shop")
    assert (code, err) == (0, "")
    assert "Kept: the ledger adds up to 1 of the promised epsilon = 1." in out
    assert "visitors of the shop" in out
    path = tmp_path / "report.json"
    code, out, err = run("report", state, "--output", path, "--output", tmp_path / "ledger.csv")
    assert (code, err) == (0, "")
    found = json.loads(path.read_text())
    assert found["algorithm"]["key"] == "dp-se-sharp"
    assert [row["steps"] for row in found["ledger"]["entries"]] == [one.steps for one in ledger]
    assert (tmp_path / "ledger.csv").read_text().startswith("entry,epoch,kind")
    assert state.read_bytes() == before


def test_what_is_not_there_is_refused(tmp_path, run):
    code, _, err = run("report", tmp_path / "no.json")
    assert code == 2
    assert "there is no file" in err
    saved(tmp_path / "state.json")
    code, _, err = run("report", tmp_path / "state.json", "--output", tmp_path / "report.doc")
    assert code == 2
    assert "path must end in one of" in err

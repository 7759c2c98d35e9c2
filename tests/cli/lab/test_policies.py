"""`discreet policies`: every algorithm with its options."""

import json

import discreet


def test_one_of_them(run, data, refused):
    code, out, _ = run("policies", "dp-se")
    assert code == 0
    assert out.startswith("dp-se, in Python DPSuccessiveElimination\nprivate: for a reward, proved by machine")
    assert "    epsilon: " in out
    assert ">>>" not in out
    assert data("policies", "nas")["needs"] == ["alpha", "beta"]
    assert "did you mean 'dp-se'?" in refused("policies", "dpse")


def test_policies(run):
    code, out, _ = run("policies")
    assert code == 0
    everything = {**discreet.POLICIES, **discreet.RULES}
    for name, kind in everything.items():
        assert f"{name} " in out
        assert kind.__name__ in out
    found = {row["name"]: row for row in json.loads(run("policies", "--json")[1])}
    assert set(found) == set(everything)
    assert found["dp-se"]["private"] == "for a reward"
    assert found["dp-se-person"]["private"] == "for a person"
    assert found["dp-se"]["needs"] == ["epsilon"]
    assert found["ucb"]["private"] == "no"
    assert found["guess-and-double"]["private"] == "as wrapped"
    assert found["dp-ucb"]["options"]["preset"] == "event-level"

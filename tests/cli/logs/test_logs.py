"""`discreet best-arm`, `replay`, and `stop` on a log: answers, exit codes, JSON, refusals."""

import json

import numpy as np
import pytest

import discreet.logs

ASK = ["--arm", "variant", "--reward", "converted", "--unit", "user", "--epsilon", "1"]


@pytest.fixture
def events(tmp_path):
    """A log of two arms; the last line has no reward."""
    rng, path = np.random.default_rng(0), tmp_path / "events.csv"
    rows = [f"u{i},{'ab'[i % 2]},{int(rng.random() < (0.2, 0.8)[i % 2])},SE" for i in range(4000)]
    path.write_text("\n".join(["user,variant,converted,country", *rows, "u9,a,,NO"]) + "\n")
    return path


def test_the_best_arm(run, events, tmp_path):
    code, out, err = run("best-arm", events, *ASK, "--missing", "0", "--plot", tmp_path / "means.png")
    assert (code, err) == (0, "")
    first, head, one, two, private, *_, last = out.splitlines()
    assert first == "b is the best of 2 arms, with probability 0.95 at least, if rows are independent draws."
    assert [head.split()[0], one.split()[0], two.split()[0]] == ["arm", "a", "b"]
    assert private.startswith("Private, epsilon = 1 for each 'user'")
    assert last == "Another run on the same people spends epsilon again."
    assert (tmp_path / "means.png").read_bytes().startswith(b"\x89PNG")


def test_json(data, events):
    found = data("best-arm", events, *ASK, "--where", "country=SE")
    assert (found["best_arm"], found["reached"], found["unit"], found["log_rows"]) == ("b", True, "user", 4000)
    assert [row["arm"] for row in found["arms"]] == ["a", "b"]


def test_dirty_rows_are_refused_with_exit_code_2(refused, events):
    said = refused("best-arm", events, *ASK)
    assert "1 row with no reward in column 'converted' (line 4,002)" in said
    assert "nothing was drawn or spent" in said
    assert "give --missing 0 (or another reward) to count them so, or --missing skip to leave them out" in said
    said = refused("best-arm", events, *ASK, "--missing", "0.5", "--low", "0.5")
    assert "declare the range that rewards can have as --low and --high, or give --clip to move them" in said
    assert "--missing must be a reward or skip, got 'x'" in refused("best-arm", events, *ASK, "--missing", "x")
    for command in ("test", "replay dp-se"):
        more = ["--control", "a", "--lift", "10%"] if command == "test" else ["-O", "horizon=4000"]
        assert "give --missing 0 " in refused(command, events, *ASK, *more)
    rule = ["--column", "converted", "--unit", "user", "--epsilon", "1", "--low", "0", "--high", "1"]
    assert "give --missing 0 " in refused("stop", events, *rule)


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_spent(refused, events, monkeypatch):
    monkeypatch.setattr(discreet.logs, "best_arm", None)
    asked = ["best-arm", events, *ASK, "--missing", "0", "--figure"]
    assert "a picture's name must end in .png, .pdf, .svg, got 'means.gif'" in refused(*asked, "means.gif")


def test_an_answer_is_printed_also_where_its_picture_fails(run, events, tmp_path):
    (tmp_path / "file").touch()
    code, out, _ = run("best-arm", events, *ASK, "--missing", "0", "--figure", tmp_path / "new" / "means.png")
    assert (code, (tmp_path / "new" / "means.png").exists()) == (0, True)
    assert out.startswith("b is the best of 2 arms")


def test_a_log_that_ends_too_early_has_exit_code_3(run, events):
    code, out, err = run("best-arm", events, *ASK, "--missing", "skip", "--beta", "1e-300", "--epsilon", "0.01")
    assert (code, out) == (3, "")
    assert err.startswith("no answer: no best arm: the log ended")
    code, out, _ = run("best-arm", events, *ASK, "--missing", "skip", "--epsilon", "0.001", "--json")
    assert (code, json.loads(out)["best_arm"]) == (3, None)


def test_replay(data, refused, events):
    found = data("replay dp-se", events, *ASK, "--missing", "0", "-O", "horizon=4000")
    assert (found["algorithm"], found["best_arm"]) == ("dp-se", "b")
    rule = ["--reward", "converted", "--unit", "user", "--epsilon", "1", "--missing", "skip", "--where", "variant=b"]
    options = ["-O", "alpha=0.5", "-O", "beta=0.1", "-O", "low=0", "-O", "high=1"]
    assert data("replay dp-nas", events, *rule, *options)["mean"] == pytest.approx(0.8, rel=0.5)
    assert "arms cannot be set" in refused("replay dp-se", events, *ASK, "-O", "arms=3")
    for name, told in {"unit": "use --unit", "log": "it is an argument", "heading": "named by it"}.items():
        assert told in refused("replay dp-se", events, *ASK, "-O", f"{name}=x")
    assert "must be one of" in refused("replay dp-sex", events, *ASK)


def test_stop_on_a_log(data, refused, events):
    rule = ["--alpha", "0.5", "--beta", "0.1", "--epsilon", "1", "--low", "0", "--high", "1"]
    found = data("stop", events, "--column", "converted", "--unit", "user", "--missing", "skip", *rule)
    assert found["estimate"] == pytest.approx(0.5, rel=0.5)
    assert found["samples"] == found["rows_read"] < 4000
    assert "need a file, got standard input" in refused("stop -", "--shuffle", *rule)
    assert "--where must look like COLUMN=VALUE" in refused("stop", events, "--where", "x", *rule)


def test_an_ab_test(run, data, refused, events):
    given = [*ASK, "--control", "a", "--missing", "skip", "--base-rate", "20%"]
    code, out, err = run("test", events, *given, "--lift", "50%")
    assert (code, err) == (0, "")
    assert out.startswith("b is better than a: a mean of 0.")
    assert "a lift of +" in out
    assert "Another run on the same people spends epsilon again." in out
    found = data("test", events, *given, "--effect", "0.1")
    assert (found["verdicts"], found["shown"], found["control"]) == ({"b": "shown"}, True, "a")
    assert found["rows_read"] < 4000
    worse = [*ASK, "--control", "b", "--missing", "skip", "--base-rate", "80%", "--effect", "10%"]
    code, out, _ = run("test", events, *worse)
    assert code == 4
    assert "a was not shown to be better than b" in out
    code, _, err = run("test", events, *given, "--effect", "0.1%", "--json")
    assert code == 3
    assert "give --lift or --effect" in refused("test", events, *given)


def test_forecasts_of_tests(run, data, refused):
    ask = ["--base-rate", "3%", "--lift", "10%", "--test", "--epsilon", "0.5,1", "--per-day", "5000"]
    code, out, _ = run("forecast", *ask)
    assert code == 0
    assert out.count("chance to show it") == 2
    assert "no privacy would take 83,800 people" in " ".join(out.split())
    found = data("forecast", *ask)["forecasts"]
    assert [one["outlooks"][1]["shown"] >= 0.8 for one in found] == [True, True]
    assert "--test needs --base-rate and --lift" in refused("forecast", "--test", "--gap", "0.1", "--epsilon", "1")

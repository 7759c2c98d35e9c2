"""`discreet forecast`: rates as people write them, a table, JSON and a picture."""

import pytest

from discreet import forecast


def test_a_forecast_is_that_of_python(run, data):
    line = "forecast --rates 20%,0.5 --epsilon 0.5,1 --per-day 100"
    assert data(line) == forecast([0.2, 0.5], epsilon=[0.5, 1], per_day=100).to_dict()
    code, out, err = run(line)
    assert (code, err) == (0, "")
    assert "the best of 2 arms with rates 20 % and 50 %" in out
    assert "days, mean" in out


def test_other_ways_to_ask(data):
    assert (
        data("forecast --base-rate 30% --lift 50% --epsilon 1")["outlooks"]
        == data("forecast --rates 0.3,0.45 --epsilon 1")["outlooks"]
    )
    chosen = data("forecast --rates 0.1,0.5")["outlooks"]
    assert [one["epsilon"] for one in chosen] == [0.1, 0.5, 1.0, 2.0]
    assert data("forecast --gap 0.2 --arms 3 --epsilon 1")["runs"] == 0
    assert data("forecast --mean 30% --alpha 0.3 --epsilon 1")["algorithm"] == "dp-inverse"
    late = data("forecast --rates 0.3,0.6 --epsilon 1 --per-day 1000 --window-days 2")["outlooks"][0]
    assert late["days"] > 2


def test_a_picture_is_drawn(run, tmp_path):
    code, out, _ = run(f"forecast --rates 20%,50% --epsilon 0.5,1 --figure {tmp_path / 'a.png'}")
    assert code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "a.png" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "forecast --epsilon 1",
            "give --rates, or --base-rate and --lift, or --gap, or --mean, such as --rates 3%,3.6%",
        ),
        ("forecast --rates 3,3.6", "rates must lie between 0 and 1, as 0.03 for 3 %, got [3.0, 3.6]"),
        ("forecast --rates 0.1,x --epsilon 1", "'x' is not a number"),
        ("forecast --rates 0.1,0.2 --mean 0.1 --epsilon 1", "give --rates or --mean, not both"),
        ("forecast --rates 0.1,0.2 --epsilon 1 --policy dpbai", "did you mean 'dp-bai'"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)

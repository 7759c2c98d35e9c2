"""Answers from a log: every form of a log, the order of rows, one row of each unit, and what an answer says."""

import json

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet
from discreet import ArgumentError, Grid, SimulatedNoise
from discreet.logs import _prepare, _rows, from_log
from discreet.logs._prepare import Key, Reading, cells, prepared
from discreet.logs._sources import opened
from discreet.testing import ScriptedNoise
from tests._tools.walking import algorithm

RATES = {"blue": 0.2, "green": 0.5, "red": 0.9}
KEY = Key("0123456789abcdef", (3, 456, 1_234_567, 89))
COLUMNS = {"arm": "variant", "reward": "converted", "unit": "user"}


def events(count=30_000, seed=0):
    """A log in which each tenth user comes twice, with the same variant."""
    rng = np.random.default_rng(seed)
    user = np.concatenate([np.arange(count), np.arange(0, count, 10)])
    variant = np.array(list(RATES))[user % 3]
    converted = (rng.random(user.size) < np.array(list(RATES.values()))[user % 3]).astype(int)
    table = pl.DataFrame({"user": user, "variant": variant, "converted": converted, "at": np.arange(user.size)})
    return table.sample(fraction=1.0, shuffle=True, seed=seed)


@pytest.fixture(scope="module")
def table():
    return events()


@pytest.fixture
def fixed_key(monkeypatch):
    monkeypatch.setattr(_prepare.Key, "draw", classmethod(lambda cls: KEY))


def test_the_best_arm_of_a_file(table, tmp_path):
    table.write_csv(tmp_path / "events.csv")
    answer = discreet.best_arm(str(tmp_path / "events.csv"), **COLUMNS, epsilon=1.0, beta=0.05)
    assert (answer.reached, answer.best_arm, answer.epsilon, answer.simulated) == (True, "red", 1.0, False)
    assert 0 < answer.rows_read < 30_000
    assert (answer.log_rows, sum(answer.available.values())) == (33_000, 30_000)
    claim, head, *rows, whom, source = str(answer).splitlines()
    assert claim == "red is the best of 3 arms, with probability 0.95 at least, if rows are independent draws."
    assert whom.startswith("Private, epsilon = 1 for each 'user', with all rows that it has: each reward enters")
    read = f"{answer.rows_read:,}"
    assert source == (
        f"It read {read} rows in random order; the log has 33,000 of 30,000 units in 'user', one of each."
    )
    assert head.split() == ["arm", "mean", "radius", "rows", "left"]
    assert [row.split()[0] for row in rows] == ["blue", "green", "red"]
    assert sum(int(row.split()[3].replace(",", "")) for row in rows) == answer.rows_read
    found = json.loads(answer.to_json())
    assert (found["best_arm"], found["rows_read"], found["unit"]) == ("red", answer.rows_read, "user")
    assert found["epsilon_spent"] == pytest.approx(1.0)
    assert list(answer.to_pandas()["arm"]) == ["blue", "green", "red"]
    assert "<strong>red is the best of 3 arms" in answer._repr_html_()
    assert "<img" in answer._repr_html_()
    figure = answer.plot()
    assert set(figure.axes[0].get_legend_handles_labels()[1]) == {"blue (gone)", "green (gone)", "red (best)"}
    assert figure.get_suptitle().replace("\n", " ") == answer.claim


def epoch_without(arm, answer):
    """The first epoch after which an arm was not viable; None if it is."""
    again = type(answer.algorithm).from_options(answer.algorithm.options())
    for number, releases in enumerate(answer.ledger.by_epoch(), 1):
        again.learn(releases)
        if arm not in again.viable:
            return number
    return None


def test_means_of_the_table_follow_from_releases_alone(table, fixed_key):
    answer = discreet.best_arm(table, **COLUMNS, epsilon=1.0, noise=SimulatedNoise(1))
    grid = Grid(0.0, 1.0)
    for row in answer.table():
        own = [release for release in answer.ledger if release.arm == row["arm"]]
        rewards = sum(release.rewards for release in own)
        assert row["mean"] == grid.mean(sum(release.steps for release in own), rewards)
        assert row["rows"] == rewards
        assert abs(row["mean"] - RATES[row["arm"]]) < row["radius"]
        assert row["left"] == epoch_without(row["arm"], answer)


def test_every_form_of_a_log_gives_the_same(table, tmp_path, fixed_key):
    def ask(log):
        answer = discreet.best_arm(log, **COLUMNS, epsilon=1.0, noise=ScriptedNoise([]))
        return answer.ledger, answer.used

    wanted = ask(table)
    table.write_csv(tmp_path / "log.csv")
    table.write_csv(tmp_path / "semicolons.csv", separator=";")
    pd.DataFrame(table.to_dict(as_series=False)).to_csv(tmp_path / "zipped.csv.gz", index=False)
    table.write_parquet(tmp_path / "log.parquet")
    for kind in ("csv", "parquet"):
        (tmp_path / kind).mkdir()
        for number, part in enumerate((table.head(1000), table.tail(-1000))):
            getattr(part, f"write_{kind}")(tmp_path / kind / f"{number}.{kind}")
    forms = [
        *(tmp_path / name for name in ("log.csv", "semicolons.csv", "zipped.csv.gz", "log.parquet", "csv", "parquet")),
        str(tmp_path / "parquet" / "*.parquet"),
        table.lazy(),
        table.to_arrow(),
        table.to_arrow().to_reader(),
        table.to_pandas(),
        table.to_pandas().astype({"converted": bool}),
        table.with_columns(pl.col("variant").cast(pl.Categorical), pl.col("converted").cast(pl.Float64)),
    ]
    for form in forms:
        assert ask(form) == wanted


def test_tables_of_databases_give_the_same_where_the_order_is_given(table, tmp_path, fixed_key):
    def ask(log):
        answer = discreet.best_arm(log, **COLUMNS, order="at", epsilon=1.0, noise=ScriptedNoise([]))
        return answer.ledger, answer.used

    theirs = ibis.duckdb.connect(tmp_path / "shop.db")
    theirs.create_table("events", table.to_arrow())
    assert ask(theirs.table("events")) == ask(table)
    theirs.disconnect()
    assert ask(f"duckdb://{tmp_path / 'shop.db'}#events") == ask(table)


def test_the_mean_of_a_column(table):
    answer = discreet.mean(table, column="converted", unit="user", epsilon=1.0, alpha=0.1, beta=0.01)
    assert answer.reached
    assert answer.mean == pytest.approx(np.mean(list(RATES.values())), rel=0.3)  # six times what is usual
    assert str(answer).startswith(f"The mean is {answer.mean:.6g}, within 10% of the true mean with probability 0.99")
    assert answer.rows_read == answer.algorithm.samples < 30_000
    assert set(answer.to_pandas()) == {"epoch", "mean", "radius"}
    ((epoch, mean, radius),) = answer.estimates()
    assert (epoch, mean, radius) == (answer.algorithm.epoch, answer.mean, 0.1 * answer.mean)
    assert list(answer.plot().axes[0].lines[0].get_ydata()) == [answer.mean]
    assert answer.best_arm is None
    few = discreet.mean(table.head(10), column="converted", epsilon=1.0)
    assert (few.reached, few.mean) == (False, None)
    assert str(few).startswith("No mean: the stream ended before the rule could halt")
    assert "for each row; somebody with m rows is covered with m times that" in str(few)


def test_a_mean_of_rewards_of_any_range():
    values = np.random.default_rng(0).uniform(-3.7, 11.3, 20_000)
    answer = discreet.mean(
        pl.DataFrame({"x": values}), epsilon=1.0, alpha=0.1, beta=0.01, low=-3.7, high=11.3, noise=SimulatedNoise(0)
    )
    assert answer.mean == pytest.approx(values.mean(), rel=0.3)


def test_a_log_without_a_best_arm_says_so(table):
    few = discreet.best_arm(table.head(100), **COLUMNS, epsilon=1.0)
    assert (few.reached, few.best_arm) == (False, None)
    assert str(few).startswith("No best arm: the log ended: arm '")
    assert "It may be one of blue, green, red." in str(few)


@pytest.mark.parametrize("key", sorted(discreet.POLICIES))
def test_every_policy_replays_a_log(key, table):
    policy = algorithm(key)
    log = table.head(3000).with_columns(pl.col("variant").replace({"blue": "A", "green": "B", "red": "B"}))
    answer = discreet.replay(policy, log, **COLUMNS, noise=SimulatedNoise(0))
    assert answer.algorithm.key == key
    assert answer.rows_read <= 3000
    assert all(answer.used[arm] <= count for arm, count in answer.available.items())
    again = type(policy).from_options(policy.options())
    if not policy.reads_samples:
        assert again.replay(answer.ledger.by_epoch()).time == answer.algorithm.time
    str(answer), answer.to_json(), answer.plot()


@pytest.mark.parametrize("key", sorted(discreet.RULES))
def test_every_rule_replays_a_log(key, table):
    rule = algorithm(key, alpha=0.5)
    answer = discreet.replay(rule, table, reward="converted", unit="user", noise=SimulatedNoise(0))
    assert (answer.reached, answer.mean is None) == (True, False)
    str(answer), answer.to_json(), answer.plot()


def test_a_name_replays_with_the_arms_of_the_log(table):
    options = {"epsilon": 1.0, "horizon": 20_000, "noise": SimulatedNoise(0)}
    answer = discreet.replay("dp-se", table, **COLUMNS, **options)
    assert answer.algorithm.arms == ("blue", "green", "red")
    assert answer.best_arm == "red"
    assert discreet.replay("dp-se", table, **COLUMNS, arms=list(RATES), **options).best_arm == "red"
    with pytest.raises(ArgumentError, match="another arm in column 'variant' than 'blue', 'green'"):
        discreet.replay("dp-se", table, **COLUMNS, arms=["blue", "green"], **options)
    rule = discreet.replay("dp-bernstein", table, reward="converted", epsilon=1, alpha=0.5, beta=0.1, low=0, high=1)
    assert rule.reached


def test_no_more_is_claimed_than_is_promised(table):
    """A policy that shows good arms promises no best one; a test promises that false verdicts are rare."""
    options = {"epsilon": 1.0, "horizon": 20_000, "noise": SimulatedNoise(0)}
    shown = discreet.replay("dp-chernoff-imed", table, **COLUMNS, **options)
    assert shown.claim == "red has the highest noisy mean of 3 arms; how surely it is the best is not promised."
    found = discreet.replay("dp-se", table, **COLUMNS, **options)
    surely = "with probability 0.99995 at least, if rows are independent draws"
    assert found.claim == f"red is the best of 3 arms, {surely}."
    test = discreet.DPTwoSampleTest(list(RATES), epsilon=1.0, base_rate=RATES["blue"], effect=0.1)
    tested = discreet.replay(test, table, **COLUMNS, noise=SimulatedNoise(0))
    assert tested.claim.startswith("Better than blue: green ")
    assert tested.claim.endswith(", red shown. A false verdict has probability 0.05 at most.")


def test_a_replay_is_what_bandits_would_have_done(table, fixed_key):
    """The rows of each arm in their order, by ask and tell under the same noise: the same releases."""
    policy = discreet.DPSharpBestArm(list(RATES), epsilon=1.0, beta=0.05)
    script = np.random.default_rng(3).integers(-(2**20), 2**20, 1000).tolist()
    answer = discreet.replay(policy, table, **COLUMNS, noise=ScriptedNoise(script))
    rows = {arm: iter(steps) for arm, steps in steps_by_arm(table).items()}
    bandit = discreet.Bandit(policy, noise=ScriptedNoise(script))
    for _ in range(answer.rows_read):
        ticket = bandit.ask()
        bandit.tell(ticket, next(rows[ticket.arm]) / 2**20)
    assert bandit.ledger == answer.ledger


def steps_by_arm(log, key=KEY, **reading):
    """The steps of each arm's rows in the order in which epochs take them."""
    how = Reading("converted", "variant", "user", **reading)
    with opened(log, how.wanted) as source, cells(source, how, Grid(0.0, 1.0), key).cache() as found:
        rows = prepared(found, how, key).to_pyarrow().to_pylist()
    arms = {row["arm"]: {} for row in rows}
    for row in rows:
        arms[row["arm"]][row["index"]] = row["steps"]
    assert all(sorted(steps) == list(range(len(steps))) for steps in arms.values())
    return {arm: [steps[index] for index in sorted(steps)] for arm, steps in arms.items()}


@pytest.mark.parametrize("block", [1, 100])
def test_epochs_that_are_added_up_by_the_engine_have_the_same_totals(block, table, fixed_key, monkeypatch):
    """Rows are fetched for short epochs, and added up where they are for long ones: the same integers."""
    policy = discreet.DPSharpBestArm(list(RATES), epsilon=1.0, beta=1e-9)
    fractions = table.with_columns(converted=pl.col("converted") * 0.3 + 0.1)
    wanted = discreet.replay(policy, fractions, **COLUMNS, noise=ScriptedNoise([]))
    rows = {arm: np.array(steps) for arm, steps in steps_by_arm(fractions).items()}
    for release in wanted.ledger:  # without noise a release is the exact total
        ((arm, first, last),) = release.spans
        assert release.steps == rows[arm][first - 1 : last].sum()
    monkeypatch.setattr(_rows, "BLOCK", block)
    found = discreet.replay(policy, fractions, **COLUMNS, noise=ScriptedNoise([]))
    assert (found.ledger, found.used) == (wanted.ledger, wanted.used)


# ---------------------------------------------------------------------- orders, selections, units


def test_rows_come_by_the_order_that_is_named():
    log = pl.DataFrame(
        {"user": ["a", "b", "a", "c"], "variant": ["x"] * 4, "converted": [0.25, 0.5, 1.0, 0.0], "at": [9, 10, 8, 100]}
    )
    quarter = 2**18
    assert steps_by_arm(log, order="at") == {"x": [4 * quarter, 2 * quarter, 0]}
    texts = log.with_columns(pl.col("at").cast(pl.String))
    assert steps_by_arm(texts, order="at") == {"x": [4 * quarter, 2 * quarter, 0]}  # 9 comes before 10 also as text


def test_the_order_is_drawn_anew_for_each_run(table):
    """With another key there are other rows of users who come twice, and another order."""
    one, other = steps_by_arm(table), steps_by_arm(table, Key.draw())
    assert one != other
    assert {arm: len(steps) for arm, steps in one.items()} == {arm: len(steps) for arm, steps in other.items()}


def test_a_random_order_does_not_follow_the_file():
    """The users of a sorted file are dealt: the first half of the order has about half of each half of the file."""
    count = 20_000
    log = pl.DataFrame({"user": range(count), "variant": ["x"] * count, "converted": [0] * 10_000 + [1] * 10_000})
    first = steps_by_arm(log, Key.draw())["x"][: count // 2]
    assert abs(sum(first) / 2**20 - count / 4) < 6 * np.sqrt(count / 16)  # of a hypergeometric law


def test_each_row_of_a_unit_is_chosen_equally_often():
    """Of two rows either, for each unit anew, in a log of two days as well; at a level of 1e-6."""
    units = [f"u{number}" for number in range(60)]  # each has an arm of its own
    log = pl.DataFrame({"user": units * 2, "variant": units * 2, "converted": [0] * 60 + [1] * 60})
    chosen = []
    for _ in range(3):
        steps = steps_by_arm(log, Key.draw())
        chosen.append([steps[unit] == [2**20] for unit in units])
    assert 56 <= np.sum(chosen) <= 124  # binomial: 2e-7 outside
    assert len(set(map(tuple, chosen))) == 3
    a_line = steps_by_arm(log, Key("5eed", (0, 0, 1000, 17)))  # by which all would be chosen on the first day
    assert all(a_line[unit] == [0] for unit in units)


def test_where_selects(table):
    answer = discreet.best_arm(table, **COLUMNS, where={"variant": ["blue", "green"]}, epsilon=1.0)
    assert answer.best_arm == "green"
    assert discreet.best_arm(table, **COLUMNS, where=lambda t: t.variant != "red", epsilon=1.0).best_arm == "green"
    assert discreet.mean(table, column="converted", where={"variant": "red"}, epsilon=1.0).mean > 0.6
    with pytest.raises(ArgumentError, match="the log has no row to use"):
        discreet.mean(table, column="converted", where={"variant": "pink"}, epsilon=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": "converted"}, "only `reward` may name the column 'converted'"),
        ({"unit": "converted"}, "only `reward` may name"),
        ({"order": "converted"}, "only `reward` may name"),
        ({"where": {"converted": 1}}, "only `reward` may name"),
        ({"where": lambda t: t.converted == 1}, "where must not look at the reward column 'converted'"),
        ({"where": lambda t: (t.at > 3) | t.converted.isnull()}, "where must not look at the reward column"),
        ({"where": lambda t: t.at}, "where must return a condition"),
        ({"arm": "user"}, "arm and unit must be two columns"),
        ({"arm": "at"}, "more than 1,000 different values"),
        ({"unit": "who"}, "the log has no column 'who'; it has 'user', 'variant', 'converted', 'at'"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"beta": 2}, "beta must lie strictly between"),
        ({"missing": "drop"}, "missing must be a reward or \"skip\", got 'drop'"),
        ({"missing": 2}, r"reward must lie in \[0.0, 1.0\], got 2"),
        ({"where": {"variant": "red"}}, "arms must be at least two"),
        ({"low": 1}, "low must be below high"),
    ],
)
def test_wrong_arguments_draw_nothing(options, message, table):
    noise = ScriptedNoise([])
    with pytest.raises(ArgumentError, match=message):
        discreet.best_arm(table, **{**COLUMNS, "epsilon": 1.0, "noise": noise, **options})
    assert not noise.scales


@pytest.mark.parametrize("log", [7, {"user": [1]}, "events.xyz", ["events.csv"], None])
def test_what_is_no_log_is_refused(log, tmp_path):
    (tmp_path / "events.xyz").write_text("x\n1\n")
    with pytest.raises(ArgumentError, match=r"log must be a \.csv or \.parquet file"):
        discreet.best_arm(tmp_path / log if isinstance(log, str) else log, **COLUMNS, epsilon=1.0)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        discreet.best_arm(tmp_path / "events.csv", **COLUMNS, epsilon=1.0)
    with pytest.raises(ArgumentError, match="no such file"):
        discreet.best_arm(tmp_path, **COLUMNS, epsilon=1.0)
    with pytest.raises(ArgumentError, match=r"must name a table after its database, such as duckdb://x\.db#events"):
        discreet.best_arm("duckdb://x.db", **COLUMNS, epsilon=1.0)


def test_a_policy_needs_arms_and_a_rule_has_none(table):
    policy = discreet.DPSuccessiveElimination(list(RATES), epsilon=1.0, horizon=1000)
    with pytest.raises(ArgumentError, match="a policy needs the column of arms"):
        discreet.replay(policy, table, reward="converted")
    with pytest.raises(ArgumentError, match="a rule has no arms"):
        discreet.replay(discreet.DPNAS(epsilon=1, alpha=0.5, beta=0.1, radius=1), table, **COLUMNS)
    with pytest.raises(ArgumentError, match="options are for the name of an algorithm, got epsilon"):
        discreet.replay(policy, table, **COLUMNS, epsilon=1.0)
    with pytest.raises(ArgumentError, match="algorithm must be a policy, a rule or the name"):
        discreet.replay(7, table, **COLUMNS)
    assert from_log.text_of(True) == "true"

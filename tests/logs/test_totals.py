"""Totals of an epoch from an event log: DuckDB and the SQL against a slow reference, to the last grid step."""

import csv
import datetime as dt
import math
import subprocess
import sys

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet import ArgumentError, Grid
from discreet._install import install
from discreet.logs import Columns, epoch_totals
from discreet.service.messages import PlanView

NAMES = ["assignment", "unit", "arm", "time", "reward"]
ODD = 0.7312459  # a reward that nothing else looks like


def plan_for(grid, pulls, epoch=1, learns=True):
    return PlanView(epoch, pulls, learns, grid.low, grid.high, grid.step, grid.floor, grid.width)


def frame(rows, time=pl.Int64):
    kinds = [pl.String, pl.String, pl.String, time, pl.Float64]
    return pl.DataFrame(rows, schema=dict(zip(NAMES, kinds, strict=True)), orient="row", strict=False)


def reference(rows, grid, pulls, after=None, before=None, default=None, contribution="each-epoch"):
    """Return (totals, counts, until) by the rules of discreet.logs, word by word."""
    grouped = {}
    for row in rows:
        if row[0] is not None and row[3] is not None:
            grouped.setdefault(row[0], []).append(row)
    contributions = []
    for assignment, events in grouped.items():
        told = sorted((time, reward) for *_, time, reward in events if reward is not None and not math.isnan(reward))
        units = [unit for _, unit, *_ in events if unit is not None]
        arms = [arm for _, _, arm, *_ in events if arm is not None]
        value = told[0][1] if told else (grid.low if default is None else default)
        time = min(event[3] for event in events)
        contributions.append((time, assignment, min(units, default=None), min(arms, default=None), value))
    contributions.sort(key=lambda one: one[:2])

    def inside(one):
        return (after is None or one[0] > after) and (before is None or one[0] < before)

    if contribution == "each-epoch":
        contributions = [one for one in contributions if inside(one)]
    if contribution is not None:
        seen, firsts = set(), []
        for one in contributions:
            if one[2] is not None and one[2] not in seen:
                seen.add(one[2])
                firsts.append(one)
        contributions = firsts
    taken = {arm: [one for one in contributions if one[3] == arm and inside(one)][:n] for arm, n in pulls.items()}
    totals = {
        arm: sum(grid.encode(min(max(float(one[4]), grid.low), grid.high)) for one in chosen)
        for arm, chosen in taken.items()
    }
    until = max((one[0] for chosen in taken.values() for one in chosen), default=None)
    return totals, {arm: len(chosen) for arm, chosen in taken.items()}, until


GRIDS = st.sampled_from(
    [Grid(0.0, 1.0), Grid(-1.0, 1.0), Grid(-3.7, 11.3), Grid(0.1, 0.3), Grid(100.0, 101.0), Grid(-7.0, -6.5, bits=3)]
)


@st.composite
def rewards(draw, grid):
    """Numbers in and out of range, on the grid, and halfway between two of its points, on either side of 0."""
    steps = st.integers(grid.floor - 3, grid.floor + grid.width + 3)
    half = steps.map(lambda k: (k + 0.5) * grid.step)
    near = half.flatmap(lambda x: st.sampled_from([math.nextafter(x, -math.inf), math.nextafter(x, math.inf)]))
    inside = st.floats(grid.low, grid.high)
    odd = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, -0.0])
    return draw(st.one_of(half, near, steps.map(lambda k: k * grid.step), inside, odd))


@st.composite
def cases(draw):
    grid = draw(GRIDS)
    arms = ["blue", "it's", "grün"][: draw(st.integers(1, 3))]
    some = st.sampled_from([f"a{index}" for index in range(12)] + [None])
    unit = st.sampled_from(["u1", "u2", "u3", "u4", "é", None])
    row = st.tuples(some, unit, st.sampled_from([*arms, "gone", None]), st.integers(-4, 6), rewards(grid))
    rows = draw(st.lists(row, max_size=25))
    pulls = {arm: draw(st.integers(1, 2)) for arm in arms}
    options = {
        "after": draw(st.none() | st.integers(-5, 3)),
        "before": draw(st.none() | st.integers(0, 7)),
        "contribution": draw(st.sampled_from(["each-epoch", "once", None])),
    }
    default = draw(st.none() | st.floats(grid.low, grid.high))
    return grid, rows, pulls, default, options


@settings(max_examples=30)
@given(cases())
def test_totals_agree_with_the_reference(case):
    grid, rows, pulls, default, options = case
    totals, counts, until = reference(rows, grid, pulls, default=default, **options)
    ask = {"default_reward": default, **options}
    short = [arm for arm in pulls if counts[arm] < pulls[arm]]
    if short:
        with pytest.raises(ArgumentError, match=f"{pulls[short[0]] - counts[short[0]]} are missing") as error:
            epoch_totals(frame(rows), plan_for(grid, pulls), **ask)
        assert repr(short[0]) in str(error.value)
    else:
        found = epoch_totals(frame(rows), plan_for(grid, pulls), **ask)
        assert found.message.totals == totals
        assert found.until == until
        assert found.message.epoch == found.epoch == 1


@settings(max_examples=20)
@given(GRIDS.flatmap(lambda grid: st.tuples(st.just(grid), st.lists(rewards(grid), min_size=1, max_size=200))))
@example((Grid(0.0, 1.0), [0.5 * 2**-20, 1.5 * 2**-20, 2.5 * 2**-20]))
@example((Grid(-1.0, 1.0), [-0.5 * 2**-19, -1.5 * 2**-19, math.nextafter(-0.5 * 2**-19, 0), -1e-300]))
def test_every_reward_is_rounded_as_the_grid_does(case):
    grid, values = case
    rows = [(str(i), str(i), str(i), i, value) for i, value in enumerate(values)]
    plan = plan_for(grid, {str(i): 1 for i in range(len(values))})
    expected, _, _ = reference(rows, grid, plan.pulls)
    assert epoch_totals(frame(rows), plan).message.totals == expected


# ---------------------------------------------------------------------- what epsilon rests on


@settings(max_examples=10)
@given(cases(), st.sampled_from(["u1", "u2", "é"]), st.data())
def test_one_unit_moves_one_total_by_one_width_at_most(case, unit, data):
    """Neighbouring logs: all rewards of one unit differ, also whether there are any."""
    grid, rows, pulls, default, options = case
    options["contribution"] = options["contribution"] or "each-epoch"
    mine = {row[0] for row in rows if row[1] is not None}
    mine = {one for one in mine if min(row[1] for row in rows if row[0] == one and row[1] is not None) == unit}
    other = [(*row[:4], data.draw(rewards(grid)) if row[0] in mine else row[4]) for row in rows]
    found = []
    for log in (rows, other):
        try:
            found.append(epoch_totals(frame(log), plan_for(grid, pulls), default_reward=default, **options))
        except ArgumentError as error:
            found.append(str(error))
    if isinstance(found[0], str):
        assert found[0] == found[1]  # what is missing is public
        return
    assert found[0].until == found[1].until
    moved = [abs(found[0].message.totals[arm] - found[1].message.totals[arm]) for arm in pulls]
    assert sum(moved) <= grid.width


@settings(max_examples=10)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 7), st.integers(0, 30)), max_size=12), max_size=5),
    st.integers(0, 15),
)
def test_a_contribution_is_used_once_however_the_log_grows(batches, marked):
    """Rows come late, twice and out of order. One assignment has a reward: all epochs together count it once."""
    rows, until, epoch, seen = [], None, 1, 0
    for batch in batches:
        rows += [(f"a{a}", f"u{u}", "x", t, 1.0 if a == marked else 0.0) for a, u, t in batch]
        try:
            found = epoch_totals(frame(rows), plan_for(Grid(0.0, 1.0), {"x": 2}, epoch), after=until)
        except ArgumentError:
            break
        else:
            until, epoch, seen = found.until, epoch + 1, seen + found.message.totals["x"]
    assert seen in (0, 2**20)


@pytest.fixture
def log():
    """Two epochs of three arms: a row for each assignment, and another for some rewards."""
    rows = [(f"a{i:03}", f"u{i}", ["x", "y", "z"][i % 3], 10 * i, None) for i in range(60)]
    rows += [(f"a{i:03}", None, None, 10 * i + 5, ODD * (i % 7) / 6) for i in range(60) if i % 5]
    rows += [(f"a{i:03}", None, None, 10 * i + 4, math.nan if i % 4 else math.inf) for i in range(1, 60, 3)]
    return rows


def test_epochs_follow_each_other_without_using_anything_twice(log):
    grid, pulls = Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8}
    first = epoch_totals(frame(log), plan_for(grid, pulls))
    later = epoch_totals(frame(log), plan_for(grid, pulls, 2), after=first.until)
    both = epoch_totals(frame(log), plan_for(grid, dict.fromkeys(pulls, 16)))
    assert first.until == 230
    assert {arm: first.message.totals[arm] + later.message.totals[arm] for arm in pulls} == both.message.totals
    with pytest.raises(ArgumentError, match=r"arm 'x' has 4 of the 8 contributions that epoch 3 needs: 4 are missing"):
        epoch_totals(frame(log), plan_for(grid, pulls, 3), after=later.until)


def test_a_late_reward_of_a_used_assignment_is_not_a_new_contribution(log):
    grid, pulls = Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8}
    first = epoch_totals(frame(log), plan_for(grid, pulls))
    late = [("a001", None, None, 236, 1.0), ("a000", None, None, 237, 1.0)]
    before = epoch_totals(frame(log), plan_for(grid, pulls, 2), after=first.until)
    after = epoch_totals(frame(log + late), plan_for(grid, pulls, 2), after=first.until)
    assert before.message == after.message


def test_duplicates_and_the_order_of_rows_change_nothing(log):
    grid, pulls = Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8}
    once = epoch_totals(frame(log), plan_for(grid, pulls))
    twice = epoch_totals(frame(log[::-1] + log), plan_for(grid, pulls))
    assert (once.message, once.until) == (twice.message, twice.until)


def test_ties_in_time_are_broken_by_the_id():
    rows = [(f"a{i}", f"u{i}", "x", 7, i / 8) for i in (5, 3, 1, 4)]
    found = epoch_totals(frame(rows), plan_for(Grid(0.0, 1.0), {"x": 2}))
    assert found.message.totals == {"x": Grid(0.0, 1.0).total([1 / 8, 3 / 8])}


def test_what_is_too_young_stays_for_later(log):
    grid = Grid(0.0, 1.0)
    with pytest.raises(ArgumentError, match="arm 'z'"):
        epoch_totals(frame(log), plan_for(grid, {"x": 8, "y": 8, "z": 8}), before=230)
    assert epoch_totals(frame(log), plan_for(grid, {"x": 8, "y": 8, "z": 8}), before=231).until == 230


def test_every_form_of_a_log_gives_the_same(log, tmp_path, monkeypatch):
    table = frame(log)
    plan = plan_for(Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8})
    wanted = epoch_totals(table, plan)
    assert wanted.message.totals == reference(log, Grid(0.0, 1.0), plan.pulls)[0]
    pq.write_table(table.to_arrow(), tmp_path / "arrow.parquet")
    table.write_parquet(tmp_path / "log.parquet")
    (tmp_path / "parts").mkdir()
    table.head(50).write_parquet(tmp_path / "parts" / "1.parquet")
    table.tail(-50).write_parquet(tmp_path / "parts" / "2.parquet")
    table.write_csv(tmp_path / "log.csv")
    forms = [
        tmp_path / "log.parquet", tmp_path / "arrow.parquet", str(tmp_path / "parts"),
        str(tmp_path / "parts" / "*.parquet"), tmp_path / "log.csv",
        table.lazy(), table.to_arrow(), table.to_arrow().to_reader(), table.to_pandas(),
        table.with_columns(pl.col("arm").cast(pl.Categorical)),
    ]  # fmt: skip
    for form in forms:
        found = epoch_totals(form, plan)
        assert (found.message, found.until) == (wanted.message, wanted.until)


@pytest.mark.parametrize("kind", [pl.Datetime("us"), pl.Datetime("ns"), pl.Datetime("ms", "Europe/Berlin"), pl.Float64])
def test_times_of_any_kind_go_there_and_back(kind, log, tmp_path):
    table = frame(log).with_columns((pl.col("time") * 1_000_000).cast(kind))
    table.write_parquet(tmp_path / "log.parquet")
    plan = plan_for(Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8})
    for form in (table, tmp_path / "log.parquet"):
        first = epoch_totals(form, plan)
        second = epoch_totals(form, plan, after=first.until)
        assert first.message == epoch_totals(frame(log), plan).message
        assert second.message == epoch_totals(frame(log), plan, after=230).message
        assert isinstance(first.until, float if kind == pl.Float64 else dt.datetime)


@pytest.mark.parametrize(
    "start", [1_700_000_000_000_000_000, -3_000, -9_000_000_000_000_000_000, 9_000_000_000_000_000_000]
)
def test_nanoseconds_are_rounded_so_that_nothing_is_used_twice(start):
    times = [start + 100, start + 900, start + 1500]
    table = frame([(str(i), str(i), "x", time, 2.0**-i) for i, time in enumerate(times)])
    table = table.with_columns(pl.col("time").cast(pl.Datetime("ns")))
    until, seen = None, 0
    for epoch in range(1, 5):
        try:
            found = epoch_totals(table, plan_for(Grid(0.0, 1.0), {"x": 1}, epoch), after=until)
        except ArgumentError:
            break
        assert until is None or found.until > until
        until = found.until
        assert not seen & found.message.totals["x"]  # each reward is a bit of its own
        seen |= found.message.totals["x"]
    assert epoch > 2


def test_a_csv_with_dates_and_numbers_as_names(tmp_path):
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "who", "banner", "at", "clicked", "other"])
        for i in range(40):
            writer.writerow([f"{i:04}", i, i % 2, f"2026-05-01T10:{i:02}:00", "" if i % 3 else "1", "x,y"])
    columns = Columns("id", "who", "banner", "at", "clicked")
    plan = plan_for(Grid(0.0, 1.0), {"0": 10, "1": 10})
    found = epoch_totals(tmp_path / "log.csv", plan, columns=columns)
    assert found.until == dt.datetime(2026, 5, 1, 10, 19)
    assert found.message.totals == {"0": 4 * 2**20, "1": 3 * 2**20}


def test_a_log_without_arms_fills_the_only_one(log):
    table = frame(log).drop("arm")
    plan = plan_for(Grid(0.0, 1.0), {"": 20})
    found = epoch_totals(table, plan, columns=Columns(arm=None))
    expected, _, _ = reference([(a, u, "", t, r) for a, u, _, t, r in log], Grid(0.0, 1.0), {"": 20})
    assert found.message.totals == expected
    with pytest.raises(ArgumentError, match="must name an arm column"):
        epoch_totals(table, plan_for(Grid(0.0, 1.0), {"a": 1, "b": 1}), columns=Columns(arm=None))


def test_a_table_of_a_database_is_read_where_it_is(log):
    table = frame(log).to_arrow()
    plan = plan_for(Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8})
    theirs = ibis.duckdb.connect().create_table("log", table)
    wanted, found = (epoch_totals(one, plan, after=30, before=500) for one in (table, theirs))
    assert (found.message, found.until) == (wanted.message, wanted.until)


SOME_REWARDS = st.lists(st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.0]), min_size=1)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=SOME_REWARDS, group=st.integers(1, 4))
@example(values=[1.0, math.nan], group=4)
@example(values=[0.0, math.nan], group=4)  # here DuckDB 2.0 holds even isnan() to be false
def test_nan_is_no_reward_in_somebody_elses_duckdb_over_parquet(values, group, tmp_path):
    """Parquet's statistics leave NaN out, and DuckDB trusts them."""
    rows = [(str(i), str(i), "x", i, value) for i, value in enumerate(values)]
    pq.write_table(frame(rows).to_arrow(), tmp_path / "log.parquet", row_group_size=group)
    grid, pulls = Grid(0.0, 1.0), {"x": len(values)}
    theirs = ibis.duckdb.connect().read_parquet(tmp_path / "log.parquet")
    found = epoch_totals(theirs, plan_for(grid, pulls), default_reward=0.25)
    assert found.message.totals == reference(rows, grid, pulls, default=0.25)[0]


# ---------------------------------------------------------------------- what is refused, and what errors say


def test_errors_and_looks_hold_no_reward(log, tmp_path, capsys):
    plan = plan_for(Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8})
    (tmp_path / "bad.csv").write_text(
        "assignment,unit,arm,time,reward\n"
        + "".join(f"{i},{i},x,{i},{ODD}\n" for i in range(30_000))
        + "9,9,x,9,s0.7312459t\n"
    )
    (tmp_path / "log.txt").write_text(f"reward\n{ODD}\n")
    (tmp_path / "broken.parquet").write_bytes(b"no parquet 0.7312459")
    pandas = pd.DataFrame({"assignment": ["1"], "unit": ["1"], "arm": ["x"], "time": [1], "reward": ["s0.7312459t"]})
    mixed = pandas.assign(reward=pd.Series([object()]))
    forms = [
        tmp_path / "bad.csv", tmp_path / "broken.parquet", pandas, mixed, {"reward": [ODD]}, tmp_path / "log.txt",
        frame(log).with_columns(pl.col("unit").str.len_bytes().cast(pl.Float64)),
    ]  # fmt: skip
    for form in forms:
        with pytest.raises(ArgumentError) as error:
            epoch_totals(form, plan)
        assert "0.7312" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__context__ is None or error.value.__suppress_context__
    with pytest.raises(FileNotFoundError):
        epoch_totals(tmp_path / "none.parquet", plan)
    found = epoch_totals(frame(log), plan)
    assert not any(str(total) in repr(found) for total in found.message.totals.values())


def test_kind_errors(log):
    grid = Grid(0.0, 1.0)
    plan = plan_for(grid, {"x": 8})
    with pytest.raises(ArgumentError, match=r"no column 'clicked'; it has 'assignment', 'unit'"):
        epoch_totals(frame(log), plan, columns=Columns(reward="clicked"))
    with pytest.raises(ArgumentError, match="needs no rewards"):
        epoch_totals(frame(log), plan_for(grid, {"x": 8}, learns=False))
    with pytest.raises(ArgumentError, match=r"after must be a number, as the log's times are"):
        epoch_totals(frame(log), plan, after=dt.datetime(2026, 1, 1))
    zoned = frame(log).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))
    with pytest.raises(ArgumentError, match=r"after must be a datetime with a time zone"):
        epoch_totals(zoned, plan, after=dt.datetime(2026, 1, 1))
    with pytest.raises(ArgumentError, match="default_reward must lie in"):
        epoch_totals(frame(log), plan, default_reward=2.0)


def test_a_later_epoch_must_say_where_it_begins(log):
    plan = plan_for(Grid(0.0, 1.0), {"x": 8}, 2)
    with pytest.raises(ArgumentError, match="after must be the `until` of epoch 1"):
        epoch_totals(frame(log), plan)


def test_texts_of_numbers_and_times_are_read(log):
    plan = plan_for(Grid(0.0, 1.0), {"x": 8, "y": 8, "z": 8})
    texts = frame(log).with_columns(pl.col("reward").cast(pl.String), pl.col("time").cast(pl.String))
    assert epoch_totals(texts, plan).message == epoch_totals(frame(log), plan).message


def test_a_missing_package_is_named():
    for what, message in (
        ("import discreet.logs", "discreet.logs needs ibis"),
        ("discreet.mean", "discreet.mean needs ibis"),
    ):
        lines = f"import sys; sys.modules['ibis'] = None; import discreet; {what}"
        done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
        assert f"{message}: {install('logs')}" in done.stderr


def test_arrow_is_read_as_it_comes():
    reader = pa.Table.from_pylist([{"assignment": 1, "unit": 2, "arm": "x", "time": 3, "reward": True}])
    found = epoch_totals(reader, plan_for(Grid(0.0, 1.0), {"x": 1}))
    assert found.message.totals == {"x": 2**20}

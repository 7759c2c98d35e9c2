"""The same integers from the same log in every engine that we can start: DuckDB, PostgreSQL, Spark."""

import math
import shutil

import ibis
import numpy as np
import polars as pl
import pytest

import discreet
from discreet.logs import _prepare, epoch_totals
from discreet.logs._prepare import Key
from discreet.service.messages import PlanView
from discreet.testing import ScriptedNoise
from tests._tools import postgres

pytestmark = pytest.mark.system
KEY = Key("5eed", (7, 77, 1_000_003, 17))
ODD = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 2.0, -1.0, 0.5 * 2**-20, 1.5 * 2**-20, 0.3, 1 - 2**-21]


@pytest.fixture(scope="module")
def log():
    """Exact halves, NaN, nothing, and numbers out of range; every tenth user comes twice."""
    rng, count = np.random.default_rng(0), 6000
    user = np.concatenate([np.arange(count), np.arange(0, count, 10)])
    odd = rng.random(user.size) < 0.1
    reward = np.where(rng.random(user.size) < np.array([0.3, 0.7])[user % 2], 1.0, rng.random(user.size) / 4).tolist()
    return pl.DataFrame(
        {
            "user": [f"user-{index}" for index in user],
            "variant": np.array(["blue", "grün"])[user % 2],
            "spent": [ODD[index % len(ODD)] if odd[index] else each for index, each in enumerate(reward)],
            "at": rng.permutation(user.size),
        },
        strict=False,
    )


def found(log):
    """What a run releases without noise, and the totals of an epoch for the service."""
    columns = {"arm": "variant", "reward": "spent", "unit": "user", "order": "at"}
    options = {"missing": 0.25, "clip": True, "noise": ScriptedNoise([]), "epsilon": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_prepare.Key, "draw", classmethod(lambda cls: KEY))
        answer = discreet.best_arm(log, **columns, **options)
    grid = answer.algorithm.grid
    plan = PlanView(1, {"blue": 2000, "grün": 2000}, True, 0.0, 1.0, grid.step, grid.floor, grid.width)
    names = discreet.logs.Columns("at", "user", "variant", "at", "spent")
    totals = epoch_totals(log, plan, columns=names, default_reward=0.25)
    return list(answer.ledger), answer.used, totals.message, totals.until


@pytest.mark.skipif(not postgres.available(), reason="PostgreSQL is not installed")
def test_postgresql(log):
    server = postgres.Postgres()
    try:
        theirs = ibis.connect(server.url())
        theirs.create_table("events", log.to_arrow())
        assert found(f"{server.url()}#events") == found(log)
        assert found(theirs.table("events")) == found(log.to_pandas())
        theirs.disconnect()
    finally:
        server.stop()
        server.remove()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_spark(log, tmp_path):
    sql = pytest.importorskip("pyspark.sql")
    log.write_parquet(tmp_path / "log.parquet")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        theirs = ibis.pyspark.connect(session)
        assert found(theirs.read_parquet(tmp_path / "log.parquet")) == found(log)
    finally:
        session.stop()

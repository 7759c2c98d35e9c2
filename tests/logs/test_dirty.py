"""Dirty logs: each is answered, or refused with its lines and a remedy, before any noise was drawn."""

import re
from collections import Counter
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet
from discreet import ArgumentError
from discreet.testing import ScriptedNoise

COLUMNS = {"arm": "variant", "reward": "converted", "unit": "user"}
NOT_PRIVATE = "This message is about the data as they are, and is not private; nothing was drawn or spent."


def csv(rows=("a,x,1", "b,y,0"), head="user,variant,converted", more=400):
    """A log whose rows below the heading begin with these."""
    good = [f"u{index},{'xy'[index % 2]},{index % 2}" for index in range(more)]
    return "\n".join([head, *rows, *good]) + "\n"


def ask(log, **options):
    """The answer, or the refusal; where it was refused nothing was drawn."""
    noise = ScriptedNoise([])
    try:
        return discreet.best_arm(log, **{**COLUMNS, "epsilon": 1.0, "noise": noise, **options})
    except ArgumentError as error:
        assert not noise.scales
        return str(error)


@pytest.mark.parametrize(
    ("row", "found", "options"),
    [
        ("c,x,", "1 row with no reward in column 'converted' (line 3): give missing=0 ", {"missing": 0}),
        ("c,x,NaN", "1 row with no reward in column 'converted' (line 3)", {"missing": 0}),
        ("c,x, n/a ", "1 row with no reward in column 'converted' (line 3)", {"missing": "skip"}),
        ("c,x,abc", "1 row with a reward that is no number in column 'converted' (line 3)", {"missing": "skip"}),
        ("c,x,2", "1 row with a reward outside of [0, 1] in column 'converted' (line 3)", {"clip": True}),
        ("c,x,-inf", "1 row with a reward outside of [0, 1] in column 'converted' (line 3)", {"clip": True}),
        ("c,,1", "1 row with no arm in column 'variant' (line 3)", {"missing": "skip"}),
        (",x,1", "1 row with no unit in column 'user' (line 3)", {"missing": "skip"}),
        ("c,z,1", "1 row with another arm in column 'variant' than 'x', 'y' (line 3)", {"arms": None}),
        ("c,x", "1 line cannot be read as 3 cells (line 3): mend the file", None),
        ("c,x,1,1", "1 line cannot be read as 3 cells (line 3): mend the file", None),
    ],
)
def test_each_kind_of_dirt_is_named_with_its_line_and_a_remedy(row, found, options, tmp_path):
    (tmp_path / "log.csv").write_text(csv(["a,x,1", row]))
    said = ask(tmp_path / "log.csv", arms=["x", "y"])
    assert said.startswith("the log cannot be used as it is. ")
    assert found in said
    assert said.endswith(NOT_PRIVATE)
    if options is not None:
        assert ask(tmp_path / "log.csv", **{"arms": ["x", "y"], **options}).log_rows


def test_all_kinds_are_told_at_once_with_the_first_lines(tmp_path):
    (tmp_path / "log.csv").write_text(csv(["a,x,", "b,x,", "c,x,", "d,x,", "e,y,7", ",y,1"]))
    said = ask(tmp_path / "log.csv")
    assert "4 rows with no reward in column 'converted' (lines 2, 3, 4, ...)" in said
    assert "; 1 row with a reward outside of [0, 1] in column 'converted' (line 6)" in said
    assert "; 1 row with no unit in column 'user' (line 7)" in said


def test_lines_are_those_of_the_file(tmp_path):
    """Also after blank lines, and cells that go over several lines."""
    (tmp_path / "log.csv").write_text(csv(['"a\nb\nc",x,1', "", "", "d,x,oops"]))
    assert "(line 7)" in ask(tmp_path / "log.csv")
    frame = pl.DataFrame({"user": ["a", "b"], "variant": ["x", "y"], "converted": [1.0, np.nan]})
    assert "(row 2)" in ask(frame)
    frame.write_parquet(tmp_path / "log.parquet")
    assert "(row 2)" in ask(tmp_path / "log.parquet")
    mixed = pd.DataFrame({"user": ["a", "b"], "variant": ["x", "y"], "converted": [1, "oops"]})
    assert "1 row with a reward that is no number in column 'converted' (row 2)" in ask(mixed)


def test_nan_is_never_a_reward(tmp_path):
    """Neither the highest nor any other, in whatever form it comes."""
    values = [1.0, float("nan"), 0.0, None]
    frame = pl.DataFrame({"user": list("abcd"), "variant": ["x"] * 4, "converted": values}, strict=False)
    frame.write_parquet(tmp_path / "log.parquet")
    frame.write_csv(tmp_path / "log.csv")
    policy = discreet.DPChernoffIMED(["x", "z"], epsilon=1.0, horizon=9)
    for form in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "log.parquet", tmp_path / "log.csv"):
        answer = discreet.replay(policy, form, **COLUMNS, missing="skip", noise=ScriptedNoise([]))
        assert answer.available == {"x": 2, "z": 0}
        assert "2 rows with no reward" in ask(form, arms=["x"])


def test_a_log_that_is_sorted_by_arm_is_dealt_or_refused():
    """Without an order its rows are shuffled; by an order in which arms follow each other they are not comparable."""
    log = pl.DataFrame(
        {
            "user": range(4000),
            "variant": ["x"] * 2000 + ["y"] * 2000,
            "converted": [0, 1] * 1000 + [1] * 2000,
            "at": range(4000),
        }
    )
    assert ask(log).best_arm == "y"
    assert "The arms follow each other by 'at'" in ask(log, order="at")
    assert ask(log.with_columns(at=pl.col("at") % 2000), order="at").best_arm == "y"
    holes = log.with_columns(at=pl.when(pl.col("at") == 7).then(None).otherwise(pl.col("at") % 2000))
    assert "1 row with nothing in column 'at' (row 8): leave `order` out" in ask(holes, order="at")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 of .* must be the names of its columns, got an empty one"),
        (b"\n\n", "line 1 of .* must be the names of its columns"),
        (b"\xff\xfe\x00", "line 1 of .* must be the names of columns in UTF-8"),
        (b"user,variant\na,x\n", "the log has no column 'converted'; it has 'user', 'variant'"),
        (b"user,variant,converted\n", "the log has no row to use"),
        (b"user,variant,converted,converted\na,x,1,0\n", "must have one column 'converted', got several"),
        (b"user,variant,converted\na,x,1\r\nb,y,0\nc,x,1\rd,y,0", "cannot be read"),
        (b"user,variant,converted\na,x,1\nb,\xff\xfe,0\n", r"1 line cannot be read as 3 cells \(line 3\)"),
        (b'user,variant,converted\na,x,1\nb,"y,0\n', r"cannot be read.*line 3"),
    ],
)
def test_damaged_files_are_refused(data, message, tmp_path):
    (tmp_path / "log.csv").write_bytes(data)
    assert re.search(message, ask(tmp_path / "log.csv"))


# ---------------------------------------------------------------------- damaged at random

ODD = ["", "nan", "NaN", "n/a", "null", "abc", "1,5", "-1", "2", "1e999", "inf", "0x1", "1_0", "'", '"', "tRue", "\x00"]


def damaged(random):
    """The bytes of a log with something wrong, in one of many ways, or with nothing."""
    rows = [
        [f"u{random.randrange(300)}", random.choice("xy"), random.choice("01")] for _ in range(random.randrange(300))
    ]
    head = ["user", "variant", "converted"]
    for _ in range(random.randrange(4)):
        if not rows:
            break
        row = random.choice(rows)
        match random.randrange(6):
            case 0:
                row[random.randrange(len(row))] = random.choice(ODD)
            case 1:
                row.append(random.choice(ODD))
            case 2:
                row.pop()
                row or row.append("")
            case 3:
                random.choice((head, row)).reverse()
            case 4:
                rows.insert(random.randrange(len(rows)), [""])
            case _:
                rows *= 2
    separator, end = random.choice(",,,;\t"), random.choice(("\n", "\n", "\r\n"))
    data = end.join(separator.join(row) for row in [head, *rows]).encode() + end.encode()
    if random.random() < 0.3 and data:  # bytes, not cells
        place = random.randrange(len(data))
        cut = data[:place] + random.randbytes(random.randrange(4)) + data[place + random.randrange(5) :]
        data = random.choice((cut, data[:place], b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r", 1)))
    return data


REMEDIES = ("missing=", "clip=True", "mend ", "must ", "select rows", "leave `order` out", "no row to use", "name one")
WHOLE = ("has no column", "no row to use", "arms must be", "got several", "different values", "cannot be read")


def answered(folder, cases, seed):
    """Ask for the best arm of damaged files; tell what became of them."""
    random, told, path = Random(seed), Counter(), folder / "log.csv"
    for _ in range(cases):
        path.write_bytes(damaged(random))
        options = random.choice(({}, {}, {"missing": 0.0}, {"missing": "skip"}, {"missing": 0.0, "clip": True}))
        answer = ask(path, **options)
        if isinstance(answer, str):
            told["refused"] += 1
            told["with a line"] += bool(re.search(r"(lines?|rows?) [\d,]+", answer))
            assert any(remedy in answer for remedy in REMEDIES), answer
            # Whatever is wrong with a line is said with the line. The rest is about the log as a whole.
            assert re.search(r"(lines?|rows?) [\d,]+", answer) or any(words in answer for words in WHOLE), answer
        else:
            told["answered"] += 1
    return told


def test_damaged_logs_are_answered_or_refused(tmp_path):
    told = answered(tmp_path, 15, seed=1)  # a study has a thousand
    assert min(told["answered"], told["refused"]) > 2


@pytest.mark.study
@pytest.mark.parametrize("seed", range(2, 6))
def test_a_thousand_damaged_logs(seed, tmp_path, page):
    told = answered(tmp_path, 250, seed)
    page("Fuzzing", what="damaged logs", cases=250, refused=told["refused"], loaded=told["answered"])
    print(f"250 damaged logs: {dict(told)}; where one was refused nothing was drawn")
    assert told["answered"] + told["refused"] == 250


def test_the_count_of_draws_would_show_noise_before_a_refusal(tmp_path, monkeypatch):
    """A planted mistake: the check comes after the first epoch."""
    from discreet.logs import from_log

    monkeypatch.setattr(from_log, "check", lambda source, *rest: {"x": 1, "y": 1})
    (tmp_path / "log.csv").write_text(csv(["c,x,oops"], more=4000))
    noise = ScriptedNoise([])
    discreet.best_arm(tmp_path / "log.csv", **COLUMNS, epsilon=1.0, noise=noise)
    assert noise.scales

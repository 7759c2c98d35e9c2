"""Numbers from a file or a pipe: every cell is read or refused with its line, and none far ahead."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from discreet import ArgumentError
from discreet.lab.columns import BLOCK, read_numbers

COUNT = 1001
ONES = "1\n" * COUNT


def read(source, column=None, header=None):
    """All numbers of a column in [0, 1]."""
    return np.concatenate(list(read_numbers(str(source), column, 0.0, 1.0, header=header))).tolist()


def refusal(source, column=None, header=None):
    """The numbers before the first one that is refused, and the message."""
    arrays = [np.empty(0)]
    with pytest.raises(ArgumentError) as caught:
        arrays.extend(read_numbers(str(source), column, 0.0, 1.0, header=header))
    return np.concatenate(arrays).tolist(), str(caught.value)


# ---------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (ONES, None),
        (ONES[:-1], None),  # no end of the last line
        ("clicked\n" + ONES, None),
        ("clicked\n" + ONES, "clicked"),
        ("\ufeff1\n" + ONES[2:], None),
        ("\ufeffclicked\r\n" + "1\r\n" * COUNT, "clicked"),
        ('"clicked, once"\n' + '"1"\n' * COUNT, "clicked, once"),
        (" id , clicked \n" + " 0 ,  1 \n" * COUNT, "clicked"),
        ('id,"note",clicked\n' + 'x,"a, ""b""\nc",  "1.0"\n' * COUNT, "clicked"),
        ("True\n" + "TRUE\ntrue\n" * ((COUNT - 1) // 2), None),
        ("0,1\n" + "0,1\n" * COUNT, "1"),  # a heading may be a number, for those who say so
    ],
)
def test_columns_of_text(file, text, column):
    assert read(file(text), column) == [1.0] * COUNT


def test_false_is_zero(file):
    assert read(file("no\n" + "false\n1\n" * 3)) == [0.0, 1.0] * 3


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b\n1,1\n", None, "column must name one of the 2 columns of {path}: 'a', 'b'"),
        ("a,b\n1,1\n", "c", "column must name one column of {path}, got 'c'; it has 'a', 'b'"),
        ("a,b,a\n1,1,1\n", "a", "got 'a'; it has more than one"),
        ("\n1\n", "a", "got 'a'; it has none"),
        ("1\n\n1\n", None, "line 2 of {path} must hold a finite number, or true or false, got ''; give it a value"),
        ("\n1\n", None, "line 1 of {path} must hold a finite number, or true or false, got ''"),
        ("NA\n1\n", None, "line 1 of {path} must hold a finite number, or true or false, got 'NA'"),
        ("nan\n1\n", None, "line 1 of {path} must hold a finite number, or true or false, got 'nan'"),
        ("a\nx y\n1\n", None, "line 2 of {path} must hold a finite number, or true or false, got 'x y'"),
        ("a\n1\n-inf\n", None, "line 3 of {path} must hold a finite number, or true or false, got '-inf'"),
        ("a\n1e999\n", None, "line 2 of {path} must hold a finite number, or true or false, got '1e999'"),
        ('a,b\n1,"x\ny"\n,z\n', "a", "line 4 of {path} must hold a finite number, or true or false, got ''"),
        ("a\n1\n1.5\n", None, "line 3 of {path} must lie in [0, 1], got '1.5'; declare a range that holds whatever"),
        ("a\n0,5\n", None, "line 2 of {path} must have as many cells as the first line, 1, got 2"),
        ("a,b\n1\n", "a", "line 2 of {path} must have as many cells as the first line, 2, got 1"),
        (b"a\n1\n\xff\n", None, "line 3 of {path} must be text in UTF-8"),
        (b"1\r1\r1\r", None, "line 1 of {path} must be a row of CSV: new-line character seen"),
        ('a\n"' + "1\n" * 100_000, None, "of {path} must be a row of CSV: field larger than field limit"),
        (b"\0" * (1 << 21), None, "{path} must be a table of text or a Parquet file, got a line without an end"),
    ],
)  # fmt: skip
def test_bad_text_is_refused_with_its_line(file, text, column, message):
    path = file(text)
    assert message.format(path=repr(str(path))) in refusal(path, column)[1]


@pytest.mark.parametrize("bad", [b"x\n", b"\n1\n", b"1.5\n", b"1,1\n", b"\xff\n", b'"'])
def test_the_numbers_before_a_bad_line_come_first(file, bad):
    numbers, message = refusal(file(ONES.encode() + bad))
    assert numbers == [1.0] * COUNT
    assert f"line {COUNT + 1} of" in message


def test_blank_lines_may_end_a_file(file):
    assert read(file("1\n0\n\n\n")) == [1.0, 0.0]


def test_what_looks_like_data_is_not_taken_as_a_heading_silently(file):
    path = file("O.5\n" + ONES)
    with pytest.warns(UserWarning, match="'O.5', the first line"):
        assert read(path) == [1.0] * COUNT
    assert "line 1 of" in refusal(path, header=False)[1]


def test_a_file_with_other_separators_is_recognised(file):
    path = file("id;clicked\n1;0\n")
    assert "separate its columns by commas" in refusal(path)[1]
    assert "must be separated by commas" in refusal(path, "clicked")[1]


def test_arrays_stay_small(file):
    sizes = [array.size for array in read_numbers(str(file("1\n" * 200_000)))]
    assert sum(sizes) == 200_000
    assert max(sizes) <= BLOCK / 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_cuts_of_a_pipe_do_not_matter(standard_input, size):
    text = ('note,value\n"é\n""x""",0.25\r\n' + "y,0.5\n" * 300).encode()
    standard_input(*(text[start : start + size] for start in range(0, len(text), size)))
    assert read("-", "value") == [0.25, *[0.5] * 300]


# ---------------------------------------------------------------------- Parquet


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float32", "float64"])
def test_types_of_parquet(table, kind):
    clicked = np.ones(9000, dtype=kind)
    assert read(table(clicked=clicked)) == [1.0] * 9000
    assert read(table("two.pq", note=["x"] * 9000, clicked=clicked), "clicked") == [1.0] * 9000


def test_parquet_is_known_by_its_first_bytes(table, monkeypatch):
    path = table("data", a=np.ones(9000))
    assert read(path) == [1.0] * 9000
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        assert read("-") == [1.0] * 9000
    ours, theirs = os.pipe()
    os.write(theirs, b"PAR1....")
    with open(ours, "rb") as pipe:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
        assert "a Parquet file must be given by its name, got it through a pipe" in refusal("-")[1]
    os.close(theirs)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "must hold a finite number, or true or false, got "),
        (np.inf, "must hold a finite number, or true or false, got inf"),
        (1.5, "must lie in [0, 1], got 1.5"),
    ],
)
def test_bad_parquet_is_refused_with_its_row(table, bad, message):
    path = table(a=[1.0] * 9000 + [bad])
    numbers, said = refusal(path)
    assert numbers == [1.0] * 9000
    assert f"row 9001 of '{path}' {message}" in said


def test_bad_columns_of_parquet(table, file):
    assert "row 2 of" in refusal(table(a=[True, None]))[1]
    assert "column must name one of the 2 columns of" in refusal(table(a=[1], b=[1]))[1]
    assert "got 'c'; it has 'a', 'b'" in refusal(table(a=[1], b=[1]), "c")[1]
    assert "column 'a' of" in refusal(table(a=["1"]))[1]
    assert "must be a Parquet file" in refusal(file("a\n1\n", "text.parquet"))[1]

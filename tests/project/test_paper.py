"""The page of the paper: no statement is left out, what it names exists, and its figures are those that are made."""

import csv
import importlib
import re
from pathlib import Path

import pytest

from discreet.bandits.dp_ucb import PRESETS, PUBLISHED
from discreet.reproduction.parts import Reproduced, every_picture
from discreet.reproduction.studies.evaluation import Evaluation

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/paper.md").read_text().replace("\\|", "|")
NUMBERED = {"section", "algorithm", "theorem", "lemma", "corollary", "fact", "figure", "footnote"}

with (Path(__file__).parent / "paper_labels.tsv").open() as file:
    LABELS = list(csv.DictReader(file, delimiter="\t"))


def found(name):
    """The object of a dotted name."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


def test_the_list_of_labels_is_whole():
    counts = {kind: sum(row["kind"] == kind for row in LABELS) for kind in NUMBERED}
    assert counts == {"section": 7, "algorithm": 3, "theorem": 6, "lemma": 2, "corollary": 2, "fact": 2, "figure": 12,
                      "footnote": 6}  # fmt: skip
    assert sum("withdrawn" in row["kind"] or row["kind"] == "unprinted" for row in LABELS) == 9


@pytest.mark.parametrize("row", LABELS, ids=lambda row: row["label"])
def test_every_statement_of_the_paper_is_in_the_page(row):
    assert f"`{row['label']}`" in PAGE
    if row["kind"] in NUMBERED - {"section"}:
        (line,) = (line for line in PAGE.splitlines() if f"`{row['label']}`" in line)
        assert f"{row['kind']} {row['number']}".lower() in line.lower()
        assert len(line.split(" | ")) >= 3


def test_the_statements_are_in_the_papers_order():
    places = [PAGE.index(f"`{row['label']}`") for row in LABELS if row["kind"] in NUMBERED]
    assert places == sorted(places)


def test_the_page_names_nothing_but_labels_of_the_paper():
    known = {row["label"] for row in LABELS}
    kinds = "sec|subsec|thm|lem|col|fact|apx_fact|alg|fig|paragraph|footnote|withdrawn"
    assert set(re.findall(rf"`((?:{kinds}):[^`]*)`", PAGE)) <= known


def test_every_object_exists():
    names = set(re.findall(r"`(discreet(?:\.\w+)+)`", PAGE))
    assert len(names) > 50
    for name in names:
        assert found(name) is not None


def test_a_name_that_is_not_there_is_found_out():
    with pytest.raises(AttributeError):
        found("discreet.theory.no_such_bound")


def test_every_figure_is_made_under_its_number():
    evaluation = Evaluation(horizon=100, runs=1).run()
    titles = {f"{picture.name}.png": picture.title for picture in every_picture(Reproduced(evaluation))}
    named = re.findall(r"\(`(fig:[^`]*)`\).*`([\w.-]+\.png)`", PAGE)
    assert len(named) == len(dict(named)) == 12
    for label, file in named:
        (instance,) = re.findall(r"setting(\d)", label)
        epsilons = re.findall(r"eps([\d.]+)&([\d.]+)", label)
        common = f"ε = {' and '.join(epsilons[0])}" if epsilons else "K = 5"
        assert titles[file].endswith(f"C{instance} with {common}, T = 100")


def test_the_verdict_on_the_claim_is_that_of_the_results():
    results = (ROOT / "docs/results.md").read_text()
    holds = dict(re.findall(r"^\| ([\w-]+) \| (\d+) \| \d+ \| \d+ \| [\d.]+ ±", results, re.M))
    assert holds.keys() == set(PRESETS)
    (row,) = [line for line in PAGE.splitlines() if "paragraph:5/3" in line]
    assert f"as published, in {holds.pop(PUBLISHED)} of 64 settings" in row
    assert all(f'{count} ("{form}")' in row for form, count in holds.items())


def test_every_row_has_a_verdict():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 80
    assert all(cell.strip() for line in rows for cell in re.split(r" \| ", line.strip("| ")))

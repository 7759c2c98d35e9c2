"""The report stands alone, has what was simulated and nothing else, and marks a claim that fails."""

import re

import pandas as pd
import pytest

from discreet.lab.engines import Serial
from discreet.reproduction import report, reproduce
from discreet.reproduction.parts import Reproduced, every_picture, headlines
from discreet.reproduction.report import render_page, render_results
from discreet.reproduction.reproduce import Reproduction, write_report
from discreet.reproduction.studies import claim, evaluation
from discreet.reproduction.tables import bandit_tables, claim_table, stopping_tables, write_table


@pytest.fixture(scope="module")
def everything(extended, stopping, league, roads, evidence, sequential):
    return Reproduced(extended, stopping, league, roads, evidence, sequential)


def links(html):
    """The targets of all links, and the ids that they may name."""
    return set(re.findall(r"href=\"#([^\"]+)\"", html)), set(re.findall(r"id=\"([^\"]+)\"", html))


def test_the_report_of_the_papers_evaluation_stands_alone(paper, tmp_path):
    told = []
    made = write_report(Reproduced(paper), tmp_path, 1.5, Serial(), lambda *step: told.append(step))
    html = made.page.read_text()
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", html)
    assert "<script" not in html
    pictures = every_picture(Reproduced(paper))
    assert [picture.name for picture in pictures] == [
        "paper-01", "paper-02", "paper-03", "paper-04",
    ]  # fmt: skip
    for picture in pictures:
        assert (tmp_path / "figures" / f"{picture.name}.png").stat().st_size > 5000
        assert not (tmp_path / "figures" / f"{picture.name}.pdf").exists()  # a preview is not printed
        assert html.count(f'id="{picture.name}"') == html.count(f"(figures/{picture.name}.png") == 1
    assert html.count("data:image/png;base64,") == len(pictures)
    for text in ("95 % interval", "median", "failed", "2019", "numpy", "20,000", "1.5 s", "REPRODUCE=--all"):
        assert text in html
    for form in paper.study.forms():
        for cell in paper.study.cells():
            value = paper.ratio(*cell, form).value
            assert f"{value:.{1 if value >= 10 else 2}f} ± " in html
    assert sorted(path.name for path in (tmp_path / "data").glob("*.csv")) == [
        "arms.csv", "claim.csv", "curves.csv", "runs.csv", "settings.csv",
    ]  # fmt: skip
    total = len(pictures) + 5 + 1
    assert [step[1:] for step in told] == [(done, total) for done in range(total + 1)]
    assert {step[0] for step in told} >= {"drawing paper-01", "writing table runs", "writing the report"}


def test_studies_that_were_left_out_leave_nothing_behind(paper, everything):
    for found in (Reproduced(paper), everything):
        pictures = every_picture(found)
        html = render_page(found, pictures, dict.fromkeys((p.name for p in pictures), ""), ["runs"], 1.0)
        wanted, known = links(html)
        assert wanted <= known
        markdown = render_results(found)
        for word in ("sweep", "league", "Stopping rules", "least possible", "dp-chernoff-imed", "thesis"):
            assert (word in html) == (found is everything), word
        for word in ("The league", "The stopping rules", "dp-chernoff-imed", "thesis", "holds from c"):
            assert (word in markdown) == (found is everything), word
        assert "\n\n\n" not in markdown


def test_the_whole_report_has_every_picture_and_table(everything, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "write_picture", lambda picture, folder, printed: picture.name.encode())
    made = write_report(everything, tmp_path, 1.0, Serial(), lambda *step: None)
    html = made.page.read_text()
    captions = re.findall(r"<figcaption>(.*?)<span>", html)
    assert len(captions) == len(every_picture(everything))
    assert min(map(len, captions)) > 50
    for picture in every_picture(everything):
        assert f'id="{picture.name}"' in html
    assert {path.stem for path in (tmp_path / "data").glob("*.csv")} == set(report.TABLES)
    assert made.headlines == [sentence for topic in headlines(everything).values() for sentence in topic]
    results = (tmp_path / "results.md").read_text()
    for sentence in made.headlines:
        assert f"- {sentence}\n" in results


def test_a_reproduction_simulates_what_is_missing_and_writes_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "write_picture", lambda picture, folder, printed: b"")
    wanted = Reproduction.of(quick=True, horizon=1000, runs=1)
    monkeypatch.setattr(evaluation, "MOST_RUNS", 1)
    for told in ([], []):
        made = wanted.run(tmp_path, Serial(), lambda *step, told=told: told.append(step))
        assert made.page == tmp_path / "report.html"
        assert ("simulating DP-SE and DP-UCB", 128, 128) in told
        assert len(list((tmp_path / "settings").iterdir())) == len(wanted.settings()) == 128
    assert set(wanted.studies()) == {"paper"}
    beyond = {"stopping", "league", "roads", "evidence", "tests"}
    assert set(Reproduction.of(everything=True, quick=True).studies()) == {"paper", *beyond}


def test_headlines_count_what_is_there(paper):
    sentences = headlines(Reproduced(paper))["The paper's bandits"]
    assert [sentence[:26] for sentence in sentences[:2]] == ["With DP-UCB as published, ", 'With the "event-level" for']
    for form, sentence in zip(paper.study.forms(), sentences, strict=False):
        ratios = [paper.ratio(*cell, form) for cell in paper.study.cells()]
        holds, fails = (sum(test(one) for one in ratios) for test in (lambda r: r.low >= 5, lambda r: r.high < 5))
        assert f"holds in {holds} of {len(ratios)} settings, fails in {fails or 'none'}, and" in sentence
        assert f"in {len(ratios) - holds - fails or 'none'}; the smallest ratio is {min(ratios)}, on" in sentence


def test_a_claim_that_fails_is_marked(extended, monkeypatch):
    for threshold, mark, sentence in (
        (1e9, " ✗</td>", "holds in 0 of 8 settings, fails in 8"),
        (0.0, "", "holds in 8"),
    ):
        monkeypatch.setattr(claim, "CLAIM", threshold)
        html = render_page(Reproduced(extended), [], {}, [], 1.0)
        assert sum(html.count(f"{one}</td>") for one in (" ✗", " ?")) == (4 * 8 + 4 if mark else 0)  # and the smallest
        assert html.count(sentence) == 4


def test_tables_are_tidy_and_equal_in_both_formats(paper, stopping, league, tmp_path):
    written = {**bandit_tables(paper.results), **stopping_tables(stopping.results), "league": league.rows}
    written["claim"] = claim_table(paper)
    tables = {}
    for name, parts in written.items():
        write_table(parts, tmp_path / f"{name}.csv")
        tables[name] = pd.read_parquet(tmp_path / f"{name}.parquet")
        again = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False, na_values={"epsilon": [""]})
        pd.testing.assert_frame_equal(tables[name], again, check_dtype=False, rtol=1e-8)
    assert len(tables["stopping"]) == len(stopping.results)
    assert len(tables["stopping_runs"]) == sum(one.setting.runs for one in stopping.results)
    assert len(tables["settings"]) == len(paper.results)
    assert len(tables["runs"]) == len(paper.results) * 3
    assert len(tables["claim"]) == 2 * len(paper.study.cells())
    assert set(tables["claim"].verdict) <= {"holds", "fails", "too close to call"}
    assert len(tables["curves"]) == sum(len(one.setting.checkpoints) for one in paper.results)
    each = ["policy", "epsilon", "options", "instance", "arms", "run"]
    assert (tables["arms"].groupby(each, dropna=False).pulls.sum() == 20_000).all()


def test_without_pyarrow_tables_are_csv_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.reproduction.tables.find_spec", lambda name: None)
    write_table([{"policy": "a", "run": [0, 1], "mean": 0.5}, {"policy": "b", "run": [0], "mean": float("nan")}],
                tmp_path / "runs.csv")  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
    assert (tmp_path / "runs.csv").read_text() == "policy,run,mean\na,0,0.5\na,1,0.5\nb,0,\n"

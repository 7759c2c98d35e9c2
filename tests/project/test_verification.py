"""The page of `make verify`: it shows what was measured, adds up, fits, and hides no failure."""

import re
from pathlib import Path
from types import SimpleNamespace

from tests._tools.verification import KEY, WIDTH, FailuresAtOnce, Page, is_of_a_study


def report(name, *rows, outcome="passed"):
    return SimpleNamespace(
        nodeid=name, location=("tests/x.py", 1, name), outcome=outcome, failed=outcome == "failed",
        user_properties=[(KEY, row) for row in rows],
    )  # fmt: skip


def test_rows_of_one_name_are_one_row():
    page = Page(
        [
            report("a", ("Faults survived", {"fault": "kill -9", "tried": 500, "survived": 500})),
            report("b", ("Faults survived", {"fault": "kill -9", "tried": 600, "survived": 600})),
            report(
                "c",
                ("Privacy", {"algorithm": "dp-se", "exact": 0.5}),
                ("Privacy", {"algorithm": "dp-se", "exact": 0.9}),
            ),
            report("d", ("Privacy", {"algorithm": "dp-se", "claimed": 1.0})),
        ],
        61,
    )
    assert "| kill -9 | 1,100 | 1,100 |" in page.markdown()
    assert "| dp-se | 0.90 | 1.00 |" in page.markdown()
    assert "took 1 min 1 s" in page.markdown()
    assert "All 4 studies passed." in page.text()


def test_modules_that_are_skipped_or_broken_have_no_rows():
    """What pytest reports of a module has no properties: one that lacks a library, and one that cannot be imported."""
    skipped, broken = report("a", outcome="skipped"), report("b", outcome="failed")
    for one in (skipped, broken):
        del one.user_properties
    page = Page([one for one in (report("c"), skipped, broken) if is_of_a_study(one)], 1)
    assert "1 of 2 FAILED: b" in page.markdown()


def test_a_section_needs_no_more_than_a_row():
    page = Page([report("a", ("Services", {"fault": "the network goes", "tried": 3}))], 1)
    assert "Services: 1 of 1 checks passed" in page.text()
    assert "Privacy" not in page.markdown()  # nothing was measured


def test_what_failed_is_named_and_a_living_bug_is_counted():
    dead, alive = {"bug": "dead", "exact": "1/2", "audit": "-"}, {"bug": "alive", "exact": "0/2", "audit": "-"}
    reports = [
        report("test[dead]", ("Planted bugs", dead)),
        report("test[alive]", ("Planted bugs", alive), outcome="failed"),
    ]
    page = Page(reports, 1)
    for shown in (page.text(), page.markdown()):
        assert "2 planted, 1 alive" in shown
        assert "1 of 2 FAILED: test[alive]" in shown
    assert "none alive" in Page(reports[:1], 1).text()
    assert "INTERRUPTED: 1 studies passed" in Page(reports[:1], 1, ended=False).markdown()


def test_a_failure_is_named_before_the_page_is_there():
    """With the end of what it says, in which the assertion is."""
    written = []
    terminal = SimpleNamespace(write=lambda text, flush: written.append(text))
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: terminal))
    for outcome in ("passed", "failed"):
        one = report(outcome, outcome=outcome)
        one.longreprtext = "long\n" * 1_000 + "E assert 1 == 2\n"
        FailuresAtOnce(config).pytest_runtest_logreport(one)
    assert len(written) == 1
    assert "FAILED failed\n" in written[0]
    assert written[0].endswith("E assert 1 == 2\n")
    assert len(written[0]) < 2_100


def test_a_long_table_is_folded_and_fits():
    rows = [
        ("Planted bugs", {"bug": f"a bug with a name of its own {number}", "exact": "12/12"}) for number in range(33)
    ]
    page = Page([report("a", *rows)], 1)
    assert max(map(len, page.text().splitlines())) <= WIDTH
    assert len(page.text().splitlines()) < 33
    assert all(row[1]["bug"] in page.text() for row in rows)


def test_the_page_may_be_there_already():
    """A path that stands alone and is there is taken for tests by pytest, which then does not know the option."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert set(re.findall(r"--page(.)", makefile)) == {"="}

"""Every public object shows itself: as HTML and as text, from one description."""

import inspect
from enum import Enum
from html.parser import HTMLParser

import pytest

import discreet
from discreet import lab
from discreet._display import Page, Shown, Table, words

PLAIN = {
    "SimulatedNoise",
    "Sum",
    "Rewards",
    *(kind.__name__ for kind in lab.Rewards.__subclasses__()),
}  # their repr says all
VOID = {"img", "br"}


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order, and keeps the text."""

    def __init__(self, document):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data}\n"


def bandit():
    policy = discreet.DPSuccessiveElimination(["<A>", "B"], epsilon=1.0, horizon=10_000)
    driver = discreet.Bandit(policy, noise=discreet.SimulatedNoise(7))
    tickets = driver.ask(3070)
    driver.tell(tickets, [float(ticket.arm == "B") for ticket in tickets])
    return driver


def objects():
    driver = bandit()
    rule = discreet.DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.1, low=0, high=1)
    policy, noise = driver.policy, discreet.SimulatedNoise(7)
    return [
        *(driver, policy, policy.plan(), driver.ledger, driver.ledger[0], driver.privacy, driver.ask(), policy.grid),
        *(discreet.UCB(["A", "B"]).privacy, discreet.Curator.of(policy), discreet.Totals(rule, noise), rule),
        *(driver.status(), discreet.forecast([0.2, 0.6], epsilon=[0.5, 1])),
        *(discreet.recommend(3, epsilon=1.0), discreet.audit("laplace", "ucb", samples=100)),
        *(discreet.audit("laplace", samples=100)[0], discreet.audit("laplace", samples=100)[0].findings[0]),
        *(
            rule.run([1.0] * 300, noise),
            discreet.GuessAndDouble(discreet.DPSuccessiveElimination(["A", "B"], epsilon=1, horizon=1000)),
        ),
        *(lab.instance("C2"), lab.Setting.of("dp-se", "C2", epsilon=1.0)),
        *(lab.simulate("dp-se", "C2", 1e4, 2, epsilon=1.0), lab.compare(["dp-se", "se"], "C2", 1e4, 2, epsilon=1.0)),
        lab.simulate("dp-nas", 0.5, runs=2, alpha=0.1, beta=0.05, epsilon=1.0),
    ]


@pytest.mark.parametrize("shown", objects(), ids=lambda one: type(one).__name__)
def test_objects_show_themselves_in_html_and_in_text(shown):
    page = Balanced(shown._repr_html_())
    assert len(page.text) > 20
    assert "<A>" not in shown._repr_html_()  # names are escaped
    assert str(shown)
    assert not any(line != line.rstrip() for line in str(shown).splitlines())


def test_no_public_class_is_left_out():
    public = [getattr(module, name) for module in (discreet, lab) for name in module.__all__]
    kinds = {kind for kind in public if inspect.isclass(kind) and not issubclass(kind, Exception | Enum)}
    assert {kind.__name__ for kind in kinds if not hasattr(kind, "_repr_html_")} == PLAIN


def test_text_and_html_have_the_same_facts():
    page = Page("title", {"epsilon": 0.5}, [Table(("arm", "mean"), [("A", 0.25), ("B", None)], "means")], ["a note"])
    said = Balanced(page.html()).text.split("\n")
    assert [word for line in page.text().splitlines() for word in line.split()] == " ".join(said).split()


def test_long_tables_show_their_first_and_last_rows():
    table = Table(("n",), [(n,) for n in range(100)])
    text = Page("long", tables=[table]).text().split()
    assert text[1:] == ["n", *map(str, range(10)), "...", *map(str, range(90, 100))]


def test_a_picture_is_left_out_without_matplotlib():
    def missing():
        raise ModuleNotFoundError("matplotlib")

    assert "<img" not in Page("", picture=missing).html()
    assert 'alt="a &quot;b&quot;"' in Page("", picture=lambda: b"png", about='a "b"').html()


def test_whoever_is_shown_says_something():
    with pytest.raises(NotImplementedError):
        str(Shown())
    assert words({"A": 1, "B": [0.5, None]}) == "A: 1, B: 0.5, -"

"""`discreet recommend`: what `recommend` says."""

import pytest

from discreet import recommend


def test_it_says_what_python_says(run, data):
    found = recommend(4, epsilon=1.0, goal="best-arm", beta=0.01, delayed=True)
    line = "recommend --arms 4 --epsilon 1 --goal best-arm --beta 0.01 --delayed"
    assert data(line) == {"policy": found.policy, "options": found.options, "reason": found.reason}
    code, out, err = run(line)
    assert (code, err) == (0, "")
    assert f'discreet.make_policy("{found.policy}", arms, epsilon=1.0, beta=0.01, growth=3.0)' in out
    assert " ".join(found.reason.split())[1:50] in " ".join(out.split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "recommend --arms 4 --epsilon 1 --goal regrets",
            "got 'regrets'; did you mean 'regret'?",
        ),
        ("recommend --epsilon 1", "Missing option '--arms'"),
        ("recommend --arms 1 --epsilon 1", "arms must be at least 2"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)

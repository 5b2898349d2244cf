"""judgekit.scoring.deriving: verdicts from scores and back, and what does not go together."""

import pytest

from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.deriving import conflict_table, scores_from_verdicts, verdicts_from_scores


def verdict(item, said, order="ab", **more):
    return Verdict(item, "openai/m", order, said, status="ok" if said else more.pop("status", "unparsed"), **more)


@pytest.mark.parametrize(
    ("scores", "margin", "said"),
    [((7, 5), 0, "A"), ((5, 7), 0, "B"), ((5, 5), 0, "tie"), ((7, 6), 1, "tie"), ((None, 5), 0, None)],
)
def test_verdicts_follow_from_scores(scores, margin, said):
    given = verdict("1", "tie", score_a=scores[0], score_b=scores[1], p_a=0.2, p_b=0.2, p_tie=0.6)
    (found,) = verdicts_from_scores([given], margin)
    assert (found.verdict, found.status) == (said, "ok" if said else "unparsed")
    assert found.p_a is None and (found.score_a, found.score_b) == scores


def test_a_failed_verdict_stays_failed():
    failed = verdict("1", None, status="error", raw="x")
    assert verdicts_from_scores([failed]) == [failed]
    with pytest.raises(ValueError, match="negative"):
        verdicts_from_scores([], -1)


def test_scores_follow_from_verdicts():
    pairs = [
        PreferencePair("1", "s", "Q", "x", "y", cluster_id="q"),
        PreferencePair("2", "s", "Q", "y", "z", cluster_id="q"),
        PreferencePair("3", "s", "Other", "x", "y", cluster_id="o"),
    ]
    said = [
        verdict("1", "A"),
        verdict("1", "tie", "ba"),
        verdict("2", "B"),
        verdict("3", "B"),
        verdict("2", None, "ba"),
    ]
    table = scores_from_verdicts(said, pairs).set_index(["cluster", "response"])
    assert table.loc[("q", "x"), "score"] == 0.75 and table.loc[("q", "x"), "n"] == 2
    assert table.loc[("q", "y"), "score"] == pytest.approx(0.5 / 3)
    assert table.loc[("q", "z"), "score"] == 1 and table.loc[("o", "x"), "score"] == 0
    with pytest.raises(KeyError):
        scores_from_verdicts([verdict("9", "A")], pairs)


def test_conflicts_are_counted():
    pairwise = [verdict("1", "A"), verdict("2", "A"), verdict("3", "A"), verdict("4", None)]
    scored = [verdict("1", "A"), verdict("2", "B"), verdict("3", "tie"), verdict("4", "A")]
    table = conflict_table(pairwise, scored[::-1]).set_index("kind")
    assert dict(table["n"]) == {"same": 1, "opposite": 1, "tie_against_choice": 1, "unread": 1}
    assert set(table["rate"]) == {0.25}
    assert set(conflict_table([], [])["n"]) == {0}
    for other in (scored[:3], [*scored, scored[0]]):
        with pytest.raises(ValueError, match="same items"):
            conflict_table(pairwise, other)

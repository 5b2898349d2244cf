"""judgekit.scoring.verdicts_from_scores: verdicts that follow from the scores of single responses."""

import pytest

from judgekit.records import Verdict
from judgekit.scoring import verdicts_from_scores


@pytest.mark.parametrize(("scores", "label"), [((7, 5), "A"), ((5, 7), "B"), ((5, 5), "tie"), ((None, 5), None)])
def test_verdicts_follow_from_scores(scores, label):
    given = Verdict("1", "openai/m", "ab", "tie", 0.2, 0.2, 0.6, *scores)
    (found,) = verdicts_from_scores([given])
    assert (found.verdict, found.status) == (label, "ok" if label else "unparsed")
    assert found.p_a is None and (found.score_a, found.score_b) == scores


def test_a_failed_verdict_stays_failed():
    failed = Verdict("1", "openai/m", "ab", None, status="error", raw="x")
    assert verdicts_from_scores([failed]) == [failed]

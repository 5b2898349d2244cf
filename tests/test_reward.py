"""``reward/``: scores of a reward model as verdicts, whatever the chat template, the batch and the order."""

import json
import shutil

import numpy as np
import pytest
import torch
import yaml
from tiny_causal import save_reward, tiny_tokenizer
from tokenizers import normalizers
from transformers import AutoModelForSequenceClassification

from judgekit.data.paths import PRETRAINED, project_root
from judgekit.judges import Request, load_judge
from judgekit.judges.names import slug
from judgekit.models import Unavailable
from judgekit.models.files import SEAL, digests_of
from judgekit.models.registry import language_models

pytestmark = pytest.mark.usefixtures("exact")

REQUESTS = [
    Request("Name a prime above 10.", "13 is prime.", "The sky is blue."),
    Request("Name a prime above 10.", "The sky is blue.", "13 is prime."),
    Request("And another?", "17", "It rains. " * 40, turns=(("Name a prime.", "2 is prime.", "A prime is 9."),)),
]


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    return save_reward(tiny, tmp_path_factory.mktemp("reward") / "model")


def scores_by_hand(folder, request):
    """Scores of both responses by the library alone: the whole chat in the template, one at a time."""
    tokenizer = tiny_tokenizer()
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1).eval()
    scores = []
    for side, response in enumerate((request.first, request.second)):
        chat = []
        for question, *earlier in request.turns:
            chat += [{"role": "user", "content": question}, {"role": "assistant", "content": earlier[side]}]
        chat += [{"role": "user", "content": request.question}, {"role": "assistant", "content": response}]
        ids = tokenizer.apply_chat_template(chat, return_tensors="pt", return_dict=True)["input_ids"]
        with torch.inference_mode():
            scores.append(float(model(input_ids=ids).logits[0, 0]))
    return scores


@pytest.mark.parametrize("settings", [{}, {"batch_tokens": 1}], ids=["together", "alone"])
def test_the_higher_score_wins_and_its_odds_are_those_of_the_difference(folder, settings):
    replies = load_judge(f"reward/{folder}", settings=settings).judge(REQUESTS)
    for request, reply in zip(REQUESTS, replies, strict=True):
        first, second = scores_by_hand(folder, request)
        assert (reply.score_first, reply.score_second) == pytest.approx((first, second), abs=1e-4)
        assert reply.verdict == ("first" if first > second else "second") and reply.p_tie == 0
        assert np.log(reply.p_first / reply.p_second) == pytest.approx(first - second, abs=1e-3)


@pytest.mark.parametrize(("trained_here", "pad"), [(False, "<|im_start|>"), (True, "<|im_end|>")])
def test_a_model_without_padding_takes_a_token_that_no_chat_ends_with_or_that_of_its_training(
    folder, tmp_path, trained_here, pad
):
    without = shutil.copytree(folder, tmp_path / "model")
    for name in ("config.json", "tokenizer_config.json"):
        fields = json.loads((without / name).read_text(encoding="utf-8"))
        dropped = {key: value for key, value in fields.items() if key not in ("pad_token", "pad_token_id")}
        (without / name).write_text(json.dumps(dropped), encoding="utf-8")
    if trained_here:
        (without / "training.json").write_text("{}", encoding="utf-8")
    judge = load_judge(f"reward/{without}")
    replies = judge.judge(REQUESTS)
    assert judge.tokens.tokenizer.pad_token is None
    assert judge.engine.config.pad_token_id == judge.pad == judge.tokens.tokenizer.convert_tokens_to_ids(pad)
    for request, reply in zip(REQUESTS, replies, strict=True) if not trained_here else ():
        scores = scores_by_hand(folder, request)
        assert (reply.score_first, reply.score_second) == pytest.approx(scores, abs=1e-4)


def test_a_long_response_is_cut_at_its_end_and_what_is_cut_before_it_differs_is_an_error_and_no_tie(folder):
    judge = load_judge(f"reward/{folder}", settings={"max_tokens": 60})
    *_, long = judge.judge(REQUESTS)
    assert long.truncated == 1 and len(judge.tokens.scored_ids(REQUESTS[2].chat("second"), 60)[0]) == 60
    assert judge.fingerprint != load_judge(f"reward/{folder}").fingerprint
    unread, alike = judge.judge([Request("Why? " * 99, "This.", "That."), Request("Why? " * 99, "This.", "This.")])
    assert (unread.status, unread.verdict, alike.verdict) == ("error", None, "tie")
    assert "60 tokens" in unread.raw


def test_responses_that_are_read_as_the_same_tokens_tie_where_nothing_was_cut(folder):
    """At e4594ef1 they were an error that said what differs was cut off."""
    judge = load_judge(f"reward/{folder}")
    judge.tokens.tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    (reply,) = judge.judge([Request("Where?", "caf\u00e9", "cafe\u0301")])
    assert (reply.status, reply.verdict) == ("ok", "tie") and reply.p_first == reply.p_second


def test_ties_come_from_a_fitted_model(tmp_path, folder):
    ties = {"scale": 0.01, "log_nu": 2.0, "n_pairs": 100, "n_ties": 40}
    (tmp_path / "ties.json").write_text(json.dumps(ties), encoding="utf-8")
    judge = load_judge(f"reward/{folder}", settings={"ties": str(tmp_path / "ties.json")})
    assert [reply.verdict for reply in judge.judge(REQUESTS)] == ["tie"] * 3
    with pytest.raises(ValueError, match=r"none.json: no such file"):
        load_judge(f"reward/{folder}", settings={"ties": str(tmp_path / "none.json")})


def test_an_adapter_on_a_base_is_a_reward_model(tiny, tmp_path):
    from peft import LoraConfig, get_peft_model

    model = AutoModelForSequenceClassification.from_pretrained(tiny, num_labels=1)
    adapted = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=2, modules_to_save=["score"])).eval()
    adapted.save_pretrained(tmp_path)
    judge = load_judge(f"reward/{tiny}+{tmp_path}")
    ids = torch.tensor([judge.tokens.scored_ids(REQUESTS[0].chat("first"), judge.limit)[0]])
    with torch.inference_mode():
        score = float(adapted(input_ids=ids).logits[0, 0])
    assert judge.judge(REQUESTS)[0].score_first == pytest.approx(score, abs=1e-4)


def test_what_ships_is_loaded_by_its_name(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("judgekit.models.files.PRETRAINED", tmp_path)
    shipped = shutil.copytree(folder, tmp_path / "reward" / "mine")
    (shipped / "training.json").write_text("{}", encoding="utf-8")
    judge = load_judge("reward/mine")
    assert (judge.name, judge.files.base, judge.trained_here) == ("reward/mine", str(shipped), True)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("reward/smollm2-135m", "SEQ_CLS"),
        ("reward/qwen2.5-coder-0.5b", "SEQ_CLS"),
        ("hf/smollm2-135m-sft", "CAUSAL_LM"),
        ("hf/smollm2-135m-dpo", "CAUSAL_LM"),
        ("hf/qwen2.5-coder-0.5b-sft", "CAUSAL_LM"),
    ],
)
def test_a_shipped_adapter_is_whole_names_a_base_that_can_be_fetched_and_what_make_ship_copies(name, task):
    shipped = PRETRAINED / name
    sealed = json.loads((shipped / SEAL).read_text(encoding="utf-8"))
    assert sealed == digests_of(shipped, ["adapter_model.safetensors"])
    config = json.loads((shipped / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["base_model_name_or_path"] in language_models() and config["task_type"] == task
    method = json.loads((shipped / "training.json").read_text(encoding="utf-8"))["recipe"]["method"]
    trained = slug(config["base_model_name_or_path"])
    params = project_root() / "params" / "laptop" / f"21_train_causal_judge-{trained}.yaml"
    variant = yaml.safe_load(params.read_text(encoding="utf-8"))
    assert method in variant["stages"]
    lines = (project_root() / "Makefile").read_text(encoding="utf-8").splitlines()
    (copied,) = [line for line in lines if line.endswith(f"judgekit/pretrained/{name}/")]
    assert f"outputs/laptop/models/causal_{variant['variant']}/{method} " in copied


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("reward/", "needs a model"),
        ("reward/nobody/nothing", "no such folder"),
        ("reward/{tiny}", r"weights are missing: score\.weight"),  # a causal model
    ],
)
def test_what_is_no_reward_model_is_refused(tiny, name, match, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable, match=match):
        load_judge(name.format(tiny=tiny)).judge(REQUESTS)


def test_damaged_weights_are_an_error_and_no_verdict(folder):
    judge = load_judge(f"reward/{folder}")
    judge.load()
    judge.engine.score.weight.data[:] = float("nan")
    assert {(reply.verdict, reply.status) for reply in judge.judge(REQUESTS)} == {(None, "error")}

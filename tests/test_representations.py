"""Hidden states: what is pooled, that neither padding nor the batch matters, and what the cache holds."""

import warnings

import numpy as np
import pytest
import torch
from tiny_causal import save_tiny
from tiny_encoder import save_tiny_encoder
from watching import watched

from judgekit.inside.probes import Choice, fit_choice
from judgekit.inside.representations import StateCache, inputs_of, states_for
from judgekit.inside.saved_probes import ProbeError, saved_probe
from judgekit.models import Unavailable
from judgekit.models.encoder import native_bf16
from judgekit.models.states import POOLINGS, StateReader, pool

TEXTS = [
    "2",
    "The response is better because it answers the question.",
    "Rate the quality of the response. " * 5,
    "Which of the two is right?\n\nOutput (a) or Output (b)",
]
KINDS = ("bert", "llama", "qwen3")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A tiny random model of each kind, in a folder of its own."""
    root = tmp_path_factory.mktemp("models")
    made = {kind: save_tiny(root / kind, kind) for kind in ("llama", "qwen3")}
    return made | {kind: save_tiny_encoder(root / kind, kind) for kind in ("bert", "roberta", "gpt2")}


@pytest.fixture(scope="module")
def readers(folders):
    return {kind: StateReader(str(folders[kind])) for kind in KINDS}


def relative_gap(found, expected):
    """Largest difference, relative to the size of what is compared where that is above 1."""
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def test_poolings_of_a_worked_example_ignore_padding():
    states = torch.tensor([[[torch.nan, 5.0], [1.0, -2.0], [3.0, 4.0], [99.0, torch.nan]]])
    mask = torch.tensor([[False, True, True, False]])
    found = {name: pool(states, mask, name)[0].tolist() for name in POOLINGS}
    assert found == {"mean": [2.0, 1.0], "last": [3.0, 4.0], "max": [3.0, 4.0]}


@pytest.mark.parametrize("kind", KINDS)
def test_layers_are_numbered_as_documented(readers, kind):
    reader = readers[kind]
    ids = torch.tensor([reader.encoder.token_ids(TEXTS[1], 512)])
    with torch.inference_mode():
        direct = reader.model(input_ids=ids, output_hidden_states=True)
        embedded = reader.model.get_input_embeddings()(ids)
    found = reader.read([TEXTS[1]], ("mean", "last"))
    assert found["mean"].shape == (1, 3, 32) == (1, reader.n_layers, reader.encoder.width)
    for layer, states in enumerate(direct.hidden_states):
        assert relative_gap(found["mean"][0, layer], states[0].mean(0).numpy()) < 1e-5
    assert relative_gap(found["last"][0, -1], direct.last_hidden_state[0, -1].numpy()) < 1e-5
    if kind != "bert":  # BERT adds positions and a norm to its embeddings
        assert relative_gap(found["mean"][0, 0], embedded[0].mean(0).numpy()) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_neither_padding_nor_the_batch_matters(folders, readers, kind):
    alone = [readers[kind].read([text], POOLINGS) for text in TEXTS]
    together = StateReader(str(folders[kind])).read(TEXTS, POOLINGS)
    for name in POOLINGS:
        expected = np.concatenate([values[name] for values in alone])
        assert together[name].shape == expected.shape
        assert relative_gap(together[name], expected) < 1e-4, name
    # The texts and the layers do differ, or equality would say nothing.
    assert np.abs(together["mean"][0] - together["mean"][1]).max() > 0.01
    assert np.abs(together["mean"][:, 1] - together["mean"][:, 2]).max() > 0.01


def test_a_model_that_counts_positions_from_its_padding_id(folders):
    reader = StateReader(str(folders["roberta"]))
    assert reader.limit == 256 - 1  # 256 positions, of which the first is the padding's
    texts = [*TEXTS, "word " * 400]
    alone = np.concatenate([reader.read([text], ("mean",))["mean"] for text in texts])
    assert relative_gap(reader.read(texts, ("mean",))["mean"], alone) < 1e-4


def test_batches_hold_their_budgets(folders, monkeypatch):
    reader = StateReader(str(folders["bert"]))
    reader.batch_tokens = 60
    shapes = watched(monkeypatch, reader, "forward", lambda ids, *_: (len(ids), max(map(len, ids))))
    texts = ["word " * n for n in (1, 2, 3, 4, 5, 8, 13, 21)]
    reader.read(texts, ("mean",))
    assert sum(n for n, _ in shapes) == len(texts) and max(n for n, _ in shapes) > 1
    assert all(n == 1 or n * longest <= 60 for n, longest in shapes)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_blocks_above_the_highest_layer_that_is_read_do_not_run(folders, tmp_path, kind):
    deep = {"llama": lambda: save_tiny(tmp_path, "llama", num_hidden_layers=4)}
    folder = str(deep.get(kind, lambda: folders[kind])())
    top = 2 if kind in deep else 0
    whole, cut = StateReader(folder), StateReader(folder, top=top)
    ran, lists = [], [module for module in cut.model.modules() if isinstance(module, torch.nn.ModuleList)]
    for block in (block for blocks in lists for block in blocks):
        block.register_forward_hook(lambda block, *_: ran.append(block))
    layers = list(range(top + 1))
    found, expected = (reader.read(TEXTS, POOLINGS, layers) for reader in (cut, whole))
    for pooling in POOLINGS:
        np.testing.assert_array_equal(found[pooling], expected[pooling])
    assert len(set(ran)) == top + 1 < whole.n_layers - 1 and cut.fingerprint == whole.fingerprint
    with pytest.raises(ValueError, match=f"layer {top + 1}"):
        cut.read(TEXTS, POOLINGS, [top + 1])


def test_reading_in_bfloat16_is_another_fingerprint_and_near(folders):
    plain, half = StateReader(str(folders["llama"])), StateReader(str(folders["llama"]), bf16=True)
    found, expected = (reader.read(TEXTS, ("mean",))["mean"] for reader in (half, plain))
    assert half.fingerprint != plain.fingerprint and relative_gap(found, expected) < 0.05
    assert (relative_gap(found, expected) > 0) == native_bf16()
    with pytest.raises(ProbeError, match="fingerprint"):
        states_for({"probe": fitted_on(plain, "mean", (1,))[0]}, half, TEXTS)


@pytest.mark.parametrize(
    ("texts", "poolings", "layers", "words"),
    [
        (["a"], ("median",), None, "'median' is none of"),
        (["a"], ("mean",), (3,), "layer 3: .* layers 0 to 2"),
        (["a"], ("mean",), (-1,), "layer -1"),
        (["a", ""], ("mean",), None, "the text '' has no tokens"),
    ],
)
def test_what_cannot_be_read_is_said(readers, texts, poolings, layers, words):
    with pytest.raises(ValueError, match=words):
        readers["llama"].read(texts, poolings, layers)


def test_states_that_overflow_are_not_hidden(folders):
    reader = StateReader(str(folders["llama"]))
    with torch.no_grad():
        reader.model.layers[1].mlp.down_proj.weight.fill_(torch.inf)
    with pytest.raises(ValueError, match="mean of layer 2 is not finite for the text '2'"):
        reader.read(TEXTS[:1], ("mean",))


def fitted_on(reader, pooling, layers):
    """A probe that tells texts with a question mark from others, and what it says of them itself."""
    texts = [f"{text} {mark}" for text in TEXTS for mark in ("?", "!", "? ?", "! !")]
    labels = np.array([("?" in text[-3:]) * 1 for text in texts])
    states = reader.read(texts, (pooling,), layers)
    choice = Choice(pooling, tuple(range(len(layers))), "logistic", {"C": 1.0}, 0, 0)
    probe = fit_choice(choice, states, labels)
    own = probe.predict_proba(states[pooling].reshape(len(texts), -1))
    return saved_probe(probe, "logistic", inputs_of(reader, pooling, layers)), texts, own


@pytest.mark.parametrize("kind", KINDS)
def test_probes_read_what_they_were_fitted_on_in_one_pass(readers, monkeypatch, kind):
    reader = readers[kind]
    made = {"mean": fitted_on(reader, "mean", (1, 2)), "last": fitted_on(reader, "last", (0, 2))}
    passes = watched(monkeypatch, reader, "forward", lambda ids, *given: given)
    texts = made["mean"][1]
    states = states_for({name: probe for name, (probe, _, _) in made.items()}, reader, texts)
    assert passes == [(("last", "mean"), [0, 1, 2])]
    for name, (probe, _, own) in made.items():
        np.testing.assert_allclose(probe.probabilities(states[name]), own, atol=1e-6)


def test_what_is_not_there_is_refused(readers, tmp_path):
    with pytest.raises(ValueError, match="'median' is none of mean"):
        inputs_of(readers["bert"], "median", (1,))
    for layers in ((2, 1), (3,), (1, 1)):
        with pytest.raises(ValueError, match="numbers from 0 to 2"):
            inputs_of(readers["bert"], "mean", layers)
    with pytest.raises(Unavailable, match="no model here"):
        StateReader(str(tmp_path))


@pytest.fixture
def cached(folders, tmp_path):
    return StateReader(str(folders["qwen3"]), cache=StateCache(tmp_path / "states"))


def files_of(reader):
    return sorted(path for path in reader.cache.folder.rglob("*") if path.is_file())


def test_what_is_cached_is_not_computed_again(cached, monkeypatch):
    first = cached.read(TEXTS, ("mean", "last"), layers=(1,))
    assert len(files_of(cached)) == 2 * len(TEXTS)
    passes = watched(monkeypatch, cached, "forward", lambda ids, poolings, *_: poolings)
    again = cached.read(TEXTS[::-1], ("mean", "last"), layers=(0, 1))
    assert passes == [] and (again["mean"][::-1, 1:] == first["mean"]).all()
    cached.read([*TEXTS, "another text, and half a character: \ud800"], ("mean", "max"))
    assert sorted(passes) == [("max",), ("mean", "max")]  # what is there is not read again


@pytest.mark.parametrize("other", [{"limit": 12}, {"name": "bert"}])
def test_readers_that_read_otherwise_share_a_folder_and_no_file(folders, cached, other):
    texts = TEXTS[2:3]
    cached.read(texts, ("mean",))
    settings = {name: value for name, value in other.items() if name != "name"}
    folder = str(folders[other.get("name", "qwen3")])
    alone = StateReader(folder, **settings).read(texts, ("mean",))["mean"]
    shared = StateReader(folder, cache=cached.cache, **settings).read(texts, ("mean",))["mean"]
    assert (shared == alone).all() and len(files_of(cached)) == 2


@pytest.mark.parametrize("damaged", [b"not a safetensors file", None])
def test_a_file_that_cannot_be_read_is_computed_again(cached, damaged):
    expected = cached.read(TEXTS[:1], ("mean",))["mean"]
    (path,) = files_of(cached)
    path.write_bytes(damaged or path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=path.name):
        assert (cached.read(TEXTS[:1], ("mean",))["mean"] == expected).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been written anew
        cached.read(TEXTS[:1], ("mean",))


def test_an_interrupted_write_leaves_no_file(cached, monkeypatch):
    def interrupted(tensors, path):
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr("judgekit.inside.representations.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached.read(TEXTS[:1], ("mean",))
    assert files_of(cached) == []

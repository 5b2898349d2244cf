"""Causal language models that are built on the spot: two random layers, a tokenizer trained on a few lines."""

import json

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, PreTrainedTokenizerFast

from judgekit.data.paths import PACKAGE
from judgekit.prompts import strategy_names

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "⟦stop⟧"]  # the last one no list of ours knows
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXTS = [(PACKAGE / f"prompts/strategies/{name}.txt").read_text("utf-8") for name in strategy_names()] + [
    "Rating: [[1]] Rating: [[5]] Rating: [[10]] [[A]] [[B]] [[C]] Output (a) is better. Output (b) is better. " * 9
]
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
}


def tiny_tokenizer(digits_alone=True, template=CHATML, texts=(), vocab_size=700):
    """A byte-level BPE tokenizer; ``digits_alone`` keeps every digit a token of its own, as Qwen does."""
    core = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    steps = [pre_tokenizers.Split(Regex(r"\d"), "isolated")] if digits_alone else []
    core.pre_tokenizer = pre_tokenizers.Sequence([*steps, byte_level])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator([*TEXTS, *texts], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "⟦stop⟧"],
        chat_template=template,
    )


def tiny_model(tokenizer, kind="qwen3", seed=0, sharp=6.0, **more):
    """A random model of a kind (a ``model_type`` of transformers).

    ``sharp`` spreads its logits, so that probabilities differ by more than a rounding error.
    """
    torch.manual_seed(seed)
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    shape = SHAPE | {"tie_word_embeddings": False, "vocab_size": len(tokenizer)} | more
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **ids, **shape)).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(sharp)
        for name, weight in model.named_parameters():
            if "proj" in name:
                weight.mul_(sharp)
    return model


def save_tiny(folder, kind="qwen3", digits_alone=True, template=CHATML, **more):
    """A tiny model in a folder, as ``hf/`` reads it."""
    tokenizer = tiny_tokenizer(digits_alone, template)
    tiny_model(tokenizer, kind, **more).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_adapter(folder, place, modules=("q_proj", "v_proj")):
    """A LoRA adapter on the model of a folder, its weights far from zero."""
    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=list(modules), task_type="CAUSAL_LM", init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(folder), config).save_pretrained(place)
    return place


def save_reward(folder, place):
    """A reward model on the causal model of a folder; its scores are spread, so that no two are equal."""
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
    with torch.no_grad():
        model.score.weight.mul_(50)
    model.save_pretrained(place)
    PreTrainedTokenizerFast.from_pretrained(folder).save_pretrained(place)
    return place


def change_json(path, **fields):
    """Give fields of a JSON file other values."""
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def short_of_memory(monkeypatch, engine, too_much):
    """Let a network's forward pass fail above a size (rows, columns), as on a full device; the sizes asked for."""
    forward, seen = engine.model.forward, []

    def limited(*args, **more):
        seen.append(tuple(more["input_ids"].shape))
        if too_much(*seen[-1]):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(*args, **more)

    monkeypatch.setattr(engine.model, "forward", limited)
    return seen


def teach(folder, prompts, replies, steps=40):
    """Train the model of a folder until it replies as it should (loss below a hundredth), and save it there."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).train()
    ends = [tokenizer(reply, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id] for reply in replies]
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        losses = []
        for prompt, end in zip(prompts, ends, strict=True):
            ids = torch.tensor([[*prompt, *end]])
            logits = model(input_ids=ids, logits_to_keep=len(end) + 1).logits[0, :-1]
            losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(end)))
        loss = torch.stack(losses).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.01, f"the tiny model did not learn its lines ({loss:.3f})"
    model.eval().save_pretrained(folder)
    return folder

"""Encoders (and GPT-2) that are built on the spot: two random layers, and the tiny causal models' tokenizer, framed."""

import torch
from tiny_causal import tiny_tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, RobertaConfig, RobertaModel

KINDS = {"bert": (BertConfig, BertModel), "roberta": (RobertaConfig, RobertaModel), "gpt2": (GPT2Config, GPT2Model)}
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 256}


def save_tiny_encoder(folder, kind="bert", seed=0, sharp=6.0):
    """A tiny model in a folder, its texts framed as BERT frames them; ``sharp`` keeps the states of tokens apart."""
    tokenizer = tiny_tokenizer()
    start, end = "<|im_start|>", "<|im_end|>"
    ids = [(token, tokenizer.convert_tokens_to_ids(token)) for token in (start, end)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single=f"{start} $A {end}", special_tokens=ids)
    torch.manual_seed(seed)
    config, made = KINDS[kind]
    shape = SHAPE | ({} if kind == "gpt2" else {"intermediate_size": 48})
    model = made(config(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **shape)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name and "ln_" not in name:
                weight.mul_(sharp)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

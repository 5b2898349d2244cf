"""Scores from all layers of a causal language model, not from its last one alone.

The output head is applied to the hidden state of every layer where the model is about to write a score; the logits of
the score tokens are then weighted over layers, and the expected score is taken (LAGER, earlier PalmScore, arXiv
2508.03550). Layers are numbered as in `judgekit.models.states`: 0 is the embedding output, and the last one has been
through the final norm.
"""

"""Scores from all layers of a causal language model, not from its last one alone.

The output head is applied to the hidden state of every layer where the model is about to write a score; the logits of
the score tokens are then weighted over layers, and the expected score is taken (LAGER, earlier PalmScore, arXiv
2508.03550). Layers are numbered as in `inside.representations`: 0 is the embedding output, and the last one has been
through the final norm.

`scale` says which tokens are scores, `asking` puts responses as prompts, `head` and `reading` run the model,
`aggregation` makes scores of logits, `weights` learns from `rated` items how much each layer counts, `saved` keeps
that in a file, and `evaluation` holds scores against people's. `study` sets every method beside the others, `uses` has
two uses beyond judging, and `reference` compares with the published code.
"""

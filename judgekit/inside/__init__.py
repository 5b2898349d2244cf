"""Judging from inside a frozen model: probes on hidden states, layer-wise scores, ratings of single responses."""

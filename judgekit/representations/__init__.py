"""Hidden states of a language model: pooled over tokens, one vector per text and layer, and kept on disk.

Layers are numbered as transformers numbers hidden states: 0 is the embedding output, ``l`` the output of block ``l``
(counted from 1), and the last one has been through the final norm where the model has one (Llama, Qwen; not BERT).
"""

"""Edits that make a response look better to a judge without making it better: text in, text out.

Attacks (`judgekit.bias.attacks`) apply them to the response that people preferred less; training (`judgekit.training`)
teaches judges to see through some of them.
"""

from judgekit.bias.tampering.edits import CONTROLS, EDITS, HELD_OUT, REPLACING, TRAINABLE, Edit, tampered

__all__ = ["CONTROLS", "EDITS", "HELD_OUT", "REPLACING", "TRAINABLE", "Edit", "tampered"]

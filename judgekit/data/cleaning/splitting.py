"""Training and validation parts by prompt, and a table of what went where."""

import hashlib

from judgekit.data.cleaning.texts import normalise


def is_held_out(item, validation_share=0.12, seed=0):
    """Whether an item belongs to validation: decided by its first question alone.

    Pairs and single responses to one question therefore stand on the same side.
    """
    text = f"{seed}:{normalise(item.turns[0].question if item.turns else item.question)}"
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16) / 16**8 < validation_share


def split_by_prompt(items, validation_share=0.12, seed=0):
    """Split items into training and validation by prompt: no question stands in both.

    Parameters
    ----------
    items : list of PreferencePair or of Response
    validation_share : float
        Expected share of prompts in validation, in [0, 1].
    seed : int

    Returns
    -------
    train, validation : list
    """
    held_out = [is_held_out(item, validation_share, seed) for item in items]
    train = [item for item, held in zip(items, held_out, strict=True) if not held]
    return train, [item for item, held in zip(items, held_out, strict=True) if held]


def split_table(parts, set_column="benchmark"):
    """Which item is in which part: a table of set, item_id and split, in stable order.

    Parameters
    ----------
    parts : dict of str to list of PreferencePair or of Response
        Part name (``train``, ``validation``) to its items.
    set_column : str
        What the column with the set's name is called.
    """
    import pandas as pd

    rows = [(item.benchmark, item.item_id, name) for name, items in parts.items() for item in items]
    return pd.DataFrame(sorted(rows), columns=[set_column, "item_id", "split"])

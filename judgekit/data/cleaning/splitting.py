"""Training and validation parts by prompt, and a table of what went where."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgekit.data.cleaning.dropping import Item
from judgekit.data.cleaning.texts import normalise

if TYPE_CHECKING:
    import pandas as pd


def is_held_out(item: Item, validation_share: float = 0.12, seed: int = 0) -> bool:
    """Whether an item belongs to validation: decided by its first question alone.

    Pairs and single responses to one question therefore stand on the same side.
    """
    text = f"{seed}:{normalise(item.turns[0].question if item.turns else item.question)}"
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16) / 16**8 < validation_share


def split_by_prompt(
    items: Sequence[Item], validation_share: float = 0.12, seed: int = 0
) -> tuple[list[Item], list[Item]]:
    """Training and validation items, split by prompt: no question stands in both.

    ``validation_share``: expected share of prompts in validation, in [0, 1].
    """
    held_out = [is_held_out(item, validation_share, seed) for item in items]
    train = [item for item, held in zip(items, held_out, strict=True) if not held]
    return train, [item for item, held in zip(items, held_out, strict=True) if held]


def split_table(parts: dict[str, list[Item]], set_column: str = "benchmark") -> "pd.DataFrame":
    """Which item is in which part (``train``, ``validation``): a table of set, item_id and split, in stable order.

    ``set_column``: what the column with the set's name is called.
    """
    import pandas as pd

    rows = [(item.benchmark, item.item_id, name) for name, items in parts.items() for item in items]
    return pd.DataFrame(sorted(rows), columns=[set_column, "item_id", "split"])

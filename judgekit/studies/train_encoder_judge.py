"""What `20_train_encoder_judge` and the notebooks after it read: the pairs and single responses that cleaning kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from judgekit.data.catalogue import answer_set_hashes, load_answer_set_with_report, load_set, set_hashes
from judgekit.records import PreferencePair, Response
from judgekit.training.constructed import KINDS
from judgekit.training.mixture import select_split


@dataclass(frozen=True)
class Cleaned:
    """What `10_clean_preferences` kept, as a training reads it; training and validation share no prompt."""

    train: list[PreferencePair]
    validation: dict[str, list[PreferencePair]]  # by set
    answers: list[Response]  # single responses: every question teaches relevance
    held_out_answers: list[Response]
    hashes: dict[str, str]  # file to SHA-256


def read_cleaned(
    split: pd.DataFrame,
    answer_split: pd.DataFrame,
    shares: Mapping[str, float],
    validation_sets: Sequence[str],
    max_validation: int,
    max_answers: int,
) -> Cleaned:
    """The texts of the tables ``training_split`` and ``training_answers``: the corpora of ``shares`` and some sets.

    ``max_answers``: of each source and part. ValueError where a corpus of the mixture or a validation set has no pair.
    """
    corpora = [name for name in shares if name not in KINDS]
    pairs = {name: load_set(name) for name in [*corpora, *validation_sets] if name in set(split["benchmark"])}
    train = select_split(split[split["benchmark"].isin(corpora)], pairs, "train")
    chosen = split[split["benchmark"].isin(validation_sets)]
    validation = select_split(chosen, pairs, "validation", by_set=True, limit=max_validation)
    if missing := (set(corpora) - {pair.benchmark for pair in train}) | (set(validation_sets) - set(validation)):
        raise ValueError(f"{min(missing)}: cleaning kept no pair of it for this part")
    answer_split = answer_split.rename(columns={"source": "benchmark"})
    answers = {name: load_answer_set_with_report(name)[0] for name in answer_split["benchmark"].unique()}
    own, held_out = (select_split(answer_split, answers, part, limit=max_answers) for part in ("train", "validation"))
    hashes = set_hashes(pairs) | answer_set_hashes(answers)
    return Cleaned(train, {name: validation[name] for name in validation_sets}, own, held_out, hashes)

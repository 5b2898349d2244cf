"""What people agree on: consensus of votes, how good it is, how good the voters are, and judges held against it.

Modules that are not named here: `alt_test` (may a judge stand in for a person), `active` (what to label next),
`active_sampling` (measuring a judge on chosen items).

Votes are made by `data.votes`, where every row has a key. A consensus that reads a judge's probabilities refuses
those of other rows.
"""

from judgekit.people.consensus.agreement import consistent_triples, judge_with_people, people_with_people, verdicts_on
from judgekit.people.consensus.held_out import held_out_losses, held_out_table
from judgekit.people.consensus.judges import keys_sorted, original_table, own_vote_table, score_table
from judgekit.people.consensus.methods import (
    METHOD_TITLES,
    Consensus,
    crowdlab,
    dawid_skene,
    glad,
    knows_nothing,
    mace,
    majority,
    methods_with,
)
from judgekit.people.consensus.planted import (
    REGIMES,
    against_truth,
    rank_agreement,
    sample_rates,
    simulated,
    simulated_numbers,
)
from judgekit.people.consensus.quality import annotator_quality, group_quality, own_numbers, quality_table
from judgekit.people.consensus.sets import joined, joined_probabilities, label_table, voted_set

__all__ = [
    "METHOD_TITLES",
    "REGIMES",
    "Consensus",
    "against_truth",
    "annotator_quality",
    "consistent_triples",
    "crowdlab",
    "dawid_skene",
    "glad",
    "group_quality",
    "held_out_losses",
    "held_out_table",
    "joined",
    "joined_probabilities",
    "judge_with_people",
    "keys_sorted",
    "knows_nothing",
    "label_table",
    "mace",
    "majority",
    "methods_with",
    "original_table",
    "own_numbers",
    "own_vote_table",
    "people_with_people",
    "quality_table",
    "rank_agreement",
    "sample_rates",
    "score_table",
    "simulated",
    "simulated_numbers",
    "verdicts_on",
    "voted_set",
]

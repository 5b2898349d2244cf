"""What people agree on: consensus of votes, how good it is, how good the voters are, and judges held against it.

Modules that are not named here: `alt_test` (may a judge stand in for a person), `active` and `gain_curves` (what to
label next), `active_sampling` (measuring a judge on chosen items).

Votes are made by `data.votes`, where every row has a key. A consensus that reads a judge's probabilities refuses
those of other rows.
"""

from judgekit.people.consensus.agreement import judge_with_people, people_with_people, verdicts_on
from judgekit.people.consensus.consistency import consistent_triples
from judgekit.people.consensus.crowdlab import CrowdLab, crowdlab, knows_nothing
from judgekit.people.consensus.found import Consensus
from judgekit.people.consensus.held_out import held_out_losses, held_out_table, hidden_votes
from judgekit.people.consensus.judges import (
    judged_against,
    keys_sorted,
    original_table,
    own_vote_table,
    score_table,
    with_voter,
)
from judgekit.people.consensus.majority import majority
from judgekit.people.consensus.models import dawid_skene, glad, mace
from judgekit.people.consensus.own import own_numbers, votes_of_page
from judgekit.people.consensus.planted import Panel, Planted, planted_votes
from judgekit.people.consensus.quality import annotator_quality, group_quality, quality_table
from judgekit.people.consensus.sets import VotedSet, joined, joined_probabilities, label_table, voted_set
from judgekit.people.consensus.study import METHOD_TITLES, REGIMES, methods_with, simulated, simulated_numbers
from judgekit.people.consensus.truth import against_truth, rank_agreement, sample_rates

__all__ = [
    "METHOD_TITLES",
    "REGIMES",
    "Consensus",
    "CrowdLab",
    "Panel",
    "Planted",
    "VotedSet",
    "against_truth",
    "annotator_quality",
    "consistent_triples",
    "crowdlab",
    "dawid_skene",
    "glad",
    "group_quality",
    "held_out_losses",
    "held_out_table",
    "hidden_votes",
    "joined",
    "joined_probabilities",
    "judge_with_people",
    "judged_against",
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
    "planted_votes",
    "quality_table",
    "rank_agreement",
    "sample_rates",
    "score_table",
    "simulated",
    "simulated_numbers",
    "verdicts_on",
    "voted_set",
    "votes_of_page",
    "with_voter",
]

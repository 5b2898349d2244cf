"""What people agree on: consensus of votes, how good it is, how good the voters are, and judges held against it.

Modules: `methods`, `held_out` (which method foretells a vote), `quality` (annotators), `agreement`, `judges` (against a
consensus), `alt_test` (may a judge stand in for a person), `active` (what to label next), `active_sampling` (measuring
a judge on chosen items), `planted` (known truths), `sets`. Votes are made by `data.votes`, where every row has a key. A
consensus that reads a judge's probabilities refuses those of other rows.
"""

from judgekit.people.consensus.held_out import held_out_losses, held_out_table
from judgekit.people.consensus.judges import own_vote_table
from judgekit.people.consensus.methods import crowdlab, dawid_skene, majority
from judgekit.people.consensus.quality import annotator_quality

__all__ = [
    "annotator_quality",
    "crowdlab",
    "dawid_skene",
    "held_out_losses",
    "held_out_table",
    "majority",
    "own_vote_table",
]

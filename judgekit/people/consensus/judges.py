"""Judges held against a consensus of people, and what changes when the judge votes in it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.people.consensus.agreement import share_number
from judgekit.people.consensus.methods import Consensus, Method, crowdlab
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Array, Number, cluster_bootstrap, cluster_sums, resampled_sums, share_of, two_sided_p

# Verdicts are class codes, shape (n_items,), -1 where there is none: `people.consensus.agreement.verdicts_on`.


def with_voter(votes: Votes, name: str, codes: Array) -> Votes:
    """Votes with one more annotator: a judge's verdicts, as if it were a person."""
    joined = np.column_stack([votes.codes, np.asarray(codes, int)])
    return Votes(votes.items, (*votes.annotators, name), joined, votes.classes, votes.clusters)


def judged_against(
    consensus: Consensus,
    codes: Array,
    clusters: Sequence,
    chosen: Array = True,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> Number:
    """Share of the items with a verdict and a label on which the two agree; ``chosen`` further limits the items."""
    kept = (np.asarray(codes) != NO_VOTE) & (consensus.labels != NO_VOTE) & chosen
    return share_number((consensus.labels == codes) & kept, kept, clusters, n_boot, seed)


def inflation(
    alone: Consensus, own: Consensus, codes: Array, clusters: Sequence, n_boot: int = N_BOOT, seed: int = 0
) -> Number:
    """How much a judge's score rises from the consensus without its vote to the one with it, items paired."""
    kept = (np.asarray(codes) != NO_VOTE) & (alone.labels != NO_VOTE) & (own.labels != NO_VOTE)
    rise = (own.labels == codes).astype(float) - (alone.labels == codes)
    sums = cluster_sums(np.column_stack([rise * kept, kept])[kept], np.asarray(clusters)[kept])
    return Number(*cluster_bootstrap(sums, share_of, n_boot, seed), n=int(kept.sum()), spec=".1%")


def own_vote_table(
    votes: Votes,
    codes: Array,
    methods: Mapping[str, Method],
    alone: Mapping[str, Consensus] | None = None,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """A judge's score under each consensus: columns method, left_out, own_vote (with its vote in it), inflation.

    ``votes`` are of people only; ``alone``: what the methods made of them, made here by default.
    """
    with_judge, rows = with_voter(votes, "the judge", codes), []
    for name, method in methods.items():
        people, own = alone[name] if alone else method(votes), method(with_judge)
        row: dict[str, object] = {"method": name}
        for part, consensus in (("left_out", people), ("own_vote", own)):
            row[part] = judged_against(consensus, codes, votes.clusters, n_boot=n_boot, seed=seed)
        rows.append(row | {"inflation": inflation(people, own, codes, votes.clusters, n_boot, seed)})
    return pd.DataFrame(rows)


def score_table(
    consensuses: Mapping[str, Consensus],
    judges: Mapping[str, Array],
    clusters: Sequence,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """Judges against several consensuses, on the items that all judges have verdicts on.

    Columns judge, method, accuracy, rank (1 is best) and p_value of the difference from the next judge of the same
    consensus (None for the last one).
    """
    shared = np.all([np.asarray(codes) != NO_VOTE for codes in judges.values()], 0)
    rows = []
    for method, consensus in consensuses.items():
        scores = {name: judged_against(consensus, own, clusters, shared, n_boot, seed) for name, own in judges.items()}
        ranked = sorted(scores, key=lambda name: -scores[name].value)
        kept = shared & (consensus.labels != NO_VOTE)
        for rank, (judge, behind) in enumerate(zip(ranked, [*ranked[1:], None], strict=True), 1):
            row = {"judge": judge, "method": method, "accuracy": scores[judge], "rank": rank, "p_value": None}
            if behind is not None:
                lead = (consensus.labels == judges[judge]).astype(float) - (consensus.labels == judges[behind])
                sums = cluster_sums(lead[kept], np.asarray(clusters)[kept])
                row["p_value"] = two_sided_p(resampled_sums(sums, n_boot, seed))
            rows.append(row)
    return pd.DataFrame(rows)


def keys_sorted(probabilities: ClassProbabilities) -> ClassProbabilities:
    """Probabilities whose keys were sorted while the rows stayed: the misalignment of the original notebook.

    There the votes are a pivot, whose keys are sorted, and the probabilities an array in the order of the file.
    """
    return ClassProbabilities(tuple(sorted(probabilities.items)), probabilities.values, probabilities.classes)


def original_table(
    votes: Votes, codes: Array, probabilities: ClassProbabilities, n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """What the original notebook's two mistakes do to the judge that it grades, on the items that it has verdicts on.

    One row for each of {left out, own vote} and {aligned, misaligned}: columns vote, rows, agreement (of the judge with
    CROWDLAB's consensus), changed (labels that differ from those of the first row) and weight (of the other judge,
    whose ``probabilities`` CROWDLAB reads, in votes of a mean annotator).
    """
    kept = np.asarray(codes) != NO_VOTE
    votes, codes = votes.at(kept), np.asarray(codes)[kept]
    stated, rows, first = probabilities.at(votes.items), [], None
    for vote, people in (("left out", votes), ("own vote", with_voter(votes, "the judge", codes))):
        for order, values in (("aligned", stated), ("misaligned", keys_sorted(stated).at(votes.items))):
            outcome = crowdlab(people, values)
            first = first or outcome.consensus
            changed = (outcome.consensus.labels != first.labels).astype(float)
            row: dict[str, object] = {"vote": vote, "rows": order}
            row["agreement"] = judged_against(outcome.consensus, codes, votes.clusters, n_boot=n_boot, seed=seed)
            row["changed"] = share_number(changed, np.ones(len(codes)), votes.clusters, n_boot, seed)
            weights = np.array(list(outcome.annotator_weight.values()))
            rows.append(row | {"weight": outcome.model_weight / weights.mean()})
    return pd.DataFrame(rows)

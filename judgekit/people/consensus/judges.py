"""Judges held against a consensus of people, and what changes when the judge votes in it."""

import numpy as np
import pandas as pd

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.people.consensus.agreement import share_number
from judgekit.people.consensus.crowdlab import crowdlab
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Number, cluster_bootstrap, cluster_sums, resampled_sums, two_sided_p


def with_voter(votes, name, said):
    """Votes with one more annotator: what a judge says, as if it were a person.

    Parameters
    ----------
    votes : Votes
    name : str
    said : array of int, shape (n_items,)
        -1 where there is no verdict.
    """
    codes = np.column_stack([votes.codes, np.asarray(said, int)])
    return Votes(votes.items, (*votes.annotators, name), codes, votes.classes, votes.clusters)


def judged_against(consensus, said, clusters, chosen=None, n_boot=N_BOOT, seed=0):
    """Share of items on which a judge says what the consensus says.

    Parameters
    ----------
    consensus : Consensus
    said : array of int, shape (n_items,)
        -1 where there is no verdict: such items, and those without a label, are left out.
    clusters : sequence, length n_items
    chosen : array of bool, shape (n_items,), optional
        Further limits the items.

    Returns
    -------
    Number
    """
    told = (np.asarray(said) != NO_VOTE) & (consensus.labels != NO_VOTE)
    told &= True if chosen is None else np.asarray(chosen)
    return share_number((consensus.labels == said) & told, told, clusters, n_boot, seed)


def inflation(alone, own, said, clusters, chosen=None, n_boot=N_BOOT, seed=0):
    """How much a judge's score rises when it votes in its own consensus.

    Parameters
    ----------
    alone, own : Consensus
        Without and with its vote, on the same items.
    said, clusters, chosen
        As for `judged_against`.

    Returns
    -------
    Number
        Difference of the two shares; prompts are resampled, items paired.
    """
    told = (np.asarray(said) != NO_VOTE) & (alone.labels != NO_VOTE) & (own.labels != NO_VOTE)
    told &= True if chosen is None else np.asarray(chosen)
    rise = (own.labels == said).astype(float) - (alone.labels == said)
    sums = cluster_sums(np.column_stack([rise * told, told])[told], np.asarray(clusters)[told])
    value, low, high = cluster_bootstrap(sums, lambda s: s[..., 0] / s[..., 1], n_boot, seed)
    return Number(value, low, high, n=int(told.sum()), spec=".1%")


def own_vote_table(votes, said, methods, alone=None, n_boot=N_BOOT, seed=0):
    """A judge's score under each consensus, with the judge left out and with its vote in it.

    Parameters
    ----------
    votes : Votes
        Of people only.
    said : array of int, shape (n_items,)
    methods : dict of str to callable
        Votes to `Consensus` on the same items.
    alone : dict of str to Consensus, optional
        What the methods made of the people's votes; made here by default.

    Returns
    -------
    pandas.DataFrame
        Columns ``method``, ``left_out``, ``own_vote``, ``inflation`` (`Number`).
    """
    joined, rows = with_voter(votes, "the judge", said), []
    for name, method in methods.items():
        people, own = alone[name] if alone else method(votes), method(joined)
        row = {"method": name}
        for part, consensus in (("left_out", people), ("own_vote", own)):
            row[part] = judged_against(consensus, said, votes.clusters, None, n_boot, seed)
        rows.append(row | {"inflation": inflation(people, own, said, votes.clusters, None, n_boot, seed)})
    return pd.DataFrame(rows)


def score_table(consensuses, judges, clusters, chosen=None, n_boot=N_BOOT, seed=0):
    """Judges against several consensuses, on the items that all judges have verdicts on.

    Parameters
    ----------
    consensuses : dict of str to Consensus
    judges : dict of str to array of int
        Judge to verdicts, in the rows of the consensuses.
    clusters : sequence, length n_items

    Returns
    -------
    pandas.DataFrame
        Columns ``judge``, ``method``, ``accuracy`` (`Number`), ``rank`` (1 is best) and ``p_value`` of the difference
        from the next judge of the same consensus (None for the last one).
    """
    shared = np.all([np.asarray(said) != NO_VOTE for said in judges.values()], 0)
    shared &= True if chosen is None else np.asarray(chosen)
    rows = []
    for method, consensus in consensuses.items():
        scores = {
            judge: judged_against(consensus, said, clusters, shared, n_boot, seed) for judge, said in judges.items()
        }
        ranked = sorted(scores, key=lambda judge: -scores[judge].value)
        for rank, judge in enumerate(ranked, 1):
            behind = ranked[rank] if rank < len(ranked) else None
            told = shared & (consensus.labels != NO_VOTE)
            p_value = None
            if behind is not None:
                lead = (consensus.labels == judges[judge]).astype(float) - (consensus.labels == judges[behind])
                p_value = lead_p(lead[told], np.asarray(clusters)[told], n_boot, seed)
            row = {"judge": judge, "method": method, "accuracy": scores[judge], "rank": rank}
            rows.append(row | {"p_value": p_value})
    return pd.DataFrame(rows)


def lead_p(lead, clusters, n_boot, seed):
    """P-value of a mean difference, prompts resampled."""
    return two_sided_p(resampled_sums(cluster_sums(lead, clusters), n_boot, seed))


def keys_sorted(probabilities):
    """Probabilities whose keys were sorted while the rows stayed: the misalignment of the original notebook.

    There the votes are a pivot, whose keys are sorted, and the probabilities an array in the order of the file.
    """
    return ClassProbabilities(tuple(sorted(probabilities.items)), probabilities.values, probabilities.classes)


def original_table(votes, said, probabilities, n_boot=N_BOOT, seed=0):
    """What the original notebook's two mistakes do to the judge that it grades.

    Parameters
    ----------
    votes : Votes
        Of people only.
    said : array of int, shape (n_items,)
        The graded judge's verdicts; only items that have one are used.
    probabilities : ClassProbabilities
        Of another judge, for CROWDLAB, in the rows of the votes.

    Returns
    -------
    pandas.DataFrame
        One row for each of {left out, own vote} and {aligned, misaligned}: columns ``vote``, ``rows``, ``agreement``
        (of the judge with CROWDLAB's consensus), ``changed`` (labels that differ from those of the first row) and
        ``weight`` (of the judge with probabilities, in votes of a mean annotator).
    """
    told = np.asarray(said) != NO_VOTE
    votes, said = votes.at(told), np.asarray(said)[told]
    stated = probabilities.at(votes.items)
    rows, first = [], None
    for vote, people in (("left out", votes), ("own vote", with_voter(votes, "the judge", said))):
        for order, values in (("aligned", stated), ("misaligned", keys_sorted(stated).at(votes.items))):
            found = crowdlab(people, values)
            first = first or found.consensus
            changed = (found.consensus.labels != first.labels).astype(float)
            row = {"vote": vote, "rows": order}
            row["agreement"] = judged_against(found.consensus, said, votes.clusters, None, n_boot, seed)
            row["changed"] = share_number(changed, np.ones(len(said)), votes.clusters, n_boot, seed)
            weights = np.array(list(found.annotator_weight.values()))
            rows.append(row | {"weight": found.model_weight / weights.mean()})
    return pd.DataFrame(rows)

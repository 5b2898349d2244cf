"""How well people agree with each other on the items that judges are scored on: the ceiling of every table."""

from itertools import combinations

import numpy as np

from judgekit import metrics
from judgekit.agreement import coincidences, fleiss_kappa, fleiss_sums, krippendorff_alpha, rating_counts
from judgekit.intervals import cluster_bootstrap, cluster_sums
from judgekit.records import LABELS, SWAPPED, majority_label
from judgekit.results import Number
from judgekit.scoring.gold import chosen_votes
from judgekit.scoring.scores import N_BOOT, share_of


def annotators_of(pairs):
    """The annotators of a set on which every item has the same ones (PandaLM).

    Raises
    ------
    ValueError
        If items differ in their annotators: `vote_agreement` is for those.
    """
    if not pairs:
        raise ValueError("no pairs")
    names = list(pairs[0].votes)
    for pair in pairs:
        if set(pair.votes) != set(names):
            raise ValueError(f"{pair.where}: votes of {', '.join(pair.votes) or 'nobody'}, not of {', '.join(names)}")
    return names


def have_one_panel(pairs):
    """Whether every item was annotated by the same people, two or more."""
    panels = {frozenset(pair.votes) for pair in pairs}
    return len(panels) == 1 and len(next(iter(panels))) > 1


def annotators_against_majority(pairs, n_boot=N_BOOT, seed=0):
    """Share of items on which each annotator says what the majority says, their own vote included.

    Returns
    -------
    dict of str to Number
        Annotator to share. Items without a majority are left out.
    """
    pairs = [pair for pair in pairs if pair.label is not None]
    clusters = [pair.cluster for pair in pairs]
    found = {}
    for name in annotators_of(pairs):
        right = [[pair.votes[name] == pair.label, 1] for pair in pairs]
        found[name] = bounded(cluster_sums(right, clusters), share_of, len(pairs), n_boot, seed, ".1%")
    return found


def annotators_against_others(pairs, n_boot=N_BOOT, seed=0):
    """Share of items on which each annotator says what the majority of the others says.

    Returns
    -------
    dict of str to Number
        Annotator to share; ``n`` counts the items on which the others have a majority (of two: agree).

    Raises
    ------
    ValueError
        If the others never have one.

    Notes
    -----
    Unlike `annotators_against_majority` no annotator helps to make the label they are held against. But the items
    are the easier ones, those on which the others agree, and they differ from annotator to annotator.
    """
    found = {}
    for name in annotators_of(pairs):
        rows, clusters = [], []
        for pair in pairs:
            others = majority_label({who: label for who, label in pair.votes.items() if who != name})
            if others is not None:
                rows.append([pair.votes[name] == others, 1])
                clusters.append(pair.cluster)
        if not rows:
            raise ValueError(f"the annotators beside {name} never have a majority")
        found[name] = bounded(cluster_sums(rows, clusters), share_of, len(rows), n_boot, seed, ".1%")
    return found


def annotators_with_each_other(pairs, n_boot=N_BOOT, seed=0):
    """Raw agreement and Cohen's kappa of every two annotators.

    Returns
    -------
    dict of (str, str) to dict
        Two annotators to ``{"agreement": Number, "kappa": Number}``.
    """
    clusters = [pair.cluster for pair in pairs]
    found = {}
    for first, second in combinations(annotators_of(pairs), 2):
        codes = [metrics.label_codes([pair.votes[name] for pair in pairs]) for name in (first, second)]
        sums = cluster_sums(metrics.confusion(*codes), clusters)
        found[first, second] = {
            "agreement": bounded(sums, metrics.accuracy, len(pairs), n_boot, seed, ".1%"),
            "kappa": bounded(sums, metrics.cohen_kappa, len(pairs), n_boot, seed, ".3f"),
        }
    return found


def chance_corrected(pairs, n_boot=N_BOOT, seed=0):
    """Fleiss' kappa and Krippendorff's alpha over all votes of a set.

    Returns
    -------
    dict of str to Number
        ``alpha``; and ``fleiss_kappa`` where every item has equally many votes.
    """
    voted = [pair for pair in pairs if pair.votes]
    if not voted:
        raise ValueError("no pair has votes")
    clusters = [pair.cluster for pair in voted]
    widest = max(len(pair.votes) for pair in voted)
    ratings = [[*metrics.label_codes(pair.votes.values()), *[-1] * (widest - len(pair.votes))] for pair in voted]
    counts = rating_counts(ratings, len(LABELS))
    sums = cluster_sums(coincidences(counts), clusters)
    found = {"alpha": bounded(sums, krippendorff_alpha, len(voted), n_boot, seed, ".3f")}
    if widest > 1 and all(len(pair.votes) == widest for pair in voted):
        sums = cluster_sums(fleiss_sums(counts), clusters)
        found["fleiss_kappa"] = bounded(sums, fleiss_kappa, len(voted), n_boot, seed, ".3f")
    return found


def vote_agreement(pairs, turn=None, voters="experts", ties=True, n_boot=N_BOOT, seed=0):
    """Share of comparisons of two people's votes on the same thing that agree (MT-bench).

    Parameters
    ----------
    pairs : list of PreferencePair
        With models named, and votes.
    turn : {None, 1, 2}
    voters : {"all", "experts", "authors"}
    ties : bool
        Whether ties count as a verdict (FastChat's S1); otherwise a comparison with a tie on either side is left
        out (S2).

    Returns
    -------
    Number
        ``n`` is the number of comparisons; questions are resampled.

    Raises
    ------
    ValueError
        If there is nothing to compare.

    Notes
    -----
    The same two models were shown in both orders, as two items; votes on both meet here, in the order of the
    models' names. Every two votes on one question, turn and pair of models are one comparison.
    """
    clusters, agree = [], []
    for (question, *_), votes in votes_by_matchup(pairs, turn, voters).items():
        for one, other in combinations(votes, 2):
            if ties or "tie" not in (one, other):
                clusters.append(question)
                agree.append([one == other, 1])
    if not agree:
        raise ValueError("no two votes on the same comparison")
    return bounded(cluster_sums(agree, clusters), share_of, len(agree), n_boot, seed, ".1%")


def votes_by_matchup(pairs, turn=None, voters="all"):
    """Votes by question, two models in the order of their names, and turn; told in that order."""
    found = {}
    for pair in pairs:
        n_turn = len(pair.turns) + 1
        if turn not in (None, n_turn):
            continue
        if pair.model_a is None or pair.model_b is None:
            raise ValueError(f"{pair.where}: the models are not named")
        turned = pair.model_a > pair.model_b
        votes = chosen_votes(pair, voters).values()
        key = (pair.cluster, *sorted((pair.model_a, pair.model_b)), n_turn)
        found.setdefault(key, []).extend(SWAPPED[vote] if turned else vote for vote in votes)
    return found


def bounded(sums, statistic, n, n_boot, seed, spec):
    """A statistic of cluster sums as a `Number`."""
    value, low, high = cluster_bootstrap(np.asarray(sums), statistic, n_boot, seed)
    return Number(value, low, high, n=n, spec=spec)

"""Auto-J's training ratings as pairs: two responses to one query that GPT-4 rated from 1 to 10, each by itself."""

from collections import defaultdict
from itertools import combinations

from judgekit.data.corpora import rated
from judgekit.data.corpora.sides import place
from judgekit.records import PreferencePair, label_of_gap

FILES = (rated.FILES["autoj_single"],)


def load():
    """The pairs, and a report."""
    return pairs_of_responses(rated.load_autoj_single()[0])


def pairs_of_responses(responses):
    """Every two different responses to one query; equal ratings are a tie.

    Parameters
    ----------
    responses : list of Response
        Each with a score.

    Returns
    -------
    pairs : list of PreferencePair
    report : dict of str to int
        ``alone``: responses whose query has no other.
    """
    groups = defaultdict(list)
    for response in responses:
        groups[response.cluster_id].append(response)
    pairs = [
        place(pair_of(first, second))
        for group in groups.values()
        for first, second in combinations(group, 2)
        if first.response != second.response
    ]
    return pairs, {"responses": len(responses), "alone": sum(len(group) == 1 for group in groups.values())}


def pair_of(first, second):
    """One pair, in the order of the file."""
    return PreferencePair(
        item_id=f"{first.item_id}-{second.item_id}",
        benchmark="autoj_rated",
        question=first.question,
        response_a=first.response,
        response_b=second.response,
        cluster_id=first.cluster_id,
        label=label_of_gap(first.score - second.score),
        label_kind="gpt-4",
        source=first.source,
    )

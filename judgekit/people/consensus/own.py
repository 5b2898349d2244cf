"""Votes that a user cast on the labelling page: their consensus, and who voted well."""

from judgekit.data.votes import NO_VOTE
from judgekit.judges.names import unique_slugs
from judgekit.people.consensus.agreement import people_with_people
from judgekit.people.consensus.majority import majority
from judgekit.people.consensus.quality import annotator_quality, credits_of, quality_table
from judgekit.stats import Number


def votes_of_page(path):
    """The votes in a file of the labelling page (`people.labelling.votefile`), whose table holds ids and names only.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    Votes
    """
    from judgekit.people.labelling.votefile import read_votes

    return read_votes(path)


def own_numbers(votes):
    """What can be said of somebody's own votes.

    Parameters
    ----------
    votes : Votes

    Returns
    -------
    numbers : dict of str to Number
        ``votes.items`` (``n`` votes), ``votes.undecided`` (items whose votes are split evenly), ``majority.quality``
        (mean); where people voted on the same items also ``human_human_agreement_with_ties`` and
        ``annotators.<name>``.
    table : pandas.DataFrame or None
        Annotators (`quality_table`); None where nobody met anybody, as with a single annotator.

    Raises
    ------
    ValueError
        If there are no votes.
    """
    votes = votes.voted()
    if not votes.items:
        raise ValueError("the file of votes holds none that stands")
    counted = majority(votes, "none")
    numbers = {
        "votes.items": Number(len(votes.items), n=int(votes.given.sum())),
        "votes.undecided": Number(int((counted.labels == NO_VOTE).sum()), n=len(votes.items)),
        "majority.quality": Number(float(counted.quality.mean()), n=len(votes.items), spec=".1%"),
    }
    if not (credits_of(votes) >= 0).any():
        return numbers, None
    skills = annotator_quality(votes)
    names = unique_slugs(skills.names)
    numbers["human_human_agreement_with_ties"] = people_with_people(votes, votes.classes)
    numbers |= {f"annotators.{names[name]}": number for name, number in skills.numbers().items()}
    return numbers, quality_table(skills)

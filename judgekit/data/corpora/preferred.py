"""The better response of each pair as a single response: questions with an answer that someone preferred."""

from judgekit.records import Response


def preferred_responses(pairs):
    """The better response of each decided pair, each text once per prompt.

    Parameters
    ----------
    pairs : list of PreferencePair

    Returns
    -------
    responses : list of Response
        With the pair's item id; where several pairs prefer the same text, the first one's.
    report : dict of str to int
        ``skipped_undecided`` pairs (ties and pairs without label) and ``skipped_again`` (the text was preferred
        before, to another response).
    """
    found, undecided = {}, 0
    for pair in pairs:
        if pair.label not in ("A", "B"):
            undecided += 1
            continue
        response = preferred_response(pair)
        found.setdefault((response.cluster_id, response.question, response.response), response)
    return list(found.values()), {"skipped_undecided": undecided, "skipped_again": len(pairs) - undecided - len(found)}


def preferred_response(pair):
    """The better response of one decided pair."""
    straight = pair if pair.label == "A" else pair.swapped()
    return Response(
        item_id=pair.item_id,
        question=pair.question,
        response=straight.response_a,
        reference=pair.reference,
        source=pair.source,
        benchmark=pair.benchmark,
        cluster_id=pair.cluster_id,
        turns=straight.turns,
        model=straight.model_a,
        label_kind=pair.label_kind,
    )

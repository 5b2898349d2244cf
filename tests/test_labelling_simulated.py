"""Votes that are known before they are cast come back from the page as they were meant."""

import threading

import numpy as np
from matplotlib.pyplot import imsave

from judgekit.data.sample import load_sample
from judgekit.figures.labelling import plot_page
from judgekit.people.labelling import Labelling, label_all
from judgekit.people.labelling.session import fewest_votes_first
from judgekit.people.labelling.votefile import read_lines, read_votes

PAIRS = load_sample("sample_natural")


def of_mind(annotator, first, second):
    """What an annotator says who sees two texts: here the shorter, the longer, or by their alphabet."""
    if annotator == "tie" or first == second:
        return "tie"
    key = {"short": len, "long": lambda text: -len(text)}.get(annotator, str)
    return "first" if key(first) < key(second) else "tie" if key(first) == key(second) else "second"


def voter(annotator):
    return lambda shown: of_mind(annotator, shown["first"]["raw"], shown["second"]["raw"])


def meant(pairs, annotators):
    """Item and annotator to the label that is to be filed, whichever response was shown first."""
    labels = {"first": "A", "second": "B", "tie": "tie"}
    return {(p.item_id, who): labels[of_mind(who, p.response_a, p.response_b)] for p in pairs for who in annotators}


def filed(path):
    return {(row.task, row.worker): row.label for row in read_votes(path).long().itertuples()}


def test_what_was_meant_is_filed(tmp_path):
    pairs, path, annotators = PAIRS[:12], tmp_path / "votes.jsonl", ["short", "alphabet", "tie"]
    for _ in range(2):  # the page is stopped half-way
        with Labelling(pairs, path, annotators) as page:
            for name in annotators:
                assert label_all(page.link(name), voter(name), at_most=6) == 6
    assert filed(path) == meant(pairs, annotators) and len(read_lines(path)) == 36
    assert {line.shown for line in read_lines(path)} == {"ab", "ba"} and {*filed(path).values()} == {"A", "B", "tie"}


def test_annotators_at_the_same_time_do_not_disturb_each_other(tmp_path):
    pairs, path, confirmed = PAIRS[:15], tmp_path / "votes.jsonl", {}
    annotators = ["short", "long", "alphabet", "tie", "zoe"]
    with Labelling(pairs, path, annotators, order=fewest_votes_first, refresh=1) as page:

        def sit(name):
            confirmed[name] = label_all(page.link(name), voter(name))

        sitting = [threading.Thread(target=sit, args=(name,)) for name in annotators]
        for each in sitting:
            each.start()
        for each in sitting:
            each.join()
    assert set(confirmed.values()) == {15} and len(read_lines(path)) == 75
    assert filed(path) == meant(pairs, annotators)


def test_a_picture_of_the_page_is_shown_whole(tmp_path):
    imsave(tmp_path / "page.png", np.random.default_rng(0).random((50, 80, 3)))
    axes = plot_page(tmp_path / "page.png")
    assert axes.images[0].get_array().shape[:2] == (50, 80) and not axes.axison

"""Votes that are known before they are cast come back from the page as they were meant."""

import shutil
import threading
from collections import Counter

import pytest

from judgekit.data.sample import annotators, load_sample
from judgekit.figures.labelling import plot_page
from judgekit.people.labelling import by_texts, distinct, label_all, misfiled, panel_votes, screenshot, start
from judgekit.people.labelling.ordering import fewest_votes_first
from judgekit.people.labelling.votefile import Vote, VoteFile, read_lines, read_votes
from judgekit.records import PreferencePair

PAIRS = load_sample("sample_natural")


def test_the_panel_errs_as_it_was_planted():
    said = panel_votes(PAIRS, annotators())
    assert said == panel_votes(PAIRS, annotators()) != panel_votes(PAIRS, annotators(), seed=1)
    right = {name: sum(labels[pair.item_id] == pair.label for pair in PAIRS) for name, labels in said.items()}
    for annotator in annotators():
        if annotator.kind == "reader":
            assert abs(right[annotator.name] / len(PAIRS) - annotator.accuracy) < 0.12
    assert right["annotator-8"] < right["annotator-5"] < right["annotator-1"]


def test_what_was_meant_is_filed(tmp_path):
    pairs, path = PAIRS[:12], tmp_path / "votes.jsonl"
    meant = panel_votes(pairs, annotators()[4:7])
    for _ in range(2):  # the page is stopped half-way
        with start(pairs, path, list(meant)) as page:
            for name, said in meant.items():
                label_all(page.link(name), by_texts(pairs, said), at_most=6)
    votes = read_votes(path)
    assert misfiled(votes, meant) == {"cast": 36, "lost": 0, "added": 0, "changed": 0}
    assert Counter(votes.long()["label"]).keys() == {"A", "B", "tie"}


def test_annotators_at_the_same_time_do_not_disturb_each_other(tmp_path):
    pairs, path, confirmed = PAIRS[:15], tmp_path / "votes.jsonl", {}
    meant = panel_votes(pairs, annotators()[:5])
    with start(pairs, path, list(meant), order=fewest_votes_first, refresh=1) as page:

        def sit(name):
            confirmed[name] = label_all(page.link(name), by_texts(pairs, meant[name]))

        sitting = [threading.Thread(target=sit, args=(name,)) for name in meant]
        for each in sitting:
            each.start()
        for each in sitting:
            each.join()
    assert set(confirmed.values()) == {15} and len(read_lines(path)) == 75
    assert misfiled(read_votes(path), meant) == {"cast": 75, "lost": 0, "added": 0, "changed": 0}


def test_what_is_misfiled_is_counted(tmp_path):
    path = tmp_path / "votes.jsonl"
    with VoteFile(path) as file:
        for item, who, label in (("i", "ann", "A"), ("j", "ann", "B"), ("j", "zoe", "B")):
            file.append(Vote(item, who, label, "ab", None, "2026-01-02T03:04:05+00:00"))
    meant = {"ann": {"i": "A", "j": "A", "k": "tie"}}
    assert misfiled(read_votes(path), meant) == {"cast": 3, "lost": 1, "added": 1, "changed": 1}


def test_equal_texts_with_other_votes_are_refused():
    one, two = (PreferencePair(name, "b", "Why?", "So.", "Thus.") for name in "ij")
    by_texts([one, two], {"i": "A", "j": "A"})
    by_texts([one, two.swapped()], {"i": "A", "j": "B"})
    with pytest.raises(ValueError, match="b/j: has the texts of another pair"):
        by_texts([one, two], {"i": "A", "j": "B"})
    assert distinct([one, two, two.swapped(), PAIRS[0]]) == [one, PAIRS[0]]


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium: setup/chromium.sh installs it")
def test_a_picture_is_taken(tmp_path):
    with start(PAIRS[:3], tmp_path / "votes.jsonl", "ann") as page:
        assert screenshot(page.link(), tmp_path / "page.png", 800, 500, 1)
    image = plot_page(tmp_path / "page.png").images[0].get_array()
    assert image.shape[:2] == (500, 800) and len({tuple(row) for row in image.reshape(-1, image.shape[2])}) > 20


def test_without_a_browser_the_old_picture_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "page.png").write_bytes(b"old")
    assert not screenshot("http://127.0.0.1:9/", tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes() == b"old"

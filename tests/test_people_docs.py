"""The examples of docs/people_and_judges.md run as they stand there, and say what they should."""

import numpy as np
from doc_page import run_examples


def test_the_examples_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_examples("people_and_judges.md")
    truth = {pair.item_id: pair.label for pair in names["pairs"]}
    for name, found in names["found"].items():
        right = [found.classes[label] == truth[item] for item, label in zip(found.items, found.labels, strict=True)]
        assert np.mean(right) > 0.8, name
    ranked = list(names["people"]["annotator"])
    assert ranked[0] == "annotator-1" and ranked[-1] == "annotator-8"
    assert names["after"]["nll"].value < names["before"]["nll"].value
    assert names["both"].high - names["both"].low <= 1.1 * (names["alone"].high - names["alone"].low)
    assert len(capsys.readouterr().out.splitlines()) >= 7

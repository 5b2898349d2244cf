"""The examples of docs/people_and_judges.md run as they stand there, and say what they should."""

import re
import warnings

import numpy as np

from judgekit.paths import project_root

TEXT = (project_root() / "docs" / "people_and_judges.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # crowd-kit's own
            exec(compile(block, "people_and_judges.md", "exec"), names)
    truth = {pair.item_id: pair.label for pair in names["pairs"]}
    for name, found in names["found"].items():
        right = [found.classes[label] == truth[item] for item, label in zip(found.items, found.labels, strict=True)]
        assert np.mean(right) > 0.8, name
    ranked = list(names["people"])
    assert ranked[0] == "annotator-1" and ranked[-1] == "annotator-8"
    assert names["after"]["nll"].value < names["before"]["nll"].value
    assert names["both"].high - names["both"].low <= 1.1 * (names["alone"].high - names["alone"].low)
    assert len(capsys.readouterr().out.splitlines()) >= 7


def test_every_notebook_and_module_is_there():
    for name in re.findall(r"`(\d\d_\w+)`", TEXT):
        assert (project_root() / "notebooks" / f"{name}.ipynb").is_file(), name
    for name in re.findall(r"`(judgekit(?:\.[a-z]\w+)+)`", TEXT):
        parts = name.split(".")
        places = [project_root().joinpath(*parts[:n]) for n in (len(parts), len(parts) - 1)]
        assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), name

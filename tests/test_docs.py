"""What the pages of the docs name is there."""

import importlib
import re

import pytest
from doc_page import FOLDER, text_of

from judgekit.paths import project_root

PAGES = sorted(path.name for path in FOLDER.glob("*.md"))
ROOT = project_root()


def found(name):
    """Whether a dotted name is a module of the package, or something in one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:n])
        if place.is_dir() or place.with_suffix(".py").is_file():
            here = importlib.import_module(".".join(parts[:n]))
            for part in parts[n:]:
                if not hasattr(here, part):
                    return False
                here = getattr(here, part)
            return True
    return False


def test_a_name_that_is_not_there_is_not_found():
    assert found("judgekit.votes") and found("judgekit.judges.encoder.EncoderJudge")
    assert not found("judgekit.vote") and not found("judgekit.judges.encoder.Encoder")


@pytest.mark.parametrize("page", PAGES)
def test_every_notebook_module_and_link_is_there(page):
    text = text_of(page)
    for name in re.findall(r"`(\d\d_\w+)`", text):
        assert (ROOT / "notebooks" / f"{name}.ipynb").is_file(), name
    for name in re.findall(r"`(judgekit(?:\.\w+)+)`", text):
        assert found(name), name
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in link or (FOLDER / link).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_every_file_of_the_repository_that_is_named_is_there(page):
    for name in re.findall(r"`((?:tests|params|setup|profiles|data)/[\w./-]+\.\w+)`", text_of(page)):
        assert (ROOT / name).is_file(), name

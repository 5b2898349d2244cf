"""Annotators that are programs, who know a pair by its texts as the page shows them; and a picture of the page."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from judgekit.data.votes import Votes
from judgekit.people.labelling.app import visible
from judgekit.records import SWAPPED, PreferencePair

CHOICES = {"A": "first", "B": "second", "tie": "tie"}


def _texts_of(pair: PreferencePair) -> tuple[str, ...]:
    """What tells a pair from others: question and responses as they stand on the page."""
    return tuple(map(visible, (pair.question, *pair.responses)))


def distinct(pairs: Iterable[PreferencePair]) -> list[PreferencePair]:
    """The pairs whose texts no earlier one has, in either order."""
    first: dict[tuple[str, ...], PreferencePair] = {}
    for pair in pairs:
        first.setdefault(min(_texts_of(pair), _texts_of(pair.swapped())), pair)
    return list(first.values())


def by_texts(pairs: Sequence[PreferencePair], labels: Mapping[str, str]) -> Callable[[Mapping[str, Any]], str]:
    """The choices of somebody who means these labels, by item, and sees texts only."""
    known = {}
    for pair in pairs:
        known[_texts_of(pair)] = CHOICES[labels[pair.item_id]]
        known[_texts_of(pair.swapped())] = CHOICES[SWAPPED[labels[pair.item_id]]]
    return lambda shown: known[tuple(shown[name]["raw"] for name in ("question", "first", "second"))]


def misfiled(votes: Votes, meant: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """How many votes were cast, and how many of those filed are lost, added or changed; ``meant``: by annotator."""
    cast = {(item, who): label for who, labels in meant.items() for item, label in labels.items()}
    filed = {(row.task, row.worker): row.label for row in votes.long().itertuples()}
    changed = sum(filed[key] != cast[key] for key in filed.keys() & cast.keys())
    lost, added = cast.keys() - filed.keys(), filed.keys() - cast.keys()
    return {"cast": len(cast), "lost": len(lost), "doubled": len(added), "misfiled": changed}


def screenshot(link: str, inches: float, width: int = 1000, height: int = 480, scale: int = 2) -> Figure | None:
    """A browser's window (in pixels, each drawn ``scale`` by ``scale``) so many inches wide; None without Chromium."""
    import matplotlib.pyplot as plt

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        picture = Path(folder) / "page.png"
        flags = ["--headless=new", "--hide-scrollbars", "--disable-dev-shm-usage", f"--user-data-dir={folder}/user"]
        flags += [f"--window-size={width},{height}", f"--force-device-scale-factor={scale}", f"--screenshot={picture}"]
        flags += ["--virtual-time-budget=5000"]  # the page asks for its pair after it is loaded
        flags += ["--no-sandbox"]  # Chromium refuses root otherwise; the page is our own
        subprocess.run([browser, *flags, link], capture_output=True, timeout=60, check=True)
        image = plt.imread(picture)
    figure = plt.figure(figsize=(inches, inches * image.shape[0] / image.shape[1]))
    figure.set_layout_engine("none")  # the style asks for one that knows of no axes like these
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(image, interpolation="none")
    axes.set_axis_off()
    return figure

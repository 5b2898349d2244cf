"""Progress bars with an ETA that read well in a terminal, in a notebook and in a log."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

LOG_INTERVAL = 10  # seconds between lines when nobody watches a terminal


def progress_bar(
    total: float | None, description: str, unit: str, shown: bool = True, initial: int = 0, delay: float = 0
) -> Any:
    """A tqdm bar that redraws itself in a terminal and writes a line now and then elsewhere: text, never a widget.

    ``delay``: seconds after which there is a bar at all. ``unit="B"`` counts bytes, shown as kB and MB.
    """
    from tqdm import tqdm  # here, so that `judgekit --help` need not wait for it

    watched = sys.stderr.isatty()
    return tqdm(
        total=total,
        initial=initial,
        desc=description,
        unit=unit,
        unit_scale=unit == "B",
        disable=not shown,
        delay=delay,
        mininterval=0.2 if watched else LOG_INTERVAL,
        maxinterval=LOG_INTERVAL,
        miniters=1,
        ascii=not watched,
        dynamic_ncols=watched,
        ncols=None if watched else 88,
        file=sys.stderr,
    )


def progress_over(items: Sequence, description: str = "runs", unit: str = "run") -> Iterator:
    """Iterate over a list with a bar."""
    with progress_bar(len(items), description, unit) as bar:
        for item in items:
            yield item
            bar.update()

"""The parts of the README, of the model card and of pages of the docs that are made from results, by ``blocks.md``."""

import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from judgekit.data.paths import PRETRAINED, project_root
from judgekit.report.escaping import rendered, template
from judgekit.report.results import ResultsError, load_provenance, load_results
from judgekit.report.workflow import jobs_of

RUN = "laptop"
MARKED = re.compile(r"<!-- (\w+):begin -->\n.*?<!-- \1:end -->", re.DOTALL)
_TEMPLATE = template("blocks.md")
BLOCKS = tuple(_TEMPLATE.blocks)


def block(name: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """One of `BLOCKS`, made from ``results``; ResultsError where they lack what it needs."""
    row = partial(_held, results)

    def cell(key: str, optional: bool = False) -> str:
        if optional and key not in results:
            return "–"
        return row(key)["text"] + (f" <sub>{row(key)['interval']}</sub>" if row(key)["interval"] else "")

    words = {"run": RUN, "results": results, "cell": cell, "minutes": _minutes}
    words |= {"machine": lambda: _held(load_provenance(RUN), "bench-formats")["machine"]}  # that measured speed
    words |= {"text": lambda key: row(key)["text"], "value": lambda key: row(key)["value"]}
    words |= {"rounded": lambda minutes: f"{minutes:.0f}" if minutes >= 1 else "under 1"}
    return rendered(_TEMPLATE, name, **words)


def _held(results: Mapping[str, Any], name: str) -> Any:
    if name not in results:
        make = "make bench" if name.startswith("bench") else f"make report RUN={RUN}"
        raise ResultsError(f"no result {name!r} in outputs/{RUN}: run '{make}' first")
    return results[name]


def _minutes(stage: str = "") -> dict[str, float]:
    """Minutes of each notebook of a stage, as recorded with its results; every notebook of the run must have some."""
    provenance = load_provenance(RUN)
    return {name: _held(provenance, name)["seconds"] / 60 for name in jobs_of(RUN) if name.startswith(stage)}


def filled(text: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """``text`` with what stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` made anew."""
    return MARKED.sub(lambda m: f"<!-- {m[1]}:begin -->\n{block(m[1], results)}\n<!-- {m[1]}:end -->", text)


def documents() -> list[Path]:
    """The files that hold blocks."""
    pages = [*project_root().glob("README.md"), *PRETRAINED.glob("*/README.md"), *project_root().glob("docs/*.md")]
    return sorted(path for path in pages if MARKED.search(path.read_text(encoding="utf-8")))


def main() -> int:
    """``python -m judgekit.report.readme``: write the blocks into the README, the model card and the docs."""
    results = load_results(RUN)
    for path in documents():
        try:
            path.write_text(filled(path.read_text(encoding="utf-8"), results), encoding="utf-8")
        except ResultsError as error:
            print(f"error: {path.name}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

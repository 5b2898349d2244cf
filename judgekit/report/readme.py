"""The parts of the README, of the model card and of pages of the docs that are made from results, by ``blocks.md``."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgekit.data.paths import PRETRAINED, project_root
from judgekit.report.escaping import rendered, template
from judgekit.report.results import ResultsError, load_provenance, load_results
from judgekit.report.workflow import jobs_of

RUN = "laptop"
MEASURED = "bench-formats"  # the results that name the machine that speed was measured on
MARKED = re.compile(r"<!-- (\w+):begin -->\n.*?\n<!-- \1:end -->", re.DOTALL)
_TEMPLATE = template("blocks.md")
BLOCKS = tuple(_TEMPLATE.blocks)


def block(name: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """One of `BLOCKS`, made from ``results``; ResultsError where they lack what it needs."""

    def row(key: str) -> Mapping[str, Any]:
        if key not in results:
            raise ResultsError(f"no result {key!r} in outputs/{RUN}: run 'make report RUN={RUN}' first")
        return results[key]

    def cell(key: str, optional: bool = False) -> str:
        if optional and key not in results:
            return "–"
        return row(key)["text"] + (f" <sub>{row(key)['interval']}</sub>" if row(key)["interval"] else "")

    words = {"run": RUN, "results": results, "cell": cell, "minutes": _minutes, "machine": _machine}
    words |= {"text": lambda key: row(key)["text"], "value": lambda key: row(key)["value"]}
    words |= {"rounded": lambda minutes: f"{minutes:.0f}" if minutes >= 1 else "under 1"}
    return rendered(_TEMPLATE, name, **words)


def _minutes(stage: str = "") -> dict[str, float]:
    """Minutes of each notebook of a stage, as recorded with its results; every notebook of the run must have some."""
    provenance = load_provenance(RUN)
    names = [name for name in jobs_of(RUN) if name.startswith(stage)]
    if missing := [name for name in names if name not in provenance]:
        raise ResultsError(f"no results of {missing[0]} in outputs/{RUN}: run 'make report RUN={RUN}' first")
    return {name: provenance[name]["seconds"] / 60 for name in names}


def _machine() -> str:
    """The machine that speed was measured on, in words."""
    known = load_provenance(RUN).get(MEASURED, {}).get("machine")
    if not known:
        raise ResultsError(f"outputs/{RUN}/results/{MEASURED}.json names no machine: make bench")
    return f"{known['cores']} cores with {known['memory_mb'] / 1024:.0f} GB of memory"


def filled(text: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """``text`` with what stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` made anew."""

    def made(marked: re.Match[str]) -> str:
        return f"<!-- {marked[1]}:begin -->\n{block(marked[1], results)}\n<!-- {marked[1]}:end -->"

    return MARKED.sub(made, text)


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

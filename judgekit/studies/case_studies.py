r"""What is too long for `70_case_studies`: the pages.

Pages (``\input{../outputs/\run/tables/case_studies}``, tracked) hold ids, votes, verdicts and the analysis. Texts stand
in ``outputs/<run>/cases/<name>.tex``, tracked with their licence, where the set's licence lets them be shipped, else in
``cases/unshipped``, or the page says that they do not.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from judgekit.data import catalogue, paths
from judgekit.data.files import write_text
from judgekit.data.sources import find_source
from judgekit.judges.names import display_name
from judgekit.report.escaping import break_words, by_direction, escape, rendered, template, typeset
from judgekit.scoring.tables import TITLES

GIVEN = "judge ab ba verdict p_a p_b p_tie".split()  # what one judge gave, as columns
_OPEN = ("MIT", "Apache-2.0", "CC-BY-4.0")  # let a text be shipped, with attribution


def licence_of(name: str) -> str | None:
    """The licences of a set's files, where all of them let its texts be shipped; the sample is our own."""
    if name in catalogue.SAMPLE_SETS:
        return "authored here"
    files = catalogue.SETS[name].hashes() if name in catalogue.SETS else {}
    given = sorted({find_source(file).licence.split(" (")[0] for file in files})
    return ", ".join(given) if given and set(given) <= set(_OPEN) else None


def _key(case: Mapping[str, Any]) -> str:
    """The name by which a document can say more of a case: its set and item, of letters that LaTeX does not read."""
    return re.sub("[^A-Za-z0-9:./-]", "-", f"{case['set']}/{case['pair'].item_id}")


def _cell(value: Any) -> str:
    return "–" if value is None or value != value else f"{value:.2f}" if isinstance(value, float) else escape(value)


def _prose(text: str) -> str:
    """Text of our own for LaTeX, with marks after which a long name may break."""
    pieces = re.split(r"(?<=[_:-])(?=\w)", re.sub(r"(?<=[\s(])-(?=\d)", "−", text))
    return r"\wordbreak{}".join(by_direction(piece, break_words) for piece in pieces)


def _rows(case: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    """What every judge gave, under the judge's display name."""
    return case["verdicts"][GIVEN].assign(judge=case["verdicts"]["judge"].map(display_name)).itertuples(index=False)


_TEMPLATE = template("case_studies.txt", e=escape, prose=_prose, cell=_cell, typeset=typeset, key=_key)


def save_cases(run: str, cases: list[dict[str, Any]], limit: int = 600) -> Path:
    """The file of the cases' pages; their texts replace earlier ones, cut at ``limit`` characters (edits at a quarter).

    A case: name, title, set, pair, verdicts (rows with `GIVEN`), why (a paragraph) and texts (by name).
    """
    folder, path = paths.run_folder(run, "cases"), paths.run_folder(run, "tables") / "case_studies.tex"
    cases = [
        case | {"licence": licence_of(name), "from": "LLMBar " * name.startswith("llmbar_") + TITLES.get(name, name)}
        for case in cases
        for name in [case["pair"].benchmark]
    ]
    files = {path: rendered(_TEMPLATE, "pages", cases=cases, run=run, rows=_rows)}
    for case in cases:
        source = f"{case['from']}, {case['licence'] or 'no licence'}"
        text = rendered(_TEMPLATE, "texts", pair=case["pair"], others=case["texts"], limit=limit, source=source)
        files[folder / ("" if case["licence"] else "unshipped") / f"{case['name']}.tex"] = text
    for left in set(folder.rglob("*.tex")) - set(files):
        left.unlink()
    for file, text in files.items():
        write_text(file, text + "\n")
    return path

r"""The pages of cases, which a document that loads ``report/results.sty`` takes, between paragraphs, by
``\input{../outputs/\run/tables/case_studies}``: ids, votes, verdicts and the analysis, tracked. Texts of data sets are
not: they stand in ``outputs/<run>/cases/<name>.tex``, which it inputs; where that is not there, the page says so."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.report.escaping import LONGEST_WORD, break_word, escape, typeset
from judgekit.stats import Number
from judgekit.studies.cases.case import Case, Said
from judgekit.studies.cases.edits import added_text
from judgekit.studies.cases.wording import reasons

HEAD = "% written by judgekit.studies.cases; do not edit"
TITLES = {
    "confident_error": "Confident error",
    "flip": "Flip under swap",
    "against_people": "Against unanimous people",
    "judges_apart": "Judges against each other",
    "attack": "Attack that succeeded",
    "label_error": "Probable label error",
}
EXCERPT = 300  # characters of a text that are shown: nine lines of half a column
FEW_WORDS = 5  # a response of so many says next to nothing
NOTICE = "The texts belong to the data set and are not shipped; the notebook prints them where the data is."


def title_of(case: Case) -> str:
    """The case's heading."""
    return f"{TITLES[case.kind]} {case.name.rpartition('_')[2]}"


# ---------------------------------------------------------------- tracked: ids, labels, numbers


def verdict_rows(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Every verdict on every case: ids, labels and numbers only, for `judgekit.report.save_data`."""
    return [
        {"case": case.name, "set": case.set, "item_id": case.pair.item_id, "label": case.pair.label, "judge": one.judge}
        | {"ab": one.ab, "ba": one.ba, "verdict": one.verdict, "p_a": one.p_a, "p_b": one.p_b, "p_tie": one.p_tie}
        for case in cases
        for one in case.said
    ]


def case_rows(cases: Sequence[Case], candidates: Sequence[pd.DataFrame] = ()) -> list[dict[str, Any]]:
    """A row for each case, for `judgekit.report.save_table` in sections by ``kind``: item, label, votes, verdict.

    The rule's name says how many of ``candidates`` (what the rules found) qualified, where these are given.
    """
    found = {rows["kind"].iloc[0]: f": {len(rows):,} qualify" for rows in candidates if len(rows)}
    rows = []
    for case in cases:
        own, pair = case.own, case.pair
        agree = f"{len(case.saying(pair.label))} of {len(case.said)}" if pair.label else None
        rows.append(
            {
                "kind": TITLES[case.kind] + found.get(case.kind, ""),
                "no.": int(case.name.rpartition("_")[2]),
                "set": case.set,
                "item": pair.item_id,
            }
            | {"label": pair.label, "votes": ":".join(map(str, case.votes)) if pair.votes else None}
            | {"judge": case.judge, "verdict": own.verdict, "P(A)": own.p_a, "words": ":".join(map(str, case.words))}
            | {"agree": agree}
        )
    return rows


def case_numbers(cases: Sequence[Case], candidates: Sequence[pd.DataFrame]) -> dict[str, Number]:
    """Numbers of the cases, by result key; ``candidates``: what the rules found.

    ``cases.all.chosen``, and of these, each with how many it could be: ``.longer`` (the judge it was chosen for prefers
    the longer response), ``.few_words`` (one response has five words at most), ``.gate_beside`` (the gate takes one to
    be off-topic), ``.gate_beside_few_words`` (of those with so few words), ``.gate_turned`` (and turns the verdict of
    surface features), ``.nobody`` (no judge says what the label says); ``cases.<kind>.candidates``; for each case
    ``cases.<name>.words_a``, ``.words_b``, ``.judges``, ``.with_label``, ``.flipped`` (judges), ``.beside`` (chance
    that a response is off-topic, by the gate) and, of the judge it was chosen for, ``.p_a``, ``.p_b``; of an attack
    ``.p_before`` and ``.p_after`` (of the response that was edited), ``.beside_after``, ``.removed`` and ``.added``
    (words).
    """
    numbers = {"cases.all.chosen": Number(len(cases)), **numbers_of_all(cases)}
    for found in candidates:
        if len(found):
            numbers[f"cases.{found['kind'].iloc[0]}.candidates"] = Number(len(found))
    for case in cases:
        own, key = case.own, f"cases.{case.name}"
        values: dict[str, Any] = dict(zip(("words_a", "words_b"), case.words, strict=True)) | {"judges": len(case.said)}
        values |= {"flipped": len(case.flipped)}
        values |= {"with_label": len(case.saying(case.pair.label)) if case.pair.label else None}
        values |= {"p_a": own.p_a, "p_b": own.p_b, "beside": case.dissection.beside}
        if case.edited is not None:
            edited = "p_b" if case.pair.label == "A" else "p_a"
            values |= {"p_before": getattr(own, edited), "p_after": getattr(case.after, edited)}
            values |= {"beside_after": case.edited_dissection.beside}  # type: ignore[union-attr] # of an edited case
            values |= dict(zip(("removed", "added"), case.edit_size, strict=True))  # type: ignore[arg-type] # of an edited case
        for name, value in values.items():
            if value is not None:
                numbers[f"{key}.{name}"] = Number(value, spec=".2f" if isinstance(value, float) else None)  # type: ignore[arg-type] # as an integer is printed
    return numbers


def numbers_of_all(cases: Sequence[Any]) -> dict[str, Number]:
    """What cases have in common: counts, each with the number of cases that it could be."""
    sides = [case for case in cases if case.own.verdict in ("A", "B") and case.words[0] != case.words[1]]
    gated = [case for case in cases if case.dissection.behind_gate is not None]
    labelled = [case for case in cases if case.pair.label]
    held = {
        "longer": [(case.own.verdict == "A") == (case.words[0] > case.words[1]) for case in sides],
        "few_words": [min(case.words) <= FEW_WORDS for case in cases],
        "gate_beside": [case.dissection.beside > 0.5 for case in gated],
        "gate_beside_few_words": [case.dissection.beside > 0.5 for case in gated if min(case.words) <= FEW_WORDS],
        "gate_turned": [np.argmax(case.dissection.looks) != np.argmax(case.dissection.behind_gate) for case in gated],
        "nobody": [not case.saying(case.pair.label) for case in labelled],
    }
    return {f"cases.all.{name}": Number(sum(map(bool, each)), n=len(each)) for name, each in held.items()}


def cell(value: Any) -> str:
    """A cell of the verdict table."""
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else escape(value)


def prose(text: str) -> str:
    """Text of our own for LaTeX, with places to break a line in long names: after a mark, where there is one."""
    text = re.sub(r"(?<=[\s(])-(?=\d)", "−", text)
    pieces = re.split(r"(?<=[_:-])(?=\w)", text)
    return r"\wordbreak{}".join(
        " ".join(break_word(word) if len(word) > LONGEST_WORD else escape(word) for word in piece.split(" "))
        for piece in pieces
    )


def verdict_lines(said: Sequence[Said]) -> list[str]:
    """The verdicts of all judges, as a ``tabular``."""
    heads = ["judge", "A first", "B first", "verdict", "P(A)", "P(B)", "P(tie)"]
    lines = [r"\begin{tabular}{@{}lcccrrr@{}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    for one in said:
        cells = (one.judge, one.ab, one.ba, one.verdict, one.p_a, one.p_b, one.p_tie)
        lines.append(r"\relax " + " & ".join(map(cell, cells)) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def page_lines(case: Case, run: str) -> list[str]:
    """A case without any text of a data set; these stand in a file of their own, which it inputs."""
    said = (*case.said, *([] if case.after is None else [replace(case.after, judge=f"{case.after.judge}, edited")]))
    where = f"Item {case.pair.item_id} of {case.set}; label {case.pair.label or 'none'}"
    a, b, tie = case.votes
    if case.pair.votes:
        where += f"; people's votes: {a} for A, {b} for B, {tie} for a tie"
    texts = f"../outputs/{run}/cases/{case.name}.tex"
    return [
        rf"\begin{{casestudy}}{{{escape(title_of(case))}}}{{{prose(where)}}}",
        rf"\IfFileExists{{{texts}}}{{\input{{{texts}}}}}{{\casetext{{Texts}}{{{NOTICE}}}}}",
        r"\begin{caseverdicts}",
        *verdict_lines(said),
        r"\end{caseverdicts}",
        rf"\casetext{{Why}}{{{prose(' '.join(reasons(case)))}}}",
        r"\end{casestudy}",
    ]


# ---------------------------------------------------------------- not tracked: texts of data sets


def text_lines(case: Case, replies: Mapping[str, str] | None = None, limit: int = EXCERPT) -> list[str]:
    """The question, the responses and the replies, safe to typeset whatever is in them."""
    pair = case.pair
    lines = [rf"\casetext{{Question}}{{{typeset(pair.asked, limit)}}}"]
    models = (pair.model_a, pair.model_b)
    heads = [f"Response {side}" + (f" ({model})" if model else "") for side, model in zip("AB", models, strict=True)]
    sides = [f"{{{prose(head)}}}{{{typeset(text, limit)}}}" for head, text in zip(heads, pair.responses, strict=True)]
    lines.append(r"\caseresponses" + "%\n".join(sides))
    parts = [(f"Reply of {judge}", reply) for judge, reply in (replies or {}).items()]
    if case.edited is not None:
        worse = "B" if pair.label == "A" else "A"
        texts = (both.responses["AB".index(worse)] for both in (pair, case.edited))
        parts.insert(0, (f"Added to response {worse}", added_text(*texts)))
    return lines + [rf"\casetext{{{prose(title)}}}{{{typeset(text, limit)}}}" for title, text in parts]


def save_cases(
    run: str, cases: Sequence[Case], replies: Mapping[str, Mapping[str, str]] | None = None, limit: int = EXCERPT
) -> Path:
    """The path of the pages of the cases, ``outputs/<run>/tables/case_studies.tex``; texts of earlier ones are removed.

    ``replies``: case to judge to the reply it gave, where judges say why; ``limit``: characters of each text shown.
    """
    folder = paths.run_folder(run, "cases")
    for left in set(folder.glob("*.tex")) - {folder / f"{case.name}.tex" for case in cases}:
        left.unlink()
    for case in cases:
        write(folder / f"{case.name}.tex", text_lines(case, (replies or {}).get(case.name), limit))
    path = paths.run_folder(run, "tables") / "case_studies.tex"
    write(path, [line for case in cases for line in page_lines(case, run)])
    return path


def write(path: Path, lines: Sequence[str]) -> None:
    """Write lines under a head, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")

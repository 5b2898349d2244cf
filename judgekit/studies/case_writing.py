r"""Why a case came out as it did, in sentences, and its page, which a document that loads ``report/results.sty`` takes.

Pages (``\input{../outputs/\run/tables/case_studies}``, tracked) hold ids, votes, verdicts and the analysis. Texts of
data sets are not tracked: they stand in ``outputs/<run>/cases/<name>.tex``; where that is not there, the page says so.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.records import SWAPPED
from judgekit.report.escaping import LONGEST_WORD, break_word, escape, typeset
from judgekit.studies.case_studies import Case, added_text, edit_size

MOST_NAMED = 8  # judges that a sentence names before it counts the rest
HEAD = "% written by judgekit.studies.case_writing; do not edit"
NOTICE = "The texts belong to the data set and are not shipped; the notebook prints them where the data is."
TITLES = {
    "confident_error": "Confident error",
    "flip": "Flip under swap",
    "against_people": "Against unanimous people",
    "judges_apart": "Judges against each other",
    "attack": "Attack that succeeded",
    "label_error": "Probable label error",
}

# ---------------------------------------------------------------- sentences from computed facts alone


def names_of(judges: Iterable[str]) -> str:
    """Judges by name, or nobody.

    >>> names_of(["gpt_4", "minilm"]), names_of([])
    ('gpt_4 and minilm', 'nobody')
    """
    judges = list(judges)
    if len(judges) > MOST_NAMED:
        judges = [*judges[:MOST_NAMED], f"{len(judges) - MOST_NAMED} more"]
    if len(judges) < 2:
        return judges[0] if judges else "nobody"
    return f"{', '.join(judges[:-1])} and {judges[-1]}"


def _features(named: Sequence[tuple[str, float]], spec: str) -> list[str]:
    return [f"{name.removeprefix('log_').replace('_', ' ')} ({push:{spec}})" for name, push in named]


def _opening(case: Case) -> str:
    """What the rule saw."""
    own, label, among = case.own, case.pair.label, case.verdicts
    if case.kind == "confident_error":
        sure = own.p_a if own.verdict == "A" else own.p_b
        return f"{case.judge} prefers {own.verdict} with probability {sure:.2f}; the label is {label}."
    if case.kind == "flip":
        sides = {"first": ("A", "B"), "second": ("B", "A")}
        who = {side: [one.judge for one in among if (one.ab, one.ba) == given] for side, given in sides.items()}
        parts = [f"{names_of(w)} take{'s' * (len(w) == 1)} the {side} one" for side, w in who.items() if w]
        return f"Whichever response is shown there, {' and '.join(parts)}: the place decides, not the text."
    if case.kind == "against_people":
        side = next(iter(case.pair.votes.values()))
        against = names_of(case.judges_for(SWAPPED[side]))
        return f"All {len(case.pair.votes)} people prefer {side}; {against} the other one."
    if case.kind == "judges_apart":
        return f"A is preferred by {names_of(case.judges_for('A'))}; B by {names_of(case.judges_for('B'))}."
    if case.kind == "attack":
        return _attack(case)
    others = names_of(one.judge for one in among if one.verdict not in (label, None))
    credible = f"The label {label} has credibility {1 - case.strength:.2f} among the judges"
    return f"{credible}; another verdict comes from {others}."


def _attack(case: Any) -> str:
    """What the edit changed, and what that did."""
    worse = SWAPPED[case.pair.label]
    before, after = ((one.p_a if worse == "A" else one.p_b) for one in (case.own, case.after))
    removed, added = edit_size(case.pair, case.edited)
    edit = f"The edit {case.attack.replace('_', ' ')} removes {removed} and adds {added} word{'s' * (added != 1)}"
    sentence = f"{edit} of response {worse}, which people prefer less; {case.judge} then prefers it"
    known = before is not None and after is not None
    return sentence + (f": its probability goes from {before:.2f} to {after:.2f}." if known else ".")


def _moved_features(case: Any) -> str:
    """Which features the edit moved most in favour of the edited response, and what it did to the gate."""
    worse, now, before = SWAPPED[case.pair.label], case.edited_dissection, case.dissection
    sign = 1 if worse == "A" else -1
    moved = [(name, sign * (now.pushes[name] - before.pushes[name])) for name in now.pushes]
    most = [one for one in sorted(moved, key=lambda one: (-one[1], one[0]))[:3] if one[1] > 0]
    listed = names_of(_features(most, "+.2f")) if most else "nothing in its looks"
    sentence = f"What it moved most in favour of {worse}: {listed}."
    if now.off_topic is None:
        return sentence
    chance = f"{now.off_topic:.2f} then, {before.off_topic:.2f} before"
    return f"{sentence} The gate takes a response to be beside the question with {chance}."


def _length(case: Case) -> str:
    """Which response is longer, and whether the judge prefers it."""
    (a, b), given = case.words, case.own.verdict
    counted = f"{a} word{'s' * (a != 1)}"
    if a == b:
        return f"Both responses have {counted}."
    longer = "longer" if given == ("A" if a > b else "B") else "shorter"
    return f"A has {counted} and B {b}" + (f"; {case.judge} prefers the {longer} one." if given in ("A", "B") else ".")


def _surface(case: Case) -> str:
    """What surface features pushed the score, and what would have to be left out to turn it."""
    found = case.dissection
    best, turning = max(found.by_features[:2]), found.turning()
    a, b = (names_of(_features(found.strongest(side), ".2f")) for side in "AB")
    a, b = ("nothing" if text == "nobody" else text for text in (a, b))
    sentence = f"In the score of {found.judge}, for A {a} speak most and for B {b}; "
    sentence += f"by looks alone {found.favoured} is ahead with {best:.2f}."
    if not turning:
        return f"{sentence} No feature speaks for the other response."
    shown = names_of(name.removeprefix("log_").replace("_", " ") for name in turning[:MOST_NAMED])
    rest = f" and {len(turning) - MOST_NAMED} more" * (len(turning) > MOST_NAMED)
    return f"{sentence} Without {shown}{rest} it would not be."


def _gate(case: Any) -> str:
    """What the gate made of it."""
    found = case.dissection
    if found.relevance is None:
        return f"{found.judge} has no gate."
    before, behind = (("A", "B", "tie")[row.index(max(row))] for row in (found.by_features, found.behind_gate))
    turns = "leaves the verdict" if before == behind else f"turns {before} into {behind}"
    return (
        f"The gate reads log odds of {found.relevance[0]:.1f} that A was meant for the question and of "
        f"{found.relevance[1]:.1f} that B was; it takes one of them to be beside it with probability "
        f"{found.off_topic:.2f} and {turns} (A from {found.by_features[0]:.2f} to {found.behind_gate[0]:.2f})."
    )


def _agreement(case: Case) -> str:
    """Who agrees with the label."""
    if case.pair.label is None:
        return "There is no label."
    agree, n = case.judges_for(case.pair.label), sum(one.verdict is not None for one in case.verdicts)
    return f"{len(agree)} of {n} judges say what the label says ({names_of(agree)})."


def reasons(case: Case) -> list[str]:
    """The analysis of a case: sentences, each from computed facts, without any text of a data set."""
    edit = [_moved_features(case)] if case.edited is not None else []
    return [_opening(case), *edit, _length(case), _surface(case), _gate(case), _agreement(case)]


# ---------------------------------------------------------------- tables: ids, labels, numbers


def case_rows(cases: Sequence[Case], candidates: Sequence[pd.DataFrame] = ()) -> list[dict[str, Any]]:
    """A row for each case, for `judgekit.report.save_table` in sections by ``kind``: item, label, votes, verdict.

    The rule's name says how many of ``candidates`` (what the rules found) qualified, where these are given.
    """
    qualify = {rows["kind"].iloc[0]: f": {len(rows):,} qualify" for rows in candidates if len(rows)}
    rows = []
    for case in cases:
        own, pair = case.own, case.pair
        row = {"kind": TITLES[case.kind] + qualify.get(case.kind, ""), "no.": int(case.name.rpartition("_")[2])}
        row |= {"set": case.set, "item": pair.item_id, "label": pair.label}
        row |= {"votes": ":".join(map(str, case.votes)) if pair.votes else None, "judge": case.judge}
        row |= {"verdict": own.verdict, "P(A)": own.p_a, "words": ":".join(map(str, case.words))}
        agree = f"{len(case.judges_for(pair.label))} of {len(case.verdicts)}" if pair.label else None
        rows.append(row | {"agree": agree})
    return rows


# ---------------------------------------------------------------- pages


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else escape(value)


def _prose(text: str) -> str:
    """Text of our own for LaTeX, with marks after which a long name may break."""
    text = re.sub(r"(?<=[\s(])-(?=\d)", "−", text)
    pieces = re.split(r"(?<=[_:-])(?=\w)", text)
    return r"\wordbreak{}".join(
        " ".join(break_word(word) if len(word) > LONGEST_WORD else escape(word) for word in piece.split(" "))
        for piece in pieces
    )


def page_lines(case: Case, run: str) -> list[str]:
    """A case without any text of a data set; these stand in a file of their own, which it inputs."""
    again = [] if case.after is None else [case.after._replace(judge=f"{case.after.judge}, edited")]
    where = f"Item {case.pair.item_id} of {case.set}; label {case.pair.label or 'none'}"
    if case.pair.votes:
        where += "; people's votes: {} for A, {} for B, {} for a tie".format(*case.votes)
    title = f"{TITLES[case.kind]} {case.name.rpartition('_')[2]}"
    texts = f"../outputs/{run}/cases/{case.name}.tex"
    heads = ["judge", "A first", "B first", "verdict", "P(A)", "P(B)", "P(tie)"]
    return [
        rf"\begin{{casestudy}}{{{escape(title)}}}{{{_prose(where)}}}",
        rf"\IfFileExists{{{texts}}}{{\input{{{texts}}}}}{{\casetext{{Texts}}{{{NOTICE}}}}}",
        r"\begin{caseverdicts}",
        *[r"\begin{tabular}{@{}lcccrrr@{}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"],
        *[r"\relax " + " & ".join(map(_cell, one)) + r" \\" for one in (*case.verdicts, *again)],
        *[r"\bottomrule", r"\end{tabular}"],
        r"\end{caseverdicts}",
        rf"\casetext{{Why}}{{{_prose(' '.join(reasons(case)))}}}",
        r"\end{casestudy}",
    ]


def text_lines(case: Case, replies: Mapping[str, str], limit: int = 300) -> list[str]:
    """The question, the responses and the replies, safe to typeset whatever is in them."""
    pair = case.pair
    models = zip("AB", (pair.model_a, pair.model_b), pair.responses, strict=True)
    sides = [
        f"{{{_prose(f'Response {side}' + (f' ({model})' if model else ''))}}}{{{typeset(text, limit)}}}"
        for side, model, text in models
    ]
    parts = [(f"Reply of {judge}", reply) for judge, reply in replies.items()]
    if case.edited is not None:
        worse = "B" if pair.label == "A" else "A"
        texts = (both.responses["AB".index(worse)] for both in (pair, case.edited))
        parts.insert(0, (f"Added to response {worse}", added_text(*texts)))
    first = [rf"\casetext{{Question}}{{{typeset(pair.asked, limit)}}}", r"\caseresponses" + "%\n".join(sides)]
    return first + [rf"\casetext{{{_prose(title)}}}{{{typeset(text, limit)}}}" for title, text in parts]


def save_cases(
    run: str, cases: Sequence[Case], replies: Mapping[str, Mapping[str, str]] | None = None, limit: int = 300
) -> Path:
    """The path of the pages of the cases, ``outputs/<run>/tables/case_studies.tex``; texts of earlier ones are removed.

    ``replies``: case to judge to the reply it gave, where judges say why; ``limit``: characters of each text shown.
    """
    folder = paths.run_folder(run, "cases")
    files = {folder / f"{case.name}.tex": text_lines(case, (replies or {}).get(case.name, {}), limit) for case in cases}
    for left in set(folder.glob("*.tex")) - set(files):
        left.unlink()
    path = paths.run_folder(run, "tables") / "case_studies.tex"
    for file, lines in (files | {path: [line for case in cases for line in page_lines(case, run)]}).items():
        with replaced(file) as temporary:
            temporary.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path

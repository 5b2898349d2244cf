r"""Self-preference: does a judge lift what its own family wrote?

A target (one author, or the authors of a family) meets the other authors. On these items a judge gives the target a
credit :math:`y` (1, 0.5 for a tie, 0; the mean of its orders), and a reference gives :math:`r`: people, or judges of
other families. Every effect here is in shares of wins, what the judge's preference adds to the target's win rate, and
stands for another way to say what the judge would have said without it:

- `own_lift`: the reference itself. Right if judge and reference differ in nothing but self-preference.
- `own_contrast`: the reference, and what the judge adds to the other authors, by author.
- `calibrated_lift`: the reference's strengths of authors, sharpened as much as the judge sharpens those of others.
- `regressed_lift`: a logistic regression on the reference's share of each item and on length.

None can tell a taste for one's own from a taste for something that only one's own family does, and none says why a
judge has it: familiarity of the text (its perplexity to the judge) is not stored with verdicts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.bias.families import NO_FAMILY, family_of, same_family
from judgekit.bias.judged import CREDIT, judged_table
from judgekit.bias.lifts import Effect, calibrated_lift, meetings_of, own_contrast, own_lift, regressed_lift, sharpness
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.records import PreferencePair, unique_items
from judgekit.stats import holm


def compared(table: pd.DataFrame, reference: "pd.Series[float] | None" = None) -> pd.DataFrame:
    """A judge beside a reference, on the items that both have judged.

    Columns item_id, cluster, author_a, author_b, judged, reference (credits for A), doublings (of words, A over B).
    Where a judge was asked in both orders it counts with both or not at all; items of one author alone, or without
    authors, are left out. ``table`` is of `judgekit.bias.judged`; ``reference`` has by ``item_id`` credit for A in
    [0, 1], such as `others_opinion`, and is people by default. ValueError if nothing is left.
    """
    orders = table[["ab", "ba"]].dropna(axis=1, how="all")
    found = pd.DataFrame(
        {
            "item_id": table["item_id"],
            "cluster": table["cluster"],
            "author_a": table["model_a"],
            "author_b": table["model_b"],
            "judged": orders.mean(axis=1, skipna=False),
            "reference": table["people"] if reference is None else table["item_id"].map(reference),
            "doublings": np.log2((1 + table["words_a"]) / (1 + table["words_b"])),
        }
    ).dropna()
    found = found[found["author_a"] != found["author_b"]]
    if found.empty:
        raise ValueError("no item has two known authors, a verdict of the judge and one of the reference")
    return found.reset_index(drop=True)


def others_opinion(tables: Mapping[str, pd.DataFrame], families: Mapping[str, str], judge: str) -> "pd.Series[float]":
    """What judges of other families say: the mean over families of the mean over their judges.

    Credit for A by ``item_id``, where every other family has spoken. Tables and families are by judge, the tables all
    of the same pairs. Neither the judge nor its kin count; what has no family is its own only kin. ValueError if there
    is no judge of another family.
    """
    said: dict[str, list[Any]] = {}
    for name in tables:
        if name != judge and not same_family(families[name], families[judge]):
            voice = name if families[name] in NO_FAMILY else families[name]
            said.setdefault(voice, []).append(credit_of(tables[name]))
    if not said:
        raise ValueError(f"no judge of another family than {judge}'s ({families[judge]})")
    means = [pd.concat(credits, axis=1).mean(axis=1) for credits in said.values()]
    return pd.concat(means, axis=1).mean(axis=1, skipna=False)


def credit_of(table: pd.DataFrame) -> "pd.Series[float]":
    """``item_id`` to the mean credit of a judge's orders; NaN where one of those it was asked in is missing."""
    orders = table[["ab", "ba"]].dropna(axis=1, how="all")
    return pd.Series(orders.mean(axis=1, skipna=False).to_numpy(), index=table["item_id"])


def facing(rows: pd.DataFrame, target: Sequence[str], others: Sequence[str]) -> pd.DataFrame:
    """The items on which the authors of a target and of the others meet each other or among themselves.

    Rows of `compared` with a column ``side``: 1 where the target wrote A alone, -1 where it wrote B alone, otherwise 0.
    Leave a judge's kin out of ``others``, so that what it does to them is not taken for what it does to the target.
    ValueError if the target never meets another author, or somebody is on both sides.
    """
    if both := sorted(set(target) & set(others)):
        raise ValueError(f"{', '.join(both)}: target and others at once")
    authors = [*target, *others]
    kept = rows[rows["author_a"].isin(authors) & rows["author_b"].isin(authors)]
    kept = kept.assign(side=kept["author_a"].isin(target).astype(int) - kept["author_b"].isin(target).astype(int))
    if not kept["side"].any():
        raise ValueError(f"{', '.join(target)} never meets {', '.join(others) or 'another author'}")
    return kept.reset_index(drop=True)


def kin_of(tables: Mapping[str, pd.DataFrame], families: Mapping[str, str]) -> dict[str, list[str]]:
    """Judge to the authors of a set that are of its own family, sorted; often none."""
    return {
        judge: [one for one in authors_of(table) if same_family(families[judge], family_of(one))]
        for judge, table in tables.items()
    }


def authors_of(table: pd.DataFrame) -> list[str]:
    return sorted({*table["model_a"].dropna(), *table["model_b"].dropna()}, key=str.casefold)


def lift_table(rows: pd.DataFrame, kin: Sequence[str], n_boot: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Every author of a set as the target in turn, so that a judge's own family stands among placebos.

    Columns target, own (whether of the judge's family), lift, contrast, calibrated, plain, regressed (of type
    `Effect`; calibrated is None with fewer than two others) and sharpness (`Number` or None); ``p_holm`` is that of
    the calibrated effect (of the contrast where there is none) among all targets. ``rows`` are of `compared`; ``kin``,
    authors of the judge's own family, are never among the others, and where there are several also one target together,
    named ``own``.
    """
    authors = sorted({*rows["author_a"], *rows["author_b"]}, key=str.casefold)
    targets = {author: [author] for author in authors} | ({"own": list(kin)} if len(kin) > 1 else {})
    found = []
    for name, target in targets.items():
        others = [author for author in authors if author not in {*target, *kin}]
        row = lift_row(facing(rows, target, others), n_boot, seed)
        found.append({"target": name, "own": set(target) <= set(kin), **row})
    table: Any = pd.DataFrame(found)
    tested = [row.calibrated or row.contrast for row in table.itertuples()]
    return table.assign(p_holm=holm([effect.p_value for effect in tested]))


def lift_row(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """All effects on one target, of rows of `facing`: name to `Effect`, and ``sharpness`` to a `Number`; see
    `lift_table`.
    """
    apart = (~meetings_of(rows).target).sum() > 1
    return {
        "lift": own_lift(rows, n_boot, seed),
        "contrast": own_contrast(rows, n_boot, seed),
        "calibrated": calibrated_lift(rows, n_boot, seed) if apart else None,
        "plain": regressed_lift(rows, ()),
        "regressed": regressed_lift(rows),
        "sharpness": sharpness(rows, n_boot, seed) if apart else None,
    }


def pooled_rows(tables: Mapping[str, pd.DataFrame], kin: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """All judges of a set, each item's mean over judges taken off: what `pooled_lift` reads.

    Columns item_id, cluster, judge, credit and side (1 where its family wrote A alone, -1 for B), for the items on
    which all judges gave a verdict. ``tables``, all of the same pairs, and ``kin``, authors of its own family, are by
    judge; judges without kin are the measure for the others. ValueError if none has kin among the authors.
    """
    credit = pd.DataFrame({judge: credit_of(table) for judge, table in tables.items()}).dropna()
    first = next(iter(tables.values())).set_index("item_id").loc[credit.index]
    a, b = first["model_a"], first["model_b"]
    side = pd.DataFrame({judge: a.isin(kin[judge]) * 1.0 - b.isin(kin[judge]) * 1.0 for judge in tables})
    if not side.to_numpy().any():
        raise ValueError("no judge meets its own family")
    within = {name: part.sub(part.mean(axis=1), axis=0) for name, part in (("credit", credit), ("side", side))}
    n_judges = len(tables)
    return pd.DataFrame(
        {
            "item_id": np.repeat(credit.index.to_numpy(), n_judges),
            "cluster": np.repeat(first["cluster"].to_numpy(), n_judges),
            "judge": np.tile(list(tables), len(credit)),
            **{name: part.to_numpy().ravel() for name, part in within.items()},
        }
    )


def pooled_lift(rows: pd.DataFrame) -> Effect:
    r"""What judges add to their own families' win rates, all judges of a set (`pooled_rows`) together.

    The linear probability model :math:`y_{ij} = \alpha_i + o\,t_{ij}` with an effect :math:`\alpha_i` for every item
    and the side :math:`t_{ij}` of judge j's own family, errors clustered by prompt. An effect for every judge is one
    for A, which is an arbitrary side, so there is none. How good the responses are, and how long, is in
    :math:`\alpha_i` as far as judges see it alike: a judge that is sharper than the others is not held apart.
    """
    from statsmodels.regression.linear_model import OLS

    clusters = pd.factorize(rows["cluster"])[0]
    fitted = OLS(rows["credit"].to_numpy(), rows[["side"]].to_numpy()).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    low, high = fitted.conf_int()[0]
    ends = map(float, (fitted.params[0], low, high, fitted.pvalues[0]))
    return Effect(*ends, rows.loc[rows["side"] != 0, "item_id"].nunique())  # type: ignore[call-arg, arg-type]  # four


def annotated_table(pairs: Sequence[PreferencePair], annotator: str) -> pd.DataFrame:
    """What one annotator of a corpus said, as a table of `judgekit.bias.judged` that can be set beside another's.

    It has the same ``item_id``, and the same author as A, for the same prompt and authors whoever annotated. The pairs'
    ``subset`` names the annotator, such as ``alpaca_eval``. ValueError if it annotated nothing, or one prompt and two
    authors twice.
    """
    kept: list[Any] = [pair for pair in pairs if pair.subset == annotator]
    kept = [pair if pair.model_a <= pair.model_b else pair.swapped() for pair in kept]
    kept = [replace(pair, item_id=f"{pair.cluster}:{pair.model_a}:{pair.model_b}") for pair in kept]
    if not kept:
        raise ValueError(f"{annotator!r} annotated none of these pairs")
    table = judged_table(unique_items(kept), [])
    graded = [CREDIT[pair.label] if pair.soft_label is None else pair.soft_label for pair in kept]
    return table.assign(ab=graded, people=np.nan)


def planted_gain(
    bias: PlantedBias, population: Population, target: Sequence[str], seed: int = 0, prompts: int = 20_000
) -> float:
    """What a planted judge's taste for its own adds to their win rate: the truth that estimators are held against.

    Mean over items that hold the target (authors of its family) of its probability to win, less the same without the
    taste. ``seed`` and ``prompts`` are of the draw over which its exact probabilities are averaged.
    """
    large = replace(population, prompts=prompts)
    told, plain = (planted_table(one, large, seed) for one in (bias, replace(bias, own=0.0)))
    side = told["model_a"].isin(target).astype(int) - told["model_b"].isin(target).astype(int)
    gain = (told["p_ab"] + told["p_ba"] - plain["p_ab"] - plain["p_ba"]) / 2
    return float((side * gain)[side != 0].mean())

"""Who is compared with whom in notebook 42: a judge with a reference, a target with the other authors."""

from collections.abc import Mapping, Sequence

import pandas as pd

from judgekit.bias.family import NO_FAMILY, same_family


def credit_of(table: pd.DataFrame) -> "pd.Series[float]":
    """Mean credit of a judge's orders by item; NaN where one of those it was asked in is missing."""
    return table.set_index("item")[["ab", "ba"]].dropna(axis=1, how="all").mean(axis=1, skipna=False)


def compared(table: pd.DataFrame, reference: "pd.Series[float] | None" = None) -> pd.DataFrame:
    """A judge (`judgekit.bias.judged`) beside a reference, on the items of two known authors that both have judged.

    Columns item, prompt, author_a, author_b, judged, reference: credits for A, the reference's people's by default.
    Where a judge was asked in both orders it counts with both or not at all. ValueError if nothing is left.
    """
    rows = table[["item", "prompt"]].assign(
        author_a=table["model_a"],
        author_b=table["model_b"],
        judged=credit_of(table).to_numpy(),
        reference=table["people"] if reference is None else table["item"].map(reference),
    )
    rows = rows.dropna()
    rows = rows[rows["author_a"] != rows["author_b"]]
    if rows.empty:
        raise ValueError("no item has two known authors, a verdict of the judge and one of the reference")
    return rows.reset_index(drop=True)


def others_opinion(tables: Mapping[str, pd.DataFrame], families: Mapping[str, str], judge: str) -> "pd.Series[float]":
    """The verdict of judges of other families: the mean over families of the mean over their judges.

    Credit for A by item, where every other family has a verdict; a judge without family is one of its own. ValueError
    if there is no judge of another family.
    """
    others = [name for name in tables if name != judge and not same_family(families[name], families[judge])]
    if not others:
        raise ValueError(f"no judge of another family than {judge}'s ({families[judge]})")
    credits = pd.DataFrame({name: credit_of(tables[name]) for name in others}).T
    voices = [name if families[name] in NO_FAMILY else families[name] for name in others]
    return credits.groupby(voices).mean().T.mean(axis=1, skipna=False)


def with_target(rows: pd.DataFrame, target: Sequence[str], others: Sequence[str]) -> pd.DataFrame:
    """The items on which the authors of a target and the others meet each other or among themselves.

    Rows of `compared` with a column ``side``: 1 where the target wrote A alone, -1 where it wrote B alone, otherwise 0.
    Leave authors of the judge's family out of ``others``. ValueError if the target never meets another author.
    """
    if both := sorted(set(target) & set(others)):
        raise ValueError(f"{', '.join(both)}: target and others at once")
    authors = [*target, *others]
    rows = rows[rows["author_a"].isin(authors) & rows["author_b"].isin(authors)]
    rows = rows.assign(side=rows["author_a"].isin(target).astype(int) - rows["author_b"].isin(target).astype(int))
    if not rows["side"].any():
        raise ValueError(f"{', '.join(target)} never meets {', '.join(others) or 'another author'}")
    return rows.reset_index(drop=True)

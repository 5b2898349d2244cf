"""``judgekit store``: what the verdict store holds, what was paid for it, and how to be rid of a part."""

from pathlib import Path
from typing import Annotated

import typer

from judgekit.cli.keeping import OTHER_STORE, Settings, Store, opened_store, store_file
from judgekit.cli.messages import BAD_INPUT, DONE, Stop
from judgekit.cli.running import loaded_judge

_ROW = "{:<14}{:>10}{:>9}{:>13}{:>12}{:>12}  {:<12}{}"
_HEAD = ("judge", "replies", "failed", "tokens in", "tokens out", "cost", "first", "last")


def store(
    store: Store = None,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this judge: provider/model.")] = None,
    settings: Settings = None,
    before: Annotated[str | None, typer.Option(metavar="DATE", help="Only what was written before this day.")] = None,
    price_in: Annotated[float, typer.Option(min=0, help="Price per million tokens that were read.")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="Price per million tokens that were written.")] = 0.0,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what is listed; needs --judge or --before.")] = False,
) -> int:
    """Show the verdict store: its size, and for each judge its replies, failed calls, tokens, cost and days.

    A judge is shown by the first letters of its fingerprint, which --judge finds for a name. Every reply is checked
    first. With --prune what is listed is removed and the file shrinks; what was removed is asked again where it is
    wanted.
    """
    from datetime import date

    path = Path(store_file(store))
    if not path.is_file():
        raise Stop(BAD_INPUT, f"{path}: there is no verdict store yet {OTHER_STORE}")
    if prune and judge is None and before is None:
        raise Stop(BAD_INPUT, "--prune: say of what, by --judge or --before")
    try:
        day = date.fromisoformat(before).isoformat() if before else None
    except ValueError:
        raise Stop(BAD_INPUT, f"--before {before}: expected a date such as 2026-01-31") from None
    wanted = loaded_judge(judge, settings, True, weights=False).fingerprint if judge else None
    with opened_store(str(path)) as kept:
        kept.check()
        rows = kept.contents(wanted, day)
        print(f"{path}: {sum(row[1] for row in rows):,} replies, {path.stat().st_size / 1e6:,.2f} MB")
        print(_ROW.format(*_HEAD))
        for name, count, failed, read, wrote, first, last in rows:
            cost = f"{(read * price_in + wrote * price_out) / 1e6:,.2f}" if price_in or price_out else "-"
            numbers = (f"{n:,}" for n in (count, failed, read, wrote))
            print(_ROW.format(name[:12], *numbers, cost, first[:10], last[:10]))
        if prune:
            print(f"{kept.prune(wanted, day):,} replies removed, {path.stat().st_size / 1e6:,.2f} MB left")
    return DONE

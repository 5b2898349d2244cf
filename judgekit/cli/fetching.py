"""``judgekit fetch``, ``list`` and ``store``: pinned files, all that has a name here, and what is kept of judging."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judgekit.cli.keeping import OTHER_STORE, Quiet, Settings, Store, opened_store, store_file
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, tell
from judgekit.cli.running import loaded_judge
from judgekit.data.paths import known_names

_Kind = Literal["judges", "prompts", "sets", "probes", "models", "formats"]
_ROW = "{:<14}{:>10}{:>9}{:>13}{:>12}{:>12}  {:<12}{}"
_HEAD = ("judge", "replies", "failed", "tokens in", "tokens out", "cost", "first", "last")


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Sources such as pandalm, or files such as pandalm/testset-v1.json; with --models, language models.",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the sources (with NAME, their files) and fetch nothing.")
    ] = False,
    models: Annotated[bool, typer.Option("--models", help="Language models in place of data.")] = False,
    quiet: Quiet = False,
) -> int:
    """Fetch the pinned data files or language models, all of them by default, and check their SHA-256.

    Files are read from the mirror that the environment variable JUDGEKIT_DATA (JUDGEKIT_MODELS) names, or else
    downloaded. Exit code 3: some could not be had; the others are kept, and the same command tries again.
    """
    if models:
        return _fetch_models(names, listed, quiet)
    from judgekit.data import paths
    from judgekit.data.sources import DataError, sources
    from judgekit.data.sources.fetching import expand, fetch_all

    try:
        # In the mirror, or without one in the cache; a wrong JUDGEKIT_DATA is told before anything is fetched.
        folder = paths.data_mirror() or paths.data_cache()
        chosen = expand(names) if names else sources()
    except (DataError, NotADirectoryError) as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    if listed:
        import pandas as pd

        name, files = "name" if names else "source", pd.DataFrame(map(asdict, chosen))
        # Whatever the files hold: that takes longer.
        here = [any((folder / f"{path}{end}").is_file() for end in ("", ".gz")) for path in files["mirror_path"]]
        files = files.assign(files=1, MB=files["bytes"] / 1e6, here=here)
        table = files.groupby([name, "split", "licence"], sort=False, as_index=False)[["files", "MB", "here"]].sum()
        table["here"] = table["here"].astype(object).where(table["here"] < table["files"], "yes")
        return _print(table[[name, "files", "MB", "here", "split", "licence"]])
    try:
        fetched = fetch_all(names or None, progress=not quiet)
    except DataError as failed:
        for line in str(failed).splitlines():
            tell(f"error: {line}")
        return SOME_FAILED
    if not quiet:
        tell(f"{len(fetched)} files are here and are what they should be")
    return DONE


def _fetch_models(names: list[str] | None, listed: bool, quiet: bool) -> int:
    """The same for language models by name."""
    from judgekit.models import Unavailable
    from judgekit.models.registry import fetch_model, language_models, present

    known = language_models()
    if unknown := [name for name in names or () if name not in known]:
        raise Stop(BAD_INPUT, f"{unknown[0]}: no language model is called so; {known_names(unknown[0], known)}")
    known = {name: known[name] for name in names or known}
    if listed:
        import pandas as pd

        table = pd.DataFrame([vars(one) for one in known.values()])
        table = table.assign(name=list(known), MB=table["bytes"] / 1e6, here=["yes" * bool(present(n)) for n in known])
        return _print(table[["name", "MB", "here", "model", "kind", "bits", "licence"]])
    code = DONE
    for name in known:
        try:
            path = fetch_model(name)
            if not quiet:
                tell(f"{name}: {path}")
        except Unavailable as absent:
            tell(f"error: {absent}")
            code = SOME_FAILED
    return code


def names_of(kind: Annotated[_Kind, typer.Argument(help="What to list.")]) -> int:
    """List the names that judgekit knows, one a line.

    judges ship with it (beside them: hf/MODEL, reward/MODEL, layers/MODEL, vllm/MODEL, openai/MODEL, own/NAME); prompts
    stand behind # in a judge's name; sets are read by notebooks (beside them: file:PATH); probes are those of rate,
    models those of fetch --models, formats those of convert.
    """
    from judgekit.cli.converting import formats
    from judgekit.data.catalogue import SAMPLE_SETS, SETS
    from judgekit.inside.rating import rater_names
    from judgekit.judges import shipped_judges
    from judgekit.models.registry import language_models
    from judgekit.prompts import strategy_names

    names: dict[str, Callable[[], Iterable[str]]] = {
        "judges": shipped_judges,
        "prompts": strategy_names,
        "sets": lambda: [*SAMPLE_SETS, *SETS],
        "probes": rater_names,
        "models": language_models,
        "formats": formats,
    }
    print(*names[kind](), sep="\n", flush=True)
    return DONE


def _print(table: Any) -> int:
    print(table.to_string(index=False, float_format="%.1f"), flush=True)
    return DONE


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

    A judge is shown by the first letters of its fingerprint, which --judge finds for a name; with --set, only what it
    said with these settings. Every reply is checked first. With --prune what is listed is removed and the file shrinks;
    what was removed is asked again where it is wanted.
    """
    from datetime import date

    path = Path(store_file(store))
    if not path.is_file():
        raise Stop(BAD_INPUT, f"{path}: there is no verdict store yet {OTHER_STORE}")
    if prune and judge is None and before is None:
        raise Stop(BAD_INPUT, "--prune: say of what, by --judge or --before")
    if settings and judge is None:
        raise Stop(BAD_INPUT, "--set: say of which judge, by --judge")
    try:
        day = date.fromisoformat(before).isoformat() if before else None
    except ValueError:
        raise Stop(BAD_INPUT, f"--before {before}: expected a date such as 2026-01-31") from None
    asked = loaded_judge(judge, settings, True, weights=False) if judge else None
    part = asked.fingerprint if asked else None, asked.decoding if asked and settings else None, day
    with opened_store(str(path)) as kept:
        kept.check()
        rows = kept.contents(part)
        found = sum(row[1] for row in rows)
        print(f"{path}: {found:,} {'reply' if found == 1 else 'replies'}, {path.stat().st_size / 1e6:,.2f} MB")
        print(_ROW.format(*_HEAD))
        for name, count, failed, read, wrote, first, last in rows:
            cost = f"{(read * price_in + wrote * price_out) / 1e6:,.2f}" if price_in or price_out else "-"
            numbers = (f"{n:,}" for n in (count, failed, read, wrote))
            print(_ROW.format(name[:12], *numbers, cost, first[:10], last[:10]))
        if prune:
            gone = kept.prune(part)
            print(f"{gone:,} {'reply' if gone == 1 else 'replies'} removed, {path.stat().st_size / 1e6:,.2f} MB left")
    return DONE

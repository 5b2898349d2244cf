"""``judgekit fetch`` and ``judgekit list``: pinned files of data and language models, and all that has a name here."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from judgekit.cli.keeping import Quiet
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, tell
from judgekit.data.paths import known_names

_Kind = Literal["judges", "prompts", "sets", "probes", "models", "formats"]


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
    if listed:
        import pandas as pd

        table = pd.DataFrame([vars(one) for one in known.values()])
        here = ["yes" if present(name) else "" for name in known]
        table = table.assign(name=list(known), MB=table["bytes"] / 1e6, here=here)
        return _print(table[["name", "MB", "here", "model", "kind", "bits", "licence"]])
    code = DONE
    for name in names or known:
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

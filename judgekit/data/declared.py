"""What a run gives a name of its own: ``params/<run>/judges.yaml`` and ``params/<run>/sets.yaml``."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from judgekit.data import paths
from judgekit.data.files import read_plain

SETS = "sets.yaml"
_Entry = TypeVar("_Entry", bound=BaseModel)


class DeclaredError(ValueError):
    """A run declares something in a way that cannot be read; the message names file and entry."""


class DeclaredSet(BaseModel):
    """A set of one's own: a file of pairs, its report, and the rule of its scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: str  # a relative path is one of the project; or ``hub:`` and owner/name@revision/path of a data set there
    title: str = ""  # of the report on it, where the run has no other
    protocol: str | dict[str, Any] = "primary"  # one of ``pairs``, or fields of `judgekit.scoring.Protocol`


def read_declared(run: str, file: str, kind: type[_Entry], **words: str) -> dict[str, _Entry]:
    """Name to entry of a run's file, in which ``{word}`` stands for what ``words`` say; empty without the file."""
    path, where = paths.project_root() / "params" / run / file, f"params/{run}/{file}"
    if not path.is_file():
        return {}
    values = read_plain(path, where, DeclaredError, **words)
    try:
        declared = TypeAdapter(dict[str, kind]).validate_python(values)  # type: ignore[valid-type]
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise DeclaredError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if strange := [name for name in declared if not paths.NAME.fullmatch(name)]:
        raise DeclaredError(f"{where}: {strange[0]!r} cannot be a name: use lower-case letters, digits and '_'")
    return declared


def declared_sets(run: str = "*") -> dict[str, DeclaredSet]:
    """The sets that a run declares, or all runs do; DeclaredError where two runs mean different sets by one name."""
    try:
        files = sorted((paths.project_root() / "params").glob(f"{run}/{SETS}"))
    except FileNotFoundError:  # an installed package, outside a checkout
        return {}
    found: dict[str, DeclaredSet] = {}
    for path in files:
        for name, one in read_declared(path.parent.name, SETS, DeclaredSet).items():
            if found.setdefault(name, one) != one:
                raise DeclaredError(f"params/{path.parent.name}/{SETS}: another run declares another set {name!r}")
    return found


def own_file(name: str) -> Path | None:
    """The file of a set of one's own, declared, ``file:PATH`` or ``hub:...``; None of another set."""
    one = declared_sets().get(name)
    given = name.removeprefix(paths.OWN) if name.startswith((paths.OWN, paths.HUB)) else (one.file if one else None)
    if given is None:
        return None
    if given.startswith(paths.HUB):
        return _hub_file(given)
    return path if (path := Path(given)).is_file() else paths.project_root() / path


def _hub_file(given: str) -> Path:
    """The cached copy of a file of a data set on the hub, at a revision, which is asked for: sets change."""
    from huggingface_hub import hf_hub_download

    repository, _, place = given.removeprefix(paths.HUB).partition("@")
    revision, _, file = place.partition("/")
    if not (repository and revision and file):
        raise DeclaredError(f"{given}: write {paths.HUB}owner/name@revision/path")
    try:
        return Path(hf_hub_download(repository, file, revision=revision, repo_type="dataset"))
    except (OSError, ValueError) as absent:
        raise DeclaredError(f"{given}: cannot be fetched from the hub ({str(absent).partition(chr(10))[0]})") from None

"""Judges that a run declares in ``params/<run>/judges.yaml``: a name of one's own for any judge, and what it takes."""

from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from judgekit.data import paths
from judgekit.data.plain_yaml import load_plain

FILE = "judges.yaml"


class JudgesError(ValueError):
    """A run declares a judge in a way that cannot be read; the message names file and entry."""


class DeclaredJudge(BaseModel):
    """What stands behind a declared name; ``{models}`` in it is the folder of the models that the run trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str  # provider/model
    folder: str | None = None
    settings: dict[str, Any] | None = None


def declared_judges(run: str) -> dict[str, DeclaredJudge]:
    """Judges by the name that a run's notebooks give them, which is their slug; JudgesError names the faulty entry."""
    path = paths.project_root() / "params" / run / FILE
    if not path.is_file():
        return {}
    where = f"params/{run}/{FILE}"
    try:
        text = path.read_text(encoding="utf-8").replace("{models}", str(paths.run_folder(run, "models")))
        declared = TypeAdapter(dict[str, DeclaredJudge]).validate_python(load_plain(text) or {})
    except yaml.YAMLError as broken:
        raise JudgesError(f"{where} is not YAML: {broken}") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise JudgesError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if strange := [name for name in declared if not paths.NAME.fullmatch(name)]:
        raise JudgesError(f"{where}: {strange[0]!r} is no name: use lower-case letters, digits and '_'")
    return declared

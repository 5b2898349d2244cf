"""``judgekit new``: a run of notebooks, and a report, on pairs of one's own."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from judgekit.cli.files import check_source
from judgekit.cli.keeping import Settings
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, tell
from judgekit.cli.running import given_settings, loaded_judge
from judgekit.data.files import load_plain
from judgekit.data.pairfile import PairRow, pair_row
from judgekit.data.pairfile.lines import Fields, Place, records

PAIRS = "pairs.jsonl"
_PATHS = ("rubric", "strategy", "ties", "weights")  # settings that may name a file
FEW, FEWEST = 30, 5  # pairs with a label, and questions; with fewer, intervals say nothing
_AS_IT_IS = r"^(?:openai|own|baseline)/[^#]*|^\w+/|[+#]|(?<=txt)-strict$"  # in a name; what is between may be a path
_STATING = ("encoder/", "probe/", "blend/", "layers/", "reward/", "baseline/features")  # p; others in one pass alone


def new(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of the run, and of its set in tables.")],
    pairs: Annotated[str, typer.Option(metavar="FILE", help="File of pairs, as judgekit judge reads it.")],
    judges: Annotated[list[str], typer.Option("--judge", metavar="NAME", help="provider/model; repeatable.")],
    protocol: Annotated[str, typer.Option(metavar="NAME", help="As judgekit score has it.")] = "mean_of_orders",
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the report.")] = "Judges on pairs of our own",
    votes: Annotated[
        str | None, typer.Option(metavar="FILE", help="Votes of people on the pairs, as judgekit label writes them.")
    ] = None,
    settings: Settings = None,
) -> int:
    """Make a run of notebooks, and a report, on pairs of your own; make report RUN=NAME then executes it.

    Writes params/RUN in this checkout: sets.yaml (where the pairs are, how they are scored), judges.yaml (who judges,
    with the settings of --set), and a file for each notebook that applies: agreement, and position bias; with labels
    also scores and length, with stated probabilities calibration; with votes (annotator to label) people's agreement.
    With --votes the pairs are copied there with the votes that stand on each; their majority labels what has no label.
    """
    from judgekit.data import catalogue, paths
    from judgekit.data.declared import SETS
    from judgekit.judges import ASKED, DECLARED, shipped_judges
    from judgekit.judges.names import unique_slugs
    from judgekit.models.registry import language_models
    from judgekit.scoring.protocols import protocols_for

    try:
        folder = paths.project_root() / "params" / run
    except FileNotFoundError as outside:
        raise Stop(BAD_INPUT, str(outside)) from None
    if not re.fullmatch("[a-z][a-z0-9]*", run):
        raise Stop(BAD_INPUT, f"RUN {run!r}: use lower-case letters and digits, a letter first")
    if folder.exists() or run in (*catalogue.SAMPLE_SETS, *catalogue.SETS):
        raise Stop(BAD_INPUT, f"params/{run} is there already, or a set is called so: choose another name")
    if protocol not in (known := protocols_for(paths.OWN)):
        raise Stop(BAD_INPUT, f"--protocol {protocol}: {paths.known_names(protocol, known)}")
    source, given = check_source(pairs), given_settings(settings)
    text = Path(__file__).with_name("own_run.yaml").read_text(encoding="utf-8")
    controls = sorted(set(re.findall(r"baseline/\w+", text)))  # in the notebooks of every run
    try:
        names = unique_slugs(name for name in judges if name not in controls)
    except ValueError as same:
        raise Stop(BAD_INPUT, f"--judge: {same} (params/{run}/judges.yaml may name them)") from None
    if not names:
        raise Stop(BAD_INPUT, f"--judge: {', '.join(controls)} are in every run; name a judge to hold against them")
    declared: dict[str, dict[str, Any]] = {}
    by_name = {*language_models(), *(name.partition("/")[2] for name in shipped_judges())}
    absolute = {name: _absolute(value, by_name) if name in _PATHS else value for name, value in given.items()}
    asked = [name for name in names if name.partition("/")[0] in ASKED]
    for name, slug in names.items():
        own = settings if name in asked or not asked else None  # the others take none, and say so where all are such
        loaded_judge(name, own, True, weights=False)  # whatever is wrong is told now
        parts = re.split(f"({_AS_IT_IS})", name)
        found = "".join(part if n % 2 else _absolute(part, by_name) for n, part in enumerate(parts))
        declared[slug] = {"name": found} | ({"settings": absolute} if own else {})
    reading = (*_STATING, "hf/", "vllm/") if given.get("mode") == "one_pass" else _STATING
    stating = [slug for name, slug in names.items() if name.startswith(reading)]
    rows = _voted(Path(pairs), list(source.rows()), votes) if votes else None
    shown = (pair_row(row, Place(Path(pairs))) for row in rows) if rows else source.rows()
    counted = [(row.pair.label, len(row.pair.votes) > 1, row.pair.cluster) for row in shown]
    labels = [label for label, *_ in counted if label is not None]
    voted = any(several for _, several, _ in counted)
    questions = len({question for label, _, question in counted if label is not None})
    own_set = {"file": str((folder / PAIRS if rows else Path(pairs)).resolve()), "title": title, "protocol": protocol}
    files: dict[str, Any] = {SETS: {run: own_set}, DECLARED: declared}
    words = {"RUN": run, "JUDGES": ", ".join(declared), "FIRST": next(iter(declared)), "STATING": ", ".join(stating)}
    words["VOTED"] = run * voted
    for word, meant in words.items():  # all of lower-case letters, digits and "_"
        text = text.replace(word, meant)
    differing, scored = len(set(labels)) > 1, len(labels) >= FEW and questions >= FEWEST
    needs = ["pairs", "labels", *["length"] * differing, *["probabilities"] * bool(stating)]
    for need in [*needs, *["votes"] * bool(stating and voted)] if scored else needs[:1]:
        files |= {f"{name}.yaml": {"run": run} | one for name, one in load_plain(text)[need].items()}
    folder.mkdir(parents=True)
    if rows:
        (folder / PAIRS).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    if not scored:
        held = f"{len(labels)} of {len(counted)} pairs have a label or a majority, on {questions} questions"
        tell(f"note: {held}: nothing is scored ({FEW} on {FEWEST} would do)")
    elif not differing:
        tell(f"note: every label is {labels[0]}: what length does to verdicts cannot be told from it")
    tell(f"{folder} has {', '.join(files)}; next: make report RUN={run}")
    return DONE


def _absolute(path: str, by_name: set[str]) -> str:
    """A path as notebooks find it, which run in another folder; what is known by name, or is none, stays."""
    return str(Path(path).absolute()) if path and path not in by_name and Path(path).exists() else path


def _voted(pairs: Path, rows: list[PairRow], votes: str) -> list[Fields]:
    """The fields of a file's rows, with the votes of another; PairFileError where one is on no row as it is."""
    from judgekit.people.labelling.session import check_texts
    from judgekit.people.labelling.votefile import read_lines, read_votes, standing

    shown = {row.pair.item_id: row.pair for row in rows}
    read_votes(votes, {item: pair.cluster for item, pair in shown.items()})  # whatever is wrong is told now
    cast, by_item = standing(read_lines(votes)), defaultdict[str, dict[str, Any]](dict)
    check_texts(cast, shown, Path(votes))
    for (item, annotator), vote in cast.items():
        by_item[item][annotator] = vote.label
    if rows[0].form == "chosen/rejected":
        raise rows[0].place.error("is preferred already: votes go with response_a and response_b", "chosen")
    kept = ("question", "response_a", "response_b", "label", "reference")
    own = [{name: fields[name] for name in kept if name in fields} for _, fields in records(pairs)]
    votes_on = [row.pair.votes | by_item[row.pair.item_id] for row in rows]
    return [{"id": r.id} | fields | {"votes": v} for r, fields, v in zip(rows, own, votes_on, strict=True)]

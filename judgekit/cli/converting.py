"""``judgekit convert``: files of pairs with other names of fields, as the other commands read them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
import yaml

from judgekit.cli.files import check_out, written
from judgekit.cli.keeping import Out, rows_of
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, tell
from judgekit.cli.running import given_settings
from judgekit.data.pairfile import pair_row
from judgekit.data.pairfile.lines import Fields, Place, kind_of, missing, records
from judgekit.data.paths import known_names
from judgekit.records import LABELS

_Format: TypeAlias = dict[str, Any]  # see formats.yaml
_SAME = {label: label for label in LABELS}
PATHS = ("question", "response_a", "response_b", "id", "label", "reference")
_SPOKEN = re.compile(r"\n\n(Human|Assistant):\s?")
_ROLES = {"Human": "user", "Assistant": "assistant"}


def formats() -> dict[str, _Format]:
    """The formats that are known by name: where the fields of a pair stand, and what a label means."""
    return yaml.safe_load(Path(__file__).with_name("formats.yaml").read_text(encoding="utf-8"))


def convert(
    rows: Annotated[str, rows_of("ROWS", "JSON lines, a list (.json) or CSV (.csv), each may be .gz; or Parquet")],
    out: Out,
    form: Annotated[str | None, typer.Option("--format", metavar="NAME", help="From judgekit list formats.")] = None,
    paths: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="NAME=PATH", help="Where a field is, e.g. response_a=answers.0; repeatable."),
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="VALUE=A", help="What a label means; repeatable.")
    ] = None,
) -> int:
    """Write a file of pairs with the names that the other commands read.

    --format knows what published sets call their fields. --map names them one by one: question, response_a,
    response_b, and optionally id, label, reference and votes.ANNOTATOR, each with the path of theirs: names and
    positions (from 0) joined by dots. Lists of responses are paired each with each.

    --out gets JSON lines of id, question (a text, or messages where there were earlier turns), response_a, response_b
    and label. Rows that no pair can hold (responses that answer different conversations, labels that say nothing) are
    left out and counted.
    """
    check_out(out, rows)
    if (form is None) == (paths is None) or (labels and form):
        raise Stop(BAD_INPUT, "--format NAME, or --map NAME=PATH with --label VALUE=A: give one of the two")
    known = formats()
    if form is not None and form not in known:
        raise Stop(BAD_INPUT, f"--format {form}: no format is called so; {known_names(form, known)}")
    chosen = known[form] if form is not None else _own(paths, labels)
    left_out, ids = Counter[str](), Counter[Any]()
    with written(out, "") as write:
        for row in _converted(Path(rows), chosen, left_out):
            write([row])
            ids[row["id"]] += 1
        if not ids:
            why = "; ".join(f"rows with {what}: {number}" for what, number in left_out.items())
            raise Stop(BAD_INPUT, f"{rows}: holds no pairs ({why or 'the file is empty'})")
    for what, number in left_out.items():
        tell(f"note: rows with {what}, left out: {number}")
    if len(ids) < (count := ids.total()):
        tell(f"note: ids that stand more than once, which no other command takes: {count - len(ids)} of {count}")
    tell(f"{count} pair{'s' * (count > 1)} in {out}")
    return DONE


def _own(paths: list[str] | None, labels: list[str] | None) -> _Format:
    """The format that ``--map`` and ``--label`` describe."""
    given = given_settings([part for text in paths or () for part in re.split(r",(?=[\w.@-]+=)", text)], "--map")
    if unknown := [name for name in given if name not in PATHS and not name.startswith("votes.")]:
        raise Stop(BAD_INPUT, f"--map {unknown[0]}: a pair has {', '.join(PATHS)}, votes.ANNOTATOR")
    if absent := [name for name in ("question", "response_a", "response_b") if name not in given]:
        raise Stop(BAD_INPUT, f"--map {absent[0]}=PATH is missing")
    means = given_settings(labels, "--label", last=True)
    if wrong := [value for value, label in means.items() if label not in LABELS]:
        raise Stop(BAD_INPUT, f"--label {wrong[0]}: write VALUE=A, VALUE=B or VALUE=tie")
    if means and not any(name == "label" or name.startswith("votes.") for name in given):
        raise Stop(BAD_INPUT, "--label: what it reads is missing: --map label=PATH (or votes.ANNOTATOR=PATH)")
    return given | ({"labels": means} if means else {})


def _converted(path: Path, form: _Format, left_out: Counter[str]) -> Iterator[Fields]:
    """The rows of a file as ``judgekit judge`` reads them; ``left_out`` counts those that no such row can hold, by why.

    Their id is that of the row, or its number, and the number of the pair where a row has several; or PairFileError.
    """
    for place, row in records(path, ()):
        label = _label(row, form, place)
        votes = {name[6:]: _label(row, form, place, name) for name in form if name.startswith("votes.")}
        name = _at(row, form["id"], place) if "id" in form else None
        name = place.line if name is None else name
        if label is None and "label" in form:
            left_out["a label that says nothing"] += 1
        elif not (pairs := list(_pairs(row, form, place))):
            left_out["responses that answer different conversations"] += 1
        else:
            for number, (question, *responses) in enumerate(pairs, 1):
                fields = {"id": name if len(pairs) == 1 else f"{name}/{number}", "question": question}
                fields |= dict(zip(("response_a", "response_b"), responses, strict=True)) | {"label": label}
                fields |= {"reference": _at(row, form["reference"], place)} if "reference" in form else {}
                fields |= {"votes": votes} if votes else {}
                pair_row(fields, place)  # whatever is wrong is told now
                yield fields


def _at(row: Any, path: str, place: Place) -> Any:
    """What stands at a path; PairFileError names the first part that is not there."""
    found = row
    for part in [path] if isinstance(row, dict) and path in row else path.split("."):
        try:
            found = found[int(part) if isinstance(found, list) else part]
        except (KeyError, IndexError, ValueError, TypeError):
            if found is row:
                raise missing(row, part, place) from None
            raise place.error(f"has no {part!r}, for it is {kind_of(found)}", path) from None
    return found


def _label(row: Fields, form: _Format, place: Place, of: str = "label") -> str | None:
    """A, B or tie; nothing without a label, or where it is empty."""
    path, split, meant = form.get(of), form.get("split"), form.get("labels", _SAME)
    if path is None or (path in LABELS and path not in row):
        return path
    value = _at(row, path, place)
    if split is not None and isinstance(value, str):  # as a CSV has numbers
        with suppress(ValueError):
            value = float(value)
    if value in (None, "") or value != value:  # a number that is none
        return None
    value = str(value).lower() if isinstance(value, bool) else value  # as JSON has it
    word = f"{value:.15g}" if isinstance(value, float) else str(value)
    if word not in meant and split is not None and isinstance(value, int | float):
        return "A" if value < split else "B" if value > split else "tie"
    if word not in meant:
        raise place.error(f"is {word!r:.80}, not one of {', '.join(meant)}", path)
    return str(meant[word])


def _pairs(row: Fields, form: _Format, place: Place) -> Iterator[tuple[Any, str, str]]:
    """Question (or messages) and two responses: one or several a row, none where the responses answer other things."""
    if paths := form.get("conversations") or form.get("dialogues"):
        given = [(path, _at(row, path, place)) for path in paths]
        first, second = (_spoken(said) if "dialogues" in form else _messages(said, path, place) for path, said in given)
        if first[:-1] == second[:-1] and first[-1:] and second[-1:]:
            yield first[:-1], first[-1]["content"], second[-1]["content"]
        return
    first, second = (_at(row, path, place) for path in (form["response_a"], form["response_b"]))
    question = _at(row, form["question"], place)
    several = isinstance(first, list) and isinstance(second, list)
    yield from ((question, *pair) for pair in (product(first, second) if several else [(first, second)]))


def _messages(given: Any, path: str, place: Place) -> list[Any]:
    """Messages with texts: parts of a content are joined, those without a text (pictures) left out."""

    def text(content: Any) -> Any:
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        return "".join(part.get("text") or "" for part in content) if parts else content

    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise place.error(f"is {kind_of(given)}, not a list of messages", path)
    return [{"role": one.get("role"), "content": text(one.get("content"))} for one in given]


def _spoken(text: Any) -> list[dict[str, str]]:
    """The messages of a text in which two take turns."""
    parts = _SPOKEN.split(text) if isinstance(text, str) else []
    said = zip(parts[1::2], parts[2::2], strict=True)
    return [{"role": _ROLES[who], "content": words} for who, words in said]

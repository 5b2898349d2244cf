"""A teacher's ratings: one call per response and aspect, and only what it clearly says counts."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, StrictStr

from judgekit.data.pairfile import models
from judgekit.data.pairfile.places import row_place
from judgekit.inside.aspects import Aspect, aspect_prompt, load_aspects, rubric
from judgekit.prompts.files import fill, read_sections
from judgekit.prompts.parsing import read_objects, reply_part
from judgekit.records import Reply, fingerprint_of
from judgekit.scoring.store import VerdictStore
from judgekit.studies.teacher.asking import ask_all
from judgekit.studies.teacher.engines import engine_of

if TYPE_CHECKING:
    from judgekit.studies.teacher.local import LocalEngine
    from judgekit.studies.teacher.remote import ServerEngine

# In JSON, a back-slash begins one of these; in LaTeX, which teachers quote, it begins anything.
BACK_SLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
ADDED = ("total_score", "ratings", "teacher")


@cache
def system_template() -> str:
    """What a teacher is told, with places for an aspect."""
    text = (resources.files("judgekit.studies.teacher") / "rating.txt").read_text(encoding="utf-8")
    return dict(read_sections(text)[1])["system"]


def rating_messages(aspect: Aspect, question: str, response: str) -> list[dict[str, str]]:
    """What a teacher is asked: definition and scale, the aspect's example as an earlier exchange, and the response.

    An aspect without an example shows none. Question and response are made harmless as in
    `judgekit.inside.aspects.aspect_prompt`.
    """
    example, shown = aspect.example, []
    if example is not None:
        said = {"score": example.score, "justification": example.justification}
        shown = [
            {"role": "user", "content": aspect_prompt(None, example.question, example.response, "plain")},
            {"role": "assistant", "content": json.dumps(said, ensure_ascii=False)},
        ]
    asked = {"role": "user", "content": aspect_prompt(None, question, response, "plain")}
    return [{"role": "system", "content": fill(system_template(), rubric(aspect))}, *shown, asked]


def rating_version(aspect: Aspect) -> str:
    """Hash over everything a teacher is told about an aspect, 16 hexadecimal digits."""
    return fingerprint_of(rating_messages(aspect, "", ""))[:16]


def read_rating(text: str | None, scores: Collection[int]) -> tuple[int | None, str | None]:
    """The score in a teacher's reply and its justification; None and None where there is no clear score.

    The last JSON object that holds a ``score`` decides. It must have a ``score``, a whole number of the scale
    ``scores``, and a ``justification``, a text. What a reasoning model thought is not its reply.

    Nothing is guessed: a score in words, as ``"4"``, as 4.0 or outside the scale is none, nor is one of two objects
    that differ on one line, or of an object that says its score twice. Back-slashes that are no JSON are read as
    back-slashes, since a teacher that quotes LaTeX writes such.

    >>> read_rating('Well: {"score": 4, "justification": "The step $a \\\\cdot b$ is right."}', range(1, 6))
    (4, 'The step $a \\\\cdot b$ is right.')
    >>> read_rating('I would say 4.', range(1, 6))
    (None, None)
    """
    text = BACK_SLASH.sub(lambda found: found[0] if found[1] else "\\\\", reply_part(text))
    found = [(line, fields) for line, fields in read_objects(text) if fields is None or "score" in fields]
    last: list[Any] = [fields for line, fields in found if line == found[-1][0]]
    if not last or any(fields is None or fields != last[0] for fields in last):
        return None, None
    score, justification = last[0]["score"], last[0].get("justification")
    if type(score) is not int or score not in scores or not isinstance(justification, str):
        return None, None
    return score, justification


def rate_responses(
    responses: Iterable[Mapping[str, Any]],
    aspects: dict[str, Aspect] | str | Path,
    model: "str | ServerEngine | LocalEngine",
    store: VerdictStore | str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """The responses in their order, as copies with a teacher's ratings.

    The fields that are added: one per aspect (the score, or None), ``total_score`` (the sum, None unless every aspect
    has a score), ``teacher`` (the model), and ``ratings``: by aspect ``score``, ``justification``, ``status``,
    ``prompt_version``, and, without a score, ``reply`` or ``error``. Status is ``ok``; ``unparsed``: the reply holds no
    clear score, and is not asked for again; ``error``: the call failed, and the same call asks again; ``skipped``: no
    response, or a prompt that is too long.

    ``responses``: ``question`` and ``response``, and anything else. A response of None (it could not be collected) is
    not rated.
    ``aspects``: by name, or what `judgekit.inside.aspects.load_aspects` takes.
    ``model``, ``store``, ``settings``: as in `judgekit.studies.teacher.collect_responses`: ratings are kept when they
    come, and asked for once.

    One call per response and aspect: scores asked for together lean on one another. The label is one model's opinion,
    and should be checked against people's on some responses.

    `judgekit.data.pairfile.PairFileError` where a response is not what it should be, or has a field of the name of one
    that would be added; names place and field. `judgekit.inside.aspects.AspectError` and
    `judgekit.models.Unavailable` where there are no such aspects, or no such model. ValueError where there is no
    aspect, or one has the name of another field that is added.
    """
    aspects = aspects if isinstance(aspects, dict) else load_aspects(aspects)
    if not aspects:
        raise ValueError("there is no aspect to rate by")
    if taken := sorted(set(aspects) & set(ADDED)):
        raise ValueError(f"no aspect can be called {taken[0]!r}: a field of every rated row is")
    rows = [checked_response(row, n, aspects) for n, row in enumerate(responses)]
    engine = engine_of(model, settings)
    cells = [(row, aspect) for row in rows for aspect in aspects.values()]
    asked = [
        None if row["response"] is None else (rating_messages(aspect, row["question"], row["response"]), 0)
        for row, aspect in cells
    ]
    replies = iter(ask_all(engine, asked, store, progress, "rating"))
    versions = {name: rating_version(aspect) for name, aspect in aspects.items()}
    rated = []
    for row in rows:
        ratings = {name: rating_of(next(replies), aspect, versions[name]) for name, aspect in aspects.items()}
        scores = {name: rating["score"] for name, rating in ratings.items()}
        total = None if None in scores.values() else sum(scores.values())
        rated.append({**row, **scores, "total_score": total, "teacher": engine.name, "ratings": ratings})
    return rated


class ResponseFields(BaseModel):
    """The fields of a response that are read; a response that was not given is null."""

    question: StrictStr
    response: StrictStr | None


def checked_response(row: Any, number: int, aspects: Iterable[str]) -> dict[str, Any]:
    """A response with the fields that are needed, and none that would be overwritten."""
    place = row_place("responses", number, row)
    models.checked(ResponseFields, row, place)
    if taken := [name for name in (*aspects, *ADDED) if name in row]:
        raise place.error("is there already: ratings would replace it", taken[0])
    return row


def rating_of(reply: Reply, aspect: Aspect, version: str) -> dict[str, Any]:
    """A reply as a rating."""
    score, justification = read_rating(reply.raw, aspect.scores) if reply.status == "ok" else (None, None)
    status = "unparsed" if reply.status == "ok" and score is None else reply.status
    said = {"unparsed": {"reply": reply.raw}, "ok": {}}.get(status, {"error": reply.raw})
    return {"score": score, "justification": justification, "status": status, "prompt_version": version, **said}

"""What a row of a user's file may hold: a model per kind of record, loaded with the first row (pydantic takes a while).

A ValueError of a validator is the end of a sentence that names file, line and field.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, StrictStr, ValidationError

from judgekit.data.pairfile.lines import Fields
from judgekit.data.pairfile.places import Place, kind_of, missing

LABEL_WORDS = {"a": "A", "response_a": "A", "b": "B", "response_b": "B", "tie": "tie", "draw": "tie", "c": "tie"}
Model = TypeVar("Model", bound=BaseModel)


def _given_id(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"is {kind_of(value)}, not text or a whole number")
    if value == "":
        raise ValueError("is empty (leave the field out to use line numbers)")
    return value


def _label(value: str | None) -> str | None:
    word = (value or "").strip().lower()
    if word in ("0", "1", "2"):
        raise ValueError(f"is {value!r}, which may count from 0 or from 1: write A, B or tie")
    if word and word not in LABEL_WORDS:
        raise ValueError(f"is {value!r:.80}, not A, B or tie")
    return LABEL_WORDS[word] if word else None


def _label_of_chosen(value: str | None) -> str:
    if _label(value) not in (None, "A"):
        raise ValueError(f"is {value!r:.40}, but the chosen response is A by definition")
    return "A"


class _Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: StrictStr


def _said_by(role: str) -> BeforeValidator:
    """A text is one message of ``role``."""
    return BeforeValidator(lambda value: [{"role": role, "content": value}] if isinstance(value, str) else value)


Id = Annotated[Any, AfterValidator(_given_id)]
Messages = Annotated[list[_Message], Field(min_length=1)]
EXPECTED = {
    "string_type": "text",
    "list_type": "text or a list of messages",
    "model_type": "an object with role and content",
}


class ResponsesFields(BaseModel):
    id: Id = None
    question: StrictStr
    response_a: StrictStr
    response_b: StrictStr
    label: Annotated[StrictStr | None, AfterValidator(_label)] = None
    reference: StrictStr | None = None


class ChosenFields(BaseModel):
    id: Id = None
    label: Annotated[StrictStr | None, AfterValidator(_label_of_chosen)] = "A"
    chosen: Annotated[Messages, _said_by("assistant")]
    rejected: Annotated[Messages, _said_by("assistant")]
    prompt: Annotated[Messages, _said_by("user")] = []
    reference: StrictStr | None = None


class SingleFields(BaseModel):
    question: StrictStr
    response: StrictStr = Field(validation_alias=AliasChoices("response", "prediction"))


def checked(model: type[Model], fields: Fields, place: Place) -> Model:
    """A row after a look at its fields; PairFileError about the first that is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as bad:
        first = bad.errors(include_url=False)[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    if first["type"] == "missing":
        raise missing(first["input"], name, place)
    if first["type"] == "too_short":
        raise place.error("is an empty list of messages", name)
    if first["type"] == "literal_error":
        raise place.error(f"is {first['input']!r:.40}, not one of {first['ctx']['expected']}", name)
    expected = EXPECTED.get(first["type"])
    raise place.error(f"is {kind_of(first['input'])}, not {expected}" if expected else str(first["ctx"]["error"]), name)

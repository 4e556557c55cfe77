"""The JSON that requests and replies hold. Requests are checked against it; replies are documented by it."""

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

MAX_TEXT = 1_000  # characters of a value or of a name
ONE_KEY = f"an integer, or a text of at most {MAX_TEXT:,} characters"
ONE_VALUE = f"a finite number, a text of at most {MAX_TEXT:,} characters, true, false or null"


def _one_value(value: Any) -> Any:
    if isinstance(value, float):
        valid = math.isfinite(value)
    elif isinstance(value, str):
        valid = len(value) <= MAX_TEXT
    else:
        valid = value is None or isinstance(value, bool | int)
    if not valid:
        raise ValueError(ONE_VALUE)
    return value


def _one_key(value: Any) -> Any:
    valid = len(value) <= MAX_TEXT if isinstance(value, str) else isinstance(value, int) and not isinstance(value, bool)
    if not valid:
        raise ValueError(ONE_KEY)
    return value


TYPES = [{"type": "number"}, {"type": "string", "maxLength": MAX_TEXT}, {"type": "boolean"}, {"type": "null"}]
Value = Annotated[Any, PlainValidator(_one_value), WithJsonSchema({"anyOf": TYPES})]
KEY_TYPES = [{"type": "integer"}, {"type": "string", "maxLength": MAX_TEXT}]
Key = Annotated[Any, PlainValidator(_one_key), WithJsonSchema({"anyOf": KEY_TYPES})]
Name = Annotated[str, Field(max_length=MAX_TEXT)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Values = dict[Name, Value]


class Body(BaseModel):
    """The body of a request: types are not converted, and unknown names are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class ByKey(Body):
    """A row to predict from the sources of the service."""

    key: Annotated[Key, Field(description="What sources know the row by.")]
    cap: Annotated[Amount | None, Field(description="Hard limit on the spend of the row.")] = None


class Rows(Body):
    """Rows to predict from given values."""

    rows: Annotated[list[Values], Field(description="The values of each row; null for what is unavailable.")]
    cap: Annotated[Amount | None, Field(description="Hard limit on the spend of each row.")] = None
    budget: Annotated[Amount | None, Field(description="Bound on the mean spend per row.")] = None


class Start(Body):
    """The limits of a new session."""

    cap: Annotated[Amount | None, Field(description="Hard limit on the spend.")] = None
    budget: Annotated[Amount | None, Field(description="The operating point: a bound on the mean spend.")] = None


class Answer(Body):
    """The values that a step of a session asks for."""

    step: Annotated[int, Field(ge=0, description="The number of the step that is answered.")]
    values: Annotated[Values, Field(description="All features of the step; null for what is unavailable.")]


# Replies

Belief = Annotated[
    dict[str, float] | None,
    Field(description='The probability of each class, or {"value": number} if the model predicts numbers.'),
]


class Ask(BaseModel):
    """A feature that a step asks for."""

    feature: str
    kind: Literal["number", "boolean", "date", "category"]
    levels: list[str] | None
    range: list[float] | None
    price: Annotated[float, Field(description="What it adds to the spend.")]


class PastStep(BaseModel):
    """A step that was answered."""

    step: int
    features: list[str]
    values: dict[str, Any]
    cost: float
    explanation: str
    belief: Belief


class Ending(BaseModel):
    """How a session ended."""

    prediction: Any
    probability: dict[str, float] | None
    score: Any
    reason: Literal["done", "cap"]
    explanation: str
    exit: int


class SessionState(BaseModel):
    """A session: what it asks for, what it has cost, and what it would answer now."""

    id: str
    step: Annotated[int, Field(description="The number of the step that waits for an answer.")]
    status: Literal["asking", "done"]
    asks: list[Ask]
    cost: Annotated[float, Field(description="What the step will add to the spend.")]
    explanation: str
    spend: float
    saved: Annotated[float, Field(description="What is not spent of the price of everything.")]
    belief: Belief
    history: list[PastStep]
    path: Annotated[list[int] | None, Field(description="The stages that the row has reached, numbered depth-first.")]
    expires: Annotated[float, Field(description="Unix time.")]
    cap: float | None
    budget: float | None
    result: Ending | None


class RowPrediction(BaseModel):
    """The prediction of a row, and what it cost."""

    prediction: Any
    probability: dict[str, float] | None
    score: Any
    spend: float
    acquired: list[str]
    exit: int


class RowPredictions(BaseModel):
    """Predictions in the order of the rows."""

    predictions: list[RowPrediction]
    mean_spend: float


class KeyPrediction(BaseModel):
    """The prediction for a key, with its trace."""

    key: Any
    prediction: Any
    probability: dict[str, float] | None
    score: Any
    spend: float
    elapsed: float
    degraded: bool
    exit: int
    reason: Literal["done", "cap", "deadline"]
    model: str
    steps: list[dict[str, Any]]


class Feature(BaseModel):
    """A column that the model can buy."""

    name: str
    kind: Literal["number", "boolean", "date", "category"]
    levels: list[str] | None
    price: Annotated[float, Field(description="What it costs if nothing else is bought.")]
    bundle: str | None
    range: list[float] | None
    example: Any


class Case(BaseModel):
    """A complete row, as an example."""

    name: str
    values: dict[str, Any]


class ModelDescription(BaseModel):
    """The model: its columns, prices, promise and outline."""

    name: str
    model: str
    task: Literal["classification", "regression", "ranking"]
    classes: list[Any] | None
    unit: str
    total: float
    budget: float | None
    cap: float | None
    promise: dict[str, Any] | None
    manifest: dict[str, Any]
    features: list[Feature]
    outline: dict[str, Any]
    examples: list[Case]


class FrontierPoint(BaseModel):
    """What can be reached at a spend."""

    spend: float
    score: float
    spend_bound: float | None
    method: str
    setting: dict[str, Any]
    kept: Annotated[bool, Field(description="No other point has a better score for the same spend or less.")]


class Anchor(BaseModel):
    """A point that helps to read the others."""

    spend: float
    score: float


class Frontier(BaseModel):
    """The scores that can be reached for each spend."""

    unit: str
    scoring: str
    anchors: dict[str, Anchor | None] | None
    points: list[FrontierPoint]
    operating: Annotated[bool, Field(description="Whether sessions and rows can be given a budget.")]


class Status(BaseModel):
    """Whether the service is alive or ready."""

    status: str


class ProblemBody(BaseModel):
    """What went wrong, by RFC 9457."""

    type: str
    title: str
    status: int
    detail: str

"""``evaluation.json``, the results of a finished run: written last, and checked as it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from training.config import MAX_DEALS, RunConfig
from trick_envs.errors import InputError
from trick_envs.evaluation.duplicate import Result
from trick_envs.files import LARGEST, read_signed_json

EVALUATION = "evaluation.json"

Count = Annotated[int, Field(ge=0, le=LARGEST)]
Seconds = Annotated[float, Field(ge=0, le=LARGEST)]
Points = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


def _as_result(content: dict[str, Any]) -> dict[str, Any]:
    return Result.from_dict(content).as_dict()


Results = list[Annotated[dict[str, Any], AfterValidator(_as_result)]]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _OnTheWay(_Part):
    samples: Count
    seconds: Seconds
    figures: dict[str, Points | None]
    results: Results


class _Difference(_Part):
    deal: Annotated[int, Field(ge=0, lt=MAX_DEALS)]
    seat: Annotated[int, Field(ge=0)]
    own: Points
    theirs: Points


class _Report(_Part):
    evaluations: list[_OnTheWay]
    past: list[str]
    cross: Results
    weights: Count
    strongest: str
    best_and_worst: Annotated[list[_Difference], Field(min_length=2, max_length=2)]
    provenance: dict[str, str]


class _Deviators(_Part):
    deals: Count


class _Evaluation(_Part):
    samples: Count
    seconds: Seconds
    results: Annotated[Results, Field(min_length=1)]
    report: _Report
    deviators: _Deviators | None = None


def read_evaluation(folder: Path, config: RunConfig) -> dict[str, Any]:
    """The content of a finished run's ``evaluation.json``.

    Args:
        folder: of the run.
        config: of the run: whom it was measured against, and at which table.

    Raises:
        ValueError: if it is damaged, or holds anything else; names what.
    """
    path = folder / EVALUATION
    content = read_signed_json(path)
    try:
        found = _Evaluation.model_validate(content).report
    except (ValidationError, UnicodeEncodeError) as error:  # the second: pydantic's, of half a letter
        told = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": "half a letter"}
        where = ".".join(str(part) for part in told["loc"]) or "all of it"
        raise InputError(f"{path}: {where}: {told['msg']}; expected what trick train writes") from None
    wrong = ""
    opponents = [[one["opponent"] for one in each.results] for each in found.evaluations]
    if any(each != opponents[0] for each in opponents):
        wrong = "report.evaluations: not always the same opponents"
    if found.strongest not in config.measured_against:
        wrong = f"report.strongest: expected one of {', '.join(config.measured_against)}"
    if any(each.seat >= config.make_game().num_players for each in found.best_and_worst):
        wrong = "report.best_and_worst: no such seat"
    if wrong:
        raise InputError(f"{path}: {wrong}")
    return content

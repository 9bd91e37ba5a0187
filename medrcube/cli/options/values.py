"""Values of the options of ``medrcube evaluate``, parsed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.errors import ModelError

if TYPE_CHECKING:
    from medrcube.evaluate.cost.budget import Prices
    from medrcube.evaluate.models.protocol import Json
    from medrcube.evaluate.outcomes import AnswerOutcome
    from medrcube.evaluate.questions.conditions import Condition
    from medrcube.evaluate.questions.degradation import Degradation


__all__ = [
    "again_of",
    "conditions_of",
    "number_of",
    "object_of",
    "prices_of",
    "run_folders",
]


def number_of(option: str, value: str) -> float | None:
    """A number, or ``None`` for the word none.

    Raises:
        ModelError: it is neither.
    """
    if value.casefold() == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    whole = option == "--max-tokens"
    if not (math.isfinite(number) and number >= whole and (not whole or number.is_integer())):
        kind = "a whole number from 1" if whole else "a number from 0"
        raise ModelError(f"{option} {value}: expected {kind}, or none")
    return number


def object_of(option: str, value: str | None) -> dict[str, Json]:
    """The object that a JSON text holds; an empty one for no text.

    Raises:
        ModelError: it holds something else.
    """
    try:
        content = json.loads(value or "{}")
    except ValueError as error:
        raise ModelError(f"{option} is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f'{option}: expected an object, such as {{"top_k": 1}}')
    return content


def again_of(value: str | None) -> list[AnswerOutcome]:
    """The outcomes that ``--again`` names.

    Raises:
        ModelError: an outcome is unknown, or may not be asked again.
    """
    from medrcube.evaluate.outcomes import AnswerOutcome

    outcomes = {"cut": AnswerOutcome.CUT, "failed": AnswerOutcome.FAILED}
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    if value is not None and (not names or set(names) - set(outcomes)):
        raise ModelError(
            f"--again {value}: expected cut, failed, or cut,failed; any other outcome is a result "
            f"of the model"
        )
    return [outcomes[name] for name in names]


def conditions_of(names: Sequence[str]) -> tuple[list[Condition], Degradation | None]:
    """Conditions by their names, and the degradation of ``degraded``.

    Raises:
        WorkspaceError: there is no condition of that name, or it names no such degradation.
    """
    from medrcube.evaluate.questions.conditions import parse_conditions

    return parse_conditions(names)


def run_folders(models: Sequence[str], out: Path) -> dict[str, Path]:
    """The folder of each model's run: ``out`` itself for one model, a folder in it for several.

    Raises:
        ModelError: a model is named twice, or two have one folder.
    """
    if len(models) == 1:
        return {models[0]: out}
    folders = {name: out / re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") for name in models}
    distinct = {str(folder).casefold() for folder in folders.values()}
    if len(distinct) < len(models):
        raise ModelError(
            f"--model {', '.join(models)}: two of them would share a folder; run them one at a "
            f"time, each with its own --out"
        )
    return folders


def prices_of(
    tokens_in: float | None, tokens_out: float | None, in_batches: float
) -> Prices | None:
    """Prices of input and output tokens and of batches; ``None`` if no price is given.

    Raises:
        ModelError: one of the two prices is missing.
    """
    from medrcube.evaluate.cost.budget import Prices

    if tokens_in is None and tokens_out is None:
        return None
    if tokens_in is None or tokens_out is None:
        raise ModelError("--price-in and --price-out must be given together")
    return Prices(tokens_in=tokens_in, tokens_out=tokens_out, in_batches=in_batches)

"""``same_under`` of a recipe: settings, arguments and threads that must not matter, as its owner says."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from reprokit.core.verdicts.same_under import claim_of
from reprokit.errors import RecipeError
from reprokit.recipes.overrides import parse
from reprokit.recipes.schema_types import STRICT, Line

NUM_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
#: Variable of the environment → the variation of ``immune_to`` that changes it.
_VARIATIONS = {
    **dict.fromkeys(NUM_THREADS, "threads"),
    "PYTHONHASHSEED": "hash_seed",
    "TZ": "time_zone",
    "LC_ALL": "locale",
    "HOME": "user_and_home",
    "USER": "user_and_home",
    "LOGNAME": "user_and_home",
    "TMPDIR": "temporary_folder",
    "HOSTNAME": "host_name",
    "MALLOC_PERTURB_": "memory_pattern",
    "CUDA_VISIBLE_DEVICES": "gpu_index",
    "TORCHINDUCTOR_MAX_AUTOTUNE": "compile_autotune",
    "TORCHDYNAMO_DISABLE": "compiler",
}


def _override(text: str) -> str:
    try:
        parse(text)
    except RecipeError as error:
        raise PydanticCustomError("rule", "PATH=VALUE, as --set takes it") from error
    return text


Override = Annotated[Line, AfterValidator(_override)]
Overrides = Annotated[
    list[Override],
    BeforeValidator(lambda said: [said] if isinstance(said, str) else said),
    Field(min_length=1),
]


class SameUnder(BaseModel):
    """One thing that must not matter, or only as rounding: settings, words for the command, or threads."""

    model_config = STRICT
    set: Overrides | None = None
    args: Line | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    as_: Annotated[Literal["rounding"] | None, Field(alias="as")] = None

    @model_validator(mode="after")
    def _must_be_one(self) -> Self:
        if sum(one is not None for one in (self.set, self.args, self.threads)) != 1:
            raise PydanticCustomError("rule", "one of set, args and threads")
        paths = Counter(".".join(parse(one).path) for one in self.set or ())
        if twice := sorted(path for path, count in paths.items() if count > 1):
            raise PydanticCustomError("rule", "each setting once ({what})", {"what": ", ".join(twice)})
        return self


def distinct_claims(said: list[SameUnder]) -> list[SameUnder]:
    """Refuse a thing that is named twice, however it is written and in whatever order its settings stand."""
    claims = dict[str, str]()
    for one in said:
        plain, key = claim_of(one.model_dump()), _key(one)
        if key in claims:
            both = plain if plain == claims[key] else f"{claims[key]}, and {plain}"
            raise PydanticCustomError("rule", "each thing once ({what} is there twice)", {"what": both})
        claims[key] = plain
    return said


def must_not_be_varied(said: Sequence[SameUnder], immune_to: Collection[str]) -> None:
    """Refuse a claim about what ``immune_to`` names too: one thing has one row."""
    for one in said:
        if (variation := _variation(one)) in immune_to:
            told = {"what": claim_of(one.model_dump()), "variation": variation}
            raise PydanticCustomError(
                "rule", "`same_under: {what}` names what `immune_to: {variation}` names already", told
            )


def _variation(one: SameUnder) -> str:
    """The variation that changes the same thing and nothing else; "" where there is none."""
    if one.threads:
        return "threads"
    paths = [parse(text).path for text in one.set or ()]
    found = {_VARIATIONS.get(path[-1], "") if path[0] == "env" else "" for path in paths}
    return found.pop() if len(found) == 1 else ""


def _key(one: SameUnder) -> str:
    """What tells one thing from another: threads are threads, however they are set."""
    if one.args:
        return f"args {json.dumps(_words(one.args))}"
    settings = {".".join(parse(text).path): parse(text).value for text in one.set or ()}
    counts = {str(one.threads)} if one.threads else {str(value) for value in settings.values()}
    if _variation(one) == "threads" and len(counts) == 1:
        return f"threads {counts.pop()}"
    return f"set {json.dumps(settings, sort_keys=True, default=str)}"


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # told where the command is made
        return text.split()

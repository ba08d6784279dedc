"""``same_under`` of a recipe: settings, arguments and threads that must not matter, as its owner says."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from reprokit.core.verdicts.same_under import claim_of
from reprokit.recipes.schema_types import STRICT, Line


def _override(text: str) -> str:
    path, equals, value = text.partition("=")
    if not equals or not path.strip() or not value.strip():
        raise PydanticCustomError("rule", "PATH=VALUE, as --set takes it")
    return text


Override = Annotated[Line, AfterValidator(_override)]
Overrides = Annotated[
    list[Override],
    BeforeValidator(lambda said: [said] if isinstance(said, str) else said),
    Field(min_length=1),
]


class SameUnder(BaseModel):
    """One thing that must not matter: settings, words added to the command, or a number of threads."""

    model_config = STRICT
    set: Overrides | None = None
    args: Line | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None

    @model_validator(mode="after")
    def _must_be_one(self) -> Self:
        if sum(one is not None for one in (self.set, self.args, self.threads)) != 1:
            raise PydanticCustomError("rule", "one of set, args and threads")
        paths = Counter(one.partition("=")[0] for one in self.set or ())
        if twice := sorted(path for path, count in paths.items() if count > 1):
            raise PydanticCustomError("rule", "each setting once ({what})", {"what": ", ".join(twice)})
        return self


def distinct_claims(said: list[SameUnder]) -> list[SameUnder]:
    """Refuse a thing that is named twice, in whatever order its settings stand."""
    claims = Counter(_key(one) for one in said)
    if twice := sorted(claim for claim, count in claims.items() if count > 1):
        raise PydanticCustomError(
            "rule", "each thing once ({what} is there twice)", {"what": "; ".join(twice)}
        )
    return said


def _key(one: SameUnder) -> str:
    plain = one.model_dump()
    if one.set:
        plain["set"] = sorted("=".join(part.strip() for part in text.split("=", 1)) for text in one.set)
    if one.args:
        plain["args"] = " ".join(one.args.split())
    return claim_of(plain)

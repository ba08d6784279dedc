"""What recipe.yaml may say: keys, types and limits; ``validation`` adds a trainer's settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from reprokit.core.statistics.windows import LAST
from reprokit.layout import RANKS_ALLOWED
from reprokit.recipes.data_entries import Data, Disjoint, Prepare, must_be_declared, must_fit
from reprokit.recipes.same_under import SameUnder, distinct_claims, must_not_be_varied
from reprokit.recipes.schema_types import (
    STRICT,
    CheckName,
    ExtensionName,
    Inside,
    Line,
    Name,
    NotNegative,
    Pattern,
    Platform,
    Positive,
    Seed,
    Text,
    VariableName,
    VariationName,
    Word,
    distinct,
    known_version,
    no_code_from_elsewhere,
    relaxable,
)
from reprokit.recipes.window_name import WindowName

#: A pebibyte and a hundred years: no system takes a larger limit.
_MOST_MEMORY_GIB, _LONGEST_S = 2.0**20, 100 * 365 * 86_400.0


class Tolerance(BaseModel):
    """``abs(actual - expected) <= atol + rtol * abs(expected)``."""

    model_config = STRICT
    rtol: NotNegative = 0.0
    atol: NotNegative = 0.0


class MetricTolerance(Tolerance):
    """The same, of each value or of the means of so many consecutive ones."""

    mean_of: Annotated[int, Field(ge=1, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _must_grant_something(self) -> Self:
        if self.mean_of > 1 and self.rtol == self.atol == 0:
            raise PydanticCustomError("rule", "given an rtol or atol above 0: means are rounded")
        return self


class Expected(Tolerance):
    """What a headline metric comes to at the end of a run, or over another window of it."""

    value: float
    window: WindowName = LAST


Device = Literal["cpu", "cuda", "tpu"]
DEVICES: tuple[str, ...] = get_args(Device)
Numerics = Literal["portable", "native"]


class Tolerances(BaseModel):
    """How far a run may be from the golden."""

    model_config = STRICT
    default: Tolerance = Tolerance()
    metrics: dict[Line, MetricTolerance] = {}


class AllTolerances(Tolerances):
    """The same, and what stands instead of it on some platforms."""

    platforms: dict[Platform, Tolerances] = {}


class PlatformSettings(BaseModel):
    """What is set otherwise where a recipe is judged on one of its platforms."""

    model_config = STRICT
    variant: Name | None = None
    device: Device | None = None
    numerics: Numerics | None = None
    settings: dict[Line, Any] = {}
    expected: dict[Line, Expected] | None = None


class Limits(BaseModel):
    """What a run may use."""

    model_config = STRICT
    memory_gib: Annotated[float, Field(gt=0, le=_MOST_MEMORY_GIB)] = 4.0
    timeout_s: Annotated[float, Field(gt=0, le=_LONGEST_S)] | None = None
    pids: Annotated[int, Field(gt=0)] = 512
    shared_memory_gib: Annotated[float, Field(gt=0, le=_MOST_MEMORY_GIB)] = 1.0
    determinism_cost: Positive = 1.25


class Relaxation(BaseModel):
    """A row of the checklist that this recipe need not pass, and why not."""

    model_config = STRICT
    check: Annotated[CheckName, AfterValidator(relaxable)]
    because: Text


class Checkpoints(BaseModel):
    """What is kept of the checkpoints that are written."""

    model_config = STRICT
    keep: Annotated[int, Field(ge=1)] | None = None


class Ranks(BaseModel):
    """The processes that train one model together, each on a part of every batch."""

    model_config = STRICT
    world_size: Annotated[int, Field(ge=RANKS_ALLOWED[0], le=RANKS_ALLOWED[-1])]
    reduction: Literal["all_reduce", "fixed_order"] = "all_reduce"
    shards: Annotated[int, Field(ge=1, le=64)] = 4
    timeout_s: Annotated[float, Field(ge=1, le=_LONGEST_S)] = 40.0

    @model_validator(mode="after")
    def _shards_must_fit_the_ranks(self) -> Self:
        if self.reduction == "fixed_order":
            powers = all(number.bit_count() == 1 for number in (self.world_size, self.shards))
            if not powers or self.world_size > self.shards:
                raise PydanticCustomError(
                    "rule",
                    "given powers of two for `fixed_order`, with as many shards as ranks or more; "
                    "these are {ranks} ranks and {shards} shards",
                    {"ranks": self.world_size, "shards": self.shards},
                )
        elif "shards" in self.model_fields_set:
            raise PydanticCustomError("rule", "given `reduction: fixed_order`: only there a batch has shards")
        return self


class Checks(BaseModel):
    """How this recipe's checklist differs from the usual one."""

    model_config = STRICT
    relax: list[Relaxation] = []
    require: Annotated[list[CheckName], AfterValidator(distinct)] = []


class Volatile(BaseModel):
    """A metric that cannot repeat, by its name or a pattern, and why it is left out of the comparison."""

    model_config = STRICT
    metric: Line
    because: Text


class ResumeArguments(BaseModel):
    """The arguments that stop a command on its way, and those that resume it."""

    model_config = STRICT
    stop_args: list[Word] = []
    resume_args: Annotated[list[Word], Field(min_length=1)]


class Reason(BaseModel):
    """Something that is closed unless the recipe says why it is not."""

    model_config = STRICT
    because: Text


class Statistical(BaseModel):
    """A metric by which new seeds are compared with an ensemble, and the largest acceptable worsening."""

    model_config = STRICT
    metric: Line
    window: WindowName
    margin: Positive
    direction: Literal["higher", "lower"]
    platforms: Annotated[list[Platform], AfterValidator(distinct)] = []

    @model_validator(mode="after")
    def _fewer_steps_are_better(self) -> Self:
        if self.window.startswith("first_step") and self.direction == "higher":
            raise PydanticCustomError("rule", "given `direction: lower`: fewer steps are better")
        return self


#: How pydantic names the two forms of a key that takes one section or a list of them, in its errors.
ONE, SEVERAL = "<one>", "<several>"
OneOrSeveral = Annotated[
    Annotated[Statistical, Tag(ONE)] | Annotated[list[Statistical], Field(min_length=1), Tag(SEVERAL)],
    Discriminator(lambda value: SEVERAL if isinstance(value, list) else ONE),
]


#: The variant of a command that runs in this Python, with nothing pinned.
NO_VARIANT = "none"
#: Keys that only a recipe with ``command`` may have: what its program is given, and what is made of it.
OF_COMMANDS = (
    "env",
    "working_dir",
    "sees",
    "collect",
    "volatile",
    "outputs",
    "printed",
    "resume",
    "network",
    "unresponsive",
    "instrument",
)


class RecipeModel(BaseModel):
    """The recipe's own keys."""

    model_config = STRICT
    schema_: Annotated[int, AfterValidator(known_version)] = Field(alias="schema")
    name: Name
    title: Line
    description: str = ""
    variant: Name
    device: Device | None = None
    numerics: Numerics | None = None
    trainer: Name | None = None
    command: Annotated[list[Word], Field(min_length=1)] | None = None
    env: Annotated[dict[VariableName, str], AfterValidator(no_code_from_elsewhere)] = {}
    working_dir: Inside = "."
    sees: Annotated[list[Inside], Field(min_length=1), AfterValidator(distinct)] | None = None
    collect: Annotated[list[Inside], AfterValidator(distinct)] = []
    volatile: list[Volatile] = []
    outputs: Annotated[list[Inside], AfterValidator(distinct)] = []
    printed: Annotated[list[Pattern], Field(min_length=1)] | None = None
    resume: ResumeArguments | None = None
    network: Reason | None = None
    unresponsive: Reason | None = None
    instrument: Literal["light"] | None = None
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(distinct)]
    platforms: Annotated[list[Platform], Field(min_length=1), AfterValidator(distinct)]
    platform_settings: dict[Platform, PlatformSettings] = {}
    expected: dict[Line, Expected] = {}
    tolerances: AllTolerances = AllTolerances()
    statistical: OneOrSeveral | None = None
    repeatable: dict[Platform, Text] = {}
    nondeterminism: list[Text] | None = None
    immune_to: Annotated[list[VariationName], AfterValidator(distinct)] = []
    same_under: Annotated[list[SameUnder], AfterValidator(distinct_claims)] = []
    machines: Literal["refuse", "split", "mark"] = "refuse"
    extensions: Annotated[list[ExtensionName], AfterValidator(distinct)] = []
    sinks: Annotated[list[Literal["tensorboard", "wandb"]], AfterValidator(distinct)] = []
    limits: Limits = Limits()
    checks: Checks = Checks()
    checkpoints: Checkpoints = Checkpoints()
    ranks: Ranks | None = None
    data: Data = "none"
    prepare: Prepare = {}
    disjoint: list[Disjoint] = []

    @model_validator(mode="after")
    def _steps_must_fit_the_data(self) -> Self:
        must_fit(self.prepare, self.data)
        must_be_declared(self.disjoint, self.data)
        return self

    @model_validator(mode="after")
    def _one_row_for_one_thing(self) -> Self:
        must_not_be_varied(self.same_under, self.immune_to)
        return self

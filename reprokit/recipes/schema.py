"""What recipe.yaml may say: keys, types and limits; ``validation`` adds a trainer's settings."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from reprokit import variations
from reprokit.core.checklist import VERDICT_ROWS
from reprokit.core.records import SCHEMA_VERSION
from reprokit.core.statistics.windows import LAST
from reprokit.recipes.mistakes import near_miss
from reprokit.recipes.window_name import WindowName

#: What decides which code runs, or what the profile of the numerics sets.
_RESERVED_VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "LD_AUDIT", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHASHSEED"}
    | {"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"}
)
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


def _distinct(values: list[Any]) -> list[Any]:
    repeated = sorted(str(value) for value, count in Counter(values).items() if count > 1)
    if repeated:
        raise PydanticCustomError(
            "rule", "a list without repeats ({what} is there twice)", {"what": ", ".join(repeated)}
        )
    return values


def _text(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("rule", "text that is not blank")
    return text


def _line(text: str) -> str:
    if "\n" in _text(text) or "\t" in text:
        raise PydanticCustomError("rule", "one line")
    return text


def _known_version(schema: int) -> int:
    if schema != SCHEMA_VERSION:
        raise PydanticCustomError("rule", "{version}", {"version": SCHEMA_VERSION})
    return schema


def _relaxable(check: str) -> str:
    if check in VERDICT_ROWS:
        raise PydanticCustomError("rule", "another row: the verdict itself rests on this one")
    return check


def _variation(name: str) -> str:
    known = variations.names()
    if name not in known:
        near = near_miss(name, known)
        hint = f"did you mean {near!r}?" if near else ", ".join(known)
        raise PydanticCustomError("rule", "the name of a variation ({hint})", {"hint": hint})
    return name


def _word(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("rule", "a word without a null character")
    return text


def _inside(text: str) -> str:
    path = PurePosixPath(_line(text))
    if path.is_absolute() or ".." in path.parts:
        raise PydanticCustomError("rule", "a path or pattern below the project's folder")
    return text


def _regular_expression(text: str) -> str:
    try:
        found = re.compile(_line(text))
    except re.error as error:
        raise PydanticCustomError("rule", "a regular expression ({why})", {"why": str(error)}) from error
    if not set(found.groupindex) - {"step"}:
        raise PydanticCustomError("rule", "a regular expression with a named group for each metric")
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
        raise PydanticCustomError("rule", "the name of an environment variable")
    if name in _RESERVED_VARIABLES or name.startswith("REPROKIT_"):
        raise PydanticCustomError("rule", "another variable: this one is set by reprokit")
    return name


def _no_code_from_elsewhere(variables: dict[str, str]) -> dict[str, str]:
    """Refuse a ``PYTHONPATH`` that leads out of the project: nothing there is digested."""
    for folder in filter(None, variables.get("PYTHONPATH", "").split(":")):
        if PurePosixPath(folder).is_absolute() or ".." in PurePosixPath(folder).parts:
            rule = "without a folder outside the project in PYTHONPATH ({folder})"
            raise PydanticCustomError("rule", rule, {"folder": folder})
    return variables


def _matching(pattern: str, rule: str) -> AfterValidator:
    def validate(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("rule", "{rule}", {"rule": rule})
        return text

    return AfterValidator(validate)


#: What ``uname -m`` says of machines that torch is built for; a typing error would never be judged.
_ARCHITECTURES = "x86_64|aarch64|arm64|ppc64le|s390x|riscv64|loongarch64"
PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
Name = Annotated[str, _matching(PLAIN_NAME, "a plain name: up to 64 letters, digits, - and _")]
CheckName = Annotated[str, _matching(r"[a-z][a-z0-9_]{0,63}", "the id of a row: lower case, digits and _")]
Platform = Annotated[
    str,
    _matching(
        rf"cpu-({_ARCHITECTURES})(-[A-Za-z0-9._-]{{1,40}})?|(cuda|tpu)-[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}|xla-cpu",
        "a platform such as cpu-x86_64, cpu-aarch64, cuda-h200, tpu-v5e or xla-cpu",
    ),
]
Word = Annotated[str, AfterValidator(_word)]
Inside = Annotated[str, AfterValidator(_inside)]
Pattern = Annotated[str, AfterValidator(_regular_expression)]
VariableName = Annotated[str, AfterValidator(_variable)]
VariationName = Annotated[str, AfterValidator(_variation)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Text = Annotated[str, AfterValidator(_text)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_line)]
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
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


class Tolerances(BaseModel):
    """How far a run may be from the golden."""

    model_config = STRICT
    default: Tolerance = Tolerance()
    metrics: dict[Line, MetricTolerance] = {}


class AllTolerances(Tolerances):
    """The same, and what stands instead of it on some platforms."""

    platforms: dict[Platform, Tolerances] = {}


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
    check: Annotated[CheckName, AfterValidator(_relaxable)]
    because: Text


class Checkpoints(BaseModel):
    """What is kept of the checkpoints that are written."""

    model_config = STRICT
    keep: Annotated[int, Field(ge=1)] | None = None


class Checks(BaseModel):
    """How this recipe's checklist differs from the usual one."""

    model_config = STRICT
    relax: list[Relaxation] = []
    require: Annotated[list[CheckName], AfterValidator(_distinct)] = []


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
    schema_: Annotated[int, AfterValidator(_known_version)] = Field(alias="schema")
    name: Name
    title: Line
    description: str = ""
    variant: Name
    device: Literal["cpu", "cuda", "tpu"] | None = None
    numerics: Literal["portable", "native"] | None = None
    trainer: Name | None = None
    command: Annotated[list[Word], Field(min_length=1)] | None = None
    env: Annotated[dict[VariableName, str], AfterValidator(_no_code_from_elsewhere)] = {}
    working_dir: Inside = "."
    sees: Annotated[list[Inside], Field(min_length=1), AfterValidator(_distinct)] | None = None
    collect: Annotated[list[Inside], AfterValidator(_distinct)] = []
    volatile: list[Volatile] = []
    outputs: Annotated[list[Inside], AfterValidator(_distinct)] = []
    printed: Annotated[list[Pattern], Field(min_length=1)] | None = None
    resume: ResumeArguments | None = None
    network: Reason | None = None
    unresponsive: Reason | None = None
    instrument: Literal["light"] | None = None
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(_distinct)]
    platforms: Annotated[list[Platform], Field(min_length=1), AfterValidator(_distinct)]
    expected: dict[Line, Expected] = {}
    tolerances: AllTolerances = AllTolerances()
    nondeterminism: list[Text] | None = None
    immune_to: Annotated[list[VariationName], AfterValidator(_distinct)] = []
    limits: Limits = Limits()
    checks: Checks = Checks()
    checkpoints: Checkpoints = Checkpoints()
    data: Literal["none"] | list[Any] = "none"

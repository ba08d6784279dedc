"""A recipe, checked and complete: what to run, in which environment, what must repeat."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reprokit.core.provenance import BlessedMetric
from reprokit.core.statistics.windows import LAST
from reprokit.core.tolerance import Tolerance, Tolerances
from reprokit.project import root_of_recipe
from reprokit.recipes.imports import PartFile
from reprokit.recipes.overrides import with_platform


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedResult:
    """What a headline metric comes to over a window of a run, and how near a run must be."""

    value: float
    rtol: float
    atol: float
    window: str = LAST  # a name that ``core.statistics.windows`` has


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticalMetric:
    """A metric by which new seeds are compared with an ensemble.

    Attributes:
        metric: Its name in ``metrics.jsonl``.
        window: Which number is taken from its curve, as ``core.statistics.windows`` names it.
        margin: The largest worsening that is acceptable.
        direction: Which values are better: ``higher`` or ``lower``.
        platforms: Where the ensemble decides although no one asked for it.
    """

    metric: str
    window: str
    margin: float
    direction: str
    platforms: tuple[str, ...] = ()

    def as_blessed(self) -> BlessedMetric:
        """What an ensemble is blessed with."""
        return BlessedMetric(self.metric, self.window, self.margin, self.direction)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternTolerances(Tolerances):
    """Tolerances whose ``metrics`` are names or shell patterns (``loss/*``), as a recipe writes them."""

    def of(self, metric: str) -> Tolerance:
        """The tolerance of one metric: of its exact name, else of the first pattern that fits."""
        if metric in self.metrics:
            return self.metrics[metric]
        fitting = (one for pattern, one in self.metrics.items() if fnmatchcase(metric, pattern))
        return next(fitting, self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowerTolerances(Tolerances):
    """What two declarations both grant: of each metric the smaller ``rtol`` and the smaller ``atol``.

    Values and means, or means of other numbers of values, have nothing in common but bit equality.
    """

    one: Tolerances
    other: Tolerances

    def of(self, metric: str) -> Tolerance:
        """The tolerance of one metric."""
        one, other = self.one.of(metric), self.other.of(metric)
        rtol, atol = min(one.rtol, other.rtol), min(one.atol, other.atol)
        if one.mean_of != other.mean_of or rtol == atol == 0:
            return Tolerance()
        return Tolerance(rtol=rtol, atol=atol, mean_of=one.mean_of)


def tolerances_from(data: Mapping[str, Any], *, platform: str = "") -> PatternTolerances:
    """Tolerances on a platform from plain JSON data, as ``Recipe.as_data`` has them; exact by default.

    Raises:
        UsageError: A tolerance is negative, NaN, infinite or not a number.
    """
    data = (data.get("platforms") or {}).get(platform, data)
    return PatternTolerances(
        default=Tolerance(**data.get("default") or {}),
        metrics={name: Tolerance(**terms) for name, terms in (data.get("metrics") or {}).items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeLimits:
    """What a run may use: memory in GiB, wall-clock seconds (None for no limit), processes.

    ``determinism_cost`` is how many times as long as free-running training it may take.
    """

    memory_gib: float
    timeout_s: float | None
    pids: int
    determinism_cost: float = 1.25
    shared_memory_gib: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedRow:
    """A row of the checklist that need not pass, and the reason."""

    check: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRules:
    """How a recipe's checklist differs from the usual one."""

    relax: tuple[RelaxedRow, ...]
    require: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An unmodified program, and what it is given: what a recipe has in place of a trainer.

    Attributes:
        command: Its command line, with the placeholders ``{seed}``, ``{run_dir}`` and ``{device}``.
        variables: Environment variables that it is started with.
        working_dir: Where it is started, below the project's folder.
        sees: Patterns of the tracked files that it sees; None for all of them.
        collect: Places in the project where it writes results; it then works in a copy of its own.
        volatile: Metrics that are not compared, by name or pattern, each with the reason.
        outputs: Patterns of the files that it leaves and that are compared too.
        printed: Patterns that find metrics in what it prints; None where its files hold them.
        stop_args: What stops it on its way when added to ``command``; empty where a whole run leaves
            checkpoints too. None when the recipe does not say how it is resumed.
        resume_args: What resumes it from ``{stopped_run_dir}``; None likewise.
        network: Whether it may use the network.
        instrument: ``light`` where it is watched from outside while it runs; None where nothing looks inside.
    """

    command: tuple[str, ...]
    variables: Mapping[str, str]
    working_dir: str
    sees: tuple[str, ...] | None
    collect: tuple[str, ...]
    volatile: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    printed: tuple[str, ...] | None
    stop_args: tuple[str, ...] | None
    resume_args: tuple[str, ...] | None
    network: bool
    instrument: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A validated recipe, overrides applied, defaults filled in.

    >>> load_recipe("train", overrides=["seeds=[4]"]).seeds
    (4,)
    """

    name: str  # what its runs and goldens are filed under
    title: str  # one line for people
    description: str  # more of it, or ""
    path: Path  # the recipe's folder
    file: Path  # its `recipe.yaml`
    variant: str  # which pinned environment, by its name under `images/`; `none` for this Python
    device: str  # `cpu`, `cuda` or `tpu`: what the training computes on
    numerics: str  # `portable` or `native`
    trainer: Path | None  # the trainer's file; None where `program` is run in its place
    program: Program | None  # the command that is run, or None
    # The files of `parts/` that the trainer imports, itself or through another part
    parts: tuple[PartFile, ...]
    seeds: tuple[int, ...]  # the seeds that it promises results for, the first one the default
    platforms: tuple[str, ...]  # where it can be judged: `cpu-x86_64`, …
    platform: str  # the one whose settings were asked for, or ""
    expected: Mapping[str, ExpectedResult]  # metric → what it comes to
    tolerances: Tolerances  # how far a run may be from the golden, where no platform has its own
    statistical: tuple[StatisticalMetric, ...]  # what new seeds are compared with an ensemble by
    repeatable: Mapping[str, str]  # platform on which two runs cannot be equal → why
    # Known sources of it, or None when the recipe does not declare any
    nondeterminism: tuple[str, ...] | None
    immune_to: tuple[str, ...]  # variations of the conditions that must not change a number, by name
    same_under: tuple[
        Mapping[str, Any], ...
    ]  # what must not change a number either: `set`, `args`, `threads`, and `as`
    sinks: tuple[str, ...]  # where metrics go to as well, while a run trains
    machines: str  # what becomes of machines that do not compute alike: `refuse`, `split` or `mark`
    limits: RecipeLimits  # what a run may use
    checks: CheckRules  # rows of the checklist relaxed and required
    keep_checkpoints: int | None  # how many of the last checkpoints a run keeps; None for all
    ranks: Mapping[str, Any] | None  # `world_size`, `reduction`, …; None for one process
    data: str | tuple[Any, ...] | Mapping[str, Any]  # `none`, files next to the recipe, or files by name
    training_config: Mapping[str, Any]  # the trainer's sections, every default filled in, as plain JSON data
    modified: tuple[str, ...]  # overrides as `path=value`, in the order given
    lines: Mapping[str, int]  # dotted path of a key → its line in `file`, counted from 1
    # Digest of all that can change the numbers: trainer, parts, numerics, configuration, device, variant,
    # data. Not of titles, expectations, tolerances and limits.
    digest: str
    file_digest: str  # digest of `file` as it is
    plain: Mapping[str, Any]  # the whole recipe as plain JSON data, as `as_data` returns it

    @property
    def project_dir(self) -> Path:
        """The project's folder: the one that holds the folder of recipes."""
        return root_of_recipe(self.file)

    @property
    def traces(self) -> bool:
        """Whether its runs write the tool's own metrics and trace while they continue, as a trainer's do."""
        return self.program is None

    @property
    def has_checkpoints(self) -> bool:
        """Whether its runs write the tool's own checkpoints, which any machine can continue from."""
        return self.program is None

    @property
    def says_how_to_resume(self) -> bool:
        """Whether it names the arguments that resume its program."""
        return self.program is not None and self.program.resume_args is not None

    @property
    def is_watched(self) -> bool:
        """Whether it is watched from outside while it runs."""
        return self.program is not None and self.program.instrument is not None

    @property
    def asked(self) -> tuple[str, ...]:
        """What it must be loaded with to be this recipe again: its platform, and the overrides."""
        return with_platform(self.modified, self.platform)

    def asked_on(self, platform: str) -> tuple[str, ...]:
        """What it must be loaded with to be judged on a platform; nothing, where it sets nothing there."""
        return with_platform((), platform if platform in self.plain.get("platform_settings", {}) else "")

    def tolerances_on(self, platform: str) -> PatternTolerances:
        """How far a run may be from the golden of one platform."""
        return tolerances_from(self.plain["tolerances"], platform=platform)

    def ensemble_decides_on(self, platform: str) -> bool:
        """Whether the ensemble of a platform decides there although no one asked for it."""
        return platform in self.repeatable or any(platform in one.platforms for one in self.statistical)

    def as_data(self) -> dict[str, Any]:
        """The recipe as plain JSON data, in the shape of ``recipe.yaml``, defaults filled in."""
        return copy.deepcopy(dict(self.plain))

    def config_yaml(self) -> str:
        """The trainer's sections as YAML, floats in full precision; the content of ``config.yaml``."""
        return "".join(f"{line}\n" for line in _yaml_lines(self.training_config))

    def where(self, path: str) -> str:
        """``file:line`` of a key (``training.gamma``), or of the nearest section above it."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0]
        return f"{self.file}:{self.lines.get(path, 1)}"


def _yaml_lines(section: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{key}:"
            yield from _yaml_lines(value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {_yaml_value(value)}"


def _yaml_value(value: Any) -> str:
    """A value as YAML 1.1 and 1.2 both read it: ``1.0e-05``, since 1.1 takes ``1e-05`` for text."""
    if isinstance(value, list):
        return f"[{', '.join(_yaml_value(item) for item in value)}]"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text

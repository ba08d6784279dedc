"""A golden's folder: where it is, and reading it back so that a changed file is noticed.

The commit of a golden is the one that last touched its folder, so none is stored.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from reprokit.compressed import MOST_BYTES, SUFFIX, sha256_of_stored, stored
from reprokit.core import fingerprint, inputs
from reprokit.core.evidence import is_integer
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import GoldenError, UsageError
from reprokit.layout import ENSEMBLE, METRICS, PROVENANCE, TRACE
from reprokit.regular_file import read_regular

#: What begins the folder of goldens that hold on one kind of CPU alone, below that of their platform.
OF_CPU = "on-"
_MAX_BYTES = 16_000_000
_LISTED = 6
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
RESTORE = "restore it with git, or promote new runs with `reprokit golden promote`"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "schema": (int,),
    "recipe": (str,),
    "platform": (str,),
    "seed": (int,),
    "created_at": (str,),
    "reason": (str,),
    "runs_agreed": (int,),
    "digests": (dict,),
    "image": (dict,),
    "fingerprint": (str,),
    "fingerprint_facts": (dict,),
    "environment": (dict,),
    "config": (dict,),
    "tolerances": (dict,),
    "previous": (str, type(None)),
    "tool": (dict,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A golden whose files are the ones that were promoted."""

    path: Path  # its folder
    provenance: Mapping[str, Any]  # `provenance.json`
    # The promoted `metrics.jsonl`, whole; `compressed.open_stored` opens it, compressed or not
    metrics: Path
    # The promoted `trace.jsonl`, thinned, its records exact; None for an unmodified program not watched
    trace: Path | None

    @property
    def is_foreign(self) -> bool:
        """Whether it is a log that someone published, not a run of one's own."""
        return "foreign" in self.provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRow:
    """One line of a list of goldens."""

    recipe: str  # as the folder says
    platform: str  # as the folder says
    seed: int | None  # as the folder says, or None when it says none
    path: Path  # the golden's folder
    created_at: str = ""  # ISO 8601, UTC, or ""
    reason: str = ""  # why it was promoted, or ""
    command: bool = False  # whether it is of a plain command, which has no recipe
    runs_agreed: int = 0  # how many runs agreed when it was promoted, or 0
    foreign: bool = False  # whether it is a log that someone published
    num_seeds: int = 0  # of an ensemble, how many it holds; 0 of any other golden
    problem: str = ""  # why it cannot be used, or ""


def locate(golden_dir: Path, *, recipe: str, platform: str, seed: int, cpu: str = "") -> Path:
    """Where a golden is, or would be; with ``cpu``, that of one kind of CPU alone.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    above = folder_of_platform(golden_dir, recipe=recipe, platform=platform)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise GoldenError(f"{seed!r} cannot be a seed", expected="a whole number, 0 or more")
    if cpu and not _NAME.fullmatch(cpu):
        raise GoldenError(f"{cpu!r} cannot be a kind of CPU", expected="letters, digits, dots, - and _")
    return (above / f"{OF_CPU}{cpu}" if cpu else above) / f"seed-{seed}"


def locate_for(golden_dir: Path, *, recipe: str, environment: Mapping[str, Any], seed: int) -> Path:
    """Where the golden is that a run is compared with: that of its kind of CPU, else that of its platform.

    Args:
        golden_dir: The folder of goldens.
        recipe: Its recipe.
        environment: Its environment record.
        seed: Its seed.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    platform, cpu = fingerprint.platform_of(environment), fingerprint.cpu_that_counts(environment)
    own = locate(golden_dir, recipe=recipe, platform=platform, seed=seed, cpu=cpu)
    return own if own.is_dir() else locate(golden_dir, recipe=recipe, platform=platform, seed=seed)


def folder_of_platform(golden_dir: Path, *, recipe: str, platform: str) -> Path:
    """Where the goldens of a recipe on a platform are, or would be.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    for what, name in (("recipe", recipe), ("platform", platform)):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise GoldenError(f"{name!r} cannot be a {what}", expected="letters, digits, dots, - and _")
    return golden_dir / recipe / platform


def load(path: Path) -> Golden:
    """Read a golden back.

    Raises:
        GoldenError: Something is missing, malformed, or not what was promoted.
    """
    if not path.is_dir():
        raise GoldenError(
            "there is no golden", where=str(path), fix="`reprokit golden list` shows what there is"
        )
    try:
        provenance = read_provenance(path / PROVENANCE, problem_of=_problem_of)
        of_cpu = [f"{OF_CPU}{provenance['cpu']}"] if provenance.get("cpu") else []
        names = (provenance["recipe"], provenance["platform"], *of_cpu, f"seed-{provenance['seed']}")
        if path.absolute().parts[-len(names) :] != names:
            actual = f"one of {'/'.join(names)}"
            raise GoldenError(
                "this golden belongs to another folder", where=str(path), actual=actual, fix=RESTORE
            )
        for name, what in ((METRICS, "metrics"), (TRACE, "trace")):
            if what in provenance["digests"]:
                size = (provenance.get("sizes") or {}).get(what, MOST_BYTES)
                _must_be_promoted(path / name, provenance["digests"][what], most_bytes=size)
    except OSError as error:
        where = str(error.filename or path)
        raise GoldenError(f"cannot read: {error.strerror or error}", where=where, fix=RESTORE) from error
    trace = path / TRACE if "trace" in provenance["digests"] else None
    return Golden(path=path, provenance=provenance, metrics=path / METRICS, trace=trace)


def list_all(golden_dir: Path) -> list[GoldenRow]:
    """Every golden in a folder, by recipe, platform and seed; those that are broken say how."""
    rows = (
        _row(path) for path in (*golden_dir.glob("*/*/seed-*"), *golden_dir.glob(f"*/*/{OF_CPU}*/seed-*"))
    )
    return sorted(rows, key=lambda row: (row.recipe, row.platform, row.seed is None, row.seed or 0, row.path))


def find(path: Path, *, ensembles: bool = False) -> Path:
    """The golden that a folder is, or the only one below it; an ensemble too where these are looked for.

    Raises:
        UsageError: There are several.
    """
    names = ("seed-*", *((ENSEMBLE,) if ensembles else ()))
    below = sorted(file.parent for name in names for file in path.glob(f"**/{name}/{PROVENANCE}"))
    if (path / PROVENANCE).exists() or not below:
        return path
    if len(below) == 1:
        return below[0]
    named = ", ".join(map(str, below[:_LISTED]))
    more = f" and {len(below) - _LISTED} more" if len(below) > _LISTED else ""
    raise UsageError("there is more than one golden here", where=str(path), fix=f"name one of {named}{more}")


def _row(path: Path) -> GoldenRow:
    number = path.name.removeprefix("seed-")
    seed = int(number) if re.fullmatch(r"[0-9]{1,18}", number) else None
    recipe, platform = path.parent.parent.name, path.parent.name
    if platform.startswith(OF_CPU):
        recipe, platform = path.parents[2].name, f"{recipe}/{platform}"
    try:
        provenance = load(path).provenance
    except GoldenError as error:
        return GoldenRow(recipe=recipe, platform=platform, seed=seed, path=path, problem=str(error))
    return GoldenRow(
        recipe=recipe,
        platform=platform,
        seed=seed,
        path=path,
        created_at=provenance["created_at"],
        reason=provenance["reason"],
        runs_agreed=provenance["runs_agreed"],
        foreign="foreign" in provenance,
        command=bool(provenance.get("command")),
    )


def _must_be_promoted(file: Path, digest: str, *, most_bytes: int) -> None:
    kept = stored(file)
    if kept.is_symlink() or not kept.is_file():
        raise GoldenError("the file is missing", where=str(file), fix=RESTORE)
    twin = file.with_name(file.name + SUFFIX)
    if kept == file and os.path.lexists(twin):
        raise GoldenError("the file is there twice, compressed and plain", where=str(twin), fix=RESTORE)
    actual = sha256_of_stored(file, most_bytes=most_bytes)
    if actual != digest:
        raise GoldenError(
            "the file differs from the one that was promoted",
            where=str(file),
            expected=digest,
            actual=actual,
            fix=RESTORE,
        )


def read_provenance(file: Path, *, problem_of: Callable[[Any], str]) -> dict[str, Any]:
    """``provenance.json``, read strictly; ``problem_of`` says what is wrong with what it holds, or "".

    Raises:
        GoldenError: It is missing, too large, not JSON, or something is wrong with it.
    """

    def malformed(what: str) -> NoReturn:
        raise GoldenError(what, where=str(file), fix=RESTORE)

    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            malformed("a key is repeated")
        return dict(pairs)

    if file.is_symlink() or not file.is_file():
        malformed("the file is missing")
    if file.stat().st_size > _MAX_BYTES:
        malformed(f"the file is larger than {_MAX_BYTES} bytes")
    try:
        value = json.loads(
            read_regular(file).decode("utf-8"),
            object_pairs_hook=no_repeats,
            parse_constant=lambda word: malformed(f"{word} is not JSON"),
        )
    except (ValueError, RecursionError) as error:
        raise GoldenError(f"not JSON: {error}", where=str(file), fix=RESTORE) from error
    problem = problem_of(value)
    if problem:
        malformed(problem)
    return dict(value)


def misfit(value: Any, types: Mapping[str, tuple[type, ...]]) -> str:
    """Why a provenance is not an object of this schema with these keys; "" where it is."""
    if not isinstance(value, dict):
        return "not a JSON object"
    if value.get("schema") != SCHEMA_VERSION:
        return f"schema {value.get('schema')!r} is not known; this reprokit reads {SCHEMA_VERSION}"
    for key, kinds in types.items():
        if not isinstance(value.get(key, ...), kinds) or isinstance(value[key], bool):
            return f"{key!r} is missing or of the wrong type"
    return ""


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 as files name it."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _digests_of_runs(digests: Mapping[str, Any]) -> tuple[str, ...]:
    """The digests that a golden made of runs must have."""
    traced = ["trace"] if "program" not in digests or "trace" in digests else []
    return (*inputs.names_in(digests), "metrics", *traced)


def _problem_of(value: Any) -> str:
    problem = misfit(value, _TYPES)
    if problem:
        return problem
    digests = value["digests"]
    if not isinstance(value.get("foreign", {}), dict):
        return "'foreign' is of the wrong type"
    if not isinstance(value.get("cpu", ""), str):
        return "'cpu' is of the wrong type"
    for name in ("metrics",) if "foreign" in value else _digests_of_runs(digests):
        if not is_digest(digests.get(name)):
            return f"the digest of {name!r} is missing or malformed"
    return _problem_of_sizes(value.get("sizes")) or _problem_of_response(value.get("responds"))


def _problem_of_sizes(sizes: Any) -> str:
    """What is wrong with the plain sizes of compressed files; a golden that is not compressed has none."""
    if sizes is None:
        return ""
    whole = isinstance(sizes, dict) and all(
        is_integer(size) and 0 < size <= MOST_BYTES for size in sizes.values()
    )
    return "" if whole else "'sizes' is malformed"


def _problem_of_response(responds: Any) -> str:
    """What is wrong with the record of a run with another seed; goldens may have none."""
    if responds is None:
        return ""
    metrics = responds.get("metrics") if isinstance(responds, dict) else None
    whole = isinstance(metrics, list) and metrics and all(isinstance(name, str) for name in metrics)
    seeds = [responds.get("seed"), responds.get("third_seed", 0)] if whole else [None]
    return "" if all(map(is_integer, seeds)) else "'responds' is malformed"

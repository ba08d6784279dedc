"""Everything that a whole run's numbers stand on, as one digest: what tells a finished run from another one.

It follows from ``run.json`` and ``environment.json`` alone, and from the same keys of a run that is only
planned. Two runs of equal digest and seed compute the same, so the second need not be made.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import capture, runs
from reprokit.core import fingerprint
from reprokit.core.evidence import fact
from reprokit.core.records import RunSpec, digest
from reprokit.core.run_record import OutsideCode, RunImage, RunRecord
from reprokit.harness.running.resuming.joined_run import as_whole
from reprokit.recipes import asked_of
from reprokit.records import environment_json, run_json

if TYPE_CHECKING:
    from reprokit.core.environment_record import EnvironmentRecord, MachineFacts

#: Keys of ``run.json``: another recipe, code, lock, variable or data file may give other numbers.
#: ``modified`` is none of them: what an override changes stands in the digests, however it was written.
_KEYS = (
    "recipe",
    "device",
    "numerics",
    "command",
    "environment",
    "digests",
    "data",
    "backend",
)
_IMAGE_KEYS = ("variant", "kind", "digest", "lock_digest")
_OF_THE_BACKEND = ("backend", "image.kind", "image.digest")
#: The conditions of members that machines of any kind may run, where the recipe says ``machines: mark``.
MIXED = "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """What the numbers of a run depend on, except for its seed.

    Attributes:
        recorded: Digest of what ``run.json`` says of it from the beginning.
        surroundings: Digest of what of the environment can change numbers; "" where that is not recorded,
            as of a run that was interrupted; ``MIXED`` where any will do.
    """

    recorded: str
    surroundings: str

    @property
    def digest(self) -> str:
        return digest([self.recorded, self.surroundings])

    @property
    def is_mixed(self) -> bool:
        """Whether they are those of a member that machines of any kind may run."""
        return self.surroundings == MIXED

    def covers(self, other: RunInputs) -> bool:
        """Whether a finished run of other inputs is a run of these."""
        if not self.is_mixed:
            return other == self
        return other.recorded == self.recorded and bool(other.surroundings)

    def of_seed(self, seed: int) -> str:
        """Digest of everything that the numbers of one run stand on."""
        return digest([self.recorded, self.surroundings, seed])


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRunFolder:
    """The folder of a run that was to be a whole one, finished or not.

    Attributes:
        path: The folder.
        seed: Its seed.
        inputs: What its numbers stand on.
        is_of_mixed: Whether it was made for a sweep over machines of several kinds, each member on any.
        is_recorded: False where the source held changes that neither commit nor index has.
        asked: What its recipe was loaded with: its platform, and the overrides.
    """

    path: Path
    seed: int
    inputs: RunInputs
    is_of_mixed: bool = False
    is_recorded: bool = True
    asked: tuple[str, ...] = ()

    def is_attempt_at(self, inputs: RunInputs) -> bool:
        """Whether it is of these inputs, as far as it says; a finished run says all."""
        same = inputs.is_mixed or self.inputs.surroundings in {inputs.surroundings, ""}
        return same and self.inputs.recorded == inputs.recorded

    def counts_for(self, inputs: RunInputs) -> bool:
        """Whether it is an attempt that a member of these inputs may be made of."""
        return self.is_attempt_at(inputs) and (inputs.is_mixed or not self.is_of_mixed)

    def identity(self, *, mixed: bool) -> str:
        """The identity of the member that it is a run of, as ``RunInputs.of_seed``; "" where of none."""
        if not mixed:
            return "" if self.is_of_mixed else self.inputs.of_seed(self.seed)
        if not self.inputs.surroundings:
            return ""
        return RunInputs(recorded=self.inputs.recorded, surroundings=MIXED).of_seed(self.seed)


def inputs_of(record: RunRecord, environment: EnvironmentRecord) -> RunInputs:
    """The inputs of a run.

    Args:
        record: ``run.json``, or that of a planned run.
        environment: ``environment.json``, or that of a planned run; empty where there is none.
    """
    cores = record.limits.cpus if record.limits else None
    return RunInputs(
        recorded=digest(_recorded_inputs(as_whole(record))),
        surroundings=_environment_digest(record, environment, cores) if environment else "",
    )


def wherever_run(folder: Path) -> str:
    """Digest of the inputs of a run, but for its backend and its number of cores.

    Those may round otherwise, and yet all seeds of one digest are results of the same program: whoever
    chooses some of them chooses among all. Nor does code elsewhere count, which an edit of a comment changes.
    """
    record = run_json.recorded(folder)
    told = _recorded_inputs(as_whole(record))
    kept = {name: told[name] for name in told if name not in {*_OF_THE_BACKEND, "outside_code"}}
    return digest([kept, _environment_digest(record, environment_json.recorded(folder), None)])


def _recorded_inputs(whole: RunRecord) -> dict[str, Any]:
    image = whole.image or RunImage()
    return {
        **{name: getattr(whole, name) for name in _KEYS},
        "digests": whole.digests or None,
        **{f"image.{name}": getattr(image, name) for name in _IMAGE_KEYS},
        # Two of them may have the same settings.
        **({"platform": whole.platform_asked} if whole.platform_asked else {}),
        **_outside_code(whole),
    }


def holds_all_inputs(record: RunRecord) -> bool:
    """Whether what is recorded of a run holds all that its numbers can depend on.

    An unmodified program on this host also reads variables, and files that no digest is of.
    """
    is_command = record.program is not None or record.plain_command is not None
    return not is_command or record.backend == "docker"


def _outside_code(whole: RunRecord) -> dict[str, Any]:
    """The code that an unpinned program can import; a pinned one's is known only when it has ended."""
    found = whole.outside_code
    if whole.image is not None or found is None or found == OutsideCode():
        return {}
    return {"outside_code": {"files": dict(found.files), "unknown": found.unknown}}


def planned_inputs(spec: RunSpec, *, facts: Mapping[str, Any], host: MachineFacts) -> RunInputs:
    """The inputs of a run that has not begun.

    Args:
        spec: The run.
        facts: Further keys of its ``run.json``.
        host: What ``capture.capture_host`` found, with ``plain_inside`` of an unmodified program.
    """
    environment = capture.merge(host.get("plain_inside") or {}, host, source={}, image=None, limits=None)
    return inputs_of(
        runs.record_of(spec, facts=facts), environment_json.or_empty(json.loads(json.dumps(environment)))
    )


def whole_runs(runs_dir: Path, *, recipe: str) -> Iterator[WholeRunFolder]:
    """The run folders of a recipe, oldest first; not those of resumed, stopped and varied runs."""
    for folder in runs.list_all(runs_dir, recipe=recipe):
        found = whole_run(folder)
        if found is not None:
            yield found


def whole_run(folder: Path) -> WholeRunFolder | None:
    """A run folder with its inputs; None where it is of a run that was not to be a whole one."""
    record = as_whole(run_json.recorded(folder))
    if (
        record.seed is None
        or not record.is_whole
        or record.stop_at is not None
        or record.plain_command is not None
    ):
        return None
    environment = environment_json.recorded(folder)
    inputs = inputs_of(record, environment)
    machines = record.machine.set
    if machines and not inputs.surroundings:  # interrupted; the machine was asked before it began
        inputs = replace(inputs, surroundings=record.machine.fingerprint)
    return WholeRunFolder(
        path=folder,
        seed=record.seed,
        inputs=inputs,
        is_of_mixed=machines == MIXED,
        is_recorded=is_recorded(environment),
        asked=asked_of(record),
    )


def is_recorded(environment: EnvironmentRecord | MachineFacts) -> bool:
    """Whether an environment record knows of no change that neither a commit nor the index has."""
    return fact(environment, "source.unrecorded") is not True


def _environment_digest(
    record: RunRecord, environment: EnvironmentRecord, cores: Sequence[int] | None
) -> str:
    """What of the conditions can change numbers, as far as it is known before a run begins, as a digest.

    An unmodified program's environment was asked before it began, and it may start a thread a core; that of a
    trainer is named by its lock, and has one thread.
    """
    host = environment.get("host") or {}
    inside = environment.get("inside") or {}
    if record.program is None:
        cores = None
        inside = {"device": {"kind": record.device}, "numerics": {"profile": record.numerics}}
    return _of_what_can_change_numbers(json.dumps([inside, host, None if cores is None else len(cores)]))


@functools.lru_cache(maxsize=64)  # a thousand runs of a machine differ in nothing of this
def _of_what_can_change_numbers(told: str) -> str:
    inside, host, num_cores = json.loads(told)
    facts = fingerprint.facts({"inside": inside, "host": host})
    return digest([fingerprint.platforms_of_host(host), facts, num_cores])

"""What ``run.json`` says of a run, as one record; what a version did not write yet is None or empty.

``records.run_json`` reads it, and refuses what is not of this form. Every run of a program loads this module:
the records are named tuples, because Python makes those in a fifth of the time that dataclasses take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reprokit.core.extension_record import RecordedExtension
from reprokit.core.records import Outcome

_NOTHING: Mapping[str, Any] = {}  # no one writes to a record


class RunImage(NamedTuple):
    """The pinned environment of a run, as ``Realisation`` was written."""

    variant: str | None = None
    kind: str | None = None
    reference: str | None = None
    digest: str | None = None
    python: str | None = None
    lock_digest: str | None = None
    base: str | None = None
    device_needs: Mapping[str, Any] = _NOTHING


class RecordedLimits(NamedTuple):
    """Of the limits of a run those that say what it computed with."""

    cpus: tuple[int, ...] | None = None


class RunOwner(NamedTuple):
    """The process of the tool that makes a run; with ``machine`` where that is not the reader's."""

    pid: int | None = None
    started: float | None = None
    boot: float | None = None
    machine: str | None = None


class RunMachine(NamedTuple):
    """Where a run was made.

    Attributes:
        id: Digest that tells the machine from others.
        node: What the scheduler calls it.
        fingerprint: Of a member of a sweep: what of it can change numbers.
        set: Of a sweep over machines of several kinds: ``split`` or ``mixed``.
    """

    id: str = ""
    node: str = ""
    fingerprint: str = ""
    set: str = ""


class RecordedProgram(NamedTuple):
    """An unmodified program: its command, and the digests of the files that it sees."""

    command: tuple[str, ...] | None = None
    working_dir: str | None = None
    files: Mapping[str, str] = _NOTHING


class InstalledFiles(NamedTuple):
    """Whether a virtual environment held what its lock says: ``foreign`` are the first other files."""

    files: int | None = None
    whole: bool | None = None
    foreign: tuple[str, ...] | None = None
    num_foreign: int | None = None
    state: str | None = None


class OutsideCode(NamedTuple):
    """Code that a program used, or can import, and that is neither its repository's nor its environment's.

    Attributes:
        files: Their SHA-256, by path.
        unknown: Why they are not known.
    """

    files: Mapping[str, str] = _NOTHING
    unknown: str | None = None


class OtherTreeFiles(NamedTuple):
    """Files that a program on a host opened of other runs; on a side of a commit, of the working tree too.

    Attributes:
        files: Their paths.
        unknown: Why there may be more.
    """

    files: tuple[str, ...] = ()
    unknown: str | None = None


class ResumedFrom(NamedTuple):
    """Where a resumed run began.

    Attributes:
        run: The interrupted run, ``<recipe>/<run id>``.
        checkpoint: Name of the file.
        step: Of a trainer: the step of the checkpoint.
        sha256: Of the checkpoint.
        arguments: Of a command: the words that resume it.
        command: Of a member of a sweep: the command line as if it had not been interrupted.
        joined: Whether the records of both runs were put together.
    """

    run: str | None = None
    checkpoint: str | None = None
    step: int | None = None
    sha256: str | None = None
    arguments: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    joined: bool | None = None


class StoppedPlace(NamedTuple):
    """Where a run was killed as one of several.

    Attributes:
        asked: What was typed for the places: ``every``, ``middle`` or ``5,17``.
        kind: Of an unmodified program: what is counted; "" where a run was only counted, or is a trainer's.
        number: Which one of the kind.
        told: The place in words.
        has_checkpoint: Whether a checkpoint was whole before.
    """

    asked: str = ""
    kind: str = ""
    number: int = 0
    told: str = ""
    has_checkpoint: bool = True


class RecordedVariations(NamedTuple):
    """What was varied for a run, as ``VariedRun`` was written."""

    names: tuple[str, ...] | None = None
    watched: bool | None = None
    held: Mapping[str, str] = _NOTHING
    unmade: Mapping[str, str] = _NOTHING
    after: str = ""


class RecordedStress(NamedTuple):
    """What disturbed a run, as ``Stress`` was written.

    Attributes:
        number: Which of the disturbed runs of one reproduction it is, from 1.
        seed: Of what was drawn for it.
        made: What was done: name → how, in words.
        not_made: What could not be done here: name → why.
    """

    number: int = 0
    seed: str = ""
    made: Mapping[str, str] = _NOTHING
    not_made: Mapping[str, str] = _NOTHING


class SharedRows(NamedTuple):
    """Tables that must not share a row: how many they share, and where the first ones stand."""

    files: tuple[str, ...] = ()
    num_duplicates: int | None = None
    first: tuple[Any, ...] = ()


class RunRecord(NamedTuple):
    """``run.json``; with nothing in it where there is none that can be believed."""

    schema: int | None = None
    recipe: str | None = None
    run_id: str | None = None
    seed: int | None = None
    device: str | None = None
    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] = _NOTHING
    image: RunImage | None = None
    limits: RecordedLimits | None = None
    attempt: int | None = None
    where: str | None = None
    machine: RunMachine = RunMachine()
    backend: str | None = None
    backend_asked: str | None = None
    numerics: str | None = None
    modified: tuple[str, ...] | None = None
    recipe_digest: str | None = None
    mounted_digest: str | None = None
    digests: Mapping[str, str] = _NOTHING
    recipe_data: Mapping[str, Any] = _NOTHING
    training_config: Mapping[str, Any] = _NOTHING
    installed: InstalledFiles | None = None
    isolation: Mapping[str, Any] = _NOTHING
    program: RecordedProgram | None = None
    plain_command: tuple[str, ...] | None = None
    golden_asked: str | None = None
    platform_asked: str | None = None
    folders_asked: tuple[str, ...] = ()
    has_make: bool | None = None
    bundle: Mapping[str, str] = _NOTHING
    outputs: tuple[str, ...] | None = None
    output_digests: Mapping[str, str] | None = None
    sources: Mapping[str, str] = _NOTHING
    volatile: Mapping[str, str] = _NOTHING
    volatile_idle: Mapping[str, str] = _NOTHING
    printed_idle: tuple[str, ...] = ()
    metrics_problem: Mapping[str, str | None] = _NOTHING
    outside_code: OutsideCode | None = None
    other_tree: OtherTreeFiles | None = None
    shared: Mapping[str, tuple[str, ...]] = _NOTHING
    data: Mapping[str, str] | None = None
    preparation: Mapping[str, Any] | None = None
    disjoint: tuple[SharedRows, ...] = ()
    resumed_from: ResumedFrom | None = None
    stop_at: int | None = None
    stopped_by: tuple[str, ...] | None = None
    stop_place: StoppedPlace | None = None
    varied: RecordedVariations | None = None
    stressed: RecordedStress | None = None
    state: str | None = None
    owner: RunOwner | None = None
    outcome: str | None = None
    exit_code: int | str | None = None
    signal: int | str | None = None
    message: str = ""
    remedy: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    duration_s: float | None = None
    left_in_output: tuple[str, ...] = ()
    left_because: Mapping[str, str] = _NOTHING
    left_by_earlier_runs: Mapping[str, str] = _NOTHING
    tree_unknown: str = ""
    extensions: tuple[RecordedExtension, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded: there is no ``run.json``, or none that can be believed."""
        return self == RunRecord()

    @property
    def is_whole(self) -> bool:
        """Whether it is of a whole run under natural conditions."""
        marks = (self.resumed_from, self.stopped_by, self.stop_place, self.varied, self.stressed)
        return all(mark is None for mark in marks)

    @property
    def world_size(self) -> int:
        """Of how many ranks its recipe asks."""
        ranks = self.recipe_data.get("ranks")
        return int(ranks.get("world_size", 1)) if ranks else 1

    @property
    def keeps_output(self) -> bool:
        """Whether what the program wrote stays under ``output/``: where it is a command of a recipe."""
        return self.program is not None

    @property
    def files_of_others(self) -> tuple[str, ...]:
        """The files of other runs that it opened; none where it was not watched for any."""
        return self.other_tree.files if self.other_tree else ()

    @property
    def completed(self) -> bool:
        """Whether it says that the program ended well."""
        return self.outcome == Outcome.COMPLETED

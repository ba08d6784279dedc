"""Every error that reprokit raises on purpose, and the exit code each one ends in.

The tree::

    ReprokitError                exit code
    ├── UsageError                       2   wrong command line
    │   ├── RecipeError                  2   recipe.yaml or --set is wrong
    │   ├── GoldenError                  2   a golden folder is unreadable or refused
    │   ├── MetricsError                 2   a metrics file cannot be compared
    │   ├── ReportError                  2   a report or run folder is unreadable
    │   ├── CheckpointError              2   a checkpoint is unreadable or refused
    │   └── BundleError                  2   a bundle is damaged, altered or refused
    ├── CannotRunError                   3   nothing was trained, or not to the end
    │   ├── EngineError                  3   no container engine, or it went away
    │   ├── ImageError                   3   image or virtual environment not made
    │   │   └── OnlyCondaError           3   packages that only conda has
    │   ├── DeviceError                  3   the GPU that is asked for is not here, or not free
    │   ├── DataError                    3   declared data is not there as declared
    │   ├── UploadError                  3   a run could not be copied to its URL
    │   ├── SchedulerError               3   no engine for many machines, or it went away
    │   ├── MissingExtraError            3   a package of an extra is not installed
    │   └── WorkspaceError               3   runs/ or reports/ cannot be written
    │       ├── DiskFullError            3   because the disk is full
    │       └── WorkspaceBusyError       3   because another tool is at work in it
    └── CannotJudgeError                 4   not enough evidence for any verdict

    >>> raise RecipeError("unknown key 'trainig'", where="recipe.yaml:12", fix="did you mean 'training'?")
    Traceback (most recent call last):
        ...
    reprokit.errors.RecipeError: recipe.yaml:12: unknown key 'trainig'. Hint: did you mean 'training'?
"""

from __future__ import annotations


class ReprokitError(Exception):
    """What happened, where, what was expected instead, and what to do next.

    Args:
        what: One sentence without a full stop.
        where: ``file:line``, a path, or the name of a host or engine.
        fix: The next step for the person who reads this, preferably a command.

    >>> error = ReprokitError("no golden", where="golden/x", fix="promote one")
    >>> error.what, error.exit_code
    ('no golden', 3)
    >>> str(error)
    'golden/x: no golden. Hint: promote one'
    """

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        actual: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.actual = actual
        self.fix = fix
        super().__init__(self._sentence())

    def told(self) -> str:
        place = f"{self.where}: " if self.where else ""
        parts = [f"{place}{self.what}"]
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.actual is not None:
            parts.append(f"got {self.actual}")
        return ". ".join(parts)

    def _sentence(self) -> str:
        return self.told() if self.fix is None else f"{self.told()}. Hint: {self.fix}"


class UsageError(ReprokitError):
    """The command line asks for something that cannot be done.

    >>> UsageError("a run has no such option").exit_code
    2
    """

    exit_code = 2


class RecipeError(UsageError):
    """A recipe, or an override of it, breaks the schema; several ``mistakes`` have a sentence each.

    >>> load_recipe("no-such-recipe")
    Traceback (most recent call last):
    reprokit.errors.RecipeError: ...
    """

    mistakes: tuple[str, ...] = ()


class GoldenError(UsageError):
    """A golden cannot be read, or may not be written.

    >>> read_golden("golden/no-such-recipe")
    Traceback (most recent call last):
    reprokit.errors.GoldenError: ...
    """


class MetricsError(UsageError):
    """A metrics file is unreadable, torn, empty, or has nothing to compare: a ``kind`` of problem.

    >>> MetricsError("a line is cut off", kind="torn_line", where="a.csv").kind
    'torn_line'
    """

    def __init__(self, what: str, *, kind: str = "unreadable_file", **parts: str | None) -> None:
        self.kind = kind
        super().__init__(what, **parts)


class ReportError(UsageError):
    """A report or a run folder cannot be read back.

    >>> read_report("reports/none")
    Traceback (most recent call last):
    reprokit.errors.ReportError: ...
    """


class CheckpointError(UsageError):
    """A checkpoint is torn, was tampered with, or does not fit.

    >>> CheckpointError("the checkpoint is torn").exit_code
    2
    """


class BundleError(UsageError):
    """A bundle cannot be made, is damaged or was altered, or holds what none should.

    >>> BundleError("the archive was altered").exit_code
    2
    """


class CannotRunError(ReprokitError):
    """The training could not be run to its end; ``outcome`` is a word of ``core.records.Outcome``.

    >>> CannotRunError("the program crashed").exit_code, CannotRunError.outcome
    (3, 'crashed')
    """

    exit_code = 3
    outcome = "crashed"


class EngineError(CannotRunError):
    """No container engine answers, or it went away.

    >>> EngineError("no engine answers").outcome
    'engine_missing'
    """

    outcome = "engine_missing"


class ImageError(CannotRunError):
    """An image or virtual environment could not be made from its lock.

    >>> ImageError("a package is gone").outcome
    'image_build_failed'
    """

    outcome = "image_build_failed"


class OnlyCondaError(ImageError):
    """A project's file lists packages that only conda has, so no lock of wheels can have them."""


class DeviceError(CannotRunError):
    """The accelerator that a run asks for is not on this host, or not free.

    >>> DeviceError("there is no GPU").outcome
    'start_refused'
    """

    outcome = "start_refused"


class DataError(CannotRunError):
    """Data that a recipe declares is not there as declared, and could not be fetched.

    >>> DataError("the file has another digest").outcome
    'data_unavailable'
    """

    outcome = "data_unavailable"


class UploadError(CannotRunError):
    """A finished run could not be copied to, or read from, the place that a person named.

    >>> UploadError("the bucket does not answer").outcome
    'upload_failed'
    """

    outcome = "upload_failed"


class SchedulerError(CannotRunError):
    """The engine that runs were to be made on (Ray, Slurm) does not answer or take them.

    >>> SchedulerError("qsub failed", where="--on pbs").outcome
    'scheduler_unavailable'
    """

    outcome = "scheduler_unavailable"


class WorkspaceError(CannotRunError):
    """A folder that reprokit writes to is missing or read-only.

    >>> WorkspaceError("the folder is read-only").outcome
    'run_folder_not_writable'
    """

    outcome = "run_folder_not_writable"


class DiskFullError(WorkspaceError):
    """No space is left where reprokit writes.

    >>> isinstance(DiskFullError("no space is left"), WorkspaceError)
    True
    """

    outcome = "disk_full"


class WorkspaceBusyError(WorkspaceError):
    """Another tool is at work in the same folder.

    >>> WorkspaceBusyError("another sweep is at work").outcome
    'workspace_busy'
    """

    outcome = "workspace_busy"


class MissingExtraError(CannotRunError):
    """A package of an extra is not installed; ``fix`` is the line that installs it.

    >>> MissingExtraError("pandas is not installed", fix="pip install pandas").fix
    'pip install pandas'
    """


class CannotJudgeError(ReprokitError):
    """There is not enough evidence for a verdict.

    >>> CannotJudgeError("one run is not enough").exit_code
    4
    """

    exit_code = 4

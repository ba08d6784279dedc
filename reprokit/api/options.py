"""How programs are run: the options that the verbs share, as keywords."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypedDict

from reprokit import extensions
from reprokit.errors import UsageError
from reprokit.extension_list import load_named
from reprokit.feature import EXTENSIONS_FROM
from reprokit.project import Project
from reprokit.reports.progress import ProgressDisplay
from reprokit.request import Request
from reprokit.session import Progress, Session

#: What ``Request`` has and no caller sets: verbs do.
_OF_VERBS = {"command", "gate", "against_golden", "rounding", "profile_step", "stress"}


class RunOptions(TypedDict, total=False):
    """How programs are run and judged. All have the defaults of the command line.

    Attributes:
        seed: None for the recipe's first.
        backend: ``auto``, ``docker`` or ``local``.
        base: Which base an image is built on: ``auto``, ``registry`` or ``bootstrap``.
        repeats: How many runs with the one seed.
        overrides: ``path=value`` settings of a recipe.
        ignore: Patterns of metrics to leave out (plain commands).
        outputs: Patterns of output files that count as metrics do (plain commands).
        strict: Advisory rows are required too.
        attribute: On a mismatch with the golden, find out whether code or environment is to blame.
        timeout_s: Limit for each run, seconds.
        side_by_side: False to run one after the other.
        vary: Train once more under the variations that the recipe says it is immune to.
        same_under: Train once more with each thing that the recipe says must not matter.
        diagnose: Where two runs differ, find out why.
        resume: Kill one more training on its way, resume it, and compare it with the first.
        stop_at: The step at which; None for one that is drawn from the seed.
        resume_from: A run or a checkpoint to continue from.
        statistical: Where equality does not decide, let the ensemble.
        watch_golden: Stop the runs where all of them have passed the first difference from the golden.
        exclusive: Refuse GPUs that another program computes on.
        sinks: Where metrics go to as well while the runs train: ``tensorboard``, ``wandb``.

    >>> options = RunOptions(seed=3, backend="local")
    >>> reproduce("no-such-recipe", **options)
    Traceback (most recent call last):
    reprokit.errors.RecipeError: ...
    """

    seed: int | None
    backend: str
    base: str
    repeats: int
    overrides: Sequence[str]
    ignore: Sequence[str]
    outputs: Sequence[str]
    strict: bool
    attribute: bool
    timeout_s: float | None
    side_by_side: bool
    vary: bool
    same_under: bool
    diagnose: bool
    resume: bool
    stop_at: int | None
    resume_from: str | None
    statistical: bool
    watch_golden: bool
    exclusive: bool
    sinks: Sequence[str]


def request_from(verb: str, subject: object, options: Mapping[str, Any], **of_verb: Any) -> Request:
    """The request that keywords make.

    Args:
        verb: The function that was called, for the report.
        subject: What it was called with first.
        options: Its keywords, as ``RunOptions`` has them.
        of_verb: What the verb sets itself.

    Raises:
        UsageError: A keyword that is none.
    """
    known = {field.name for field in fields(Request)} - _OF_VERBS
    for name, value in options.items():
        if name not in known:
            raise UsageError(
                f"{verb} has no option {name!r}", where="reprokit.api", expected=", ".join(sorted(known))
            )
        if isinstance(value, str) and name in {"overrides", "ignore", "outputs", "sinks"}:
            raise UsageError(
                f"{name} is one text", where="reprokit.api", expected=f"a list: {name}=[{value!r}]"
            )
    words = "".join(f", {name}={value!r}" for name, value in options.items())
    given = {**options, **of_verb}
    if given.get("stop_at") is not None:
        given["resume"] = True
    return Request(**given, command=f"reprokit.api.{verb}({subject!r}{words})")


@contextmanager
def session_of(project: Project | Path | str | None, progress: Progress | None) -> Iterator[Session]:
    """A session in a project: that of the working directory where none is named.

    Args:
        project: The project, or a folder in it.
        progress: What is shown; None for a bar on a terminal, and for nothing elsewhere.
    """
    where = project if isinstance(project, Project) else Project.around(Path(project or "."))
    load_extensions_of(where)
    if progress is not None or not sys.stderr.isatty():
        yield Session(project=where, progress=progress or Silent())
        return
    with ProgressDisplay() as display:
        yield Session(project=where, progress=display)


def load_extensions_of(project: Project) -> None:
    """Load the extensions that a project names, as every verb does.

    Raises:
        UsageError: The list cannot be met, or this process has loaded another project's.
    """
    if extensions.listed_by() or extensions.is_at_work():  # this is called by one of them
        return
    commit = os.environ.get(EXTENSIONS_FROM, "")
    load_named(project.root, commit=commit, warn=lambda text: warnings.warn(text, stacklevel=4))


class Silent:
    """Shows nothing."""

    def phase(self, name: str) -> None:
        """A new phase begins."""

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        """A run has come this far."""

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        """A run is under way."""

    def ended(self, run_label: str) -> None:
        """A run has ended."""

    def note(self, text: str) -> None:
        """Something worth a line."""

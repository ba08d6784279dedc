"""``init``: a recipe for a program that has none, found by looking at it and proven by running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import extensions, workspace
from reprokit.capture.conda_list import explicit_list, prefix_of
from reprokit.core import fingerprint
from reprokit.core.comparing.clock_metrics import kind_by_name
from reprokit.core.sampling.seed_rule import Response
from reprokit.core.verdicts.rows import counted, listed
from reprokit.errors import ImageError, MetricsError, OnlyCondaError, RecipeError, UsageError
from reprokit.execution.placeholders import is_used
from reprokit.features.init.as_typed import with_placeholders_typed, without_placeholders
from reprokit.features.init.find_command import ProgramCommand, found_command, given_command, recipe_name
from reprokit.features.init.find_seed import seed_in_files
from reprokit.features.init.printed_metrics import propose_patterns
from reprokit.features.init.proposal import Proposal, ignores, next_commands, results_to_ignore
from reprokit.features.init.recipe_text import recipe_text
from reprokit.features.init.trial import (
    DraftProject,
    PythonAsked,
    compared,
    could_not_write,
    lock_environment,
    locked_python,
    metrics_of,
    must_have_ended,
    places_of,
    printed_by,
    trial_of,
    written_files,
)
from reprokit.features.init.try_claims import propose_for_recipe, with_claims
from reprokit.harness.judging.differences.clock_evidence import only_the_clock
from reprokit.harness.judging.seed_response import responses
from reprokit.harness.running.programs import program_files
from reprokit.images.dependency_files import find_dependencies
from reprokit.layout import METRICS, RECIPE
from reprokit.project import Project, project_folder, settings_of
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.records import environment_json, run_json
from reprokit.session import Session

_SEEDS = (1, 2)
CONDA_LIST = "conda-explicit.txt"
#: Of logs that hold nothing: what the program prints may hold it all.
_WITHOUT_RECORDS = frozenset({"no_metrics_file", "no_records", "empty_file"})
#: What the runs were made in; `reproduce` and `verify` choose by the same rule.
_WHERE = {
    "docker": "run in its container, as `reproduce` does",
    "local": "run in a virtual environment of it, as `reproduce` does (no container engine answers)",
}


def propose(
    words: Sequence[str],
    *,
    name: str | None = None,
    python: PythonAsked | None = None,
    same_under: bool = False,
    agrees: Callable[[str], bool] = lambda _question: True,
    session: Session,
) -> Proposal:
    """Find out what a recipe for a program would say.

    The program is run three times in a copy of the project: twice with one seed, once with another.

    Args:
        words: The command that trains; empty to look for it.
        name: Of the recipe; that of the program's file when None.
        python: What a person says of the program's Python.
        same_under: Whether what usually does not matter is tried too, on a recipe that is there as well.
        agrees: Asked before anything is built, where the command is run without a seed and a folder.
        session: The project, and the progress that is shown.

    Raises:
        UsageError: No program was found, it is in no git repository, or its files forbid the Python that is
            asked for.
        RecipeError: There is a recipe of that name for something else.
        CannotRunError: The environment cannot be made, or the program does not end well in it.
    """
    if same_under and not words and name and (session.project.recipes_dir / name / RECIPE).is_file():
        return propose_for_recipe(name, session=session)
    command = given_command(words, session.project.root) if words else found_command(session.project.root)
    missing = next((word for word in command.words if word.endswith(".py")), "")
    if missing and not command.script:
        raise UsageError(
            f"there is no {missing}", where=str(session.project.root), fix="name a file of this folder"
        )
    name = name or recipe_name(command)
    existing = session.project.recipes_dir / name / RECIPE
    if existing.is_file():
        proposal = _unchanged(name, existing, command, golden_dir=session.project.golden_dir)
        return propose_for_recipe(name, session=session) if same_under else proposal
    _must_be_meant(command, agrees=agrees, session=session)
    with trial_of(session.project, progress=session.progress) as trial:
        inspection = _ProgramInspection(
            trial, command, name=name, project=session.project, python=python or PythonAsked()
        )
        proposal = inspection.answer()
        if same_under and not proposal.problem:
            return with_claims(proposal, trial=trial, project=session.project)
        return proposal


def _must_be_meant(command: ProgramCommand, *, agrees: Callable[[str], bool], session: Session) -> None:
    """Say that a command takes no seed or no folder, as far as is seen, before its environment is built.

    Raises:
        UsageError: A person who was asked does not want it run so.
    """
    sentence = without_placeholders(command)
    if not sentence:
        return
    how = (
        "if the program takes a seed or an output folder, put the placeholders there: "
        f"{with_placeholders_typed(command)}"
    )
    session.progress.note(sentence)
    session.progress.note(how)
    if not any(is_used(name, command.words) for name in ("seed", "run_dir")) and not agrees("Run it so?"):
        raise UsageError("nothing was run", fix=how)


def write(proposal: Proposal, *, project: Project) -> tuple[Path, ...]:
    """Write what was proposed.

    Raises:
        WorkspaceError: A file cannot be written.
    """
    written = []
    for name, content in proposal.files.items():
        path = project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        workspace.write_atomic(path, content)
        written.append(path)
    return tuple(written)


#: What a recipe of a command computes with where it says nothing, for a person.
_NATIVE = (
    "native: its numbers hold on this kind of CPU; `numerics: portable`, set before the first golden, makes "
    "them hold on others too, such as those of a CI"
)

#: What two runs of a recipe cannot show, for a person.
_HELD = "Python's hash seed; `reprokit diagnose {name}` varies it, and more"

#: Which files count as the program's, for a person.
_FILES = (
    "all that git tracks; `sees: [train.py, src/*]` in the recipe, set before the first golden, limits them; "
    "the program then finds no other file, so name all that it may read"
)


class _ProgramInspection:
    """One program, run and looked at until its recipe is known."""

    def __init__(
        self,
        trial: DraftProject,
        command: ProgramCommand,
        *,
        name: str,
        project: Project,
        python: PythonAsked,
    ) -> None:
        self._trial, self._command, self._project, self._python = trial, command, project, python
        self._settings = settings_of(project.root)
        self._conda = ""  # what conda has installed, where the program needs it
        self._written: tuple[str, ...] = ()  # by the program, among its own files
        self._found: dict[str, str] = {"program": command.script or command.words[0]}
        self._values: dict[str, Any] = {
            "schema": 1,
            "name": name,
            "title": f"{command.script or command.words[0]} as it is",
            "variant": NO_VARIANT,
            "command": list(command.words),
            "seeds": list(_SEEDS[:1]),
            "platforms": ["cpu-x86_64"],
        }

    def answer(self) -> Proposal:
        """What came of it."""
        self._environment()
        folders = self._two_runs()
        self._metrics(folders)
        problem = self._repeatability(folders)
        self._seed(folders[0], repeats=not problem)
        environment = environment_json.recorded(folders[0])
        self._values["platforms"] = [fingerprint.platform_of(environment)]
        holds = "PYTHONHASHSEED" in run_json.recorded(folders[0]).environment
        name = str(self._values["name"])
        return Proposal(
            name=name,
            files=self._files(),
            found={
                **self._found,
                "command": " ".join(self._values["command"]),
                "files": _FILES,
                **({"numerics": _NATIVE} if "cpu-x86_64" in self._values["platforms"] else {}),
                **({"held equal": _HELD.format(name=name)} if holds and not problem else {}),
            },
            problem=problem,
            next_commands=next_commands(name, problem),
        )

    def _environment(self) -> None:
        if not self._python.is_locked:
            return self._unpinned("--variant none: this Python, which nothing pins")
        source = find_dependencies(self._trial.project.root, self._command.script)
        if source is None:
            return self._unpinned("not pinned: no requirements or lock found, so this Python is used")
        name = str(self._values["name"])
        if (project_folder(self._project.root, "images") / name).is_dir():
            self._found["python"] = locked_python(name, self._project, asked=self._python)
        else:
            try:
                python = self._locked(name, source)
            except OnlyCondaError as error:
                return self._of_conda(source.name, str(error.actual))
            if not python:
                return self._unpinned("nothing that locks is installed: this Python, which nothing pins")
            self._found["python"] = python
        self._values["variant"] = name
        relative = source.relative_to(self._trial.project.root).as_posix()
        self._found["environment"] = f"{self._settings.images}/{name}, locked from {relative}"
        return None

    def _locked(self, name: str, source: Path) -> str:
        try:
            return lock_environment(
                name,
                source,
                self._trial,
                command=self._command.typed,
                started_in=self._project.root,
                asked=self._python,
            )
        except OnlyCondaError:
            raise
        except ImageError as error:
            without = "to lock nothing: reprokit init --variant none"
            fix = f"{error.fix}; {without}" if error.fix else without
            raise ImageError(
                error.what, where=error.where, expected=error.expected, actual=error.actual, fix=fix
            ) from error

    def _of_conda(self, file: str, packages: str) -> None:
        """What only conda has stays as it is: nothing pins it, and what is there is recorded."""
        self._unpinned(f"{file} lists what only conda has ({packages}): this Python, which nothing pins")
        self._conda = explicit_list(prefix_of(self._command.typed, folder=self._project.root))
        self._found["environment"] += (
            f"; what conda has installed is recorded in {CONDA_LIST}, for `conda create --file`"
            if self._conda
            else "; it belongs to no conda environment that could be recorded"
        )

    def _unpinned(self, why: str) -> None:
        if self._python.version is not None:
            raise UsageError(
                "the program runs in the Python that its command starts, because nothing is locked",
                where="--python",
                expected="a file that names the program's dependencies, such as requirements.txt",
                actual=why.partition(":")[0],
            )
        self._found["environment"] = why

    def _two_runs(self) -> tuple[Path, ...]:
        folders = self._run(_SEEDS[0], repeats=2)
        seen = folders[0]
        if could_not_write(seen):  # only without a container is it seen where the program writes
            self._trial.progress.note(
                "the program writes next to its own files: one run without a container, to see where"
            )
            seen = self._trial.run(self._recipe(), seed=_SEEDS[0], repeats=1, backend="local")[0]
        if run_json.recorded(seen).outcome == "mounts_changed":
            self._written = written_files(seen)
            self._values["collect"] = list(places_of(self._written))
            places = ", ".join(self._values["collect"])
            self._found["results"] = f"{places}, copied into each run folder"
            self._trial.progress.note(f"two more runs; of each, what it writes to {places} is copied")
            folders = self._run(_SEEDS[0], repeats=2)
        self._must_have_ended(folders)
        if self._values["variant"] != NO_VARIANT:
            self._found["environment"] += f"; {_WHERE[run_json.recorded(folders[0]).backend or 'local']}"
        return folders

    def _must_have_ended(self, folders: Sequence[Path]) -> None:
        must_have_ended(folders, root=self._project.root, typed=self._command.typed or self._command.words)

    def _run(self, seed: int, *, repeats: int) -> tuple[Path, ...]:
        return self._trial.run(self._recipe(), seed=seed, repeats=repeats)

    def _recipe(self) -> Recipe:
        return self._trial.recipe(self._values)

    def _metrics(self, folders: Sequence[Path]) -> None:
        """Where the metrics are: in files, else in what the program prints."""
        made = self._read(folders)
        problem = made.get("metrics_problem")
        if problem and problem["kind"] in _WITHOUT_RECORDS:
            patterns = propose_patterns(printed_by(folders[0]))
            if patterns:
                self._values["printed"] = list(patterns)
                made = self._read(folders)
        if problem := made.get("metrics_problem"):
            raise MetricsError(str(problem["what"]), kind=str(problem["kind"]), fix=problem["fix"])
        self._found["metrics"] = ", ".join(f"{one} ({form})" for one, form in made["sources"].items())
        if needed := _of_extensions(made["sources"].values()):
            self._values["extensions"] = needed
            self._found["extensions"] = f"{listed(needed)}: without it the metrics cannot be read"

    def _read(self, folders: Sequence[Path]) -> Mapping[str, Any]:
        program = self._recipe().program
        if program is None:
            raise UsageError("the draft has no command", where=str(self._values["name"]))
        made = [metrics_of(folder, program) for folder in folders]
        return made[0]

    def _repeatability(self, folders: Sequence[Path]) -> str:
        """Why two runs with one seed differ, "" where they agree; metrics of the clock are left out."""
        comparison = compared(*folders[:2])
        kinds = only_the_clock([(folders[0], folders[1])], [comparison])
        why = "measures the wall clock: {}"
        if not kinds and not comparison.identical:
            kinds = self._held_by_the_clock(folders)
            why = "called a {}, and repeats where the clock is held"  # as a number drawn by a seed of it does
        if kinds and len(kinds) < comparison.metrics_compared:
            self._values["volatile"] = [
                {"metric": metric, "because": why.format(kind)} for metric, kind in kinds.items()
            ]
            self._found["volatile"] = ", ".join(f"{metric} ({kind})" for metric, kind in kinds.items())
            self._read(folders)
            comparison = compared(*folders[:2])
        if comparison.identical:
            of = counted(comparison.metrics_compared, "metric")
            count = f"{counted(comparison.records_compared, 'record')} of {of}"
            exact = "to the digits printed" if self._values.get("printed") else "bit for bit"
            self._found["repeats"] = f"two runs{self._with_seed()} agree in {count}, {exact}"
            return ""
        first = comparison.divergence
        where = f"from {first.place} on, {first.metric}" if first else "in what they hold"
        self._found["repeats"] = f"no: two runs{self._with_seed()} differ {where}"
        return f"two runs{self._with_seed()} differ {where}"

    def _with_seed(self) -> str:
        return f" with seed {_SEEDS[0]}" if any("{seed}" in word for word in self._values["command"]) else ""

    def _held_by_the_clock(self, folders: Sequence[Path]) -> dict[str, str]:
        """Metric → kind, where more runs show that a run with another's clock has its numbers."""
        names = self._trial.clock_columns(self._recipe(), folders, seed=_SEEDS[0])
        return {name: kind_by_name(name) for name in names}

    def _seed(self, first: Path, *, repeats: bool) -> None:
        """Which metrics respond to another seed; open where they do not repeat with one."""
        if not any("{seed}" in word for word in self._values["command"]):
            self._found["seed"] = "no option for a seed was found; the program runs without one"
            because = "the program takes no seed"
            if place := self._seed_in_files():
                self._found["seed"] = (
                    f"set in {place}; no option for it was found, so the program runs without one"
                )
                because = f"its seed is set in {place}, and no option for it was found"
            self._values["unresponsive"] = {"because": because}
            return
        if not repeats:
            self._found["seed"] = "not tested: the runs already differ with the same seed"
            return
        [other] = self._run(_SEEDS[1], repeats=1)
        self._must_have_ended([other])
        self._read([other])
        files = dict(zip(_SEEDS, (first / METRICS, other / METRICS), strict=True))
        found = responses(files)
        respond = [name for name, one in found.items() if one is not Response.NO]
        if respond:
            verb = "responds" if len(respond) == 1 else "respond"
            self._found["seed"] = f"{len(respond)} of {len(found)} metrics {verb} to it"
        elif compared(first, other).identical:
            self._found["seed"] = "no metric responds to it: does the program use it?"
            self._values["unresponsive"] = {"because": "two seeds gave equal metrics when init looked"}
        else:
            self._found["seed"] = "no metric responds to it, except those that repeat it: is it used?"

    def _seed_in_files(self) -> str:
        root = self._project.root
        tracked = program_files.tracked_files(root)
        return seed_in_files(root, sorted(tracked, key=lambda name: (name not in self._command.words, name)))

    def _files(self) -> dict[str, bytes]:
        """What would be written, by path below the project's folder."""
        name, trial = str(self._values["name"]), self._trial.project.root
        told = self._settings
        files = {f"{told.recipes}/{name}/{RECIPE}": recipe_text(self._values).encode()}
        if self._conda:
            files[f"{told.recipes}/{name}/{CONDA_LIST}"] = self._conda.encode()
        made = project_folder(trial, "images")
        if self._values["variant"] == name and not (self._project.root / told.images / name).is_dir():
            inside = (path for path in sorted((made / name).rglob("*")) if path.is_file())
            files |= {
                f"{told.images}/{path.relative_to(made).as_posix()}": path.read_bytes() for path in inside
            }
        ignored = self._project.root / ".gitignore"
        text = ignored.read_text("utf-8") if ignored.is_file() else ""
        tracked = program_files.tracked_files(self._project.root)
        results = results_to_ignore(self._written, tracked)
        missing = [
            line
            for line in (f"/{told.runs}/", f"/{told.reports}/", "__pycache__/", *results)
            if not ignores(text, line)
        ]
        if missing:
            lines = [*text.splitlines(), *missing]
            files[".gitignore"] = "".join(f"{line}\n" for line in lines).encode()
        return files


def _of_extensions(forms: Iterable[str]) -> list[str]:
    """The extensions that bring one of these log formats, as a recipe names them."""
    read = frozenset(forms)
    return [
        f"{one.named.name}=={one.named.version}"
        for one in extensions.loaded()
        if read.intersection(one.names("log_formats"))
    ]


def _unchanged(name: str, existing: Path, command: ProgramCommand, *, golden_dir: Path) -> Proposal:
    """Nothing to do, where the recipe that is there runs the same program.

    Raises:
        RecipeError: It runs another one.
    """
    text = existing.read_text("utf-8", "replace")
    if recipe_text({"command": list(command.words)}).strip() not in text:
        raise RecipeError(
            f"there is a recipe {name!r} already, with another command",
            where=str(existing),
            fix="choose another name: --name NAME",
        )
    found = {"recipe": f"{existing} is there already: nothing to do"}
    verb = "verify" if (golden_dir / name).is_dir() else "reproduce"
    return Proposal(name=name, found=found, next_commands=(f"reprokit {verb} {name}",))

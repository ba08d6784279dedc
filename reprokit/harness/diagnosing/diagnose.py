"""``reprokit diagnose``: where two runs first differ, and which line causes it.

Asked in order: are two runs equal, are they equal under varied conditions, what makes them differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from reprokit import diagnosis, recipes
from reprokit.diagnosis import Cause, Site
from reprokit.errors import CannotJudgeError
from reprokit.execution import local as local_backend
from reprokit.execution.docker_config import MOUNTS
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, Diagnosis, Tap
from reprokit.harness.diagnosing.experiments import HASH_SEED, LEFTOVERS, VARIATION, Inquiry, explain, in_turn
from reprokit.harness.diagnosing.first_divergence import MEASURE, by_operation, like, where_it_began
from reprokit.harness.diagnosing.instrumented_runs import Laboratory, need
from reprokit.harness.diagnosing.varied_runs import differs_when_varied
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.execute import Progress
from reprokit.harness.running.plan import plan_command, shell_line
from reprokit.harness.running.program_output import PROGRAM_MOUNT, WORK
from reprokit.harness.running.start_runs import prepare
from reprokit.layout import PROGRAM
from reprokit.project import Project
from reprokit.recipes import PARTS, Recipe
from reprokit.request import Request
from reprokit.workspace import write_json

#: Where values that no seed governs differ and the numbers do not, a program that takes less than so long is
#: run again: twice, and up to ten times while all of these runs together take less than that.
_MORE_REPEATS, _MOST_REPEATS, _QUICK_S = 2, 10, 20.0
_Placed = TypeVar("_Placed", Cause, Tap)


def diagnose_command(
    command: Sequence[str],
    request: Request,
    *,
    project: Project,
    progress: Progress,
    budget: int = 60,
    deep: bool = False,
    vary: tuple[str, ...] | None = None,
) -> Diagnosis:
    """Diagnose a plain command, which may hold ``{seed}`` and ``{run_dir}``, in ``budget`` runs at most.

    ``deep`` records operations even where a line was found; ``vary`` None is all that do not take long.

    Raises:
        CannotRunError: The program does not finish.
        MetricsError: It leaves nothing that can be compared.
    """
    seed = request.seed if request.seed is not None else 0
    moment = stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    spec = plan.specs[0]
    folder = project.reports_dir / spec.recipe / f"{moment}-diagnose"
    lab = Laboratory(
        spec,
        folder=folder,
        backend=local_backend.LocalBackend(),
        progress=progress,
        budget=budget,
        ignore=request.ignore,
    )
    lab.deep, lab.vary = deep, vary
    return _written(lab, ["--seed", str(seed), "--", *command])


def diagnose_recipe(
    name: str,
    request: Request,
    *,
    project: Project,
    progress: Progress,
    budget: int = 60,
    deep: bool = False,
    vary: tuple[str, ...] | None = None,
) -> Diagnosis:
    """Diagnose a recipe, in containers where an engine answers, else in a virtual environment of its lock."""
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=request.overrides)
    seed = request.seed_of(recipe.seeds)
    progress.phase("environment")
    ready = prepare(recipe, request, project=project, progress=progress)
    lab = Laboratory(
        ready.plan.specs[0],
        folder=project.reports_dir / recipe.name / f"{stamp()}-diagnose",
        backend=ready.backend,
        progress=progress,
        budget=budget,
        files=ready.plan.files,
    )
    lab.deep, lab.vary = deep, vary
    sets = [word for override in request.overrides for word in ("--set", override)]
    return _written(lab, [recipe.name, "--seed", str(seed), *sets], recipe=recipe)


def _written(lab: Laboratory, arguments: Sequence[str], *, recipe: Recipe | None = None) -> Diagnosis:
    """The answer, written beside its runs with the command that shows it again."""
    with lab:
        found = _diagnose(lab)
    found = _in_source(found, recipe) if recipe else found
    found = replace(found, replay=(shell_line(["reprokit", "diagnose", *arguments]),))
    write_json(lab.folder / "diagnosis.json", found.as_data())
    return found


def _in_source(found: Diagnosis, recipe: Recipe) -> Diagnosis:
    """The same answer, with the paths of the program's own files instead of their copies."""
    if recipe.trainer is None:
        copies = rf"(?:/[^\s:]*/{PROGRAM}|{MOUNTS}/{PROGRAM_MOUNT}|[^\s:]*/{re.escape(WORK)})"
        copy, files = re.compile(rf"{copies}/([^\s:]+)"), {}
    else:
        files = {f"trainers/{recipe.trainer.name}": recipe.trainer}
        files |= {f"{PARTS}/{part.name}": part.path for part in recipe.parts}
        names = "|".join(map(re.escape, files))
        copy = re.compile(rf"(?:/[^\s:]*/source|{MOUNTS}/recipes)/({names})(?![\w.])")

    def there(text: str) -> str:
        return copy.sub(lambda match: str(files.get(match[1], recipe.project_dir / match[1])), text)

    def moved(one: _Placed) -> _Placed:
        return replace(one, file=there(one.file)) if one.file else one

    return replace(
        found,
        causes=tuple(map(moved, found.causes)),
        taps=tuple(map(moved, found.taps)),
        known=tuple(map(there, found.known)),
        ruled_out=tuple(replace(one, what=there(one.what)) for one in found.ruled_out),
    )


def _diagnose(lab: Laboratory) -> Diagnosis:
    lab.progress.phase("repeat")
    first = need(lab.run("first", Conditions(progress=MEASURE)))
    if not first.trace.processes:
        raise CannotJudgeError(
            "the hook was not loaded into the program",
            where=str(first.folder),
            fix="start it with a Python that reads PYTHONPATH (no -I, -E or -S)",
        )
    if first.trace.facts.get("torch_drew"):
        lab.draws = True
        first = need(lab.run("first-by-draws", Conditions(progress=MEASURE)))
    alike = Conditions(progress=like(first))
    second = need(lab.run("second", alike))
    second = _equal_by_luck(lab, first, second, alike)
    inquiry = Inquiry(lab=lab, first=first, other=second)
    if lab.equal(first, second) and not differs_when_varied(inquiry):
        return _answer(inquiry, None)
    return _explained(inquiry)


def _equal_by_luck(
    lab: Laboratory, first: InstrumentedRun, second: InstrumentedRun, alike: Conditions
) -> InstrumentedRun:
    """The first of more runs that differs; the last of them where none does."""
    took = second.duration_s
    for number in range(_MOST_REPEATS):
        quick = second.duration_s if number < _MORE_REPEATS else took
        draws = diagnosis.differing(first.trace, second.trace)
        if quick >= _QUICK_S or not draws or 2 * lab.made > lab.budget or not lab.equal(first, second):
            break
        second = need(lab.run("again", alike))
        took += second.duration_s
    return second


def _explained(inquiry: Inquiry) -> Diagnosis:
    """Hold lines fixed; where that is not enough, run threads in turn; then compare operations."""
    held = explain(inquiry)
    inquiry.began = where_it_began(inquiry)
    if inquiry.lab.deep and held is not None:
        for one in by_operation(inquiry):
            inquiry.known.append(f"operation by operation: {one.what}, {one.file}:{one.line}")
    if held is None:
        inquiry.causes = (() if inquiry.variations else in_turn(inquiry)) or by_operation(inquiry)
    elif {VARIATION + "threads"} & set(held):
        inquiry.causes = by_operation(inquiry)
    return _answer(inquiry, held)


def _answer(inquiry: Inquiry, held: tuple[str, ...] | None) -> Diagnosis:
    lab, first = inquiry.lab, inquiry.first
    differs = set(diagnosis.differing(first.trace, inquiry.other.trace))
    equal = lab.equal(first, inquiry.other)
    guilty = [one for one in inquiry.variations if held and VARIATION + one.name in held]
    return Diagnosis(
        verdict=EQUAL if equal else DIFFERS,
        divergence=None if equal else lab.compare(first, inquiry.other).divergence,
        causes=inquiry.causes or _causes(inquiry, held or ()),
        variation=guilty[0].name if guilty else _variation_of(inquiry, held or ()),
        known=tuple(inquiry.known),
        ruled_out=tuple(inquiry.ruled_out),
        not_varied=tuple(inquiry.not_varied),
        limits=diagnosis.limits_of(first.trace),
        began=inquiry.began,
        taps=tuple(_tap(site, differs=name in differs) for name, site in first.trace.sites.items()),
        folder=lab.folder,
        runs=lab.made,
    )


def _variation_of(inquiry: Inquiry, held: tuple[str, ...]) -> str | None:
    """The variation that matches a line's kind of value, or leftovers of a run with another seed."""
    if LEFTOVERS in held and inquiry.lab.leftovers.another is not None:
        return LEFTOVERS
    kinds = {one.split("|")[0] for one in held}
    by_kind = next((one.name for one in inquiry.variations if kinds & {one.name, *one.vary}), None)
    if by_kind or "environment" not in kinds:
        return by_kind
    words = " ".join(one.what for name, one in inquiry.first.trace.sites.items() if name in held)
    for one in inquiry.variations:
        if any(f"variable {key}" in words for key in one.environment):
            return one.name
    return None


def _causes(inquiry: Inquiry, held: tuple[str, ...]) -> tuple[Cause, ...]:
    sites = [inquiry.first.trace.sites[one] for one in held if one in inquiry.first.trace.sites]
    sites.sort(key=_rank)
    causes = [diagnosis.cause_of(site, confidence=inquiry.confidence) for site in sites]
    if HASH_SEED in held:
        what = "depends on Python's hash seed"
        causes.append(_general("hash_order", what, "sort what comes out of sets", inquiry))
    if LEFTOVERS in held:
        causes.append(_leftover(inquiry))
    causes += [
        _general(one.category, f"depends on {one.says}", one.fix, inquiry)
        for one in inquiry.variations
        if VARIATION + one.name in held
    ]
    return tuple(causes)


def _rank(site: Site) -> tuple[int, int]:
    """Of two readings of a clock the later one is where the difference is taken."""
    return (0, -site.first) if site.kind == "clock" else (1, site.first)


def _general(category: str, what: str, fix: str, inquiry: Inquiry) -> Cause:
    return Cause(category=category, what=f"the program {what}", fix=fix, confidence=inquiry.confidence)


def _leftover(inquiry: Inquiry) -> Cause:
    for path, one in inquiry.other.trace.files.items():
        if one.read is not None and path in inquiry.lab.left and not one.read_after_write:
            file, line, function = one.read
            return Cause(
                category="leftover_state",
                file=file,
                line=line,
                function=function,
                what=f"reads {path}, which an earlier run wrote",
                confidence=inquiry.confidence,
                fix="keep it in the run's own folder, or remove it first",
            )
    what = "depends on files that an earlier run left"
    return _general("leftover_state", what, "write into the run's own folder", inquiry)


def _tap(site: Site, *, differs: bool) -> Tap:
    words = {name: getattr(site, name) for name in ("kind", "file", "line", "function", "what", "count")}
    return Tap(category=diagnosis.category_of(site.kind), differs=differs, **words)

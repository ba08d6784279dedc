"""Where two runs begin to differ, and which line of whose code makes them.

This module knows the order of the questions: are two runs equal, are they equal under other surroundings,
what makes them differ. It refuses to know the experiments.

    >>> diagnose_command(("python", "train.py"), Request(), project=project, progress=progress).cause.line
    88
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from reprokit import diagnosis, images, recipes
from reprokit.diagnosis import Cause, Site
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosed import DIFFERS, EQUAL, Diagnosis, RuledOut, Tap
from reprokit.harness.execute import Progress
from reprokit.harness.experiments import (
    HASH_SEED,
    LEFTOVERS,
    VARIATION,
    Inquiry,
    by_operation,
    explain,
    in_turn,
    under,
)
from reprokit.harness.laboratory import Laboratory, Ran, need
from reprokit.harness.plan import plan_command, plan_recipe, shell_line
from reprokit.harness.project import Project
from reprokit.harness.request import Request, stamp
from reprokit.harness.variations import Variation, catalogue
from reprokit.workspace import write_json

#: Where lines that draw on surroundings differ and the numbers do not, short programs are run again.
_MORE_REPEATS, _QUICK_S = 2, 20.0
_Placed = TypeVar("_Placed", Cause, Tap)


def diagnose_command(
    command: Sequence[str],
    request: Request,
    *,
    project: Project,
    progress: Progress,
    budget: int = 60,
    deep: bool = False,
) -> Diagnosis:
    """Diagnose a plain command.

    Args:
        command: With the placeholders ``{seed}`` and ``{run_dir}``.
        request: Seed, time limit, metrics to ignore.
        project: Where the reports go.
        progress: Told what is run.
        budget: How many runs at most.
        deep: Whether operations are watched even where a line was found.

    Raises:
        CannotRunError: The program does not come to its end.
        MetricsError: It leaves nothing that can be compared.
    """
    seed = request.seed if request.seed is not None else 0
    moment = stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    spec = plan.specs[0]
    folder = project.reports_dir / spec.recipe / f"{moment}-diagnose"
    with Laboratory(
        spec, folder=folder, backend=local_backend.LocalBackend(), progress=progress, budget=budget,
        ignore=request.ignore,
    ) as lab:  # fmt: skip
        lab.deep = deep
        found = _diagnose(lab)
    line = shell_line(["reprokit", "diagnose", "--seed", str(seed), "--", *command])
    found = replace(found, replay=(line,))
    write_json(folder / "diagnosis.json", found.as_data())
    return found


def diagnose_recipe(
    name: str, request: Request, *, project: Project, progress: Progress, budget: int = 60, deep: bool = False
) -> Diagnosis:
    """Diagnose a recipe, in a virtual environment of its lock.

    Args:
        name: The recipe.
        request: Seed, overrides, time limit.
        project: Where recipes, environments and reports live.
        progress: Told what is run.
        budget: How many runs at most.
        deep: Whether operations are watched even where a line was found.

    Raises:
        UsageError: A container was asked for: the watch does not reach into one.
        CannotRunError: The training does not come to its end.
    """
    if request.backend == "docker":
        raise UsageError("diagnose does not look into containers", fix="--backend local: the same lock")
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=request.overrides)
    seed = request.seed if request.seed is not None else recipe.seeds[0]
    progress.phase("environment")
    realisation = images.resolve(
        recipe.variant, project=project.root, kind="venv", base=request.base, on_progress=progress.note
    )
    moment = stamp()
    plan = plan_recipe(
        recipe, seed=seed, repeats=1, realisation=realisation, backend="local", stamp=moment,
        runs_dir=project.runs_dir, timeout_s=request.timeout_s,
    )  # fmt: skip
    folder = project.reports_dir / recipe.name / f"{moment}-diagnose"
    with Laboratory(
        plan.specs[0], folder=folder, backend=local_backend.LocalBackend(), progress=progress, budget=budget,
        files=plan.files,
    ) as lab:  # fmt: skip
        lab.deep = deep
        found = _diagnose(lab)
    sets = [word for override in request.overrides for word in ("--set", override)]
    found = replace(
        _in_source(found, str(recipe.trainer)),
        replay=(shell_line(["reprokit", "diagnose", recipe.name, "--seed", str(seed), *sets]),),
    )
    write_json(folder / "diagnosis.json", found.as_data())
    return found


def _in_source(found: Diagnosis, trainer: str) -> Diagnosis:
    """The same answer, with the trainer's own path in place of its copy's."""
    end = f"source/trainers/{Path(trainer).name}"

    def moved(one: _Placed) -> _Placed:
        return replace(one, file=trainer) if one.file and one.file.endswith(end) else one

    return replace(found, causes=tuple(map(moved, found.causes)), taps=tuple(map(moved, found.taps)))


def _diagnose(lab: Laboratory) -> Diagnosis:
    lab.progress.phase("repeat")
    first = need(lab.run("first"))
    if not first.trace.processes:
        raise CannotJudgeError(
            "the watch was not loaded into the program", where=str(first.folder),
            fix="start it with a Python that reads PYTHONPATH (no -I, -E or -S)",
        )  # fmt: skip
    if first.trace.facts.get("torch_drew"):
        lab.draws = True
        first = need(lab.run("first-by-draws"))
    second = need(lab.run("second"))
    for _ in range(_MORE_REPEATS):
        quick = second.duration_s < _QUICK_S
        if not (quick and diagnosis.differing(first.trace, second.trace) and lab.equal(first, second)):
            break
        second = need(lab.run("again"))  # equal by luck, perhaps
    if not lab.equal(first, second):
        inquiry = Inquiry(lab=lab, first=first, other=second)
        return _explained(inquiry)
    return _varied(lab, first, second)


def _varied(lab: Laboratory, first: Ran, second: Ran) -> Diagnosis:
    """The runs are equal under equal surroundings: change the surroundings."""
    lab.progress.phase("vary")
    innocent = Inquiry(lab=lab, first=first, other=second)
    chosen = catalogue(lab.folder / "elsewhere")
    other = lab.run("all-varied", under(chosen, first))
    if other.trouble:
        chosen, other = _bearable(lab, chosen, first, innocent)
    if other.trouble or lab.equal(first, other):
        innocent.ruled_out += [
            RuledOut(what=one.says, how="varied together with all others: the numbers stay") for one in chosen
        ]
        return _answer(innocent, None)
    innocent.other, innocent.variations = other, chosen
    return _explained(innocent)


def _explained(inquiry: Inquiry) -> Diagnosis:
    """Hold lines; where that is not enough, let threads take turns; where not even that, watch operations."""
    held = explain(inquiry)
    if inquiry.lab.deep and held is not None:
        for one in by_operation(inquiry):
            inquiry.known.append(f"operation by operation: {one.what}, {one.file}:{one.line}")
    if held is None:
        inquiry.causes = (() if inquiry.variations else in_turn(inquiry)) or by_operation(inquiry)
    elif {VARIATION + "threads"} & set(held):
        inquiry.causes = by_operation(inquiry)
    return _answer(inquiry, held)


def _bearable(
    lab: Laboratory, chosen: tuple[Variation, ...], first: Ran, inquiry: Inquiry
) -> tuple[tuple[Variation, ...], Ran]:
    """The variations under which the program still comes to its end, and a run under all of them."""
    kept = []
    for one in chosen:
        if lab.spent:
            break
        if lab.run(f"varied-{one.name}", under((one,), first)).trouble:
            inquiry.known.append(f"with {one.says} changed the program does not come to its end")
        else:
            kept.append(one)
    return tuple(kept), lab.run("all-varied", under(kept, first))


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
        taps=tuple(_tap(site, differs=name in differs) for name, site in first.trace.sites.items()),
        folder=lab.folder,
        runs=lab.made,
    )


def _variation_of(inquiry: Inquiry, held: tuple[str, ...]) -> str | None:
    """The variation that a line's kind of value goes with."""
    kinds = {one.split("|")[0] for one in held}
    by_kind = next((one.name for one in inquiry.variations if kinds & {one.name, *one.vary}), None)
    if by_kind or "environment" not in kinds:
        return by_kind
    words = " ".join(one.what for name, one in inquiry.first.trace.sites.items() if name in held)
    return next(
        (
            one.name
            for one in inquiry.variations
            if any(f"variable {key}" in words for key in one.environment)
        ),
        None,
    )


def _causes(inquiry: Inquiry, held: tuple[str, ...]) -> tuple[Cause, ...]:
    sites = [inquiry.first.trace.sites[one] for one in held if one in inquiry.first.trace.sites]
    sites.sort(key=_rank)
    causes = [diagnosis.cause_of(site, confidence=inquiry.confidence) for site in sites]
    if HASH_SEED in held:
        causes.append(
            _general("hash_order", "depends on Python's hash seed", "sort what comes out of sets", inquiry)
        )
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
    return Cause(
        category=category, file=None, line=None, function=None, what=f"the program {what}", fix=fix,
        confidence=inquiry.confidence,
    )  # fmt: skip


def _leftover(inquiry: Inquiry) -> Cause:
    for path, one in inquiry.other.trace.files.items():
        if one.read is not None and path in inquiry.lab.left and not one.read_after_write:
            file, line, function = one.read
            return Cause(
                category="leftover_state", file=file, line=line, function=function,
                what=f"reads {path}, which an earlier run wrote", confidence=inquiry.confidence,
                fix="keep it in the run's own folder, or remove it first",
            )  # fmt: skip
    return _general(
        "leftover_state",
        "depends on files that an earlier run left",
        "write into the run's own folder",
        inquiry,
    )


def _tap(site: Site, *, differs: bool) -> Tap:
    return Tap(
        category=diagnosis.category_of(site.kind), kind=site.kind, file=site.file, line=site.line,
        function=site.function, what=site.what, count=site.count, differs=differs,
    )  # fmt: skip

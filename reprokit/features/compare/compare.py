"""``compare`` as a function: both sides run, judged, and written as a report."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, workspace
from reprokit.features.compare.answer import AS_RUNS_SAY, SIDES, Answer, Asked, Side, StoredAnswer, Word
from reprokit.features.compare.asked import SideAsked
from reprokit.features.compare.command_sides import run_commands
from reprokit.features.compare.judge import Selected
from reprokit.features.compare.judge_seeds import answer_on
from reprokit.features.compare.lacked_files import lacked_files
from reprokit.features.compare.recipe_sides import MadeSides, run_sides
from reprokit.features.compare.report import write_report
from reprokit.features.compare.rounding.decide import with_rounding
from reprokit.features.compare.rounding.made_twins import MadeTwins, RoundingAsked, rounding_folders
from reprokit.features.compare.rounding.of_checkpoint import make_from_checkpoint, with_checkpoint
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.trees import ComingTrees, trees_begun
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.judging.report_index import write_index
from reprokit.harness.running import again
from reprokit.harness.running.clock import now, stamp
from reprokit.harness.which_tool import this_tool
from reprokit.layout import COMPARISONS
from reprokit.request import Request
from reprokit.session import Session


def compare_commands(
    commands: Mapping[str, Sequence[str]],
    request: Request,
    *,
    only: tuple[str, ...] | None,
    rounding: RoundingAsked | None = None,
    session: Session,
) -> tuple[Answer, Path]:
    """Run two plain commands and judge; the answer, and the folder of its report."""
    seals = Seals()
    selected = Selected(ignore=tuple(request.ignore), only=only)
    twins = MadeTwins(selected, rounding) if rounding else None
    made = run_commands(
        commands, request, seals=seals, session=session, and_then=twins.make if twins else None
    )
    asked = Asked(options=_options(request, only=only, rounding=rounding, session=session))
    return answered(made, request, selected=selected, seals=seals, session=session, asked=asked, twins=twins)


def _options(
    request: Request, *, only: Sequence[str] | None, rounding: RoundingAsked | None, session: Session
) -> tuple[str, ...]:
    """What is typed before two plain commands for the same comparison."""
    seed = ["--seed", str(request.seed)] if request.seed else []
    names = [word for name in only or () for word in ("--metric", name)]
    told = rounding.options if rounding else ()
    return (*seed, *again.words_of(request, project=session.project), *names, *told)


def compare_recipe(
    name: str,
    asked: Mapping[str, SideAsked],
    request: Request,
    *,
    only: tuple[str, ...] | None,
    share: Sequence[str],
    num_seeds: int | None = None,
    rounding: RoundingAsked | None = None,
    coming: ComingTrees | None = None,
    session: Session,
) -> tuple[Answer, Path | None]:
    """Run both sides of a recipe and judge; without a report where nothing had to run.

    With ``num_seeds`` each side runs once with so many seeds, and results are compared, not bits. ``coming``
    are the trees of both where they are being made already.
    """
    seals = Seals()
    selected = Selected(only=only)
    twins = MadeTwins(selected, rounding) if rounding else None
    with ExitStack() as stack:
        if coming is None:
            only_bits = num_seeds is None and rounding is None
            begun: dict[str, Any] = {"share": share, "backend": request.backend, "project": session.project}
            trees = trees_begun(name, asked, only_bits=only_bits, **begun)
            coming = stack.enter_context(trees)
        how: dict[str, Any] = {"num_seeds": num_seeds, "seals": seals, "session": session}
        if twins is not None:
            how["and_then"] = twins.make
        if twins is not None and twins.asked.from_step is not None:
            how["and_from"] = functools.partial(make_from_checkpoint, twins)
        made = run_sides(name, asked, request, coming=coming, **how)
        if made.equal_inputs:
            return _equal_inputs(made), None
        return answered(
            made.runs,
            request,
            selected=selected,
            twins=twins,
            seals=seals,
            session=session,
            over_seeds=num_seeds is not None,
            asked=Asked(
                commits=made.commits,
                working_tree=made.working_tree,
                recipes=made.recipes,
                statistical=made.statistical if num_seeds is not None else None,
            ),
        )


def _must_be_there(every: Sequence[Path], selected: Selected) -> None:
    """Refuse the name of a metric, or a pattern of those left out, that fits nothing on either side."""
    if not (selected.only or selected.ignore):
        return
    sources = [source for run in every for source in adapters.find_all(run)]
    adapters.must_fit(sources, selected.ignore, option="--ignore-metric")
    known = {f"{source.name}:{name}": name for source in sources for name in adapters.names_in(source)}
    for name in selected.only or ():
        if known and name not in {*known, *known.values()}:
            raise adapters.fits_no_metric(name, dict.fromkeys(known.values()), option="--metric")


def _equal_inputs(made: MadeSides) -> Answer:
    return Answer(
        answer=Word.EQUAL,
        sentence="the numbers of both sides stand on the same inputs: code, settings, data and packages are "
        "equal, byte for byte, and nothing was run",
        sides={name: Side(what=made.told[name]) for name in SIDES},
    )


def answered(
    made: Mapping[str, Sequence[Path]],
    request: Request,
    *,
    selected: Selected,
    seals: Seals,
    session: Session,
    over_seeds: bool = False,
    asked: Asked = AS_RUNS_SAY,
    twins: MadeTwins | None = None,
) -> tuple[Answer, Path]:
    """Judge the runs of both sides and write the report.

    Raises:
        UsageError: A metric was named that no run has.
    """
    with session.phase("judge"):
        lacked = lacked_files(made, asked.working_tree)
        asked = replace(asked, touched=seals.broken(), lacked=lacked)
        answer = answer_on(made, selected=selected, asked=asked, over_seeds=over_seeds)
        if answer.answer is not None and not asked.touched:
            _must_be_there([run for side in SIDES for run in made[side]], selected)
        if twins is not None:
            answer = with_checkpoint(with_rounding(answer, made, twins), made, twins)
    name = next(folder.parent.name for side in SIDES for folder in made[side])
    folder = session.project.reports_dir / COMPARISONS / name / stamp()
    folders = [folder for side in SIDES for folder in made[side]] + list(rounding_folders(answer.rounding))
    stored = StoredAnswer(
        name=name,
        command=request.command,
        created_at=now(),
        ignore=selected.ignore,
        only=selected.only,
        over_seeds=over_seeds,
        evidence=evidence_digests(folders, None),
        answer=answer.as_data(),
        asked=asked,
        tool=this_tool(),
    )
    workspace.make_results_folder(session.project.reports_dir)
    write_report(stored, folder)
    write_index(session.project.reports_dir)
    return answer, folder

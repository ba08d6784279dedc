"""``init --same-under``: what usually does not matter is tried on a recipe, and what held is written into it.

The runs are those of ``verify --same-under``, in a copy of the project, and are judged by the same rule.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import recipes
from reprokit.core.verdicts.rows import Status
from reprokit.core.verdicts.same_under import KEY, claim_of, finding
from reprokit.errors import RecipeError
from reprokit.features.init.find_command import script_of
from reprokit.features.init.proposal import Proposal
from reprokit.features.init.recipe_text import recipe_text
from reprokit.features.init.trial import DraftProject, must_have_ended, trial_of
from reprokit.features.init.usual_claims import Entry, usual_claims
from reprokit.harness.diagnosing.same_under import claimed_recipes, run_claims, run_twins
from reprokit.harness.judging.same_under_evidence import same_under_evidence
from reprokit.harness.judging.varied_evidence import agree
from reprokit.layout import RECIPE
from reprokit.project import Project, settings_of
from reprokit.request import Request
from reprokit.session import Session

_ALL = "anything"


def propose_for_recipe(name: str, *, session: Session) -> Proposal:
    """What holds of a recipe that is there, as a line or more of it.

    Raises:
        RecipeError: It is none, or has its claims in brackets.
        CannotRunError: It does not run.
    """
    with trial_of(session.project, progress=session.progress) as trial:
        there = trial.project
        for own, copy in _folders(session.project, there):
            if own.is_dir():
                shutil.copytree(own, copy, dirs_exist_ok=True)
        return with_claims(Proposal(name=name), trial=trial, project=session.project)


def with_claims(proposal: Proposal, *, trial: DraftProject, project: Project) -> Proposal:
    """A proposal whose recipe says what held when it was tried; as it is where nothing did.

    The recipe lies in the copy of the project already.
    """
    name, session = proposal.name, Session(project=trial.project, progress=trial.progress)
    file = trial.project.recipes_dir / name / RECIPE
    text = file.read_text("utf-8")
    candidates, refused = _that_can_be_set(name, file, session)
    failed = _failed(name, trial, session=session) if candidates else {}
    held = [one for one in candidates if not {claim_of(one), _ALL} & set(failed)]
    file.write_text(text, "utf-8")
    found = {**proposal.found, "same under": "; ".join(map(claim_of, held)) or "nothing that was tried"}
    for what, why_of in (("not same", failed), ("not tried", refused)):
        if why_of:
            found[what] = "; ".join(f"{claim} ({why})" for claim, why in why_of.items())
    if not held:
        return replace(proposal, found=found)
    path = f"{settings_of(project.root).recipes}/{name}/{RECIPE}"
    files = {**proposal.files, path: text_with(text, held, file=file).encode()}
    ask = f"reprokit verify {name} --same-under"
    return replace(proposal, files=files, found=found, next_commands=(*proposal.next_commands, ask))


def text_with(text: str, entries: Sequence[Entry], *, file: Path) -> str:
    r"""The text of a recipe with more claims, those that it has first.

    >>> text_with("same_under:\n  - threads: 4\n", [{"args": "--batch 2"}], file=Path("recipe.yaml"))
    'same_under:\n  - threads: 4\n  - args: "--batch 2"\n'

    Raises:
        RecipeError: Its claims are in brackets.
    """
    added = recipe_text({KEY: entries})
    lines = text.splitlines(keepends=True)
    at = next((at for at, line in enumerate(lines) if line.startswith(f"{KEY}:")), None)
    if at is None:
        return text if not entries else f"{text.rstrip()}\n{added}"
    if lines[at].partition("#")[0].strip() != f"{KEY}:":
        raise RecipeError(
            "more can be added only where each entry has a line of its own",
            where=f"{file}:{at + 1}",
            expected=f"`{KEY}:` and a line `  - threads: 4` for each",
        )
    end = at + 1
    while end < len(lines) and (lines[end].startswith((" ", "-")) or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    indent = lines[at + 1][: len(lines[at + 1]) - len(lines[at + 1].lstrip())]
    items = [indent + line.removeprefix("  ") for line in added.splitlines(keepends=True)[1:]]
    return "".join([*lines[:end], *items, *lines[end:]])


def _folders(project: Project, there: Project) -> list[tuple[Path, Path]]:
    """What of a recipe git may not track yet: its own folder and its environment, here and in the copy."""
    told = settings_of(project.root)
    return [
        (project.recipes_dir, there.recipes_dir),
        (project.root / told.images, there.root / told.images),
    ]


def _that_can_be_set(name: str, file: Path, session: Session) -> tuple[list[Entry], dict[str, str]]:
    """The usual claims that a recipe takes besides its own, written into it; and why it takes no other."""
    text, project = file.read_text("utf-8"), session.project
    recipe = recipes.load(name, recipes_dir=project.recipes_dir)
    script = script_of(recipe.program.command, project.root) if recipe.program else ""
    source = (project.root / script).read_text("utf-8", "replace") if script else ""
    found, refused = list[Entry](), dict[str, str]()
    said = set(map(claim_of, recipe.same_under))
    for entry in (one for one in usual_claims(recipe, source=source) if claim_of(one) not in said):
        before = file.read_text("utf-8")
        file.write_text(text_with(text, [*found, entry], file=file), "utf-8")
        try:
            claimed_recipes(recipes.load(name, recipes_dir=project.recipes_dir), session=session)
            found.append(entry)
        except RecipeError as error:
            refused[claim_of(entry)] = error.what
            file.write_text(before, "utf-8")
    return found, refused


def _failed(name: str, trial: DraftProject, *, session: Session) -> dict[str, str]:
    """The claims of a recipe whose rows do not pass, and why."""
    recipe = recipes.load(name, recipes_dir=session.project.recipes_dir)
    folders = trial.run(recipe, seed=recipe.seeds[0], repeats=2)
    words = recipe.program.command if recipe.program else ()
    must_have_ended(folders, root=session.project.root, typed=words)
    if not agree(folders):
        return {_ALL: "two runs with one seed differ"}
    request = Request(seed=recipe.seeds[0], repeats=1, side_by_side=False)
    made = run_claims(recipe, folders, request, varied=0, session=session)
    twins = run_twins(recipe, folders[0], made, request, taken=len(made), session=session)
    seen = same_under_evidence(folders[0], made, twins)
    judged = {claim: finding(claim, seen, first="RUN") for claim in map(claim_of, recipe.same_under)}
    return {claim: one.reason for claim, one in judged.items() if one.status is not Status.PASSED}

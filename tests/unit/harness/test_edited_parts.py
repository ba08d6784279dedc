"""An edit to a part that the trainer imports is seen in every story, an edit to another part in none.

Recipes, parts, git and run folders are real; a program of the test stands in for the training.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reprokit import golden, recipes
from reprokit.core.records import digest_bytes
from reprokit.errors import UsageError
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, verify
from reprokit.harness.attribution import four_cells
from reprokit.harness.attribution.changed_since import unchanged_since
from reprokit.harness.attribution.explain_mismatch import code_changes
from reprokit.harness.curation import promote
from reprokit.harness.curation.golden_diff import compare_goldens
from reprokit.harness.curation.lint import lint_goldens
from reprokit.harness.judging.gather import gather
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.resuming.resume_point import changed_inputs
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.images import packages
from reprokit.records import run_json
from reprokit.session import Session

ROOT = Path(__file__).resolve().parents[3]
NAME, SEED = "pinpad", 42
#: Imported by the trainer; imported by a part alone; imported by neither.
IMPORTED, BY_A_PART, OTHER = "replay_sampling.py", "sum_tree.py", "moments.py"


@dataclass(frozen=True, slots=True)
class Study:
    """A project under git with a golden of one recipe."""

    project: Project
    fake: Any
    programs: dict[str, Any]
    told: Any

    def recipe(self) -> recipes.Recipe:
        return recipes.load(NAME, recipes_dir=self.project.recipes_dir)

    def run(self, stamp: str) -> tuple[Path, ...]:
        lock = packages.digest_of(self.project.root / "images" / "cpu" / "requirements.lock")
        plan = plan_recipe(
            self.recipe(),
            WholeRun(repeats=2),
            seed=SEED,
            environment=Environment(
                realisation=replace(self.programs["realisation"], lock_digest=lock),
                backend="local",
                runs_dir=self.project.runs_dir,
            ),
            stamp=stamp,
        )
        backend, host = self.fake(self.programs["training"]()), self.programs["host"]
        engine = Engine(backend=backend, runs_dir=self.project.runs_dir, host=host, progress=self.told)
        return engine.make(plan)

    def bless(self, folders: tuple[Path, ...]) -> golden.Golden:
        return promote(
            folders,
            project=self.project,
            promotion=Promotion(reason="why", created_at="2026-11-20T10:15:00+00:00", allow_failed=True),
        )

    def edit(self, part: str) -> None:
        path = self.project.recipes_dir / "parts" / part
        path.write_text(path.read_text() + "\n# edited\n")

    def changed(self, folders: tuple[Path, ...]) -> tuple[str, ...]:
        found = gather(self.recipe(), folders, golden_dir=self.project.golden_dir).golden
        assert found is not None
        return found.changed

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.project.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "as it is")


@pytest.fixture
def study(tmp_path, fake, programs, told) -> Study:
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".gitignore").write_text("runs/\n")
    made = Study(Project.around(tmp_path), fake, programs, told)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.email", "a@example.org")
    made.git("config", "user.name", "A")
    return made


def record_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def rewritten(folder: Path, **words: Any) -> dict[str, Any]:
    record = {**record_of(folder), **words}
    (folder / "run.json").write_text(json.dumps(record))
    return record


def test_a_run_gets_exactly_the_parts_that_its_trainer_needs(study):
    folder = study.run("A")[0]
    found = {path.name for path in (folder / "source" / "parts").iterdir()}
    assert {IMPORTED, BY_A_PART} <= found
    assert found == {part.name for part in study.recipe().parts}
    assert OTHER not in found


def test_the_copy_in_a_run_folder_has_the_digests_of_the_recipe(study):
    folder = study.run("A")[0]
    again = recipes.load(NAME, recipes_dir=folder / "source")
    assert (again.digest, again.parts[0].content) == (study.recipe().digest, study.recipe().parts[0].content)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("part", "named"), [(IMPORTED, ("recipe", "parts")), (BY_A_PART, ("recipe", "parts")), (OTHER, ())]
)
def test_a_golden_is_told_to_be_of_other_parts(study, part, named):
    study_golden = study.bless(study.run("A"))
    assert study.changed(study.run("B")) == ()
    study.edit(part)
    folders = study.run("C")
    assert study.changed(folders) == named
    found = [one.what for one in lint_goldens(study.project, min_runs=2) if one.rule == "stale"]
    assert found == ([f"{', '.join(named)} changed since it was promoted"] if named else [])
    kept = study.project.root / "kept" / Path(*study_golden.path.parts[-3:])
    shutil.copytree(study_golden.path, kept)
    new = study.bless(folders)
    assert compare_goldens(golden.load(kept), new).inputs == named


@pytest.mark.parametrize(("part", "refused"), [(IMPORTED, True), (BY_A_PART, True), (OTHER, False)])
def test_a_run_is_resumed_with_the_parts_that_it_began_with_only(study, part, refused):
    record = run_json.read(study.run("A")[0])
    study.edit(part)
    why = changed_inputs(record, study.recipe(), project=study.project)
    assert why == (["the parts that the trainer imports (recipes/parts)"] if refused else [])


@pytest.mark.parametrize(("part", "seen"), [(IMPORTED, True), (BY_A_PART, True), (OTHER, False)])
def test_the_files_that_changed_since_the_golden_are_named(study, part, seen):
    blessed = study.bless(study.run("A")).path
    study.commit()
    study.edit(part)
    found = code_changes(study.recipe(), blessed, project=study.project)
    assert found.why == ""
    assert [file.path for file in found.files] == ([f"recipes/parts/{part}"] if seen else [])
    lines = (study.project.recipes_dir / "parts" / part).read_text().splitlines()
    changed = [f"recipes/parts/{part}:{len(lines) - 1} nothing → '# edited'"]
    assert [line for file in found.files for line in file.lines] == (changed if seen else [])
    diff = [line for file in found.files for line in file.diff if not line.startswith("@@ ")]
    context = [f" {line}" for line in lines[-4:-2]]
    assert diff == ([*context, "+", "+# edited"] if seen else [])


def test_todays_code_beside_other_locks_has_its_parts(study, tmp_path):
    case = SimpleNamespace(scratch=tmp_path / "scratch", recipe=study.recipe(), name=NAME)
    root = four_cells._tree(case, locks=study.project.root)
    assert recipes.load(NAME, recipes_dir=root / "recipes").digest == study.recipe().digest


def test_a_golden_holds_the_digest_of_parts_and_nothing_of_what_is_mounted_besides(study):
    folders = study.run("A")
    digests = record_of(folders[0])["digests"]
    assert "parts" in digests
    blessed = study.bless(folders).document
    assert {name: blessed["digests"][name] for name in digests} == digests
    assert record_of(folders[0])["mounted_digest"].startswith("sha256:")
    assert record_of(folders[0])["mounted_digest"] not in json.dumps(dict(blessed))


def test_a_probe_or_hook_edited_since_changes_no_golden_and_keeps_no_run_from_being_resumed(study):
    study.bless(study.run("A"))
    folders = study.run("B")
    for folder in folders:  # as if something that is mounted, and counts for no number, was edited since
        rewritten(folder, mounted_digest=f"sha256:{'0' * 64}")
        marker = json.loads((folder / "COMPLETE").read_text())
        content = (folder / "run.json").read_bytes()
        marker["files"]["run.json"] = {"sha256": digest_bytes(content), "bytes": len(content)}
        (folder / "COMPLETE").write_text(json.dumps(marker))
        assert changed_inputs(run_json.read(folder), study.recipe(), project=study.project) == []
    assert study.changed(folders) == ()


def since(study: Study, commit: str = "HEAD") -> dict[str, str]:
    return unchanged_since(commit, [NAME], project=study.project)


def test_no_recipe_is_left_out_where_other_extensions_are_named_than_there_were(study):
    study.bless(study.run("A"))
    study.commit()
    assert list(since(study)) == [NAME]
    (study.project.root / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["a==1"]\n')
    assert since(study) == {}


def test_a_recipe_is_left_out_of_the_gate_only_where_nothing_that_it_stands_on_moved(study):
    study.bless(study.run("A"))
    study.commit()
    assert "nothing that it depends on has changed since" in since(study)[NAME]
    study.edit(OTHER)
    assert NAME in since(study)
    study.edit(IMPORTED)
    assert since(study) == {}
    study.commit()
    assert NAME in since(study)
    assert since(study, "HEAD~1") == {}


@pytest.mark.parametrize(
    "path",
    [
        f"recipes/{NAME}/recipe.yaml",
        "recipes/trainers/dqn.py",
        "images/cpu/requirements.lock",
        f"golden/{NAME}/cpu-x86_64/seed-{SEED}/metrics.jsonl",
    ],
)
def test_a_change_to_recipe_trainer_lock_or_golden_is_judged(study, path):
    study.bless(study.run("A"))
    study.commit()
    file = study.project.root / path
    file.write_bytes(file.read_bytes() + b"\n")
    assert since(study) == {}


def test_what_cannot_be_told_is_judged(study):
    study.commit()
    assert since(study) == {}  # there is no golden
    study.bless(study.run("A"))
    study.commit()
    (study.project.recipes_dir / NAME / "recipe.yaml").write_text("no recipe")
    study.commit()
    assert since(study) == {}


def test_a_golden_that_came_since_is_judged(study):
    study.commit()
    study.bless(study.run("A"))
    assert since(study) == {}


@pytest.mark.slow
def test_the_gate_names_what_it_leaves_out_and_refuses_a_commit_that_is_not_there(study):
    study.bless(study.run("A"))
    study.commit()
    [answer] = verify(
        Request(), session=Session(project=study.project, progress=study.told), names=[NAME], changed="HEAD"
    )
    assert (answer.exit_code, answer.report) == (0, None)
    assert "depends on" in answer.left_out
    with pytest.raises(UsageError, match="no commit nowhere"):
        verify(
            Request(),
            session=Session(project=study.project, progress=study.told),
            names=[NAME],
            changed="nowhere",
        )


def test_an_environment_that_nothing_pins_is_judged(study):
    folder = study.project.recipes_dir / "mine"
    folder.mkdir()
    lines = [
        "schema: 1",
        "name: mine",
        "title: t",
        "command: [python, -V]",
        "seeds: [1]",
        "platforms: [cpu-x86_64]",
    ]
    (study.project.golden_dir / "mine").mkdir(parents=True)
    (study.project.golden_dir / "mine" / "file").touch()
    for variant, left_out in (("cpu", ["mine"]), ("none", [])):
        (folder / "recipe.yaml").write_text("\n".join([*lines, f"variant: {variant}"]))
        study.commit()
        assert list(unchanged_since("HEAD", ["mine"], project=study.project)) == left_out

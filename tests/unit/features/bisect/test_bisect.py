"""The commit that changed the numbers, found in real histories.

git, recipe, trainer file and trees are real; in place of a training, a number is written that follows
from gamma in the recipe and from the trainer's text. ``test_explained_verdicts`` bisects with real
trainings.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reprokit.errors import CannotJudgeError, CannotRunError, UsageError
from reprokit.features.bisect import bisect as bisect_module
from reprokit.features.bisect.bisect import CACHE, Bisection, bisect
from reprokit.harness import Project, Request
from reprokit.harness.attribution import worktree_run
from reprokit.harness.attribution.worktree_run import WorktreeRun
from reprokit.session import Session

ROOT = Path(__file__).resolve().parents[4]
NAME = "cartpole_baseline"


@dataclass(slots=True)
class Trainer:
    """Remembers the gammas that it trained with; ``noise`` is added to every next number.

    After ``steady`` trainings every number is another one, whatever is trained.
    """

    gammas: list[str] = field(default_factory=list)
    seeds: list[int | None] = field(default_factory=list)
    noise: float = 0.0
    steady: float = math.inf

    def __call__(self, root: Path, name: str, *, request: Request, runs_dir: Path, **_: Any) -> WorktreeRun:
        self.seeds.append(request.seed)
        text = (root / "recipes" / "trainers" / "ppo.py").read_text()
        found = re.search(r"gamma: ([\d.]+)", (root / "recipes" / name / "recipe.yaml").read_text())
        assert found is not None
        self.gammas.append(found[1])
        if "# broken" in text:
            return WorktreeRun(why="it crashed")
        folder = runs_dir / name / f"run-{len(self.gammas)}"
        folder.mkdir(parents=True)
        loss = float(found[1]) + text.count("# another loss") + self.noise * len(self.gammas)
        loss += len(self.gammas) > self.steady
        (folder / "metrics.jsonl").write_text(json.dumps({"step": 512, "loss": loss}) + "\n")
        return WorktreeRun(folder=folder)


@dataclass(frozen=True, slots=True)
class History:
    """A project whose commits a test makes, each named by its message."""

    project: Project
    trainer: Trainer
    told: Any
    commits: dict[str, str] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.project.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        self.commits[message] = self.git("rev-parse", "HEAD")

    def readme(self, message: str) -> None:
        (self.project.root / "README").write_text(message)
        self.commit(message)

    def gamma(self, value: str, message: str) -> None:
        file = self.project.recipes_dir / NAME / "recipe.yaml"
        file.write_text(re.sub(r"gamma: [\d.]+", f"gamma: {value}", file.read_text()))
        self.commit(message)

    def trainer_line(self, line: str, message: str) -> None:
        file = self.project.recipes_dir / "trainers" / "ppo.py"
        file.write_text(f"{file.read_text()}{line}\n")
        self.commit(message)

    def mend(self, message: str) -> None:
        file = self.project.recipes_dir / "trainers" / "ppo.py"
        file.write_text(file.read_text().replace("# broken\n", ""))
        self.commit(message)

    def bisect(
        self,
        good: str = "first",
        bad: str = "HEAD",
        *,
        overrides: tuple[str, ...] = (),
        ignore_rounding: bool = False,
    ) -> Bisection:
        return bisect(
            NAME,
            good=self.commits.get(good, good),
            bad=self.commits.get(bad, bad),
            request=Request(backend="local", overrides=overrides),
            session=Session(project=self.project, progress=self.told),
            ignore_rounding=ignore_rounding,
        )


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any) -> History:
    root = tmp_path / "study"
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    made = History(Project.around(root), Trainer(), told)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.email", "a@example.org")
    made.git("config", "user.name", "A")
    (root / ".gitignore").write_text("runs/\n")
    made.commit("first")
    monkeypatch.setattr(worktree_run, "run_at", made.trainer)
    return made


def test_the_commit_that_changed_the_numbers_is_named_with_setting_and_lines(history):
    for number in range(4):
        history.readme(f"before {number}")
    history.gamma("0.98", "discount more")
    for number in range(3):
        history.readme(f"after {number}")
    found = history.bisect()
    assert [one.subject for one in found.guilty] == ["discount more"]
    assert found.guilty[0].settings[0].endswith("training.gamma 0.99 → 0.98")
    assert "recipe.yaml:" in found.guilty[0].settings[0]
    assert [file.path for file in found.guilty[0].files] == [f"recipes/{NAME}/recipe.yaml"]


def test_a_commit_that_touches_nothing_relevant_is_not_trained_again(history):
    for number in range(6):
        history.readme(f"before {number}")
    history.gamma("0.98", "discount more")
    history.readme("after")
    history.bisect()
    # Good twice, bad once; then what was found and what is before it once more.
    assert history.trainer.gammas == ["0.99", "0.99", "0.98", "0.99", "0.98"]


@pytest.mark.parametrize(
    "file", ["runtime/seeding.py", "execution/local.py", "core/numerics.py", "harness/running/plan.py"]
)
def test_a_tree_with_a_reprokit_of_its_own_is_trained_again_where_what_runs_it_changed(history, file):
    package = history.project.root / "reprokit"
    (package / file).parent.mkdir(parents=True)
    (package / "__main__.py").write_text("")
    (package / file).write_text("first\n")
    history.commit("a reprokit of its own")
    (package / file).write_text("other settings\n")
    history.commit("other settings")
    history.gamma("0.98", "discount more")
    history.bisect(good="a reprokit of its own")
    assert history.trainer.gammas.count("0.99") == 4  # good twice; the one before bad, twice


def test_a_second_search_trains_nothing(history):
    history.gamma("0.98", "discount more")
    first = history.bisect()
    history.trainer.gammas.clear()
    assert history.bisect().guilty == first.guilty
    assert history.trainer.gammas == []


def test_a_cached_result_that_was_touched_is_trained_again(history):
    history.gamma("0.98", "discount more")
    history.bisect()
    for metrics in (history.project.runs_dir / CACHE).rglob("metrics.jsonl"):
        metrics.write_text('{"step": 512, "loss": 7.0}\n')
    history.trainer.gammas.clear()
    assert [one.subject for one in history.bisect().guilty] == ["discount more"]
    assert history.trainer.gammas


def test_a_commit_that_cannot_run_is_skipped_not_guilty(history):
    history.readme("before")
    history.trainer_line("# broken", "break it")
    history.readme("still broken")
    history.mend("mend it")
    history.gamma("0.98", "discount more")
    history.readme("after")
    found = history.bisect()
    assert [one.subject for one in found.guilty] == ["discount more"]
    skipped = {one.subject for one in found.tested if one.result == "skip"}
    assert skipped <= {"break it", "still broken"}


def test_where_the_change_hides_among_commits_that_cannot_run_all_of_them_are_named(history):
    history.trainer_line("# broken", "break it")
    history.gamma("0.98", "discount more")
    history.mend("mend it")
    found = history.bisect()
    assert {one.subject for one in found.guilty} == {"break it", "discount more", "mend it"}
    assert {one.result for one in found.tested} == {"good", "bad", "skip"}


def test_a_recipe_that_cannot_be_read_is_skipped(history):
    file = history.project.recipes_dir / NAME / "recipe.yaml"
    whole = file.read_text()
    file.write_text(f"{whole}\nnonsense: 1\n")
    history.commit("nonsense")
    file.write_text(whole)
    history.commit("mended")
    history.trainer_line("# another loss", "another loss")
    found = history.bisect()
    assert [one.subject for one in found.guilty] == ["another loss"]


def test_a_change_of_the_trainer_is_named_by_its_file(history):
    history.trainer_line("# another loss", "another loss")
    found = history.bisect()
    assert found.guilty[0].settings == ()
    assert [(file.path, file.added) for file in found.guilty[0].files] == [("recipes/trainers/ppo.py", 1)]


def test_numbers_that_come_back_do_not_hide_the_change_before_bad(history):
    history.gamma("0.98", "there")
    history.gamma("0.99", "and back")
    history.gamma("0.97", "away")
    assert next(one.subject for one in history.bisect().guilty) in {"there", "away"}


def test_a_commit_that_grants_itself_a_tolerance_is_found_all_the_same(history):
    file = history.project.recipes_dir / NAME / "recipe.yaml"
    exact, loose = "default: {rtol: 0, atol: 0}", "default: {rtol: 9.0, atol: 9.0}"
    assert exact in file.read_text()
    history.readme("before")
    file.write_text(file.read_text().replace(exact, loose))
    history.gamma("0.98", "discount more and grant it")
    history.readme("between")
    file.write_text(file.read_text().replace(loose, exact))
    history.commit("exact again")
    assert [one.subject for one in history.bisect().guilty] == ["discount more and grant it"]


def test_a_bad_commit_cannot_excuse_itself(history):
    file = history.project.recipes_dir / NAME / "recipe.yaml"
    file.write_text(
        file.read_text().replace("default: {rtol: 0, atol: 0}", "default: {rtol: 9.0, atol: 9.0}")
    )
    history.gamma("0.98", "discount more and grant it")
    assert [one.subject for one in history.bisect().guilty] == ["discount more and grant it"]


def test_the_tolerances_of_the_platform_that_was_asked_for_count_and_no_others(history):
    file = history.project.recipes_dir / NAME / "recipe.yaml"
    text = file.read_text()
    exact = "default: {rtol: 0, atol: 0}"
    file.write_text(
        text.replace(exact, f"{exact}\n  platforms: {{xla-cpu: {{default: {{rtol: 0, atol: 0.05}}}}}}")
    )
    history.commit("two platforms")
    history.gamma("0.98", "within the tolerance of xla-cpu")
    history.gamma("0.9", "beyond it")
    found = [history.bisect("two platforms", overrides=asked) for asked in ((), ("platform=xla-cpu",))]
    assert [one.guilty[0].subject for one in found] == ["within the tolerance of xla-cpu", "beyond it"]


def test_a_good_commit_that_does_not_repeat_itself_blames_nobody(history):
    history.gamma("0.98", "discount more")
    history.trainer.noise = 0.001
    with pytest.raises(CannotJudgeError, match="does not repeat its own numbers"):
        history.bisect()
    history.trainer.noise = 0.0
    assert history.bisect().guilty  # and what it trained then is not believed later


def test_numbers_that_change_with_the_time_blame_no_commit(history):
    for message in ("second", "third", "fourth"):
        history.trainer_line("# nothing", message)
    history.trainer.steady = 2  # as long as the good commit is trained
    with pytest.raises(CannotJudgeError, match="other numbers when it is trained again"):
        history.bisect()


def test_a_commit_that_differs_in_some_of_its_runs_only_is_not_blamed(history, monkeypatch):
    for message in ("second", "third"):
        history.trainer_line("# nothing", message)
    history.gamma("0.98", "discount more")

    class Rarely(Trainer):
        def __call__(self, root, name, **rest):
            self.noise = 1.0 if len(self.gammas) == 3 else 0.0  # the first between the ends
            return Trainer.__call__(self, root, name, **rest)

    monkeypatch.setattr(worktree_run, "run_at", Rarely())
    with pytest.raises(CannotJudgeError, match="other numbers when it is trained again"):
        history.bisect()


def test_a_branch_that_began_before_the_good_commit_is_not_blamed_for_what_that_one_changed(history):
    history.git("checkout", "-qb", "side")
    for number in range(4):
        history.trainer_line(f"# nothing {number}", f"on the side {number}")
    history.git("checkout", "-q", "main")
    history.gamma("0.98", "good")
    history.git("merge", "-q", "--no-edit", "side")
    history.trainer_line("# another loss", "culprit")
    with pytest.raises(CannotJudgeError, match="from which its branch began before the good one"):
        history.bisect("good")


def test_a_commit_that_only_declares_another_first_seed_changes_no_number(history):
    history.trainer_line("# nothing", "second")
    file = history.project.recipes_dir / NAME / "recipe.yaml"
    text = file.read_text()
    first, *_ = seeds = json.loads(re.search(r"^seeds: (.*)$", text, re.MULTILINE)[1])
    file.write_text(re.sub(r"^seeds: .*$", f"seeds: {[7, *seeds]}", text, flags=re.MULTILINE))
    history.commit("another first seed")
    history.gamma("0.98", "discount more")
    assert [one.subject for one in history.bisect().guilty] == ["discount more"]
    assert set(history.trainer.seeds) == {first}


def test_a_bad_commit_with_the_good_numbers_is_nothing_to_find(history):
    history.readme("after")
    with pytest.raises(CannotJudgeError, match="nothing to find"):
        history.bisect()


@pytest.mark.parametrize(("broken", "which"), [("first", "good"), ("last", "bad")])
def test_an_end_that_cannot_run_is_no_end(history, broken, which):
    if broken == "first":
        history.trainer_line("# broken", "begin broken")
        history.mend("mend it")
        begin = "begin broken"
    else:
        history.trainer_line("# broken", "end broken")
        begin = "first"
    with pytest.raises(CannotRunError, match=f"the {which} commit cannot run: it crashed"):
        history.bisect(begin)


def test_a_commit_that_is_not_there_is_a_usage_error(history):
    with pytest.raises(UsageError, match="there is no commit nowhere"):
        history.bisect("nowhere")


def test_the_tree_and_its_own_bisection_are_left_as_they_were(history):
    history.gamma("0.98", "discount more")
    (history.project.root / "notes").write_text("mine")
    history.bisect()
    assert len(history.git("worktree", "list").splitlines()) == 1
    assert history.git("status", "--porcelain") == "?? notes"
    assert history.git("branch", "--show-current") == "main"
    assert not (history.project.root / ".git" / "BISECT_LOG").exists()


@pytest.fixture
def twins(monkeypatch):
    """In place of twins: what is nearer than 1e-6 is rounding; remembers from which commit they were made."""
    made: list[str] = []

    def judge_from(name, commit, reference, request, *, session):
        made.append(commit)
        good = json.loads(reference.read_text())["loss"]

        def why_not(metrics: Path) -> str:
            off = abs(json.loads(metrics.read_text())["loss"] - good)
            return "" if off < 1e-6 else f"{off:.1g} off"

        return why_not

    monkeypatch.setattr(bisect_module, "offered", lambda name: judge_from)
    return made


def test_a_commit_that_only_rounds_is_passed_over_where_that_is_asked(history, twins):
    history.gamma("0.9900000001", "a fused kernel")
    history.readme("between")
    history.gamma("0.98", "discount more")
    found = history.bisect(ignore_rounding=True)
    assert [one.subject for one in found.guilty] == ["discount more"]
    assert twins == [history.commits["first"]]
    passed = next(one for one in found.tested if one.subject in ("a fused kernel", "between"))
    assert (passed.result, passed.detail.endswith("by rounding alone")) == ("good", True)
    assert [one.subject for one in history.bisect().guilty] == ["a fused kernel"]


def test_what_is_not_shown_to_be_rounding_is_bad_and_the_reason_is_said(history, twins):
    history.gamma("0.98", "discount more")
    (bad,) = [one for one in history.bisect(ignore_rounding=True).tested if one.result == "bad"]
    assert bad.detail.endswith("; 0.01 off")


def test_changed_code_in_another_environment_is_never_rounding(history, twins):
    lock = next(history.project.root.glob("images/*/requirements.lock"), None)
    assert lock is not None
    for file in history.project.root.glob("images/*/*.lock"):
        file.write_text(file.read_text() + "# another\n")
    history.gamma("0.9900000001", "a fused kernel, and packages")
    found = history.bisect(ignore_rounding=True)
    assert [one.subject for one in found.guilty] == ["a fused kernel, and packages"]
    assert "its environment is another one" in found.tested[-1].detail


def test_an_end_that_only_rounds_leaves_nothing_to_find(history, twins):
    history.gamma("0.9900000001", "a fused kernel")
    with pytest.raises(CannotJudgeError, match="nothing to find"):
        history.bisect(ignore_rounding=True)


def test_without_what_judges_rounding_the_search_is_refused(history, monkeypatch):
    monkeypatch.setattr(bisect_module, "offered", lambda name: None)
    history.gamma("0.98", "discount more")
    with pytest.raises(UsageError, match="nothing that is installed here judges rounding"):
        history.bisect(ignore_rounding=True)

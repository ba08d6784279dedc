"""The package that moved the numbers: real uv and pip on a folder of small wheels."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from reprokit import golden
from reprokit.cli import main
from reprokit.core.provenance import Provenance
from reprokit.errors import CannotJudgeError, CannotRunError, GoldenError, UsageError
from reprokit.features.bisect_packages import lab
from reprokit.features.bisect_packages.bisect_packages import bisect_packages
from reprokit.features.bisect_packages.room import images_there
from reprokit.features.bisect_packages.runner import Runner
from reprokit.images.building import image_store
from reprokit.images.packages import digest_of
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

RECIPE = """\
schema: 1
name: train
title: A program and its packages
variant: cpu
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""
PROGRAM = """\
import json, sys
import lead, noise, other
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(3):
        log.write(json.dumps({"step": step, "loss": lead.SCALE * (step + other.SHIFT)}) + "\\n")
"""
PLENTY = 10 << 30


class World:
    """A recipe whose program imports packages with releases 1.0 to 5.0; ``lead`` needs its ``lead-core``."""

    def __init__(self, small) -> None:
        self.small, self.root = small, small.root
        for number in range(1, 6):
            self.add("lead", number, "from lead_core import SCALE\n", requires=f"lead-core=={number}.0")
            self.add("lead_core", number, f"SCALE = {1.0 if number < 4 else 1.5}\n")
            self.add("noise", number, "")
            self.add("other", number, "SHIFT = 0.25\n")
        for name, text in (("recipes/train/recipe.yaml", RECIPE), ("train.py", PROGRAM)):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.root / ".gitignore").write_text("runs/\nreports/\n*.lock\n!requirements.lock\n")
        for words in (["init", "--quiet"], ["add", "--all"]):
            subprocess.run(["git", *words], cwd=self.root, check=True)
        self.lock("old", lead=1, lead_core=1, noise=1, other=1)
        self.lock("new", lead=5, lead_core=5, noise=5, other=5)
        self.progress = RecordedProgress()
        self.ran: list[dict[str, str]] = []
        self.number = lambda _versions: 1.0

    def add(self, name: str, number: int, text: str, *, requires: str = "") -> str:
        return self.small.add_wheel(name, f"{number}.0", text=text, requires=requires)

    def lock(self, file: str, **numbers: int) -> None:
        """Write a lock of these releases."""
        lines = []
        for name, number in numbers.items():
            wheel = self.small.wheels / f"{name}-{number}.0-py3-none-any.whl"
            digest = digest_of(wheel)
            lines.append(f"{name.replace('_', '-')}=={number}.0 \\\n    --hash={digest}\n")
        (self.root / f"{file}.lock").write_text("".join(lines))

    def search(
        self,
        good: str | None = "old.lock",
        bad: str | None = "new.lock",
        most_bytes: int = PLENTY,
        backend: str = "local",
        **how,
    ):
        session = Session(project=Project.around(self.root), progress=self.progress)
        request = Request(backend=backend, side_by_side=False)
        return bisect_packages(
            "train", good=str(good), bad=bad, most_bytes=most_bytes, request=request, session=session, **how
        )


@pytest.fixture
def world(small_project, monkeypatch, tmp_path):
    for name, value in {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    monkeypatch.setenv("REPROKIT_CACHE", str(small_project.cache))
    monkeypatch.chdir(small_project.root.parent)
    made = World(small_project)
    monkeypatch.chdir(made.root)
    return made


@pytest.fixture
def fast(world, monkeypatch):
    """The same without environments: the number of a run follows from the lock."""

    def run(_runner, session, *, is_end):
        lock = (session.project.root / "images" / "cpu" / "requirements.lock").read_text()
        versions = dict(re.findall(r"^([a-z-]+)==(\d)", lock, re.MULTILINE))
        world.ran.append(versions)
        found = world.number({name: int(version) for name, version in versions.items()})
        if found is None:
            return None, "it crashed"
        metrics = session.project.runs_dir / str(len(world.ran)) / "metrics.jsonl"
        metrics.parent.mkdir(parents=True)
        metrics.write_text(json.dumps({"step": 0, "loss": found}) + "\n")
        return metrics, ""

    monkeypatch.setattr(Runner, "run", run)
    return world


@dataclass(frozen=True)
class Named:
    """A golden, as far as it is asked."""

    provenance: Provenance


def typed(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bisect", "train", *words])
    return int(ended.value.code or 0)


def named(found) -> list[tuple[str, str | None, str | None]]:
    return [(one.name, one.good, one.bad) for one in found.packages]


@pytest.mark.slow
@pytest.mark.engine
def test_in_containers_the_same_is_named_and_only_images_of_the_search_are_removed(
    world, know_base, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.delenv("REPROKIT_CACHE")  # the base is known to the cache of the user
        know_base(world.small.cache)
    before = images_there()
    try:
        found = world.search(backend="docker")
        assert named(found) == [("lead", "3.0", "4.0"), ("lead-core", "3.0", "4.0")]
        made = images_there() - before
        assert made
        assert before <= images_there()
        again = world.search(backend="docker", most_bytes=1)
        assert (named(again), images_there()) == (named(found), before | made)
    finally:
        with image_store.connected() as client:
            for image in images_there() - before:
                client.images.remove(image, force=True)


@pytest.mark.slow
def test_packages_that_move_together_are_named_with_their_neighbouring_releases(world):
    found = world.search()
    assert named(found) == [("lead", "3.0", "4.0"), ("lead-core", "3.0", "4.0")]
    assert {one.cause for one in found.packages} == {1}
    assert found.exit_code == 0
    assert (found.num_packages, found.num_releases) == (4, 12)
    assert found.environments <= found.most
    good, bad = (Path(lock).read_text() for lock in found.packages[0].locks)
    assert ("lead==3.0" in good, "lead==4.0" in bad) == (True, True)
    assert found.kept_bytes > 0
    again = world.search()
    assert named(again) == named(found)
    assert not any(one.trained for one in again.tested), "what was run is known"


@pytest.mark.slow
def test_two_causes_are_found_one_after_the_other(fast):
    fast.number = lambda v: (v["lead-core"] >= 4) + 0.5 * (v["other"] >= 3)
    found = fast.search()
    assert {one.cause: (one.name, one.good, one.bad) for one in found.packages} == {
        1: ("other", "2.0", "3.0"),
        2: ("lead-core", "3.0", "4.0"),
    }
    assert found.exit_code == 0


@pytest.mark.slow
def test_a_release_that_does_not_run_leaves_the_answer_open(fast):
    fast.number = lambda v: None if v["lead-core"] == 4 else float(v["lead-core"] >= 4)
    found = fast.search()
    assert named(found)[0] == ("lead", "3.0", "5.0")
    assert found.packages[0].untested == ("lead 4.0",)
    assert (found.exit_code, [one.result for one in found.tested].count("skip")) == (4, 1)


def test_equal_numbers_are_nothing_to_find(fast):
    fast.number = lambda _: 1.0
    found = fast.search()
    assert (found.packages, found.exit_code, found.environments) == ((), 4, 2)


def test_locks_with_the_same_packages_take_no_environment(fast):
    found = fast.search(bad="old.lock")
    assert (found.packages, found.exit_code, found.environments) == ((), 4, 0)
    assert fast.ran == []


def test_an_end_that_does_not_run_is_no_answer(fast):
    fast.number = lambda v: None if v["other"] == 5 else 1.0
    with pytest.raises(CannotRunError, match="the bad end does not run: it crashed"):
        fast.search()


def test_numbers_that_do_not_repeat_blame_no_package(fast):
    fast.number = lambda v: float(len(fast.ran)) if v["other"] == 5 else 1.0
    with pytest.raises(CannotJudgeError, match="do not repeat"):
        fast.search()


def test_a_package_is_not_blamed_for_a_run_that_differs_by_chance(fast):
    # Between the ends, which have run twice, each environment differs the first time.
    fast.number = lambda v: (
        1.0 + (v["other"] == 5) + (len(fast.ran) > 4 and fast.ran.count(fast.ran[-1]) == 1)
    )
    with pytest.raises(CannotJudgeError, match="do not repeat"):
        fast.search()


@pytest.mark.slow
def test_tolerances_of_the_recipe_count(fast):
    fast.number = lambda v: 1.0 + 1e-7 * v["noise"] + (v["other"] >= 2)
    with (fast.root / "recipes/train/recipe.yaml").open("a") as recipe:
        recipe.write("tolerances: {metrics: {loss: {atol: 1.0e-5}}}\n")
    assert named(fast.search()) == [("other", "1.0", "2.0")]


def test_what_is_no_lock_is_refused_before_anything_runs(fast):
    for good in ("absent.lock", "train.py"):
        with pytest.raises((UsageError, CannotRunError)):
            fast.search(good=good)
    (fast.root / "golden").mkdir()
    with pytest.raises(GoldenError):
        fast.search(good="golden")
    assert fast.ran == []


def test_a_recipe_without_a_lock_is_refused(fast):
    file = fast.root / "recipes/train/recipe.yaml"
    file.write_text(file.read_text().replace("variant: cpu", "variant: none"))
    with pytest.raises(UsageError, match="its variant is none"):
        fast.search()


@pytest.mark.slow
def test_without_a_bad_end_it_is_todays_lock(fast):
    fast.number = lambda v: float(v.get("other", 0) >= 2)
    shutil.copyfile(fast.root / "new.lock", fast.small.lock)
    assert named(fast.search(bad=None)) == [("other", "1.0", "2.0")]
    assert any("bad: today's lock" in note for note in fast.progress.notes)


@pytest.mark.slow
def test_the_lock_of_a_golden_is_looked_for_in_the_commits_and_made_again_where_it_is_in_none(
    fast, monkeypatch
):
    fast.number = lambda v: float(v.get("other", 0) >= 2)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for file in ("old.lock", "new.lock"):
        shutil.copyfile(fast.root / file, fast.small.lock)
        for words in (["add", "--all"], ["commit", "--quiet", "--message", file]):
            subprocess.run([*git, *words], cwd=fast.root, check=True)
    path = fast.root / "golden" / "train" / "cpu-x86_64" / "seed-3"
    path.mkdir(parents=True)
    recorded = {"inside": {"packages": {"other": "1.0", "noise": "1.0", "lead": "1.0", "lead_core": "1.0"}}}
    for lock in (digest_of(fast.root / "old.lock"), "sha256:" + 64 * "0"):
        provenance = Provenance(digests={"lock": lock}, environment=recorded)
        monkeypatch.setattr(golden, "load", lambda _path, found=provenance: Named(provenance=found))
        assert named(fast.search(good=str(path), bad=None)) == [("other", "1.0", "2.0")]
    told = [note for note in fast.progress.notes if note.startswith("good: ")]
    assert "the lock of" in told[0]
    assert "recorded" in told[1]


def test_how_many_environments_is_said_before_anything_runs(fast):
    fast.number = lambda _: 1.0
    fast.search()
    told = next(note for note in fast.progress.notes if "at most" in note)
    assert told == "4 packages differ, with 12 releases between: one cause takes at most 12 environments"


def test_the_verb_answers_with_packages_and_environments(fast, capsys):
    fast.number = lambda v: float(v["noise"] >= 3)
    words = ["--packages", "--good", "old.lock", "--bad", "new.lock"]
    assert typed(*words, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["good"], one["bad"]) for one in answer["packages"]] == [("noise", "2.0", "3.0")]
    assert answer["environments"] == len({one["what"] for one in answer["tested"]}) <= answer["most"]
    assert typed(*words) == 0
    assert "noise 2.0 → 3.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--packages"],
        ["--good", "old.lock"],
        ["--packages", "--good", "old.lock", "--max-disk", "much"],
        ["--good", "HEAD", "--bad", "HEAD", "--max-disk", "2G"],
    ],
)
def test_half_of_what_is_needed_is_wrong_usage(fast, words, capsys):
    assert typed(*words) == 2
    assert fast.ran == []


@pytest.mark.slow
def test_a_release_that_only_rounds_is_passed_over_where_that_is_asked(fast, monkeypatch):
    def loss(metrics):
        return float(json.loads(metrics.read_text().splitlines()[0])["loss"])

    def judge_from(recipe, reference, request, *, session):
        good = loss(reference)
        return lambda metrics: "" if abs(loss(metrics) - good) < 1e-6 else "far"

    monkeypatch.setattr(lab, "offered", lambda name: judge_from)
    fast.number = lambda versions: 1.0 + 1e-9 * (versions["noise"] > 2) + 0.5 * (versions["other"] > 3)
    assert {one.name for one in fast.search().packages} == {"noise", "other"}
    (one,) = fast.search(ignore_rounding=True).packages
    assert (one.name, one.good, one.bad) == ("other", "3.0", "4.0")

"""What the how-to pages say is done as they say it, and prints what they show; what is not run says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import documented_commands as documented
from support import how_to_project as projects
from support import json_schemas

PAGES = Path(__file__).resolve().parents[2] / "docs/how-to"
#: Page → what of the project is there before its first command.
FOLLOWED = {
    "bring-your-own-program": projects.a_program_and_a_folder_of_goldens,
    "compare-two-sides": projects.with_two_programs,
    "find-the-cause": projects.with_an_unseeded_program,
    "find-what-changed-the-numbers": projects.with_a_regression,
    "gate-by-statistics": projects.with_a_walk,
    "gate-merges-in-ci": projects.with_golden,
    "give-a-result-to-a-reviewer": projects.with_golden,
    "keep-goldens": projects.with_another_golden,
    "profile-a-training": projects.with_short_trainings,
    "prove-the-gate": projects.with_golden,
    "resume-a-run": projects.with_a_stopped_training,
    "see-whether-it-learns": projects.with_a_short_training,
    "several-seeds": projects.with_several_seeds,
    "use-data": projects.with_tables,
    "work-with-earlier-runs": projects.with_runs,
}
_IMAGE = "minutes of building and a registry: test_image_verify.py, test_images.py"
_CLUSTER = "a cluster: test_where.py starts one of its own"
_PACKAGE = "the package that is released, or its repository"
_BUCKET = "a bucket: tests/unit/runs/test_remote.py copies to memory"
#: Pages whose runs are in the locked environment of this repository, which is kept in this machine's cache.
_LOCKED = {"profile-a-training", "resume-a-run", "see-whether-it-learns"}
#: The beginning of a command, or the page that it stands on → what it needs that is not here.
NOT_RUN = {
    "run-on-a-gpu-host": "an NVIDIA GPU: make test-cuda",
    "run-on-a-tpu-vm": "a TPU",
    "build-images": _IMAGE,
    "many-machines": _CLUSTER,
    "tune-settings": "twenty trainings: test_tune_killed.py makes shorter ones",
    "pip install": _PACKAGE,
    "write-an-extension": "a second wheel beside that of reprokit: test_sample_extension.py",
    "reprokit reproduce train.tar.gz": "a pinned environment in the bundle: test_bundles.py",
    "reprokit verify --selftest-only cartpole_baseline --faults": "minutes of CPU, and runs of a trainer",
    "reprokit reproduce cartpole_baseline --resume": "typed before the page, which resumes its stopped run",
    "reprokit reproduce train --sink": "TensorBoard and W&B: tests/unit/features/trackers/test_live_sinks.py",
    "reprokit run cartpole_baseline --copy-to": _BUCKET,
    "reprokit runs push": _BUCKET,
    "reprokit runs convert": "runs of one's own: tests/unit/features/trackers",
    "reprokit verify train --stop-at": "many runs of a program that is killed: test_stop_places.py",
    "reprokit runs verify": _BUCKET,
    "reprokit runs checkpoint diff": "a trainer that does not restore all that it saves",
    "python -m pstats": "a person who reads the profile",
    "reprokit compare --rounding": "a training in PyTorch: test_rounding_twins.py",
    "reprokit compare walk --a": "a commit of one's own: tests/unit/features/compare/test_compare_seeds.py",
    "reprokit compare train --rounding": "a trainer in PyTorch: test_rounding_from_checkpoint.py",
    "reprokit golden tolerance": "a training in PyTorch: test_rounding_tolerance.py",
    "reprokit bisect train --packages": "locks of two dates: tests/unit/features/bisect_packages",
    "reprokit doctor": "what it says, and its exit code, are this host's",
    "reprokit verify --vary": "a program that breaks its promise: tests/unit/harness/diagnosing",
    "reprokit diagnose --across": "runs of two machines",
    "reprokit diagnose --resume": "a program that loses its place: test_diagnose_resume_command.py",
    "reprokit golden promote --stale": "a library that has moved since",
    "reprokit golden record": _CLUSTER,
    "reprokit verify --on": _CLUSTER,
    "reprokit runs watch": "it ends when someone presses Ctrl-C",
    "reprokit runs reproduce": "a run in a pinned environment",
    "reprokit data fetch": "a pinned environment for the steps",
    "reprokit data prepare": "the same",
    "reprokit verify my_recipe": "the same",
}
_COMMAND = re.compile(r"^(?:\$ )?((?:reprokit|python|pip|pipx|docker|kubectl|make) .*)", re.MULTILINE)


def left_out(page: Path) -> Iterator[str]:
    """The commands of a page that following it does not type."""
    for block in documented.blocks_of(page, every=True):
        if block.language != "sh" or page.stem not in FOLLOWED:
            yield from _COMMAND.findall(block.text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FOLLOWED)
def test_a_page_can_be_followed(tmp_path, name):
    project = tmp_path / "project"
    project.mkdir()
    FOLLOWED[name](project)
    cache = {} if name in _LOCKED else {"REPROKIT_CACHE": str(tmp_path / "cache")}
    environment = {**projects.GIT, **cache}
    assert documented.follow(PAGES / f"{name}.md", project, environment=environment) > 0
    checked = (
        project / "runs" if name in _LOCKED else project
    )  # this repository holds damaged files, for tests
    assert json_schemas.problems_below(checked) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_tests_of_the_page_on_test_suites_write_their_goldens_and_then_pass(tmp_path):
    projects.a_program(tmp_path)
    page = PAGES / "goldens-in-your-test-suite.md"
    shown = [block.text for block in documented.blocks_of(page, every=True)]
    tests = [text for text in shown if text.startswith(("def test_ppo", "@pytest")) and "golden_run" in text]
    for number, text in enumerate(tests):
        (tmp_path / f"test_{number}.py").write_text(f"import pytest\n\n\n{text}", encoding="utf-8")
    for code in (1, 0):
        command = f"python -m pytest -q -p no:cacheprovider    # exit code {code}"
        documented.type_command(command, tmp_path, where="the page", environment=projects.GIT)
    assert len(list(tmp_path.rglob("*.provenance.json"))) == 4


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_command_that_is_not_run_says_why(page):
    commands = [] if page.stem in NOT_RUN else list(left_out(page))
    assert [one for one in commands if not one.startswith(tuple(NOT_RUN))] == []

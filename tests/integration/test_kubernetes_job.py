"""A recipe as an Indexed Job: valid for three versions of Kubernetes, and its command run as it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import reprokit
from reprokit import runs
from reprokit.errors import UsageError
from reprokit.features.kubernetes.jobs import export_kubernetes, export_sweep
from reprokit.project import Project
from support.command_recipe import PROGRAM, RECIPE, Repository
from support.sweep_program import swept

IMAGE = "registry.example.org/team/project@sha256:" + "0f" * 32
VERSIONS = ("1.31", "1.33", "1.35")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    made.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)
    return made


@pytest.fixture
def manifest(repository: Repository) -> dict:
    return exported(repository.root)


def exported(root: Path, *, image: str = IMAGE, seeds: str | None = "7,3") -> dict:
    return export_kubernetes(
        "train",
        project=Project.around(root),
        seeds=seeds,
        settings=(),
        image=image,
        claim="results",
        folder="/project",
    )


@pytest.fixture
def sweep(repository: Repository) -> dict:
    """Two recipes with a setting and two seeds each, as they were swept here."""
    other = RECIPE.replace("name: train", "name: again").replace('"{seed}",', '"{seed}5",')
    repository.write(recipes__again__recipe_yaml=other)
    found = swept(repository.root, "train", "again", seeds="2", settings=("limits.memory_gib=1",))
    return export_sweep(
        found.path, project=Project.around(repository.root), image=IMAGE, claim="results", folder="/project"
    )


def test_a_sweep_is_a_list_of_jobs_one_for_each_recipe(sweep):
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    assert (sweep["kind"], len(sweep["items"])) == ("List", 2)
    assert [job["spec"]["completions"] for job in sweep["items"]] == [2, 2]
    assert len({job["metadata"]["name"] for job in sweep["items"]}) == 2
    scripts = [job["spec"]["template"]["spec"]["containers"][0]["command"][-1] for job in sweep["items"]]
    for name, script in zip(("train", "again"), scripts, strict=True):
        assert f"reprokit run {name} --set limits.memory_gib=1 " in script
    for job in sweep["items"]:
        for version in VERSIONS:
            validate.validate(job, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_it(manifest, version):
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    validate.validate(manifest, version, strict=True)
    manifest["spec"]["backoffLimitPerIndex"] = "twice"
    with pytest.raises(validate.ValidationError):
        validate.validate(manifest, version, strict=True)


def test_every_seed_is_a_pod_that_can_do_nothing_but_train(manifest):
    spec = manifest["spec"]
    assert (spec["completions"], spec["completionMode"], spec["backoffLimitPerIndex"]) == (2, "Indexed", 2)
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["resources"]["limits"] == container["resources"]["requests"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "results"}


def test_wrong_usage_fails_an_index_at_once_and_a_lost_node_costs_none(manifest):
    ignored, failed = manifest["spec"]["podFailurePolicy"]["rules"]
    assert (ignored["action"], ignored["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")
    assert (failed["action"], failed["onExitCodes"]["values"]) == ("FailIndex", [2, 4])


def test_an_image_by_its_tag_is_refused(repository):
    with pytest.raises(UsageError, match="the image is not named by its digest"):
        exported(repository.root, image="registry.example.org/team/project:latest")


def test_the_command_of_an_index_makes_the_run_of_its_seed(manifest, repository, tmp_path):
    """As it stands in the manifest, but for the folder that the volume is mounted at."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "reprokit").write_text(f'#!/bin/sh\nexec {sys.executable} -m reprokit "$@"\n')
    (tmp_path / "bin" / "reprokit").chmod(0o755)
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    words = [word.replace("/runs", str(tmp_path / "runs")) for word in container["command"]]
    python = str(Path(sys.executable).parent)
    done = subprocess.run(
        words,
        cwd=repository.root,
        env={
            **os.environ,
            "JOB_COMPLETION_INDEX": "1",
            "PYTHONPATH": str(Path(reprokit.__file__).parent.parent),
            "PATH": os.pathsep.join([str(tmp_path / "bin"), python, os.environ["PATH"]]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (folder,) = runs.list_all(tmp_path / "runs")
    assert runs.read(folder).complete
    assert json.loads((folder / "run.json").read_text())["seed"] == 3

"""Export, build, capture, compare: what was rebuilt agrees in everything that can change numbers.

Built for real by pip and by the engine, from wheels that are on this host, with no network. The whole
round trip trains one update in the rebuilt environment, because threads, kernels and flags are
known only in a program that runs; the small one goes as far as what is installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit import capture, recipes
from reprokit.capture import environment_diff
from reprokit.capture.export import Exported, export
from reprokit.capture.read_record import read_record
from reprokit.core import fingerprint
from reprokit.harness.curation.export_environment import export_environment
from reprokit.images import cache, locks, packages, wheels

_LAUNCH = ("-m", "reprokit.runtime.launch", "--seed", "42", "--device", "cpu")
_SHORT = ("training.total_timesteps=2048",)  # one update


def write(made: Exported, folder: Path) -> None:
    for name, text in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def settings_of(folder: Path) -> dict[str, str]:
    """What ``settings.sh`` sets, by the word of a shell."""
    command = ["env", "-i", "/bin/sh", "-c", ". ./settings.sh; env"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = dict(line.split("=", 1) for line in told.splitlines())
    return {name: value for name, value in found.items() if name not in {"PWD", "SHLVL", "_", "OLDPWD"}}


def make_venv(folder: Path, from_wheels: Path) -> Path:
    python = folder / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    pip = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--isolated",
        "install",
        "--quiet",
        "--no-deps",
    ]
    offline = ["--no-index", "--no-cache-dir", "--no-compile", "--find-links", from_wheels]
    subprocess.run([*pip, *offline, "--requirement", folder / "requirements.txt"], check=True)
    return python


@contextlib.contextmanager
def image_of(folder: Path, base: str) -> Iterator[str]:
    """The image that the exported Dockerfile gives with no network, removed afterwards."""
    tag = f"reprokit-test-export:{uuid.uuid4().hex[:12]}"
    command = [
        "docker",
        "build",
        "--network",
        "none",
        "--force-rm",
        "--build-arg",
        f"BASE={base}",
        "--build-arg",
        "PIP_NO_INDEX=1",
        "--tag",
        tag,
        folder,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "DOCKER_BUILDKIT": "0"}
    )
    steps = re.findall(r"^ ---> ([0-9a-f]{12})$", done.stdout, flags=re.MULTILINE)
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        yield tag
    finally:  # the first stage stays behind without a name
        mine = [one for one in dict.fromkeys(reversed(steps)) if not base.startswith(f"sha256:{one}")]
        for image in (tag, *mine):
            subprocess.run(["docker", "image", "rm", image], capture_output=True, check=False)


@pytest.fixture
def tiny(shared_small_project):
    """A record of an environment with the one package of the small project."""
    minor = f"3.{sys.version_info.minor}"
    version = ".".join(map(str, sys.version_info[:3]))
    return {
        "inside": {
            "python": {"version": version, "minor": minor},
            "packages": {"tiny": "1.0"},
            "variables": {
                "PYTHONHASHSEED": "0",
                "OMP_NUM_THREADS": "1",
                "GLIBC_TUNABLES": "glibc.malloc.check=1",
            },
            "os": {"name": "Debian GNU/Linux 12 (bookworm)"},
        }
    }


def test_requirements_rebuild_what_was_installed_and_what_was_set(tiny, shared_small_project, tmp_path):
    lock = shared_small_project.lock.read_text()
    write(export(tiny, form="requirements", lock=lock), tmp_path)
    python = make_venv(tmp_path, shared_small_project.wheels)
    found = capture.capture_interpreter([str(python)])
    assert found["packages"]["tiny"] == "1.0"
    assert settings_of(tmp_path) == tiny["inside"]["variables"]


@pytest.mark.slow
@pytest.mark.engine
def test_the_dockerfile_rebuilds_what_was_installed_and_what_was_set(
    tiny, shared_small_project, tmp_path, base_image
):
    write(export(tiny, form="dockerfile", lock=shared_small_project.lock.read_text()), tmp_path)
    shutil.copytree(shared_small_project.wheels, tmp_path / "wheels")
    ask = "import importlib.metadata as m, json, os; print(json.dumps([m.version('tiny'), dict(os.environ)]))"
    with image_of(tmp_path, base_image) as image:
        told = subprocess.run(
            ["docker", "run", "--rm", "--network", "none", image, "python", "-c", ask],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    version, variables = json.loads(told)
    assert version == "1.0"
    assert tiny["inside"]["variables"].items() <= variables.items()


@pytest.fixture(scope="module")
def golden(project):
    """The record of the repository's golden, and the wheels of its lock."""
    path = project / "golden" / "cartpole_baseline" / "cpu-x86_64"
    record = read_record(path)
    lock = locks.read_lock(project)
    target = packages.Target(machine=record["inside"]["cpu"]["architecture"], python="3.11")
    folder = wheels.fetch(
        lock.variant("cpu"), target, cache=cache.cache_folder(None), on_progress=lambda _line: None
    )
    config = recipes.load(
        "cartpole_baseline", recipes_dir=project / "recipes", overrides=_SHORT
    ).config_yaml()
    return path, record, folder, config


def first_update(told: Path, record) -> bool:
    """Whether what a rebuilt environment said of itself agrees with the record."""
    inside = json.loads((told / "environment.json").read_text())
    here = {"inside": inside, "host": record["host"]}
    entries = [one for one in environment_diff.diff(record, here) if one["can_change_numbers"] != "no"]
    assert not entries
    return fingerprint.same(record, here)


@pytest.mark.slow
def test_the_golden_s_environment_is_rebuilt_by_pip(golden, project, tmp_path):
    if os.uname().machine != "x86_64" or sys.version_info[:2] != (3, 11):
        pytest.skip("the golden's wheels are for Python 3.11 on x86_64")
    path, record, from_wheels, config = golden
    write(export_environment(path, form="requirements", root=project), tmp_path)
    assert "--hash=sha256:" in (tmp_path / "requirements.txt").read_text()
    python = make_venv(tmp_path, from_wheels)
    (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [
            python,
            *_LAUNCH,
            "--run-dir",
            tmp_path / "out",
            "--config",
            tmp_path / "config.yaml",
            "--",
            project / "recipes" / "trainers" / "ppo.py",
        ],
        env={**settings_of(tmp_path), "PYTHONPATH": str(project), "HOME": str(tmp_path), "PATH": os.defpath},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert first_update(tmp_path / "out", record)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # four copies of a gigabyte, by the classic builder
@pytest.mark.engine
def test_the_golden_s_environment_is_rebuilt_by_docker(golden, project, tmp_path, base_image):
    path, record, from_wheels, config = golden
    write(export_environment(path, form="dockerfile", root=project), tmp_path / "context")
    shutil.copytree(from_wheels, tmp_path / "context" / "wheels", copy_function=os.link)
    (tmp_path / "config.yaml").write_text(config)
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    with image_of(tmp_path / "context", base_image) as image:
        done = subprocess.run(
            [
                "docker",
                "run",
                "--rm",
                "--network",
                "none",
                "--volume",
                f"{project}:/project:ro",
                "--volume",
                f"{tmp_path}:/work",
                "--env",
                "PYTHONPATH=/project",
                image,
                "python",
                *_LAUNCH,
                "--run-dir",
                "/work/out",
                "--config",
                "/work/config.yaml",
                "--",
                "/project/recipes/trainers/ppo.py",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert first_update(out, record)


@pytest.mark.slow
def test_the_golden_s_environment_is_rebuilt_by_conda(golden, project, tmp_path):
    conda = next((found for name in ("micromamba", "mamba", "conda") if (found := shutil.which(name))), None)
    if conda is None:
        pytest.skip("needs conda, mamba or micromamba; the file's form is tested without")
    path, record, _, _ = golden
    write(export_environment(path, form="conda", root=project), tmp_path)
    prefix = tmp_path / "prefix"
    subprocess.run(
        [conda, "env", "create", "--yes", "--prefix", prefix, "--file", "environment.yml"],
        cwd=tmp_path,
        check=True,
    )
    found = capture.capture_interpreter([str(prefix / "bin" / "python")])["packages"]
    assert {re.sub(r"[-_.]+", "-", name).lower(): found[name] for name in found}.items() >= {
        name: version for name, version in record["inside"]["packages"].items() if name != "setuptools"
    }.items()

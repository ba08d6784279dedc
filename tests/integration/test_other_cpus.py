"""``verify --cpu`` and ``numerics check``: goldens held to other CPUs, and the operation named.

An emulator stands in that runs everything natively, with other kernels of PyTorch's on the model ``Odd``:
the ways through the code in seconds. What a real emulated CPU computes is in ``test_emulated_cpus``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

EMULATOR = """#!/bin/sh
# qemu-x86_64 -cpu MODEL PROGRAM …: natively; Odd takes other kernels of PyTorch's, Old lacks AVX2
if [ "$2" = help ]; then printf 'x86 Same  as here\\nx86 Odd  rounds\\nx86 Old  no AVX2\\n'; exit; fi
model=$2; shift 2
echo "qemu: warning: TCG doesn't support requested feature: CPUID.07H:EBX.avx512f [bit 16]" >&2
case $model in
    Old) echo '{"AVX2": false, "FMA3": false, "AVX512F": false}'; exit;;
    Odd) export ATEN_CPU_CAPABILITY=default;;
esac
exec "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    code: int
    out: str
    err: str

    def on(self, cpu: str) -> dict[str, Any]:
        return next(one for one in json.loads(self.out)["answers"] if one["cpu"].startswith(cpu))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A project with the baseline cut short, and a folder where the emulator is looked for."""

    root: Path
    programs: Path

    def reprokit(self, *arguments: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "reprokit", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{self.programs}:/usr/local/bin:/bin"},
        )
        return Answer(code=done.returncode, out=done.stdout, err=done.stderr)

    def verify(self, cpus: str, *more: str) -> Answer:
        return self.reprokit("verify", "cartpole_baseline", "--cpu", cpus, "--json", *more)

    @property
    def golden(self) -> Path:
        return self.root / "golden" / "cartpole_baseline" / "cpu-x86_64" / "seed-42"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root = tmp_path_factory.mktemp("lab")
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    recipe = root / "recipes" / "cartpole_baseline" / "recipe.yaml"
    text = re.sub(r"rollout_steps: \d+", "rollout_steps: 64", recipe.read_text(encoding="utf-8"))
    text = text.replace("total_timesteps: 100000", "total_timesteps: 2048")
    text = text.replace("eval_interval: 5000", "eval_interval: 2048").replace(
        "save_interval: 10000", "save_interval: 2048"
    )
    text = re.sub(r"^expected:\n(?:[ #].*\n)+", "", text, flags=re.MULTILINE)
    text += "\nexpected:\n  final/return_mean: {value: 250, atol: 250}\n"
    recipe.write_text(text, encoding="utf-8")
    programs = root / "programs"
    programs.mkdir()
    (programs / "qemu-x86_64").write_text(EMULATOR)
    (programs / "qemu-x86_64").chmod(0o755)
    for name in ("sh", "git", "uname"):  # nothing else of this host's, so no real emulator
        (programs / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return Lab(root=root, programs=programs)


@pytest.mark.slow
def test_each_cpu_gets_its_verdict_and_the_guilty_operations_are_among_those_called(lab: Lab) -> None:
    answer = lab.verify("Same,Odd,Old")

    assert answer.code == 1, answer.err
    assert "no golden for seed 42" in answer.err
    same, odd, old = answer.on("Same"), answer.on("Odd"), answer.on("Old")
    assert (answer.on("native")["verdict"], same["verdict"]) == ("REPRODUCED", "REPRODUCED")
    assert same["cpu"] == "Same without AVX-512"
    assert (same["against"], same["updates"], same["first"]) == ("the native run", 3, None)
    assert (old["verdict"], old["exit_code"]) == ("ANOTHER_PLATFORM", 4)
    assert "cpu-x86_64-noavx2" in old["sentence"]
    assert (odd["verdict"], odd["first"]["update"]) == ("NOT_PORTABLE", 1)
    assert odd["first"]["what"].startswith("parameters.")
    guilty = {one["name"] for one in odd["guilty"]}
    called = json.loads((Path(odd["folder"]).parent / "operations/output/calls.json").read_text())
    assert {one["operation"] for one in odd["guilty"]} <= set(called)
    assert "log_softmax" in guilty
    assert "sqrt" not in guilty  # the fused kernel takes its own
    assert not list(lab.root.glob("**/COMPLETE"))
    assert not (lab.root / "runs" / "cartpole_baseline").exists()


@pytest.mark.slow
def test_a_golden_is_the_measure_and_what_differs_natively_too_is_not_the_cpus_doing(lab: Lab) -> None:
    made = lab.reprokit("reproduce", "cartpole_baseline", "--backend", "local", "--json")
    assert made.code == 4, made.err
    promoted = lab.reprokit("golden", "promote", "cartpole_baseline", "--reason", "a test", "--allow-dirty")
    assert promoted.code == 0, promoted.err
    probe = json.loads((lab.golden / "provenance.json").read_text())["environment"]["inside"]["numerics"][
        "probe"
    ]
    assert len(probe["digests"]) > 90

    held = lab.verify("Same")
    assert held.code == 0, held.out + held.err
    assert held.on("Same")["against"] == "the golden"

    change = lab.verify("Same", "--set", "training.gamma=0.98")
    assert (change.code, change.on("Same")["against"]) == (0, "the native run")

    optimizer = lab.root / "recipes" / "parts" / "flat_adam.py"
    text = optimizer.read_text()
    optimizer.write_text(text.replace("beta1=0.9,", "beta1=0.8,"))
    try:
        changed = lab.verify("Same")
    finally:
        optimizer.write_text(text)
    assert changed.code == 1
    assert {one["verdict"] for one in json.loads(changed.out)["answers"]} == {"DIFFERS_NATIVELY"}
    assert "reprokit reproduce cartpole_baseline" in changed.on("Same")["remedy"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--cpu", "Haswel"], 2, "no CPU 'Haswel'"),
        (["--cpu", ","], 2, "--cpu needs a model"),
        (["--cpu", "Same", "--updates", "2"], 2, "--updates"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_runs(
    lab: Lab, words: Sequence[str], code: int, told: str
) -> None:
    answer = lab.reprokit("verify", "cartpole_baseline", *words)

    assert (answer.code, told in answer.err) == (code, True), answer.err


@pytest.mark.parametrize(("backend", "package"), [("local", "qemu-user"), ("docker", "qemu-user-static")])
def test_without_an_emulator_nothing_runs_and_the_remedy_is_told(
    lab: Lab, tmp_path: Path, backend: str, package: str
) -> None:
    programs = tmp_path / "programs"
    shutil.copytree(lab.programs, programs, symlinks=True)
    (programs / "qemu-x86_64").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "verify", "--cpu", "EPYC", "--backend", backend],
        cwd=lab.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": str(programs)},
    )

    assert done.returncode == 3
    assert f"apt-get install {package} (" in done.stderr


def test_a_recipe_that_is_not_there_is_a_wrong_command_line(lab: Lab) -> None:
    answer = lab.reprokit("verify", "cartpole_baselin", "--cpu", "Same", "--json")

    assert (answer.code, answer.on("all")["verdict"]) == (2, "UNUSABLE")


def test_a_recipe_that_promises_nothing_elsewhere_cannot_be_judged(lab: Lab) -> None:
    answer = lab.verify("Same", "--set", "numerics=native")

    assert answer.code == 4
    assert "promises nothing on other CPUs" in answer.out


def test_a_training_that_ends_as_asked_but_traced_nothing_cannot_be_judged(lab: Lab) -> None:
    trainer = lab.root / "recipes" / "trainers" / "ppo.py"
    whole = trainer.read_text(encoding="utf-8")
    trainer.write_text(f'{whole}\n__import__("os")._exit(85)\n', encoding="utf-8")
    try:
        answer = lab.verify("Same")
    finally:
        trainer.write_text(whole, encoding="utf-8")

    assert answer.code == 4, answer.out
    assert "traced no update" in answer.out


@pytest.mark.slow
def test_two_machines_that_round_alike_agree_and_the_operation_that_does_not_is_named(lab: Lab) -> None:
    mine = lab.reprokit("numerics", "check", "--backend", "local", "--json")
    assert mine.code == 0, mine.err
    (lab.root / "mine.json").write_text(mine.out)
    told = json.loads(mine.out)
    assert (told["profile"], told["numerics"]["missing"], told["emulated"]) == ("portable", [], False)

    same = lab.reprokit("numerics", "check", "--backend", "local", "--compare", "mine.json")
    odd = lab.reprokit("numerics", "check", "--cpu", "Odd", "--compare", "mine.json", "--json")

    assert same.code == 0, same.out + same.err
    assert "0 differently" in same.out
    assert odd.code == 1
    assert "torch.log_softmax" in json.loads(odd.out)["comparison"]["differing"]
    other = {**told, "probe": {**told["probe"], "version": 0}}
    (lab.root / "other.json").write_text(json.dumps(other))
    unlike = lab.reprokit("numerics", "check", "--backend", "local", "--compare", "other.json")
    assert (unlike.code, "version 0" in unlike.out) == (4, True)
    assert lab.reprokit("numerics", "check", "--backend", "local", "--compare", "recipes").code == 2
    few = dict(list(told["probe"]["digests"].items())[:1])
    (lab.root / "few.json").write_text(json.dumps({**told, "probe": {**told["probe"], "digests": few}}))
    cut = lab.reprokit("numerics", "check", "--backend", "local", "--compare", "few.json")
    assert (cut.code, "on one side only, so not compared" in cut.out) == (4, True)

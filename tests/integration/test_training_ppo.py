"""PPO trained for real, in processes of its own: what must repeat repeats, and continues where it stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parents[2]
RECIPES = PROJECT / "recipes"
SETTINGS = {
    "environment": {"name": "CartPole-v1", "num_envs": 4, "max_episode_steps": 50},
    "training": {"total_timesteps": 1000, "rollout_steps": 64, "batch_size": 64, "n_epochs": 2},
    "logging": {
        "save_interval": 256,
        "eval_interval": 500,
        "eval_episodes": 2,
        "final_eval_episodes": 3,
    },
}

pytest.importorskip("torch")


def config(folder, **changes):
    text = ""
    for section, values in SETTINGS.items():
        changed = {
            name.partition("__")[2]: v for name, v in changes.items() if name.startswith(f"{section}__")
        }
        text += f"{section}:\n"
        text += "".join(f"  {key}: {json.dumps(value)}\n" for key, value in {**values, **changed}.items())
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def started(folder, *, seed=42, profile="portable", recipes=RECIPES, resume_from=None, prefix=(), **changes):
    folder.mkdir(parents=True)
    out = folder / "out"
    out.mkdir()
    arguments = ["--run-dir", out, "--config", config(folder, **changes), "--seed", str(seed)]
    arguments += ["--resume-from", resume_from] if resume_from else []
    command = [
        *prefix,
        sys.executable,
        "-m",
        "reprokit.runtime.launch",
        *arguments,
        "--",
        recipes / "trainers" / "ppo.py",
    ]
    environment = {
        **os.environ,
        **numerics.variables(profile, hash_seed=0),
        "PYTHONPATH": f"{recipes.parent}:{PROJECT}",
    }
    where = recipes.parent  # python -m looks there first
    return subprocess.Popen(command, cwd=where, env=environment, stderr=subprocess.PIPE, text=True), out


def trained(folder, **how):
    program, out = started(folder, **how)
    _, told = program.communicate(timeout=500)
    assert program.returncode == 0, told
    return out


def records(out, name="metrics.jsonl"):
    return [json.loads(line) for line in (out / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("reference") / "run")


def test_two_runs_are_byte_identical(reference, tmp_path):
    again = trained(tmp_path / "again")
    for name in ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json"):
        assert (again / name).read_bytes() == (reference / name).read_bytes(), name


def test_another_seed_gives_other_numbers_from_the_first_record_on(reference, tmp_path):
    other = trained(tmp_path / "other", seed=43)
    assert records(other)[0] != records(reference)[0]


def test_an_update_logs_every_quantity_that_a_reader_expects(reference):
    first, last = records(reference)[0], records(reference)[-1]
    assert next(iter(first)) == "step"
    assert {
        "train/episodic_return",
        "train/episodic_length",
        "loss/policy",
        "loss/value",
        "policy/entropy",
        "policy/approx_kl",
        "policy/clip_fraction",
        "value/explained_variance",
        "optim/grad_norm",
        "value/magnitude",
        "optim/learning_rate",
    } <= first.keys()
    assert {"eval/return_mean", "final/return_mean", "final/success_rate"} <= last.keys()


def test_training_ends_with_the_first_update_at_or_after_the_promised_step(reference):
    assert [record["step"] for record in records(reference)] == [256, 512, 768, 1024]
    assert [record["step"] for record in records(reference, "trace.jsonl")] == [256, 512, 768, 1024]
    assert records(reference, "timing.jsonl")[-1]["step"] == 1024


def test_checkpoints_and_evaluations_come_at_the_first_update_at_or_after_their_interval(reference):
    names = {path.name for path in (reference / "checkpoints").glob("*.pt")}
    assert names == {*(f"checkpoint_{step}.pt" for step in (256, 512, 768, 1024)), "final_model.pt"}
    evaluated = [record["step"] for record in records(reference) if "eval/return_mean" in record]
    assert evaluated == [512, 1024]


def test_everything_is_seeded_in_force_and_loadable(reference):
    proof = json.loads((reference / "runtime.json").read_text())
    seeded = set(proof["seeding"]["generators"])
    assert {"python", "numpy", "torch", *(f"environment[{i}]" for i in range(4))} <= seeded
    assert proof["numerics"]["missing"] == []
    assert len(proof["checkpoints"]) == 5
    assert all(entry["loadable"] for entry in proof["checkpoints"].values())


def test_evaluation_changes_no_number_of_the_training(reference, tmp_path):
    often = trained(
        tmp_path / "often", logging__eval_interval=1, logging__eval_episodes=5, logging__final_eval_episodes=7
    )
    for one, other in zip(records(reference), records(often), strict=True):
        training = {name for name in one if not name.startswith(("eval/", "final/"))}
        assert {name: other[name] for name in training} == {name: one[name] for name in training}
    assert (often / "trace.jsonl").read_bytes() == (reference / "trace.jsonl").read_bytes()


@pytest.mark.sample(1)
@pytest.mark.parametrize("step", [256, 768])
def test_a_resumed_run_goes_on_bit_for_bit(reference, tmp_path, step):
    resumed = trained(tmp_path / "resumed", resume_from=reference / "checkpoints" / f"checkpoint_{step}.pt")
    for name in ("metrics.jsonl", "trace.jsonl"):
        whole = [record for record in records(reference, name) if record["step"] > step]
        assert records(resumed, name) == whole
    final = "checkpoints/final_model.pt"
    assert (resumed / final).read_bytes() == (reference / final).read_bytes()


_TRAINS_AND_LISTS_MODULES = """
import sys
from reprokit.runtime.launch import main
code = main(sys.argv[1:])
heavy = ("torch._dynamo", "torch._inductor", "sympy", "scipy", "matplotlib", "pydantic", "click", "docker")
print(code, [name for name in heavy if name in sys.modules])
"""


def test_training_imports_no_compiler_and_nothing_of_the_host(tmp_path):
    arguments = ["--run-dir", tmp_path, "--config", config(tmp_path, training__total_timesteps=256)]
    command = [
        sys.executable,
        "-c",
        _TRAINS_AND_LISTS_MODULES,
        *arguments,
        "--seed",
        "1",
        "--",
        RECIPES / "trainers" / "ppo.py",
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0 []\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("file", "seeding", "instead"),
    [
        ("trainers/ppo.py", "run.seeding.seed_everything()", "pass"),
        ("parts/playing.py", "env.reset(seed=seed, ", "env.reset("),
    ],
)
def test_a_removed_seed_call_gives_another_run_every_time(reference, tmp_path, file, seeding, instead):
    source = (RECIPES / file).read_text(encoding="utf-8")
    assert source.count(seeding) == 1
    spoilt = tmp_path / "recipes"
    for name in ("trainers", "parts"):
        shutil.copytree(RECIPES / name, spoilt / name)
    (spoilt / file).write_text(source.replace(seeding, instead))
    runs = [records(trained(tmp_path / name, recipes=spoilt)) for name in ("one", "two")]
    assert runs[0] != runs[1]


def test_a_changed_digit_of_the_learning_rate_shows_in_the_first_update(reference, tmp_path):
    other = trained(tmp_path / "other", training__learning_rate=3.1e-4)
    assert records(other)[0]["loss/policy"] != records(reference)[0]["loss/policy"]


def test_a_killed_run_leaves_whole_records_and_a_checkpoint_to_go_on_from(reference, tmp_path):
    program, out = started(tmp_path / "killed", training__total_timesteps=1_000_000)
    while len(list(out.glob("checkpoints/*.pt"))) < 2:
        assert program.poll() is None, program.stderr.read()
        time.sleep(0.01)
    program.send_signal(signal.SIGKILL)
    program.communicate()
    *whole, _ = (out / "metrics.jsonl").read_bytes().split(b"\n")
    killed = [json.loads(line) for line in whole]
    assert [record["step"] for record in killed] == [256 * (i + 1) for i in range(len(killed))]
    listed = json.loads((out / "checkpoints" / "MANIFEST.json").read_text())["files"]
    assert "checkpoint_256.pt" in listed
    resumed = trained(tmp_path / "resumed", resume_from=out / "checkpoints" / "checkpoint_256.pt")
    assert records(resumed)[-1] == records(reference)[-1]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="needs qemu-user")
@pytest.mark.parametrize("cpu", ["Haswell", "EPYC"])
def test_another_cpu_computes_the_same_bits_under_the_portable_profile(reference, tmp_path, cpu):
    other = trained(tmp_path / cpu, prefix=("qemu-x86_64", "-cpu", cpu))
    for name in ("metrics.jsonl", "trace.jsonl"):
        assert (other / name).read_bytes() == (reference / name).read_bytes(), name

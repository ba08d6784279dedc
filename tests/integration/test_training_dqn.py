"""DQN trained for real, in processes of its own, as the tool starts it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parents[2]
TRAINER = PROJECT / "recipes" / "trainers" / "dqn.py"
SETTINGS = {
    "environment": {"name": "PinPad-v0", "num_envs": 4, "max_episode_steps": 30},
    "model": {"hidden_sizes": [32]},
    "training": {
        "total_timesteps": 1200,
        "buffer_size": 500,
        "replay": "prioritised",
        "learning_starts": 200,
        "train_frequency": 4,
        "target_update": 50,
        "max_grad_norm": 1.0,
    },
    "logging": {"log_interval": 200, "save_interval": 400, "eval_interval": 400, "final_eval_episodes": 3},
}
FILES = ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json")

pytest.importorskip("torch")


def trained(folder, *, hash_seed=0, program=("-m", "reprokit.runtime.launch"), prefix=()):
    out = folder / "out"
    out.mkdir(parents=True)
    config = folder / "config.yaml"
    config.write_text(
        "".join(
            f"{section}:\n" + "".join(f"  {key}: {json.dumps(value)}\n" for key, value in values.items())
            for section, values in SETTINGS.items()
        )
    )
    arguments = ["--run-dir", out, "--config", config, "--seed", "42", "--", TRAINER]
    done = subprocess.run(
        [*prefix, sys.executable, *program, *arguments],
        env={
            **os.environ,
            **numerics.variables("portable", hash_seed=hash_seed),
            "PYTHONPATH": str(PROJECT),
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out, done.stdout


_TRAINS_AND_LISTS_MODULES = """
import sys
from reprokit.runtime.launch import main
code = main(sys.argv[1:])
heavy = ("torch._dynamo", "torch._inductor", "sympy", "scipy", "matplotlib", "pydantic", "click", "docker")
print(code, [name for name in heavy if name in sys.modules])
"""


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("reference"), program=("-c", _TRAINS_AND_LISTS_MODULES))


def test_another_process_with_another_hash_seed_writes_the_same_bytes(reference, tmp_path):
    again, _ = trained(tmp_path, hash_seed=1234)
    for name in FILES:
        assert (again / name).read_bytes() == (reference[0] / name).read_bytes(), name


def test_training_imports_no_compiler_and_nothing_of_the_host(reference):
    assert reference[1] == "0 []\n"


def test_every_generator_is_seeded_in_use_and_in_the_trace(reference):
    proof = json.loads((reference[0] / "runtime.json").read_text())
    names = {"python", "numpy", "torch", "exploration[0]", "replay[0]", "model[0]"}
    environments = {f"environment[{i}]" for i in range(4)}
    seeds = proof["seeding"]["generators"]
    assert names | environments <= set(seeds)
    assert len({seeds[name] for name in environments}) == 4
    assert all(proof["seeding"]["in_use"][name] == [seeds[name]] for name in environments)
    assert proof["numerics"]["missing"] == []
    random = json.loads((reference[0] / "trace.jsonl").read_text().splitlines()[-1])["random"]
    assert set(random) == {"python", "numpy", "torch", "exploration", "replay"} | environments


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="needs qemu-user")
@pytest.mark.parametrize("cpu", ["Haswell", "EPYC"])
def test_another_cpu_computes_the_same_bits_under_the_portable_profile(reference, tmp_path, cpu):
    other, _ = trained(tmp_path / cpu, prefix=("qemu-x86_64", "-cpu", cpu))
    for name in FILES:
        assert (other / name).read_bytes() == (reference[0] / name).read_bytes(), name

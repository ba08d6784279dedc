"""A program that nobody here wrote: CleanRL's PPO with one seed call removed.

The program is not part of this project, and neither are its packages. Where both are there::

    git clone --depth 1 https://github.com/vwxyzjn/cleanrl
    REPROKIT_CLEANRL=cleanrl REPROKIT_CLEANRL_PYTHON=venv/bin/python make test-all

the folder is the checkout, and the Python has torch, gymnasium, tensorboard and tyro. ``np.random.seed`` is
taken out of a copy of ``cleanrl/ppo.py``; the minibatches are then shuffled by a generator that nobody
seeded, and the answer has to be the line that shuffles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SEED_CALL, SHUFFLE = "np.random.seed(args.seed)", "np.random.shuffle("


@pytest.fixture
def cleanrl() -> tuple[Path, str]:
    folder, python = (os.environ.get(name, "") for name in ("REPROKIT_CLEANRL", "REPROKIT_CLEANRL_PYTHON"))
    if not folder or not python:
        pytest.skip(
            "REPROKIT_CLEANRL (a checkout) and REPROKIT_CLEANRL_PYTHON (with its packages) are not set"
        )
    return Path(folder).resolve() / "cleanrl" / "ppo.py", str(Path(python).absolute())


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_removed_seed_call_is_found_in_cleanrls_ppo(cleanrl, tmp_path):
    original, python = cleanrl
    lines = original.read_text().splitlines()
    kept = [line for line in lines if SEED_CALL not in line]
    assert len(kept) == len(lines) - 1
    (shuffle,) = [number for number, line in enumerate(kept, 1) if SHUFFLE in line]
    program = tmp_path / "ppo.py"
    program.write_text("\n".join(kept) + "\n")
    options = ["--json", "--seed", "3", "--ignore-metric", "charts/SPS", "--runs-dir", str(tmp_path / "runs")]
    options += ["--reports-dir", str(tmp_path / "reports")]
    training = ["--total-timesteps", "1024", "--num-envs", "2", "--num-steps", "128", "--no-cuda"]

    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "diagnose", *options, "--"]
        + ["env", "-C", "{run_dir}", python, str(program), "--seed", "{seed}", *training],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    cause = json.loads(done.stdout)["cause"]
    assert (cause["category"], cause["line"]) == ("unseeded_rng", shuffle)
    assert Path(cause["file"]).name == "ppo.py"

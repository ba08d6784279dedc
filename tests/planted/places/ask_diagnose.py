"""Asks `reprokit diagnose --resume` of a program of each framework what it did not restore, and prints a table.

    python tests/planted/places/ask_diagnose.py --python PYTHON [--only NAME …]

The programs run in the Python that ``--python`` names, which has to have what they train with. An answer is right
where it names the leaf, or of compiled code the object.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Program → the file to resume from, what it forgets, arguments that stop it, and a leaf that has to be named.
ASKED = {
    "torch_loop": ("checkpoint_*.pt", "optimizer", "", "adam.state[0]['exp_avg']"),
    "lightning_fit": ("model_*.ckpt", "", "", "torch.default_generator"),
    "hf_trainer": ("checkpoint-*", "optimizer", "", ".state[0]['exp_avg']"),
    "accelerate_loop": ("state_*", "optimizer", "", ".state[0]['exp_avg']"),
    "sb3_ppo": ("model_*.zip", "", "", "torch.default_generator"),
    "keras_fit": ("model_*.keras", "", "", "seed_generator"),
    "flax_orbax": ("saved", "optimizer", "--stop-after 6", "opt_state"),
    "lightgbm_rounds": ("model_*.txt", "", "", "booster: state of its compiled code"),
    "xgboost_rounds": ("model_*.json", "", "", "bst: state of its compiled code"),
    "sklearn_warm": ("model_*.joblib", "generator", "", "model._rng"),
    "optuna_trials": ("study_*.pkl", "sampler", "", "study.sampler._rng"),
}


def main(*, python: str, only: list[str]) -> int:
    """Ask, print a row of each, and 1 where an answer is not right."""
    wrong = 0
    print("| program | line | named | confidence | runs | right |\n|---|---|---|---|---|---|")
    for name in only or ASKED:
        pattern, forget, stop, leaf = ASKED[name]
        words = [f"{name}.py", "{run_dir}", *(["--forget", forget] if forget else [])]
        stopping = ["--stop-args", stop] if stop else []
        resume = ["--resume-args", f"--resume {{stopped_run_dir}}/{pattern}"]
        with tempfile.TemporaryDirectory(prefix="state-") as reports:
            tool = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", reports]
            done = subprocess.run(
                [*tool, "--resume", *stopping, *resume, "--", python, *words],
                cwd=HERE,
                capture_output=True,
                text=True,
                check=False,
            )
        found = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        cause, state = found.get("cause") or {}, found.get("state") or []
        right = any(leaf in one for one in state)
        wrong += not right
        named = ", ".join(f"`{one}`" for one in state[:3]) + (
            f" and {len(state) - 3} more" if len(state) > 3 else ""
        )
        row = (
            name,
            cause.get("line"),
            named or done.stderr[-100:],
            cause.get("confidence"),
            found.get("runs"),
        )
        print(f"| {' | '.join(map(str, row))} | {'yes' if right else 'no'} |", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    given = parser.parse_args()
    sys.exit(main(python=given.python, only=given.only))

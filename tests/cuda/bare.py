"""Trains the recipes on a GPU machine that has PyTorch and numpy, and no network to make an environment with.

    $ python tests/cuda/bare.py prepare FOLDER       # where the tool is set up: configurations and data
    $ python tests/cuda/bare.py run FOLDER --device cuda --output findings.json      # on the machine

Each recipe is trained twice and once more from a checkpoint in its middle, by ``runtime.launch`` with the
variables that the tool would set. It makes no golden: nothing pins that machine's packages. Exit codes: 0 all
equal and every setting in force; 1 not; 3 a training did not come to its end, or nothing was trained.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reprokit.core import numerics  # noqa: E402 - found by the line above

_PLAN = "plan.json"
_SAME = ("metrics.jsonl", "trace.jsonl")
_LONGEST = 500  # characters of a reason in the line of a recipe
_ALL_EQUAL, _DIFFERS, _CANNOT_RUN = 0, 1, 3


def main(arguments: list[str]) -> int:
    """Prepare, or run."""
    parser = argparse.ArgumentParser(prog="tests/cuda/bare.py")
    parser.add_argument("verb", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--only", nargs="*", help="names of recipes")
    parser.add_argument("--set", action="append", default=[], help="with prepare: settings, for a short try")
    parser.add_argument("--output", type=Path, default=Path("findings.json"))
    options = parser.parse_args(arguments)
    if options.verb == "prepare":
        prepare(options.folder, only=options.only, overrides=options.set)
        return _ALL_EQUAL
    found = run(options.folder, device=options.device, only=options.only)
    options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps({name: one["result"] for name, one in found.items()}, indent=1) + "\n")
    return code_of(found)


def prepare(folder: Path, *, only: list[str] | None, overrides: list[str]) -> None:
    """Write configuration and data of every recipe into a folder that can be carried to another machine."""
    from reprokit import recipes  # noqa: PLC0415 - the machine with the GPU has not what these import
    from reprokit.harness.running.environments import recipe_data  # noqa: PLC0415
    from support.gpu_host import RECIPES  # noqa: PLC0415

    folder.mkdir(parents=True)
    plan = {}
    for name in only or RECIPES:
        recipe = recipes.load(name, recipes_dir=ROOT / "recipes", overrides=overrides)
        (folder / f"{name}.yaml").write_text(recipe.config_yaml(), encoding="utf-8")
        data = recipe_data.fetched(recipe) if isinstance(recipe.data, Mapping) else ()
        for one in data:
            shutil.copy(one.path, folder / one.name)
        plan[name] = {
            "trainer": str(recipe.trainer.relative_to(ROOT)) if recipe.trainer else "",
            "seed": recipe.seeds[0],
            "data": [[one.name, one.contents] for one in data],
        }
    (folder / _PLAN).write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def run(folder: Path, *, device: str, only: list[str] | None) -> dict[str, Any]:
    """Train every recipe of a prepared folder; what came of each, by name."""
    plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    found = {}
    for name, one in plan.items():
        if only and name not in only:
            continue
        if one["trainer"].endswith(("ppo.py", "dqn.py")) and importlib.util.find_spec("gymnasium") is None:
            found[name] = {"result": "not run: this Python has no gymnasium"}
            continue
        found[name] = _trained(name, one, folder, device=device)
    return found


def code_of(found: Mapping[str, Mapping[str, Any]]) -> int:
    """0 only where something was trained, and all of it was equal with every setting in force."""
    results = [one["result"] for one in found.values()]
    if any(result.startswith("differs") for result in results):
        return _DIFFERS
    return _ALL_EQUAL if results and all(result == "equal" for result in results) else _CANNOT_RUN


def _trained(name: str, one: Mapping[str, Any], folder: Path, *, device: str) -> dict[str, Any]:
    began_s = time.monotonic()
    runs = [folder / "runs" / f"{name}-{device}-{number}" for number in ("first", "second", "resumed")]
    for number, place in enumerate(runs):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        words = ["--resume-from", str(_middle(runs[0]))] if number == 2 else []
        done = _launched(name, one, folder, place, words, device=device)
        if done.returncode:
            why = done.stderr.strip().rpartition("\n")[2] or "it said nothing"
            result = f"not run: exit code {done.returncode}: {why[:_LONGEST]}"
            return {"result": result, "stderr": done.stderr[-2000:]}
    runtime, environment = (
        json.loads((runs[0] / file).read_text(encoding="utf-8"))
        for file in ("runtime.json", "environment.json")
    )
    problems = [f"not in force: {lack['name']}" for lack in runtime["numerics"]["missing"]]
    for file in _SAME:
        first, second, resumed = (place.joinpath(file).read_text("utf-8").splitlines() for place in runs)
        problems += [f"{file} of the second run"] if first != second else []
        problems += [f"{file} of the resumed run"] if not resumed or resumed != first[-len(resumed) :] else []
    metrics = (runs[0] / "metrics.jsonl").read_bytes()
    return {
        "result": f"differs: {', '.join(problems)}" if problems else "equal",
        "seconds_of_three_runs": round(time.monotonic() - began_s, 1),
        "metrics_sha256": hashlib.sha256(metrics).hexdigest(),
        "last_record": json.loads(metrics.splitlines()[-1]),
        "device": environment["device"],
        "torch": environment["torch"],
        "numerics": {key: runtime["numerics"][key] for key in ("profile", "in_force")},
    }


def _launched(
    name: str, one: Mapping[str, Any], folder: Path, place: Path, words: list[str], *, device: str
) -> subprocess.CompletedProcess[str]:
    data = [word for kept in one["data"] for word in ("--data", *kept, str(folder / kept[0]))]
    command = [sys.executable, "-m", "reprokit.runtime.launch", "--run-dir", str(place), *data, *words]
    command += ["--config", str(folder / f"{name}.yaml"), "--seed", str(one["seed"]), "--device", device]
    of_gpu = numerics.cuda_variables() if device == numerics.CUDA else {}
    variables = {**numerics.variables("native", hash_seed=0), **of_gpu, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "--", str(ROOT / one["trainer"])],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def _middle(run_dir: Path) -> Path:
    """The checkpoint in the middle of those that a run left."""
    found = list((run_dir / "checkpoints").glob("checkpoint_*.pt"))
    ordered = sorted(found, key=lambda path: int(path.stem.rpartition("_")[2]))
    return ordered[(len(ordered) - 1) // 2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

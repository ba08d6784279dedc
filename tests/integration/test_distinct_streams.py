"""The row ``distinct`` on unmodified programs: real workers, vectors of environments, and ranks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.capture import probe
from reprokit.checks import distinct
from support import planted
from support.command_recipe import Repository
from tests.unit.instrumentation.test_light_watch import HOOK

pytestmark = pytest.mark.timeout(600)

PLANTED = Path(__file__).resolve().parents[1] / "planted" / "streams"
RECIPE = """\
schema: 1
name: train
title: A program that no one here wrote
variant: none
command: [{launcher}, train.py, "{{seed}}", "{{run_dir}}", {form}]
instrument: light
seeds: [3]
platforms: [cpu-x86_64]
"""
LAUNCHERS = {"ranks": 'torchrun, --standalone, --nproc-per-node, "2"'}
#: Forms that share what may be shared; what the row says of them.
CLEAN = {
    ("workers", "clean"): "2 workers side by side",
    ("workers", "unused"): "2 workers side by side",
    ("environments", "sync"): "3 environments side by side",
    ("environments", "async"): "3 environments side by side",
    ("environments", "evaluation"): "5 environments side by side",
    ("ranks", "parts"): "2 ranks side by side",
    ("ranks", "halves"): "2 ranks side by side",
    ("ranks", "split_model"): "2 ranks side by side",
}
CLONED = {
    ("workers", "one_seed"): "workers 0 and 1 draw the same numbers from NumPy's global generator",
    ("workers", "one_copy"): "workers 0 and 1 draw the same numbers from Noisy.chance",
    ("workers", "hidden"): "workers 0 and 1 draw the same numbers from Noisy.transforms[0].chance",
    ("environments", "sync_cloned"): "environments 0 and 1 of a vector draw the same numbers",
    ("environments", "async_cloned"): "environments 0 and 1 of a vector draw the same numbers",
    ("ranks", "whole"): "ranks 0 and 1 train on the same samples in every update",
}
#: Seen through the hook in `make test`; every form is the recipe of a repository in `make test-all`.
FAST = {
    ("workers", "one_seed"),
    ("workers", "hidden"),
    ("environments", "sync_cloned"),
    ("environments", "evaluation"),
    ("ranks", "whole"),
}


def _forms(all_forms):
    fast = [
        pytest.param(*one, told, False, id="-".join(one)) for one, told in all_forms.items() if one in FAST
    ]
    whole = [
        pytest.param(*one, told, True, id=f"{'-'.join(one)}-recipe", marks=pytest.mark.slow)
        for one, told in all_forms.items()
    ]
    return [*fast, *whole]


@pytest.fixture
def row(tmp_path, monkeypatch):
    """The row on one form of a program, and whether it would be required."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

    def of(program, form, as_recipe):
        (tmp_path / "train.py").write_text((PLANTED / f"{program}.py").read_text())
        launcher = LAUNCHERS.get(program, "python")
        return _in_a_recipe(tmp_path, launcher, form) if as_recipe else _watched(tmp_path, launcher, form)

    return of


def _in_a_recipe(folder, launcher, form):
    made = Repository(folder / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n")
    recipe = RECIPE.format(launcher=launcher, form=form)
    made.write(train_py=(folder / "train.py").read_text(), recipes__train__recipe_yaml=recipe)
    report = made.reproduce()
    assert report.verdict != "NOT_RUN", report.sentence
    found = next(one for one in report.checks if one.id == "distinct")
    assert found.required or found.status != "FAILED"
    return found


def _watched(folder, launcher, form):
    hook = {"REPROKIT_HOOK_OUT": str(folder / "out"), "REPROKIT_HOOK_PROBE": str(probe.__file__)}
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("REPROKIT")}
    surroundings |= {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": "light", **hook}
    command = [word.strip(' "') for word in launcher.split(",")]
    done = subprocess.run(
        [*command, "train.py", "3", str(folder), form],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    records = (folder / "out").glob("light-*.json")
    processes = {path.stem.removeprefix("light-"): json.loads(path.read_text()) for path in records}
    return distinct.check(planted.watched(processes, processes)(planted.clean()))


@pytest.mark.parametrize(("program", "form", "told", "as_recipe"), _forms(CLONED))
def test_what_draws_the_same_numbers_side_by_side_is_found_with_its_line(row, program, form, told, as_recipe):
    found = row(program, form, as_recipe)
    assert found.status == "FAILED", found.reason
    assert told in found.reason
    lines = (PLANTED / f"{program}.py").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"# LINE {form}"))
    assert re.search(rf"train\.py:{line} ", found.reason), found.reason


@pytest.mark.parametrize(("program", "form", "told", "as_recipe"), _forms(CLEAN))
def test_what_has_streams_of_its_own_or_shares_what_it_may_is_no_fault(row, program, form, told, as_recipe):
    found = row(program, form, as_recipe)
    assert (found.status, told in found.reason) == ("PASSED", True), found.reason

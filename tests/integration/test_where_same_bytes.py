"""One sweep of two recipes on this machine, on Ray and on Slurm: every member has the same bytes.

On Ray one of the two nodes is killed while its run is in the middle; on Slurm the tool is killed, and
attached again. What else may happen: test_where.py, test_where_ray.py, test_where_slurm.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from reprokit import runs
from support import places
from support.places import Told, begun, record_of, sweep_of
from support.study_project import make_study
from support.sweep_program import RECIPE, run_folders

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(900)]

#: A plain command and a training of one update, with five seeds each.
SWEEP = ("train", "cartpole_baseline", "--seeds", "1,2,3,4,6", "--backend", "local")
STEPS = 4096


def project(root: Path) -> Path:
    """Two recipes in a repository of its own; the plain command waits while there is a file ``slow``."""
    study = make_study(root)
    text = study.recipe.read_text()
    text = re.sub(r"total_timesteps: \d+", f"total_timesteps: {STEPS}", text)
    study.recipe.write_text(re.sub(r"final_eval_episodes: \d+", "final_eval_episodes: 5", text))
    bare = str(Path(sys.base_prefix) / "bin" / "python3")  # asked what is in it before each run: here little
    places.repository(root, recipe=RECIPE.replace("[python", f"[{bare}"))
    (root / "slow").touch()
    return root


def bytes_of(answer: Told, root: Path) -> dict[str, bytes]:
    """What each member measured, by its recipe and seed."""
    assert (answer.code, answer.states) == (0, ["complete"] * 10), answer.said
    assert all(runs.read(folder).complete for folder in answer.runs(root))
    members = zip(answer.told["members"], answer.runs(root), strict=True)
    return {
        f"{one['recipe']} {one['seed']}": (folder / "metrics.jsonl").read_bytes() for one, folder in members
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of this machine, which differ from member to member."""
    root = project(tmp_path_factory.mktemp("here") / "theirs")
    (root / "slow").unlink()
    with places.opened("local") as place:
        found = bytes_of(place.sweep(root, *SWEEP).answer(), root)
    assert len(set(found.values())) == 10
    return found


def test_a_sweep_on_ray_has_the_bytes_of_this_machine_though_a_node_was_killed(here, tmp_path):
    root = project(tmp_path / "theirs")
    with places.opened("ray") as ray:
        tool = ray.sweep(root, *SWEEP)
        folders = tool.wait_until(lambda: begun(root, 2))
        ray.lose(folders)
        ray.restore()
        tool.wait_until(lambda: any(record_of(one)["state"] == "finished" for one in folders))
        (root / "slow").unlink()
        answer = tool.answer()
    assert bytes_of(answer, root) == here
    assert sorted(one["attempts"] for one in answer.told["members"]) == [1] * 9 + [2]
    (lost,) = [one for one in folders if not runs.read(one).complete]
    assert record_of(lost)["outcome"] == "machine_lost"
    assert {record_of(one)["where"] for one in run_folders(root)} == {"ray"}


def test_a_sweep_on_slurm_has_the_bytes_of_this_machine_though_the_tool_was_killed(here, tmp_path):
    root = project(tmp_path / "theirs")
    with places.opened("slurm") as slurm:
        tool = slurm.sweep(root, *SWEEP)
        folders = tool.wait_until(lambda: begun(root, 2))
        tool.kill()
        (root / "slow").unlink()
        answer = slurm.tool(root, "runs", "attach", str(sweep_of(root)), "--json").answer()
    assert bytes_of(answer, root) == here
    assert len(run_folders(root)) == 10, "nothing was begun a second time"
    assert {one.name for one in folders} <= {one.name for one in answer.runs(root)}
    assert {record_of(one)["where"] for one in run_folders(root)} == {"slurm"}

"""A golden recorded on a real Ray cluster whose second node says that it has another CPU, and verified there.

Both nodes compute alike, and the recipe is portable: one golden is made of all four runs.
"""

from __future__ import annotations

import json

import pytest

from support import other_cpu, places
from support.ray_node import node_within
from support.study_project import make_study
from support.sweep_program import run_folders

#: A cluster, an environment with PyTorch, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
ASKED = ("cartpole_baseline", "--on", "ray", "--backend", "local", "--json")


def test_a_portable_golden_is_recorded_and_verified_on_every_kind_of_cpu_of_a_cluster(tmp_path):
    study = make_study(tmp_path / "study")
    with places.opened("ray") as ray:
        ray.cluster.say("kill")
        with node_within(other_cpu.named(tmp_path, "Other CPU"), ray, tmp_path / "node.log"):
            more = ("--seeds", "42,", "--reason", "first", "--allow-dirty")
            made = ray.tool(study.root, "golden", "record", *ASKED, *ray.options, *more).answer(1200)
            told = ray.tool(study.root, "verify", *ASKED, *ray.options, "--seed", "42").answer(1200)
    assert (made.code, [row["verdict"] for row in made.told["rows"]]) == (0, ["RECORDED"] * 2), made.said
    (golden,) = study.root.glob("golden/*/*/seed-42")
    provenance = json.loads((golden / "provenance.json").read_text())
    assert (golden.parent.name, provenance["runs_agreed"], len(provenance["machines"])) == (
        "cpu-x86_64",
        4,
        2,
    )
    nodes = {places.record_of(folder)["machine"]["node"] for folder in run_folders(study.root)}
    assert (len(nodes), len(run_folders(study.root))) == (2, 8)

    assert (told.code, [row["verdict"] for row in told.told["rows"]]) == (0, ["REPRODUCED"] * 2), told.said
    assert sum("other-cpu" in row["cpu"] for row in told.told["rows"]) == 1
    assert "REPRODUCED" in (study.root / "reports" / "machines.html").read_text()

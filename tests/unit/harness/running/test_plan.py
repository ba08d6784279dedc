"""What is about to run, as data."""

from __future__ import annotations

import dataclasses
import re
import shlex
import sys
from pathlib import Path

import pytest

from reprokit.core import numerics
from reprokit.core.records import Realisation
from reprokit.errors import UsageError
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.numbers import digests_of
from reprokit.harness.running.plan import command_name, plan_command, plan_recipe, shell_line
from reprokit.harness.running.run_kinds import ResumedRun, ResumePoint, StoppedRun, VariedRun, WholeRun

ENVIRONMENT = Realisation(
    variant="cpu",
    kind="venv",
    reference="/env",
    digest="sha256:0",
    python="/env/bin/python",
    lock_digest="sha256:1",
)


PAIR = WholeRun(repeats=2)


@pytest.fixture
def planned(recipe, tmp_path: Path):
    def plan(of=recipe, kind=PAIR, *, seed=42, timeout_s=None, profile_step=None, **there):
        usual = {"realisation": ENVIRONMENT, "backend": "local", "runs_dir": tmp_path}
        return plan_recipe(
            of,
            kind,
            seed=seed,
            environment=Environment(**{**usual, **there}),
            stamp="T",
            timeout_s=timeout_s,
            profile_step=profile_step,
        )

    return plan


def test_the_runs_of_one_plan_differ_in_their_number_only(planned):
    first, second = planned().specs
    assert (first.run_id, second.run_id) == ("T-seed42-1", "T-seed42-2")
    same = [
        dataclasses.replace(spec, run_id="", mounts=tuple(m for m in spec.mounts if "T-seed" not in m.path))
        for spec in (first, second)
    ]
    assert same[0] == same[1]


def test_a_run_sees_its_own_snapshot_of_recipe_and_trainer_and_not_the_project(planned, recipe, tmp_path):
    plan = planned()
    for spec in plan.specs:
        mounts = {mount.name: Path(mount.path) for mount in spec.mounts}
        folder = tmp_path / "cartpole_baseline" / spec.run_id
        assert mounts["recipes"] == folder / "source"
        assert mounts["config.yaml"] == folder / "config.yaml"
        assert set(mounts) == {"reprokit", "recipes", "config.yaml"}
    assert set(plan.files) == {
        "config.yaml",
        "source/cartpole_baseline/recipe.yaml",
        "source/trainers/ppo.py",
        *(f"source/parts/{part.name}" for part in recipe.parts),
    }
    assert "source/parts/playing.py" in plan.files
    assert "source/parts/sum_tree.py" not in plan.files


def test_what_must_precede_the_interpreter_is_in_the_environment(planned, recipe):
    environment = planned().specs[0].environment
    assert environment.items() >= numerics.variables(recipe.numerics, hash_seed=0).items()
    assert environment["PYTHONPATH"] == "{mounts}"
    assert not planned().specs[0].inherit_environment


def test_a_recipes_run_names_its_seed_and_device_by_placeholders(planned):
    command = planned().specs[0].command
    assert command[:3] == ("{python}", "-m", "reprokit.runtime.launch")
    assert command[command.index("--seed") + 1] == "{seed}"
    assert command[-1] == "{mounts}/recipes/trainers/ppo.py"


def test_cores_are_dealt_out_in_turn_and_without_cores_nothing_is_pinned(planned):
    pinned = planned(kind=WholeRun(repeats=3), cores=(4, 6))
    assert [spec.limits.cpus for spec in pinned.specs] == [(4,), (6,), (4,)]
    assert [spec.limits.cpus for spec in planned().specs] == [None, None]


POINT = ResumePoint(
    path=Path("/runs/r/1/checkpoints/checkpoint_8.pt"),
    step=8,
    sha256="sha256:2",
    run="r/1",
    attempt=2,
    lock_digest="sha256:1",
)
FROM = {"run": "r/1", "checkpoint": "checkpoint_8.pt", "step": 8, "sha256": "sha256:2"}


@pytest.mark.parametrize(
    ("kind", "name", "words", "mounted", "own_facts", "attempt"),
    [
        (WholeRun(), "1", (), (), {}, 1),
        (StoppedRun(stop_at=9), "stopped", ("--stop-at", "9"), (), {"stop_at": 9}, 1),
        (
            ResumedRun(point=POINT),
            "resumed",
            ("--resume-from", "{mounts}/resumed_from.pt"),
            ("resumed_from.pt",),
            {"resumed_from": FROM},
            3,
        ),
        (
            VariedRun(number=4, chosen=(), held={"umask": "why"}),
            "varied4",
            (),
            (),
            {"varied": {"names": [], "watched": False, "held": {"umask": "why"}, "unmade": {}}},
            1,
        ),
    ],
)
def test_each_kind_of_run_differs_from_a_whole_one_in_what_it_says(
    planned, kind, name, words, mounted, own_facts, attempt
):
    plan, whole = planned(kind=kind), planned(kind=WholeRun())
    (spec,), (of_whole,) = plan.specs, whole.specs
    assert spec.run_id == f"T-seed42-{name}"
    at = of_whole.command.index("--")
    assert spec.command == (*of_whole.command[:at], *words, *of_whole.command[at:])
    assert tuple(one.name for one in spec.mounts[len(of_whole.mounts) :]) == mounted
    assert plan.facts == {**whole.facts, **own_facts}
    assert spec.attempt == attempt


def test_limits_are_the_recipes_and_a_timeout_that_is_asked_for_comes_first(planned, recipe):
    limits = planned().specs[0].limits
    assert limits.memory_bytes == int(recipe.limits.memory_gib * 2**30)
    assert limits.timeout_s == recipe.limits.timeout_s
    assert planned(timeout_s=3.5).specs[0].limits.timeout_s == 3.5


def test_the_record_of_a_run_says_what_it_was_made_from(planned, recipe):
    facts = planned().facts
    assert facts["digests"] == digests_of(recipe, ENVIRONMENT)
    assert facts["recipe_data"] == recipe.as_data()
    assert (facts["modified"], facts["backend"], facts["numerics"]) == ([], "local", "portable")


def test_every_content_of_ours_that_can_change_numbers_has_a_digest(recipe):
    digests = digests_of(recipe, ENVIRONMENT)
    assert set(digests) == {"recipe", "trainer", "parts", "runtime", "config", "lock"}
    assert digests["lock"] == "sha256:1"
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", text) for name, text in digests.items() if name != "lock")


def test_another_setting_is_another_digest_of_the_configuration_only(recipe):
    other = dataclasses.replace(
        recipe, training_config={**recipe.training_config, "training": {"gamma": 0.5}}
    )
    before, after = digests_of(recipe, ENVIRONMENT), digests_of(other, ENVIRONMENT)
    assert [name for name in before if before[name] != after[name]] == ["config"]


def test_a_plain_command_keeps_the_callers_environment_and_nothing_is_set_or_pinned(tmp_path):
    plan = plan_command(
        ("python", "train.py"), seed=7, repeats=2, stamp="T", working_dir=tmp_path, timeout_s=9
    )
    for spec in plan.specs:
        assert spec.inherit_environment
        assert (dict(spec.environment), spec.mounts, spec.realisation) == ({}, (), None)
        assert (spec.limits.cpus, spec.limits.memory_bytes, spec.limits.timeout_s) == (None, None, 9)
        assert (spec.working_dir, spec.command) == (str(tmp_path), ("python", "train.py"))
    assert plan.files == {}


def test_a_secret_on_the_command_line_is_run_but_not_recorded():
    plan = plan_command(("python", "t.py", "--api-key", "s3cret-value"), seed=0, repeats=1, stamp="T")
    assert "s3cret-value" in plan.specs[0].command
    assert "s3cret-value" not in plan.facts["plain_command"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "train.py"], "plain-train"),
        (["python", "-u", "/a/b/my study.py", "x.py"], "plain-my-study"),
        (["./run"], "plain-run"),
        (["/"], "plain-command"),
        (["..."], "plain-command"),
        # Python 3.14 takes the dots of `..py` for its name, not for its ending.
        (["python", "../../evil/../..py"], "plain-py" if sys.version_info >= (3, 14) else "plain-command"),
        (["x" * 200], "plain-" + "x" * 60),
    ],
)
def test_a_plain_commands_runs_are_filed_under_a_name_that_is_one_folder(command, name):
    assert command_name(command) == name
    assert "/" not in command_name(command)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["python", "train.py", "--seed", "{seed}"], "python train.py --seed {seed}"),
        (["--out={run_dir}/x"], "--out={run_dir}/x"),
        (["two words"], "'two words'"),
        (["it's"], "'it'\"'\"'s'"),
        (["time/*"], "'time/*'"),
        ([""], "''"),
        (["{a,b}"], "'{a,b}'"),
        (["{1..3}"], "'{1..3}'"),
        (["{seed};rm"], "'{seed};rm'"),
        (["{seed} {x}"], "'{seed} {x}'"),
        (["$HOME", "~", "#x"], "'$HOME' '~' '#x'"),
    ],
)
def test_a_command_is_written_as_a_person_types_it(words, line):
    assert shell_line(words) == line
    assert shlex.split(line) == words


def test_a_run_is_not_resumed_in_an_environment_of_another_lock(planned):
    other = dataclasses.replace(ENVIRONMENT, lock_digest="sha256:2")
    assert planned(kind=ResumedRun(point=POINT)).specs[0].attempt == POINT.attempt + 1
    with pytest.raises(UsageError, match="lock changed, so the run cannot be resumed"):
        planned(kind=ResumedRun(point=POINT), realisation=other)
